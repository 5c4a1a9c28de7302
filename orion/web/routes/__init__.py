"""Every route. A family of endpoints is one file here and one name in NAMES; the file holds `router`."""

NAMES = (
    "health",
    "ksql",
    "query",
    "query_stream",
    "inserts_stream",
    "ws_query",
    "status",
    "cluster",
    "connect",
    "feeds",
    "rest_clusters",
    "rest_consumers",
    "rest_groups",
    "rest_records",
    "rest_topics",
)
