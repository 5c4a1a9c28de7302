-- What ksqlDB runs and Orion doesn't yet: told apart from what is wrong.

CREATE STREAM s (k STRING KEY, v INT, m MAP<STRING, INT>) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');

CREATE TABLE t (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- error: UnsupportedError JOIN 1:36
-- message: Joins are not run yet.
-- caret:
--   1 | CREATE STREAM o AS SELECT * FROM s JOIN t ON s.k = t.k;
--                                          ^^^^
CREATE STREAM o AS SELECT * FROM s JOIN t ON s.k = t.k;

-- error: UnsupportedError JOIN 1:22
-- message: Joins are not run yet.
SELECT * FROM s AS a LEFT OUTER JOIN t b ON a.k = b.k EMIT CHANGES;

-- error: UnsupportedError JOIN 1:17
-- message: Joins are not run yet.
SELECT * FROM s INNER JOIN s WITHIN 1 HOUR ON s.k = s.k EMIT CHANGES;

-- error: UnsupportedError EMIT_FINAL 1:1
-- message: EMIT FINAL is not run yet.
SELECT k, COUNT(*) FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY k EMIT FINAL;

-- error: UnsupportedError PULL_QUERY 1:1
-- message: Pull queries are not run yet.
-- hint: Add EMIT CHANGES to follow the rows as they come.
SELECT * FROM t WHERE k = 'a';

-- error: UnsupportedError AGGREGATE_OF_TABLE 1:1
-- message: Aggregates over a TABLE are not run yet.
SELECT v, COUNT(*) FROM t GROUP BY v EMIT CHANGES;

-- error: UnsupportedError LAMBDA 1:17
-- message: Lambdas are not run yet.
SELECT COALESCE(x => x + 1, 2) FROM s EMIT CHANGES;

-- error: UnsupportedError MAP_COMPARISON 1:23
-- message: Comparing a MAP is not run yet.
SELECT k FROM s WHERE m = m EMIT CHANGES;

-- error: UnsupportedError UNDEFINED_VARIABLE 1:23
-- message: ${limit} is not defined.
SELECT k FROM s WHERE ${limit} > v EMIT CHANGES;

-- error: UnsupportedError FORMAT_NOT_YET 1:15
-- message: The format AVRO is not supported yet.
CREATE STREAM a (v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'AVRO');

-- error: UnsupportedError FORMAT_NOT_YET 1:15
-- message: The format PROTOBUF is not supported yet.
CREATE STREAM a WITH (KAFKA_TOPIC = 's', FORMAT = 'protobuf');

-- error: UnsupportedError FORMAT_NOT_YET 1:15
-- message: The format DELIMITED is not supported yet.
CREATE STREAM a WITH (KEY_FORMAT = 'DELIMITED') AS SELECT * FROM s;

-- error: UnsupportedError FORMAT_NOT_YET 1:15
-- message: The format JSON_SR is not supported yet.
CREATE STREAM a (v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON_SR');

-- error: UnsupportedError PROPERTY_NOT_YET 1:15
-- message: The property VALUE_SCHEMA_ID is not supported yet.
CREATE STREAM a (v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', VALUE_SCHEMA_ID = 3);

-- error: UnsupportedError HEADER_COLUMNS 1:25
-- message: Columns over headers are not run yet.
CREATE STREAM a (v INT, h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS)
WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');

-- error: UnsupportedError SOURCE_TABLE 1:1
-- message: CREATE SOURCE ... is not run yet.
CREATE SOURCE TABLE a (k INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');

-- error: UnsupportedError OR_REPLACE 1:26
-- message: CREATE OR REPLACE is not run yet.
CREATE OR REPLACE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');

-- error: UnsupportedError OR_REPLACE 1:25
-- message: CREATE OR REPLACE is not run yet.
CREATE OR REPLACE TABLE t AS SELECT * FROM t;

-- error: UnsupportedError SOURCE_CONNECTOR 1:1
-- message: Source connectors are not run yet.
CREATE SOURCE CONNECTOR c WITH ('connector.class' = 'datagen');

-- error: UnsupportedError SHOW_NOT_YET 1:6
-- message: SHOW TYPES is not run yet.
SHOW TYPES;

-- error: UnsupportedError SHOW_NOT_YET 1:6
-- message: SHOW VARIABLES is not run yet.
SHOW VARIABLES;

-- error: UnsupportedError STATEMENT_NOT_YET 1:1
-- message: ALTER is not run yet.
-- caret:
--   1 | ALTER STREAM s ADD COLUMN c INT;
--       ^^^^^
ALTER STREAM s ADD COLUMN c INT;

-- error: UnsupportedError STATEMENT_NOT_YET 1:1
-- message: ASSERT is not run yet.
ASSERT TOPIC s;

-- error: UnsupportedError STATEMENT_NOT_YET 1:1
-- message: DEFINE is not run yet.
DEFINE a = 'b';

-- error: UnsupportedError STATEMENT_NOT_YET 1:1
-- message: UNDEFINE is not run yet.
UNDEFINE a;

-- error: UnsupportedError STATEMENT_NOT_YET 1:1
-- message: RUN SCRIPT is not run yet.
RUN SCRIPT 'a.sql';

-- error: UnsupportedError STATEMENT_NOT_YET 1:1
-- message: CREATE TYPE is not run yet.
-- caret:
--   1 | CREATE TYPE address AS STRUCT<city STRING>;
--       ^^^^^^^^^^^
CREATE TYPE address AS STRUCT<city STRING>;

-- error: UnsupportedError STATEMENT_NOT_YET 1:1
-- message: DROP TYPE is not run yet.
DROP TYPE address;

-- error: UnsupportedError STATEMENT_NOT_YET 1:1
-- message: CREATE FUNCTION is not run yet.
CREATE FUNCTION f (a INT) RETURNS INT AS $$ return a; $$;

-- error: UnsupportedError STATEMENT_NOT_YET 1:1
-- message: SPOOL is not run yet.
SPOOL OFF;
