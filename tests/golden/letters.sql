-- Dead letters: how many a query bears, and rows that come too late for a window.

CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 'in', VALUE_FORMAT = 'JSON');

-- plan:
--   topic STRICT: partitions as in
--   define stream STRICT over topic STRICT (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER
--   query CSAS_STRICT_1 (stateless, exactly once) -> topic STRICT, dead letters dlq.STRICT
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; not fast: it bears only so many dead letters, and what is written at once can't be held back
--     errors tolerance none: it stops at the first dead letter
--     project K, V
--       scan stream S over topic in (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER
CREATE STREAM strict WITH (errors_tolerance = 'none') AS SELECT * FROM s;

-- with: errors.tolerance=0.5%
-- plan:
--   query INSERTQUERY_3 (stateless, exactly once) -> topic STRICT, dead letters dlq.STRICT
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; not fast: it bears only so many dead letters, and what is written at once can't be held back
--     errors tolerance 0.5%: it stops when more of the last 1000 records are dead letters
--     project K, V
--       scan stream S over topic in (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER
INSERT INTO strict SELECT * FROM s;

-- with: errors.tolerance=none
-- plan:
--   topic LOOSE: partitions as in
--   define stream LOOSE over topic LOOSE (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER
--   query CSAS_LOOSE_4 (stateless, exactly once) -> topic LOOSE, dead letters dlq.LOOSE
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; fast is possible
--     project K, V
--       scan stream S over topic in (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER
CREATE STREAM loose WITH (errors_tolerance = 'all') AS SELECT * FROM s;

-- error: BindError INVALID_PROPERTY 1:15
-- message: 'some' is not a tolerance.
-- hint: It is all, none, or a share of the records: 0.01 or 1%.
CREATE STREAM wrong WITH (errors_tolerance = 'some') AS SELECT * FROM s;

-- plan:
--   set errors.tolerance to 1%
SET 'errors.tolerance' = '1%';

-- error: BindError INVALID_PROPERTY 1:5
-- message: 'errors.tolerance': '200%' is not a tolerance. It is all, none, or a share of the records: 0.01 or 1%.
SET 'errors.tolerance' = '200%';

-- plan:
--   start sink LAKE (delta) from in
--     errors tolerance none: it stops at the first dead letter
CREATE SINK CONNECTOR lake WITH ('connector.class' = 'delta', 'topics' = 'in', 'errors.tolerance' = 'none');

-- error: BindError INVALID_CONNECTOR 1:23
-- message: 'often' is not a tolerance.
-- hint: It is all, none, or a share of the records: 0.01 or 1%.
CREATE SINK CONNECTOR other WITH ('connector.class' = 'delta', 'topics' = 'in', 'errors.tolerance' = 'often');

-- A source bears whatever its records are.

-- error: BindError UNKNOWN_PROPERTY 1:15
-- message: There is no property ERRORS_TOLERANCE.
-- hint: Properties are CLEANUP_POLICY, FORMAT, KAFKA_TOPIC, KEY_DELIMITER, KEY_FORMAT, ORDERED, PARTITIONS, PROFILE, REPLICAS, RETENTION_MS, SOURCED_BY_CONNECTOR, TIMESTAMP, TIMESTAMP_FORMAT, VALUE_DELIMITER, VALUE_FORMAT, WINDOW_SIZE, WINDOW_TYPE, WRAP_SINGLE_VALUE.
CREATE STREAM src (v INT) WITH (KAFKA_TOPIC = 'in', VALUE_FORMAT = 'JSON', ERRORS_TOLERANCE = 'none');

-- Late rows are counted; a statement may have them kept.

-- plan:
--   topic COUNTED: partitions as in, cleanup.policy=compact,delete
--   define table COUNTED over topic COUNTED (key KAFKA, value JSON, window TUMBLING ( SIZE 1000 MILLISECONDS )): K VARCHAR(STRING) PRIMARY KEY, N BIGINT
--   query CTAS_COUNTED_7 (stateful, exactly once) -> topic COUNTED, dead letters dlq.COUNTED
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; not fast: it keeps state
--     aggregate K, COUNT(*) AS N
--       by K
--       window TUMBLING ( SIZE 1000 MILLISECONDS ) GRACE 86399000 MILLISECONDS
--       operator tasks: a batch's rows folded together, lateness judged row by row
--       scan stream S over topic in (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER
CREATE TABLE counted WITH (late_rows = 'count') AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY k;

-- plan:
--   topic KEPT: partitions as in, cleanup.policy=compact,delete
--   define table KEPT over topic KEPT (key KAFKA, value JSON, window TUMBLING ( SIZE 1000 MILLISECONDS )): K VARCHAR(STRING) PRIMARY KEY, N BIGINT
--   query CTAS_KEPT_9 (stateful, exactly once) -> topic KEPT, dead letters dlq.KEPT
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; not fast: it keeps state
--     late rows are kept: they go to dlq.KEPT
--     aggregate K, COUNT(*) AS N
--       by K
--       window TUMBLING ( SIZE 1000 MILLISECONDS ) GRACE 86399000 MILLISECONDS
--       operator tasks: a batch's rows folded together, lateness judged row by row
--       scan stream S over topic in (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER
CREATE TABLE kept WITH (late_rows = 'keep') AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY k;

-- What the session says goes for what has a window.

-- with: orion.late.rows=keep
-- plan:
--   topic PLAIN: partitions as in
--   define stream PLAIN over topic PLAIN (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER
--   query CSAS_PLAIN_11 (stateless, exactly once) -> topic PLAIN, dead letters dlq.PLAIN
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; fast is possible
--     project K, V
--       scan stream S over topic in (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER
CREATE STREAM plain AS SELECT * FROM s;

-- with: orion.late.rows=keep
-- plan:
--   topic FIRSTS: partitions as in
--   define stream FIRSTS over topic FIRSTS (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER
--   query CSAS_FIRSTS_13 (stateful, exactly once) -> topic FIRSTS, dead letters dlq.FIRSTS
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; not fast: it keeps state
--     late rows are kept: they go to dlq.FIRSTS
--     distinct K, V in TUMBLING ( SIZE 1000 MILLISECONDS )
--       project K, V
--         scan stream S over topic in (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER
CREATE STREAM firsts AS SELECT DISTINCT k, v FROM s WINDOW TUMBLING (SIZE 1 SECOND);

-- error: BindError INVALID_PROPERTY 1:14
-- message: LATE_ROWS is for windows: no row comes too late for this query.
CREATE TABLE never WITH (late_rows = 'keep') AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;

-- error: BindError INVALID_PROPERTY 1:14
-- message: LATE_ROWS is count or keep.
CREATE TABLE never WITH (late_rows = 'drop') AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;

-- error: BindError NOT_FAST 1:15
-- message: HASTY can't have guarantee='fast': it bears only so many dead letters, and what is written at once can't be held back.
-- hint: Leave it out, or write guarantee='exact': each row once, a batch at a time.
CREATE STREAM hasty WITH (guarantee = 'fast', errors_tolerance = 'none') AS SELECT * FROM s;
