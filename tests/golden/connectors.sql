-- CREATE SINK CONNECTOR and DROP CONNECTOR.

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
--   stop connector LAKE and forget how far it was
DROP CONNECTOR lake;

-- plan:
--   nothing: Connector LAKE does not exist.
DROP CONNECTOR IF EXISTS 'LAKE';

-- error: NotFound NOT_FOUND none
-- message: There is no connector LAKE.
DROP CONNECTOR lake;
