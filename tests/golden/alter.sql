-- ALTER STREAM and ALTER TABLE.

CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');

CREATE TABLE t (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

CREATE STREAM made AS SELECT * FROM s;

-- plan:
--   alter to stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, W ARRAY<INTEGER>, X VARCHAR(STRING)
ALTER STREAM s ADD COLUMN w ARRAY<INT>, ADD x STRING;

-- ADD and COLUMN are needed once.
-- plan:
--   alter to table T over topic t (key KAFKA, value JSON): K VARCHAR(STRING) PRIMARY KEY, V INTEGER, A BIGINT, B DOUBLE
ALTER TABLE t ADD COLUMN a BIGINT, b DOUBLE;

-- A column may be called COLUMN.
-- plan:
--   alter to table T over topic t (key KAFKA, value JSON): K VARCHAR(STRING) PRIMARY KEY, V INTEGER, A BIGINT, B DOUBLE, COLUMN INTEGER
ALTER TABLE t ADD column INT;

-- error: BindError DUPLICATE_COLUMN 1:20
-- message: Cannot add column V to S: a column with the same name already exists.
ALTER STREAM s ADD v STRING;

-- error: BindError DUPLICATE_COLUMN 1:31
-- message: Cannot add column Y to S: a column with the same name already exists.
ALTER STREAM s ADD y INT, ADD y INT;

-- error: BindError RESERVED_COLUMN 1:20
-- message: ROWTIME is a system column's name.
ALTER STREAM s ADD ROWTIME BIGINT;

-- error: BindError WRONG_KIND 1:14
-- message: T is a TABLE, not a STREAM.
-- hint: Use ALTER TABLE T.
ALTER STREAM t ADD z INT;

-- error: BindError UNKNOWN_SOURCE 1:13
-- message: There is no stream or table TT.
-- hint: Did you mean T?
ALTER TABLE tt ADD z INT;

-- error: BindError ALTER_QUERY 1:14
-- message: Cannot alter stream MADE: its columns are those of the query that writes it.
-- hint: CREATE OR REPLACE STREAM MADE AS SELECT ... changes the query.
ALTER STREAM made ADD z INT;

-- error: BindError ALTER_KEY 1:20
-- message: Key columns can't be added: the key of a source stays as it is.
ALTER STREAM s ADD z INT KEY;

-- error: ParseError SYNTAX 1:16
-- message: Expected ADD, found 'DROP'.
ALTER STREAM s DROP COLUMN v;

-- error: ParseError SYNTAX 1:21
-- message: Expected a type, found ';'.
ALTER STREAM s ADD z;

-- error: ParseError SYNTAX 1:7
-- message: Expected STREAM or SYSTEM or TABLE, found 'SOURCE'.
ALTER SOURCE s ADD z INT;
