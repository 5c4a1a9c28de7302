"""Worked examples: each is a package, run by `python -m examples.<name>`, on a real broker and a real Spark."""
