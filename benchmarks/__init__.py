"""Benchmarks: Orion beside the same job written by hand, in one run, as ratios. `make bench` runs them all.

A benchmark is one module and one name in NAMES; it has `measure(stage) -> Measured`, or None
where this machine lacks what it needs.
"""

NAMES = (
    "clean_plays",
    "latency_exact",
    "latency_keyed",
    "latency_fast",
    "avro_plays",
    "windowed_count",
    "running_count",
    "windowed_having",
    "stream_table_join",
    "stream_stream_join",
    "state_restore",
    "state_batches",
    "statements_at_rest",
    "statements_under_load",
    "shop",
    "registry_load",
    "registry_lookup",
    "registry_http",
    "http_clients",
    "pull_lookup",
    "jdbc_sink",
    "jdbc_sink_mysql",
)
