-- CREATE OR REPLACE.

CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');

-- Where nothing is to be replaced it is CREATE.
-- plan:
--   topic t: must exist
--   define table T over topic t (key KAFKA, value JSON): K VARCHAR(STRING) PRIMARY KEY, V INTEGER
CREATE OR REPLACE TABLE t (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- plan:
--   topic s: must exist
--   replace by stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, W VARCHAR(STRING)
CREATE OR REPLACE STREAM s (k STRING KEY, v INT, w STRING) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');

-- error: BindError CANNOT_REPLACE 1:26
-- message: Cannot replace stream S: these columns would be changed, missing or moved: V, W.
-- hint: Columns can be added at the end, and a query's WHERE and expressions changed. For more, DROP it first.
CREATE OR REPLACE STREAM s (k STRING KEY, w STRING, v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');

-- error: BindError CANNOT_REPLACE 1:26
-- message: Cannot replace stream S: these columns would be changed, missing or moved: W.
-- hint: Columns can be added at the end, and a query's WHERE and expressions changed. For more, DROP it first.
CREATE OR REPLACE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');

-- error: BindError CANNOT_REPLACE 1:26
-- message: Cannot replace stream S: its key columns must stay as they are.
-- hint: Columns can be added at the end, and a query's WHERE and expressions changed. For more, DROP it first.
CREATE OR REPLACE STREAM s (k BIGINT KEY, v INT, w STRING) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');

-- error: BindError CANNOT_REPLACE 1:26
-- message: Cannot replace stream S: its topic would change from s to ss.
-- hint: Columns can be added at the end, and a query's WHERE and expressions changed. For more, DROP it first.
CREATE OR REPLACE STREAM s (k STRING KEY, v INT, w STRING) WITH (KAFKA_TOPIC = 'ss', VALUE_FORMAT = 'JSON');

-- error: BindError CANNOT_REPLACE 1:26
-- message: Cannot replace stream S: its key format would change.
-- hint: Columns can be added at the end, and a query's WHERE and expressions changed. For more, DROP it first.
CREATE OR REPLACE STREAM s (k STRING KEY, v INT, w STRING)
WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', KEY_FORMAT = 'JSON');

-- error: BindError CANNOT_REPLACE 1:25
-- message: Cannot replace stream S: its kind would change from STREAM to TABLE.
-- hint: Columns can be added at the end, and a query's WHERE and expressions changed. For more, DROP it first.
CREATE OR REPLACE TABLE s (k STRING PRIMARY KEY, v INT, w STRING) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');

-- error: BindError CANNOT_REPLACE 1:26
-- message: Cannot replace stream S: it was declared, and a query can't take its place.
-- hint: Columns can be added at the end, and a query's WHERE and expressions changed. For more, DROP it first.
CREATE OR REPLACE STREAM s WITH (KAFKA_TOPIC = 's') AS SELECT * FROM s;

CREATE OR REPLACE STREAM o AS SELECT k, v FROM s;

-- A query without state goes on from where the old one is.
-- plan:
--   replace by stream O over topic O (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, W VARCHAR(STRING)
--   stop CSAS_O_3 and go on from where it is
--   query CSAS_O_3 (stateless, exactly once) -> topic O, dead letters dlq.O
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; fast is possible
--     project K, (V + 0) AS V, W
--       filter (V > 1)
--         scan stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, W VARCHAR(STRING)
CREATE OR REPLACE STREAM o AS SELECT k, v + 0 AS v, w FROM s WHERE v > 1;

-- error: BindError CANNOT_REPLACE 1:26
-- message: Cannot replace stream O: these columns would be changed, missing or moved: V, W.
-- hint: Columns can be added at the end, and a query's WHERE and expressions changed. For more, DROP it first.
CREATE OR REPLACE STREAM o AS SELECT k, w FROM s;

-- error: BindError CANNOT_REPLACE 1:26
-- message: Cannot replace stream O: its query reads s, and would read O.
-- hint: Columns can be added at the end, and a query's WHERE and expressions changed. For more, DROP it first.
CREATE OR REPLACE STREAM o AS SELECT * FROM o;

-- error: BindError CANNOT_REPLACE 1:26
-- message: Cannot replace stream O: a query writes it, and a declaration can't take its place.
-- hint: Columns can be added at the end, and a query's WHERE and expressions changed. For more, DROP it first.
CREATE OR REPLACE STREAM o (k STRING KEY, v INT, w STRING) WITH (KAFKA_TOPIC = 'O', VALUE_FORMAT = 'JSON');

CREATE TABLE counts AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;

-- The same query, however it is written, goes on too.
-- plan:
--   replace by table COUNTS over topic COUNTS (key KAFKA, value JSON): K VARCHAR(STRING) PRIMARY KEY, N BIGINT
--   stop CTAS_COUNTS_7 and go on from where it is
--   query CTAS_COUNTS_7 (stateful, exactly once) -> topic COUNTS, dead letters dlq.COUNTS
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; not fast: it keeps state
--     aggregate K, COUNT(*) AS N
--       by K
--       operator tasks: a batch's rows folded together
--       scan stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, W VARCHAR(STRING)
CREATE OR REPLACE TABLE counts AS SELECT k, COUNT(*) AS n  /* as before */ FROM s GROUP BY k;

-- So it does with another number of tasks: its state is re-spread.
-- with: orion.tasks=3
-- plan:
--   replace by table COUNTS over topic COUNTS (key KAFKA, value JSON): K VARCHAR(STRING) PRIMARY KEY, N BIGINT
--   stop CTAS_COUNTS_7 and go on from where it is, over 3 tasks
--   query CTAS_COUNTS_7 (stateful, exactly once) -> topic COUNTS, dead letters dlq.COUNTS
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; not fast: it keeps state
--     aggregate K, COUNT(*) AS N
--       by K
--       operator tasks: a batch's rows folded together
--       scan stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, W VARCHAR(STRING)
CREATE OR REPLACE TABLE counts AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;

-- One that keeps state starts anew, under another id.
-- plan:
--   replace by table COUNTS over topic COUNTS (key KAFKA, value JSON): K VARCHAR(STRING) PRIMARY KEY, N BIGINT, MOST INTEGER
--   stop CTAS_COUNTS_7, delete its checkpoint and start from the beginning
--   query CTAS_COUNTS_13 (stateful, exactly once) -> topic COUNTS, dead letters dlq.COUNTS
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; not fast: it keeps state
--     aggregate K, COUNT(*) AS N, MAX(V) AS MOST
--       by K
--       operator tasks: a batch's rows folded together
--       scan stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, W VARCHAR(STRING)
CREATE OR REPLACE TABLE counts AS SELECT k, COUNT(*) AS n, MAX(v) AS most FROM s GROUP BY k;

-- error: BindError CANNOT_REPLACE 1:25
-- message: Cannot replace table COUNTS: its query reads s, and would read O.
-- hint: Columns can be added at the end, and a query's WHERE and expressions changed. For more, DROP it first.
CREATE OR REPLACE TABLE counts AS SELECT k, COUNT(*) AS n, MAX(v) AS most FROM o GROUP BY k;

TERMINATE CSAS_O_3;

-- The topic of a query that was terminated goes on with a new one.
-- plan:
--   replace by stream O over topic O (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, W VARCHAR(STRING)
--   query CSAS_O_16 (stateless, exactly once) -> topic O, dead letters dlq.O
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; fast is possible
--     project K, V, W
--       scan stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, W VARCHAR(STRING)
CREATE OR REPLACE STREAM o AS SELECT k, v, w FROM s;
