"""Avro: records as columns and back, as Spark SQL."""
