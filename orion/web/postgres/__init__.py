"""PostgreSQL's door to the tables: its wire protocol, version 3, over DuckDB. For BI tools; it only reads.

Written by hand, since no library carries the server's side well: buenavista's last release is of 2024, postgres-wire
knows neither parameters nor types, riffq is 50 MB of DataFusion without a licence.
"""
