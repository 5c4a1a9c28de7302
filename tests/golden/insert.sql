-- INSERT INTO ... VALUES and INSERT INTO ... SELECT.

CREATE STREAM s (v INT, k STRING KEY, d DOUBLE, n DECIMAL(5, 2), x BYTES, day DATE, at TIMESTAMP, a ARRAY<BIGINT>,
  p STRUCT<name STRING, age BIGINT>)
WITH (KAFKA_TOPIC = 'values', VALUE_FORMAT = 'JSON');

CREATE TABLE t (id BIGINT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC = 'table', VALUE_FORMAT = 'JSON');

CREATE STREAM pairs (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 'pairs', VALUE_FORMAT = 'JSON');

CREATE TABLE w (id INT PRIMARY KEY, n BIGINT)
WITH (KAFKA_TOPIC = 'w', VALUE_FORMAT = 'JSON', WINDOW_TYPE = 'SESSION');

-- Without a list of columns the key comes first.
-- plan:
--   write one record to pairs: K='a', V=1
INSERT INTO pairs VALUES ('a', 1);

-- plan:
--   write one record to values: V=(1 + 2), K='a', ROWTIME=1700000000000
INSERT INTO s (v, k, ROWTIME) VALUES (1 + 2, 'a', 1700000000000);

-- A value takes the column's type where nothing is lost, and texts are read as points in time and bytes.
-- plan:
--   write one record to values: D=1, N=1.5, X='AQI=', DAY='2024-01-31', AT='2024-01-31T12:00:00', A=ARRAY[1, 2], P=STRUCT(AGE:=7)
INSERT INTO s (d, n, x, day, at, a, p)
VALUES (1, 1.5, 'AQI=', '2024-01-31', '2024-01-31T12:00:00', ARRAY[1, 2], STRUCT(age := 7));

-- plan:
--   write one record to table: ID=1, NAME=null
INSERT INTO t (id, name) VALUES (1, NULL);

-- A stream's key may be left out.
-- plan:
--   write one record to pairs: V=1
INSERT INTO pairs (v) VALUES (1);

-- error: BindError COLUMN_COUNT 1:13
-- message: 2 columns are named and 3 values given.
INSERT INTO pairs VALUES ('a', 1, 2);

-- error: BindError UNKNOWN_COLUMN 1:13
-- message: PAIRS has no column VV.
-- hint: Did you mean V?
INSERT INTO pairs (k, vv) VALUES ('a', 1);

-- error: BindError DUPLICATE_COLUMN 1:13
-- message: The column K is named twice.
INSERT INTO pairs (k, k) VALUES ('a', 'b');

-- error: BindError TYPE_MISMATCH 1:32
-- message: VARCHAR(STRING) can't go into V, which is INTEGER.
-- caret:
--   1 | INSERT INTO pairs VALUES ('a', '1');
--                                      ^^^
INSERT INTO pairs VALUES ('a', '1');

-- error: BindError TYPE_MISMATCH 1:32
-- message: BIGINT can't go into V, which is INTEGER.
INSERT INTO pairs VALUES ('a', 3000000000);

-- error: BindError UNKNOWN_COLUMN 1:32
-- message: There is no column V.
INSERT INTO pairs VALUES ('a', v);

-- error: BindError KEY_MISSING 1:13
-- message: A row of a TABLE needs its key ID.
INSERT INTO t (name) VALUES ('a');

-- error: BindError KEY_MISSING 1:13
-- message: A row of a TABLE needs its key ID.
INSERT INTO t VALUES (NULL, 'a');

-- error: BindError WINDOWED 1:13
-- message: W is windowed: rows can't be inserted.
INSERT INTO w VALUES (1, 1);

-- error: BindError UNKNOWN_SOURCE 1:13
-- message: There is no stream or table PAIR.
-- hint: Did you mean PAIRS?
INSERT INTO pair VALUES ('a', 1);

-- plan:
--   query INSERTQUERY_4 (stateless, exactly once) -> topic pairs, dead letters dlq.PAIRS
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; not fast: the readers of PAIRS look for no headers
--     project CAST((V * 2) AS INTEGER) AS V, K
--       scan stream S over topic values (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, D DOUBLE, N DECIMAL(5, 2), X BYTES, DAY DATE, AT TIMESTAMP, A ARRAY<BIGINT>, P STRUCT<NAME VARCHAR(STRING), AGE BIGINT>
INSERT INTO pairs SELECT CAST(v * 2 AS INT) AS v, k FROM s EMIT CHANGES;

-- error: BindError INCOMPATIBLE_COLUMNS 1:19
-- message: The SELECT's columns are not those of PAIRS.
-- hint: It has K VARCHAR(STRING) KEY, V INTEGER; the SELECT makes K VARCHAR(STRING) KEY, V DOUBLE.
INSERT INTO pairs SELECT k, d AS v FROM s;

-- error: BindError INCOMPATIBLE_COLUMNS 1:19
-- message: The SELECT's columns are not those of PAIRS.
-- hint: It has K VARCHAR(STRING) KEY, V INTEGER; the SELECT makes K VARCHAR(STRING) KEY, KK VARCHAR(STRING), V INTEGER.
INSERT INTO pairs SELECT k, AS_VALUE(k) AS kk, v FROM s;

-- error: BindError INSERT_INTO_TABLE 1:13
-- message: INSERT INTO ... SELECT writes streams only.
INSERT INTO t SELECT id, name FROM t;

-- error: BindError WRONG_KIND 1:13
-- message: The SELECT makes a TABLE, not a STREAM.
INSERT INTO pairs SELECT k, CAST(COUNT(*) AS INT) AS v FROM s GROUP BY k;

-- error: BindError LIMIT_NOT_HERE 1:19
-- message: A query that runs for good has no LIMIT.
INSERT INTO pairs SELECT k, v FROM s LIMIT 3;

-- error: ParseError SYNTAX 1:19
-- message: Expected VALUES, found 'VALUE'.
-- hint: Did you mean VALUES?
INSERT INTO pairs VALUE ('a', 1);
