"""Names of the columns that travel beside a query's own.

Every frame between a scan and a writer carries them; no SQL name can collide, since a leading `__` is ours.
"""

from __future__ import annotations

BAD = "__bad"  # why the record couldn't be decoded, or NULL
DELETED = "__deleted"  # the row of a table is gone
RAW_KEY, RAW_VALUE = "__raw_key", "__raw_value"
TOPIC, STAMP = "__topic", "__stamp"  # the topic and Kafka's own timestamp of the record

META = (BAD, DELETED, RAW_KEY, RAW_VALUE, TOPIC, STAMP)

# What a writer takes: one row is one Kafka record.
OUTGOING = "topic STRING, key BINARY, value BINARY, timestamp BIGINT, headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
