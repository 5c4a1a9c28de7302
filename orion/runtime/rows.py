"""Names of the columns that travel beside a query's own.

Every frame between a scan and a writer carries them; no SQL name can collide, since a leading `__` is ours.
"""

from __future__ import annotations

BAD = "__bad"  # why the record couldn't be decoded, or NULL
NOTE = ""  # in place of such a reason: the row is no letter. A feed's goes to the topic that it names; behind an
# operator it is changes of state, packed as one
LETTER = "__letter"  # behind an operator: what the record of a row with a reason tells, packed as one (`letters`)
DELETED = "__deleted"  # the row of a table is gone
RAW_KEY, RAW_VALUE = "__raw_key", "__raw_value"
TOPIC, STAMP = "__topic", "__stamp"  # the topic and Kafka's own timestamp of the record
HEADERS = "__headers"  # the record's own, only where a source declares columns over them: they go along to the sink
RECORD_HEADERS = "__record_headers"  # the same of every source, for the dead letter that a record may become

# Where a row stands in the order of arrival, as bytes that sort: 8 of time, 8 that tell topic and partition, 8 of the
# offset; an operator adds 4 for each row it makes of one.
ORDER = "__order"

# Which of all the partitions that a query without state reads it comes from: the same number each time a batch runs.
# Spark's own numbering of a batch's partitions isn't, since it hangs on the order in which a map gives its keys.
ORIGIN = "__origin"

META = (BAD, DELETED, RAW_KEY, RAW_VALUE, TOPIC, STAMP, HEADERS, RECORD_HEADERS, ORIGIN, LETTER)

# What a writer takes: one row is one Kafka record. A dead letter has yet to be told what is wrong with it, in headers
# of its own (emit.told, or dead_letters.telling in Python): for these few, the code of all rows would be long.
OUTGOING = (
    "topic STRING, key BINARY, value BINARY, timestamp BIGINT, headers ARRAY<STRUCT<key: STRING, value: BINARY>>, "
    "origin INT, letter STRUCT<bad: STRING, topic: STRING, partition: INT, offset: BIGINT, stamp: BIGINT>"
)
# Of a query that keeps state, one more: changes of it, which go to its changelogs (`state.packed_changes`). Such a row
# is no record.
STATE = "state"
