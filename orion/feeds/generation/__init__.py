"""Rows out of nothing, for `datagen`: Spark SQL over a row's number and a seed. The same two give the same row."""
