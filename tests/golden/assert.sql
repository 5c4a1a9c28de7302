-- ASSERT.

-- plan:
--   wait at most 1000 ms until topic Clicks is there
ASSERT TOPIC Clicks;

-- plan:
--   wait at most 10000 ms until topic clicks is there, PARTITIONS 3, REPLICAS 1
ASSERT TOPIC 'clicks' WITH (PARTITIONS = 3, replicas = 1) TIMEOUT 10 SECONDS;

-- plan:
--   wait at most 500 ms until topic clicks is not there
ASSERT NOT EXISTS TOPIC clicks TIMEOUT 500 MILLISECONDS;

-- error: BindError UNKNOWN_PROPERTY 1:14
-- message: A topic is asserted with PARTITIONS and REPLICAS, not with PARTS.
-- hint: Did you mean PARTITIONS?
ASSERT TOPIC clicks WITH (PARTS = 3);

-- error: BindError INVALID_PROPERTY 1:14
-- message: PARTITIONS must be a whole number.
ASSERT TOPIC clicks WITH (PARTITIONS = 'many');

-- error: ParseError SYNTAX 1:30
-- message: Expected a time unit (MILLISECONDS, SECONDS, MINUTES, HOURS or DAYS), found ';'.
ASSERT TOPIC clicks TIMEOUT 3;

-- error: ParseError SYNTAX 1:8
-- message: Expected TOPIC, SCHEMA, VALUES, NULL VALUES, STREAM or TABLE, found 'TOPICS'.
-- hint: Did you mean TOPIC?
ASSERT TOPICS;

-- error: ParseError SYNTAX 1:19
-- message: Expected TOPIC or SCHEMA, found 'VALUES'.
ASSERT NOT EXISTS VALUES s VALUES (1);

CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');

-- plan:
--   check that the next record of s is K='a', V=1, ROWTIME=10
ASSERT VALUES s (k, v, ROWTIME) VALUES ('a', 1, 10);

-- plan:
--   check that the next record of s is K='a', V=1
ASSERT VALUES s VALUES ('a', 1);

-- plan:
--   check that the next record of s is a deletion: K='a'
ASSERT NULL VALUES s (k) KEY ('a');

-- error: BindError COLUMN_COUNT 1:15
-- message: 2 columns are named and 1 values given.
ASSERT VALUES s (k, v) VALUES ('a');

-- error: BindError UNKNOWN_COLUMN 1:15
-- message: S has no column KK.
-- hint: Did you mean K?
ASSERT VALUES s (kk) VALUES ('a');

-- error: BindError UNKNOWN_SOURCE 1:15
-- message: There is no stream or table NOWHERE.
-- hint: SHOW STREAMS; and SHOW TABLES; list them.
ASSERT VALUES nowhere VALUES (1);

-- plan:
--   check that S is stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER
ASSERT STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');

-- error: BindError UNKNOWN_SOURCE 1:14
-- message: There is no stream or table T.
-- hint: SHOW STREAMS; and SHOW TABLES; list them.
ASSERT TABLE t (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');
