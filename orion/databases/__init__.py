"""Relational databases as connectors of both directions meet them: where one is, how to log in, what its tables hold.

PostgreSQL (and what speaks its protocol), MySQL and MariaDB, SQLite.
"""
