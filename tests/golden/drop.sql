-- DROP STREAM and DROP TABLE.

CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 'in', VALUE_FORMAT = 'JSON');

CREATE STREAM loose (v INT) WITH (KAFKA_TOPIC = 'loose', VALUE_FORMAT = 'JSON');

CREATE TABLE counts AS SELECT v, COUNT(*) AS n FROM s GROUP BY v;

CREATE STREAM copy AS SELECT * FROM s;

CREATE STREAM second AS SELECT * FROM copy;

INSERT INTO copy SELECT * FROM s;

CREATE SINK CONNECTOR lake WITH ('connector.class' = 'delta', 'topics' = 'SECOND', 'path' = '/lake');

-- plan:
--   explain
--     drop stream LOOSE
EXPLAIN DROP STREAM loose;

-- error: SqlErrorConflict IN_USE 1:13
-- message: Cannot drop S: CSAS_COPY_4, CTAS_COUNTS_2, INSERTQUERY_8 still use it.
-- hint: TERMINATE those queries or DROP those connectors first.
DROP STREAM s;

-- Its own query doesn't keep a source; one that inserts into it or reads it does.
-- error: SqlErrorConflict IN_USE 1:13
-- message: Cannot drop COPY: CSAS_SECOND_6, INSERTQUERY_8 still use it.
-- hint: TERMINATE those queries or DROP those connectors first.
DROP STREAM copy DELETE TOPIC;

-- error: SqlErrorConflict IN_USE 1:13
-- message: Cannot drop SECOND: LAKE still use it.
-- hint: TERMINATE those queries or DROP those connectors first.
DROP STREAM second;

-- error: BindError WRONG_KIND 1:13
-- message: COUNTS is a TABLE, not a STREAM.
-- hint: Use DROP TABLE COUNTS.
DROP STREAM counts;

-- plan:
--   terminate CTAS_COUNTS_2 and delete its checkpoint
--   drop table COUNTS and delete the topic COUNTS
DROP TABLE counts DELETE TOPIC;

-- error: BindError UNKNOWN_SOURCE 1:12
-- message: There is no stream or table COUNTS.
-- hint: SHOW STREAMS; and SHOW TABLES; list them.
DROP TABLE counts;

-- plan:
--   nothing: Table COUNTS does not exist.
DROP TABLE IF EXISTS counts;

-- A source whose query was terminated goes alone.
TERMINATE CSAS_SECOND_6;

DROP CONNECTOR lake;

-- plan:
--   drop stream SECOND
DROP STREAM IF EXISTS second;

-- error: ParseError SYNTAX 1:6
-- message: Expected CONNECTOR or FUNCTION or STREAM or TABLE or TYPE, found 'STREAMS'.
-- hint: Did you mean STREAM?
DROP STREAMS s;

CREATE SOURCE STREAM outside (v INT) WITH (KAFKA_TOPIC = 'outside', VALUE_FORMAT = 'JSON');

-- error: BindError READ_ONLY 1:13
-- message: Cannot delete the topic of OUTSIDE: a source stream is read only.
-- hint: DROP STREAM OUTSIDE leaves the topic as it is.
DROP STREAM outside DELETE TOPIC;

-- plan:
--   drop stream OUTSIDE
DROP STREAM outside;
