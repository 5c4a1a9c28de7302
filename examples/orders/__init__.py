"""The largest orders of each hour, on Orion; see README.md."""
