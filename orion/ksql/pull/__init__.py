"""SELECT without EMIT: what the rows are now, as SQL that DuckDB runs, and Spark where DuckDB can't.

shape.py     understands the query: sources, names, types
stages.py    what is computed before the SELECT list
refusals.py  what a pull query can't hold
write.py     writes it as SQL, once a dialect
scans.py     which rows WHERE asks for
cache.py     what was compiled before
patience.py  what must be seen before an answer
dialects.py  how the two dialects say names, tables and expressions
duckdb.py    an expression in DuckDB's SQL
windows.py   the functions that look at the rows around a row
moments.py   a point in time that was written as text
"""
