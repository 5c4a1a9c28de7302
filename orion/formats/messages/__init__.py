"""Protobuf: messages as columns and back, in Python workers that Spark calls."""
