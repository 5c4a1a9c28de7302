"""Every route. A family of endpoints is one file here and one name in NAMES; the file holds `router`."""

NAMES = ("health", "ksql", "query_stream")
