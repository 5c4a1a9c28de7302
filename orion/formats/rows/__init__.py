"""Rows as Python's values, from JSON and to the bytes of a source's records, for writers that have no Spark.

A value is what its type says: whole numbers, float, Decimal, text, bytes, lists and dicts; a DATE is the days, a TIME
the milliseconds of the day, a TIMESTAMP the milliseconds since 1970.
"""
