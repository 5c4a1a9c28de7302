"""Databases that the jdbc sink writes: one file each, and what they share.

address.py      a JDBC URL as an address
database.py     what a database is to the sink: how one connects, and what a connection can do
names.py        tables and columns: how they are spelled, quoted and found
target.py       what the sink writes into a table: its columns and its key
tables.py       a table that is there held against that; made and widened
rows.py         a batch cut into rows for a table; the last change of a key; what no database takes
texts.py        Arrow columns as text, a column at a time
transfer.py     a slot's rows in one transaction that ends with the slot's epoch
postgresql.py, mysql.py, sqlite.py
"""
