-- SHOW, DESCRIBE, EXPLAIN, PRINT, SET.

CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 'in', VALUE_FORMAT = 'JSON');

CREATE STREAM copy AS SELECT * FROM s;

CREATE SINK CONNECTOR `lake` WITH ('connector.class' = 'delta', 'topics' = 'COPY', 'path' = '/lake');

-- plan:
--   list streams
SHOW STREAMS;

-- plan:
--   list all topics
LIST ALL TOPICS;

-- plan:
--   list tables, extended
SHOW TABLES EXTENDED;

-- plan:
--   list queries
show queries;

-- plan:
--   list functions
SHOW FUNCTIONS;

-- plan:
--   list properties
SHOW PROPERTIES;

-- plan:
--   list connectors
SHOW SINK CONNECTORS;

-- error: ParseError SYNTAX 1:6
-- message: Expected one of TOPICS, STREAMS, TABLES, QUERIES, FUNCTIONS, PROPERTIES, TYPES, VARIABLES, CONNECTORS, found 'STREAM'.
-- hint: Did you mean STREAMS?
SHOW STREAM;

-- error: ParseError SYNTAX 1:11
-- message: Expected CONNECTORS, found 'STREAMS'.
SHOW SINK STREAMS;

-- plan:
--   list connector plugins
LIST CONNECTOR PLUGINS;

-- plan:
--   list all topics, extended
SHOW ALL TOPICS EXTENDED;

-- plan:
--   list queries, extended
SHOW QUERIES EXTENDED;

-- plan:
--   list types
LIST TYPES;

-- plan:
--   list variables
SHOW VARIABLES;

-- error: ParseError SYNTAX 1:10
-- message: Expected TOPICS, found 'STREAMS'.
SHOW ALL STREAMS;

-- error: ParseError SYNTAX 1:16
-- message: Expected the end of the statement, found 'EXTENDED'.
SHOW FUNCTIONS EXTENDED;

-- plan:
--   describe streams
DESCRIBE STREAMS;

-- plan:
--   describe tables, extended
DESCRIBE TABLES EXTENDED;

-- plan:
--   describe source S
DESCRIBE s;

-- plan:
--   describe source COPY, extended
DESCRIBE copy EXTENDED;

-- plan:
--   describe function UCASE
DESCRIBE FUNCTION ucase;

-- plan:
--   describe connector lake
DESCRIBE CONNECTOR `lake`;

-- error: BindError UNKNOWN_SOURCE 1:10
-- message: There is no stream or table COPPY.
-- hint: Did you mean COPY?
DESCRIBE coppy;

-- error: BindError UNKNOWN_FUNCTION 1:19
-- message: There is no function UCAS.
-- hint: Did you mean UCASE?
DESCRIBE FUNCTION ucas;

-- error: NotFound NOT_FOUND none
-- message: There is no connector LAKE.
-- hint: Did you mean lake?
DESCRIBE CONNECTOR lake;

-- plan:
--   explain
--     topic O: partitions as in
--     define stream O over topic O (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER
--     query CSAS_O_4 (stateless, exactly once) -> topic O, dead letters dlq.O
--       lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; fast is possible
--       project K, V
--         filter (V > 1)
--           scan stream S over topic in (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER
EXPLAIN CREATE STREAM o AS SELECT * FROM s WHERE v > 1;

-- plan:
--   explain
--     push query from the end of the log
--       project V
--         scan stream S over topic in (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER
EXPLAIN SELECT v FROM s EMIT CHANGES;

-- plan:
--   explain the query CSAS_COPY_1
EXPLAIN CSAS_COPY_1;

-- error: NotFound NOT_FOUND none
-- message: There is no query CSAS_COPY_2.
-- hint: Did you mean CSAS_COPY_1?
EXPLAIN CSAS_COPY_2;

-- The place of an error is that in the whole statement.
-- error: BindError UNKNOWN_COLUMN 1:16
-- message: There is no column VV in S.
-- hint: Did you mean V?
EXPLAIN SELECT vv FROM s EMIT CHANGES;

-- plan:
--   print the records of MixedCase from the end
PRINT MixedCase;

-- plan:
--   print the records of my-topic from the beginning, one of 10, 3 of them
PRINT 'my-topic' FROM BEGINNING INTERVAL 10 LIMIT 3;

-- error: ParseError SYNTAX 1:15
-- message: Expected a whole number, found 'x'.
PRINT t LIMIT x;

-- plan:
--   set auto.offset.reset to earliest
SET 'auto.offset.reset' = 'earliest';

-- plan:
--   set auto.offset.reset to latest
SET 'ksql.streams.auto.offset.reset' = 'latest';

-- plan:
--   unset auto.offset.reset
UNSET 'auto.offset.reset';

-- plan:
--   set orion.trigger.ms to 50
SET 'orion.trigger.ms' = '50';

-- error: BindError UNKNOWN_PROPERTY 1:5
-- message: There is no property 'auto.offset.rest'.
-- hint: Did you mean auto.offset.reset?
SET 'auto.offset.rest' = 'earliest';

-- error: BindError INVALID_PROPERTY 1:5
-- message: 'auto.offset.reset' is earliest or latest.
SET 'auto.offset.reset' = 'none';

-- plan:
--   set cache.max.bytes.buffering to 0
SET 'ksql.streams.statestore.cache.max.bytes' = '0';

-- plan:
--   set orion.tasks to 4
SET 'orion.tasks' = '4';

-- error: BindError INVALID_PROPERTY 1:5
-- message: 'orion.tasks' is a whole number from 1.
SET 'orion.tasks' = '0';

-- What ksqlDB and Kafka Streams know is kept, though it has no effect here.
-- plan:
--   set ksql.query.pull.table.scan.enabled to true
SET 'ksql.query.pull.table.scan.enabled' = 'true';

-- plan:
--   set processing.guarantee to exactly_once_v2
SET 'ksql.streams.processing.guarantee' = 'exactly_once_v2';

-- error: BindError UNKNOWN_PROPERTY 1:5
-- message: There is no property 'processing.guarante'.
-- hint: Did you mean processing.guarantee?
SET 'processing.guarante' = 'at_least_once';

-- error: BindError INVALID_PROPERTY 1:5
-- message: 'orion.trigger.ms' is a whole number.
SET 'orion.trigger.ms' = 'soon';

-- plan:
--   show the statement of stream S
SHOW CREATE STREAM s;

-- plan:
--   show the statement of connector lake
SHOW CREATE CONNECTOR `lake`;

-- error: BindError WRONG_KIND 1:19
-- message: COPY is a STREAM, not a TABLE.
-- hint: Use SHOW CREATE STREAM COPY.
SHOW CREATE TABLE copy;

-- error: BindError UNKNOWN_SOURCE 1:20
-- message: There is no stream or table COPPY.
-- hint: Did you mean COPY?
SHOW CREATE STREAM coppy;

-- error: NotFound NOT_FOUND none
-- message: There is no connector LAKE.
-- hint: Did you mean lake?
SHOW CREATE CONNECTOR lake;

-- error: ParseError SYNTAX 1:13
-- message: Expected STREAM, TABLE or CONNECTOR, found 'STREAMS'.
-- hint: Did you mean STREAM?
SHOW CREATE STREAMS;
