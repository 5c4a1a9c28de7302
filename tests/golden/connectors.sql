-- CREATE SINK CONNECTOR, CREATE SOURCE CONNECTOR, PAUSE, RESUME and DROP CONNECTOR.

CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 'in', VALUE_FORMAT = 'JSON');

CREATE STREAM copy AS SELECT * FROM s;

-- plan:
--   start sink LAKE (delta) from in, COPY
CREATE SINK CONNECTOR lake WITH ('connector.class' = 'Delta', 'topics' = 'in, COPY', 'path' = '/lake');

-- plan:
--   nothing: Connector LAKE already exists.
CREATE SINK CONNECTOR IF NOT EXISTS lake WITH ('connector.class' = 'delta', 'topics' = 'in');

-- error: SqlErrorConflict CONNECTOR_EXISTS 1:23
-- message: Connector LAKE already exists.
-- hint: DROP it first.
CREATE SINK CONNECTOR lake WITH ('connector.class' = 'delta', 'topics' = 'in');

-- error: BindError INVALID_CONNECTOR 1:23
-- message: 'connector.class' is missing.
-- hint: For example 'connector.class'='delta'.
CREATE SINK CONNECTOR c WITH ('topics' = 'in');

-- error: BindError INVALID_CONNECTOR 1:23
-- message: 'topics' is missing.
-- hint: Name the topics to read, e.g. 'topics'='CLEAN_PLAYS'.
CREATE SINK CONNECTOR c WITH ('connector.class' = 'delta', 'topics' = ' , ');

-- error: BindError INVALID_CONNECTOR 1:23
-- message: No stream or table is declared over the topic copy.
-- hint: CREATE STREAM ... WITH (KAFKA_TOPIC='copy', ...) first: its columns become the sink's.
CREATE SINK CONNECTOR c WITH ('connector.class' = 'delta', 'topics' = 'copy');

-- error: ParseError SYNTAX 1:24
-- message: Expected WITH, found ';'.
CREATE SINK CONNECTOR c;

-- plan:
--   start sink WIDE (jdbc) from COPY, in
CREATE SINK CONNECTOR wide WITH (
  'connector.class' = 'io.confluent.connect.jdbc.JdbcSinkConnector', 'topics.regex' = '(in|COPY)', 'connection.url' = 'jdbc:sqlite:x'
);

-- error: BindError INVALID_CONNECTOR 1:23
-- message: No stream or table is over a topic that matches 'out.*'.
-- hint: SHOW STREAMS; lists them.
CREATE SINK CONNECTOR c WITH ('connector.class' = 'jdbc', 'topics.regex' = 'out.*');

-- plan:
--   start source ROWS (datagen) to in
CREATE SOURCE CONNECTOR rows WITH ('connector.class' = 'datagen', 'kafka.topic' = 'in');

-- plan:
--   start source CHANGES (cdc)
CREATE SOURCE CONNECTOR changes WITH ('connector.class' = 'io.debezium.connector.postgresql.PostgresConnector');

-- error: BindError INVALID_CONNECTOR 1:25
-- message: The query CSAS_COPY_1 writes COPY.
-- hint: Give the connector a topic of its own.
CREATE SOURCE CONNECTOR c WITH ('connector.class' = 'datagen', 'topic' = 'COPY');

-- plan:
--   make connector LAKE paused
PAUSE CONNECTOR lake;

-- plan:
--   make connector LAKE running
RESUME CONNECTOR 'LAKE';

-- error: NotFound NOT_FOUND none
-- message: There is no connector LAKES.
-- hint: Did you mean LAKE?
PAUSE CONNECTOR lakes;

-- plan:
--   stop connector LAKE and forget how far it was
DROP CONNECTOR lake;

-- plan:
--   nothing: Connector LAKE does not exist.
DROP CONNECTOR IF EXISTS 'LAKE';

-- error: NotFound NOT_FOUND none
-- message: There is no connector LAKE.
DROP CONNECTOR lake;
