-- Lanes, profiles and strict order.

CREATE STREAM s (k STRING KEY, v INT, tags ARRAY<STRING>) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');

CREATE STREAM p (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 'p', VALUE_FORMAT = 'PROTOBUF_NOSR', KEY_FORMAT = 'KAFKA');

CREATE TABLE t (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

CREATE FUNCTION half(v INT) RETURNS INT LANGUAGE PYTHON AS $$
def half(v):
    return v // 2
$$;

-- plan:
--   topic F: partitions as s
--   define stream F over topic F (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER
--   query CSAS_F_4 (stateless, at least once) -> topic F, dead letters dlq.F
--     lane fast: a row takes milliseconds and each partition read a task slot; after a failure rows come again, which Orion's readers drop and others can by the header orion.id
--     project K, V
--       filter (V > 1)
--         scan stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, TAGS ARRAY<VARCHAR(STRING)>
CREATE STREAM f WITH (guarantee = 'fast') AS SELECT k, v FROM s WHERE v > 1;

-- What a session wishes holds where it can; WITH holds in any case.
-- with: orion.guarantee=fast
-- plan:
--   topic A: partitions as s
--   define stream A over topic A (key KAFKA, value JSON): K VARCHAR(STRING) KEY, TAG VARCHAR(STRING)
--   query CSAS_A_6 (stateless, at least once) -> topic A, dead letters dlq.A
--     lane fast: a row takes milliseconds and each partition read a task slot; after a failure rows come again, which Orion's readers drop and others can by the header orion.id
--     project K, __t0 AS TAG
--       explode EXPLODE(TAGS) AS __t0
--         scan stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, TAGS ARRAY<VARCHAR(STRING)>
CREATE STREAM a AS SELECT k, EXPLODE(tags) AS tag FROM s;

-- with: orion.guarantee=fast
-- plan:
--   topic B: partitions as s
--   define stream B over topic B (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER
--   query CSAS_B_8 (stateless, exactly once) -> topic B, dead letters dlq.B
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; fast is possible
--     project K, V
--       scan stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, TAGS ARRAY<VARCHAR(STRING)>
CREATE STREAM b WITH (guarantee = 'EXACT') AS SELECT k, v FROM s;

-- with: orion.guarantee=fast
-- plan:
--   topic C: partitions as s, cleanup.policy=compact
--   define table C over topic C (key KAFKA, value JSON): K VARCHAR(STRING) PRIMARY KEY, N BIGINT
--   query CTAS_C_10 (stateful, exactly once) -> topic C, dead letters dlq.C
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; not fast: it keeps state
--     aggregate K, COUNT(*) AS N
--       by K
--       operator tasks: a batch's rows folded together
--       scan stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, TAGS ARRAY<VARCHAR(STRING)>
CREATE TABLE c AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;

-- Kafka Streams' word for it: what is exactly once is exact, and at_least_once is no wish for the other lane.
-- with: processing.guarantee=at_least_once
-- plan:
--   topic D: partitions as s
--   define stream D over topic D (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER
--   query CSAS_D_12 (stateless, exactly once) -> topic D, dead letters dlq.D
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; fast is possible
--     project K, V
--       scan stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, TAGS ARRAY<VARCHAR(STRING)>
CREATE STREAM d AS SELECT k, v FROM s;

-- error: BindError NOT_FAST 1:14
-- message: X can't have guarantee='fast': it keeps state.
-- hint: Leave it out, or write guarantee='exact': each row once, a batch at a time.
CREATE TABLE x WITH (guarantee = 'fast') AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;

-- error: BindError NOT_FAST 1:15
-- message: X can't have guarantee='fast': it keeps state.
-- hint: Leave it out, or write guarantee='exact': each row once, a batch at a time.
CREATE STREAM x WITH (guarantee = 'fast') AS SELECT s.k, s.v FROM s JOIN t ON s.k = t.k;

-- error: BindError NOT_FAST 1:15
-- message: X can't have guarantee='fast': it calls HALF, in Python.
-- hint: Leave it out, or write guarantee='exact': each row once, a batch at a time.
CREATE STREAM x WITH (guarantee = 'fast') AS SELECT k, half(v) AS h FROM s;

-- error: BindError NOT_FAST 1:15
-- message: X can't have guarantee='fast': PROTOBUF_NOSR of P is read and written in Python.
-- hint: Leave it out, or write guarantee='exact': each row once, a batch at a time.
CREATE STREAM x WITH (guarantee = 'fast', value_format = 'JSON') AS SELECT * FROM p;

-- error: BindError NOT_FAST 1:15
-- message: X can't have guarantee='fast': its topic is compacted.
-- hint: Leave it out, or write guarantee='exact': each row once, a batch at a time.
CREATE STREAM x WITH (guarantee = 'fast', cleanup_policy = 'compact') AS SELECT k, v FROM s;

-- error: BindError INVALID_PROPERTY 1:15
-- message: GUARANTEE is exact or fast.
CREATE STREAM x WITH (guarantee = 'quick') AS SELECT k, v FROM s;

-- A declared stream is somebody else's: its lane is theirs.
-- error: BindError UNKNOWN_PROPERTY 1:15
-- message: There is no property GUARANTEE.
-- hint: Properties are CLEANUP_POLICY, FORMAT, KAFKA_TOPIC, KEY_DELIMITER, KEY_FORMAT, ORDERED, PARTITIONS, PROFILE, REPLICAS, RETENTION_MS, SOURCED_BY_CONNECTOR, TIMESTAMP, TIMESTAMP_FORMAT, VALUE_DELIMITER, VALUE_FORMAT, WINDOW_SIZE, WINDOW_TYPE, WRAP_SINGLE_VALUE.
CREATE STREAM x (k STRING KEY) WITH (KAFKA_TOPIC = 'x', VALUE_FORMAT = 'JSON', GUARANTEE = 'fast');

-- The readers of a stream must expect the headers of the fast lane.
-- error: BindError NOT_FAST 1:13
-- message: INSERT INTO B can't have guarantee='fast': the readers of B look for no headers.
-- hint: A stream that was created WITH (guarantee='fast') AS SELECT takes it.
INSERT INTO b WITH (guarantee = 'fast') SELECT k, v FROM s;

-- plan:
--   query INSERTQUERY_14 (stateless, at least once) -> topic F, dead letters dlq.F
--     lane fast: a row takes milliseconds and each partition read a task slot; after a failure rows come again, which Orion's readers drop and others can by the header orion.id
--     project K, V
--       scan stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, TAGS ARRAY<VARCHAR(STRING)>
INSERT INTO f WITH (guarantee = 'fast') SELECT k, v FROM s;

-- A lane can be changed, to fast only while nobody reads it: readers know what to look for when they start.
-- plan:
--   replace by stream F over topic F (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER
--   stop CSAS_F_4 and go on from where it is
--   query CSAS_F_4 (stateless, exactly once) -> topic F, dead letters dlq.F
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; fast is possible
--     project K, V
--       scan stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, TAGS ARRAY<VARCHAR(STRING)>
CREATE OR REPLACE STREAM f AS SELECT k, v FROM s;

CREATE STREAM reader AS SELECT k, v FROM b;

-- error: BindError CANNOT_REPLACE 1:26
-- message: Cannot replace stream B: its rows would come by the fast lane, which CSAS_READER_17 don't expect.
-- hint: Columns can be added at the end, and a query's WHERE and expressions changed. For more, DROP it first.
CREATE OR REPLACE STREAM b WITH (guarantee = 'fast') AS SELECT k, v FROM s;

-- A profile sets the topic and the statement; what the statement says itself holds.
-- plan:
--   topic X: 6 partitions, retention.ms=1000, for throughput
--   define stream X over topic X (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER
--   query CSAS_X_19 (stateless, exactly once) -> topic X, dead letters dlq.X
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; fast is possible; profile throughput
--     project K, V
--       scan stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, TAGS ARRAY<VARCHAR(STRING)>
CREATE STREAM x WITH (profile = 'throughput', retention_ms = 1000) AS SELECT k, v FROM s;

-- with: orion.profile=durability
-- plan:
--   topic y: 3 partitions, for durability
--   define stream Y over topic y (key KAFKA, value JSON): K VARCHAR(STRING) KEY
CREATE STREAM y (k STRING KEY) WITH (KAFKA_TOPIC = 'y', VALUE_FORMAT = 'JSON', PARTITIONS = 3);

-- error: BindError INVALID_PROPERTY 1:15
-- message: There is no profile latecy.
-- hint: Did you mean latency?
CREATE STREAM z WITH (profile = 'latecy') AS SELECT k, v FROM s;

-- plan:
--   topic O: 1 partitions
--   define stream O over topic O (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER
--   query CSAS_O_22 (stateless, exactly once) -> topic O, dead letters dlq.O
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; fast is possible
--     project K, V
--       scan stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, TAGS ARRAY<VARCHAR(STRING)>
CREATE STREAM o WITH (ordered = 'true') AS SELECT k, v FROM s;

-- error: BindError INVALID_PROPERTY 1:15
-- message: A topic with ORDERED='true' has one partition, not 2: order holds within a partition alone.
-- hint: Leave PARTITIONS out, or ORDERED.
CREATE STREAM z (k STRING KEY) WITH (KAFKA_TOPIC = 'z', VALUE_FORMAT = 'JSON', PARTITIONS = 2, ORDERED = 'true');

-- error: BindError INVALID_PROPERTY 1:15
-- message: ORDERED is true or false.
CREATE STREAM z WITH (ordered = 'yes') AS SELECT k, v FROM s;
