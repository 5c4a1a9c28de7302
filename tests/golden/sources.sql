-- CREATE STREAM and CREATE TABLE over topics.

-- Every scalar type, under each of its names.
-- plan:
--   topic t: must exist
--   define stream SCALARS over topic t (key KAFKA, value JSON): B BOOLEAN, I INTEGER, I2 INTEGER, L BIGINT, D DOUBLE, S VARCHAR(STRING), S2 VARCHAR(STRING), S3 VARCHAR(STRING), X BYTES, DAY DATE, CLOCK TIME, MOMENT TIMESTAMP, N DECIMAL(10, 2), N2 DECIMAL(5, 0)
CREATE STREAM scalars (
  b BOOLEAN, i INT, i2 INTEGER, l BIGINT, d DOUBLE, s STRING, s2 VARCHAR, s3 VARCHAR(255), x BYTES,
  day DATE, clock TIME, moment TIMESTAMP, n DECIMAL(10, 2), n2 DEC(5)
) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- plan:
--   topic t: must exist
--   define stream NESTED over topic t (key KAFKA, value JSON): A ARRAY<INTEGER>, AA ARRAY<ARRAY<DOUBLE>>, M MAP<VARCHAR(STRING), BIGINT>, P STRUCT<X DOUBLE, y DOUBLE>, DEEP ARRAY<STRUCT<NAME VARCHAR(STRING), TAGS MAP<VARCHAR(STRING), ARRAY<INTEGER>>>>, NONE STRUCT<>
CREATE STREAM nested (
  a ARRAY<INT>, aa ARRAY<ARRAY<DOUBLE>>, m MAP<STRING, BIGINT>, p STRUCT<x DOUBLE, `y` DOUBLE>,
  deep ARRAY<STRUCT<name STRING, tags MAP<STRING, ARRAY<INT>>>>, none STRUCT<>
) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- A key column comes first, wherever it is declared.
-- plan:
--   topic clicks: 4 partitions, 3 replicas, retention.ms=60000
--   define stream CLICKS over topic clicks (key KAFKA, value JSON): USER_ID BIGINT KEY, URL VARCHAR(STRING), TS BIGINT
CREATE STREAM clicks (url STRING, user_id BIGINT KEY, ts BIGINT)
WITH (KAFKA_TOPIC = 'clicks', VALUE_FORMAT = 'JSON', PARTITIONS = 4, REPLICAS = 3, RETENTION_MS = 60000);

-- plan:
--   topic users: must exist
--   define table USERS over topic users (key KAFKA, value JSON): ID BIGINT PRIMARY KEY, NAME VARCHAR(STRING)
CREATE TABLE users (id BIGINT PRIMARY KEY, name STRING) WITH (kafka_topic = 'users', value_format = 'json');

-- Several key columns need a format that can hold them.
-- plan:
--   topic places: must exist
--   define table PLACES over topic places (key JSON, value JSON): COUNTRY VARCHAR(STRING) PRIMARY KEY, CITY VARCHAR(STRING) PRIMARY KEY, SIZE INTEGER
CREATE TABLE places (country STRING PRIMARY KEY, city STRING PRIMARY KEY, size INT)
WITH (KAFKA_TOPIC = 'places', FORMAT = 'JSON');

-- plan:
--   topic words: must exist
--   define stream WORDS over topic words (key NONE, value KAFKA): WORD VARCHAR(STRING)
CREATE STREAM words (word STRING) WITH (KAFKA_TOPIC = 'words', KEY_FORMAT = 'NONE', VALUE_FORMAT = 'KAFKA');

-- plan:
--   topic n: must exist
--   define stream NUMBERS over topic n (key KAFKA, value JSON unwrapped): N DOUBLE
CREATE STREAM numbers (n DOUBLE) WITH (KAFKA_TOPIC = 'n', VALUE_FORMAT = 'JSON', WRAP_SINGLE_VALUE = FALSE);

-- ROWTIME is a column's, as milliseconds, a point in time or a text.
-- plan:
--   topic t: must exist
--   define stream BY_MILLIS over topic t (key KAFKA, value JSON, ROWTIME from TS): ID INTEGER, TS BIGINT
CREATE STREAM by_millis (id INT, ts BIGINT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', TIMESTAMP = 'ts');

-- plan:
--   topic t: must exist
--   define stream BY_MOMENT over topic t (key KAFKA, value JSON, ROWTIME from AT): ID INTEGER, AT TIMESTAMP
CREATE STREAM by_moment (id INT, at TIMESTAMP) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', TIMESTAMP = 'AT');

-- plan:
--   topic t: must exist
--   define stream BY_TEXT over topic t (key KAFKA, value JSON, ROWTIME from day as 'yyyy-MM-dd'): ID INTEGER, day VARCHAR(STRING)
CREATE STREAM by_text (id INT, `day` STRING)
WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', TIMESTAMP = 'day', TIMESTAMP_FORMAT = 'yyyy-MM-dd');

-- A source over the topic of a windowed table says which window stands in its keys.
-- plan:
--   topic w: must exist
--   define table WINDOWED over topic w (key KAFKA, value JSON, window TUMBLING ( SIZE 60000 MILLISECONDS )): ID INTEGER PRIMARY KEY, N BIGINT
CREATE TABLE windowed (id INT PRIMARY KEY, n BIGINT)
WITH (KAFKA_TOPIC = 'w', VALUE_FORMAT = 'JSON', WINDOW_TYPE = 'TUMBLING', WINDOW_SIZE = '1 MINUTE');

-- plan:
--   topic w: must exist
--   define stream SESSIONS over topic w (key KAFKA, value JSON, window SESSION): ID INTEGER KEY, N BIGINT
CREATE STREAM sessions (id INT KEY, n BIGINT) WITH (KAFKA_TOPIC = 'w', VALUE_FORMAT = 'JSON', WINDOW_TYPE = 'session');

-- Names are in upper case unless quoted; a keyword may be a name.
-- plan:
--   topic t: must exist
--   define stream Quoted Name over topic t (key KAFKA, value JSON): TIMESTAMP BIGINT, mixedCase INTEGER, KEY VARCHAR(STRING), 2ND INTEGER
CREATE STREAM `Quoted Name` (timestamp BIGINT, "mixedCase" INT, `KEY` STRING, 2nd INT)
WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- plan:
--   nothing: Cannot add stream USERS: it already exists.
CREATE STREAM IF NOT EXISTS users (id BIGINT KEY, name STRING) WITH (KAFKA_TOPIC = 'users', VALUE_FORMAT = 'JSON');

-- OR REPLACE of what isn't there is a plain CREATE.
-- plan:
--   topic t: must exist
--   define stream FRESH over topic t (key KAFKA, value JSON): A INTEGER
CREATE OR REPLACE STREAM fresh (a INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- error: SqlErrorConflict SOURCE_EXISTS 1:14
-- message: Cannot add table USERS: a table with the same name already exists.
-- hint: DROP it first, or use another name; IF NOT EXISTS leaves it as it is.
CREATE TABLE users (id BIGINT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC = 'users', VALUE_FORMAT = 'JSON');

-- error: BindError PRIMARY_KEY_MISSING 1:14
-- message: Tables require a PRIMARY KEY. Please define one for T.
-- hint: For example: id BIGINT PRIMARY KEY.
CREATE TABLE t (id BIGINT, name STRING) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- error: BindError INVALID_KEY 1:17
-- message: A TABLE has a PRIMARY KEY, not KEY columns.
-- hint: Write PRIMARY KEY.
-- caret:
--   1 | CREATE TABLE t (id BIGINT KEY, name STRING) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');
--                       ^^^^^^^^^^^^^
CREATE TABLE t (id BIGINT KEY, name STRING) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- error: BindError INVALID_KEY 1:18
-- message: A STREAM has KEY columns, not PRIMARY KEY: its keys may come again.
-- hint: Write KEY.
CREATE STREAM s (id BIGINT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- error: BindError INVALID_KEY 1:18
-- message: A MAP can't be in a key.
-- hint: Its entries have no order to compare by.
CREATE STREAM s (k ARRAY<MAP<STRING, INT>> KEY, name STRING) WITH (KAFKA_TOPIC = 't', FORMAT = 'JSON');

-- error: BindError INVALID_KEY 1:17
-- message: A MAP can't be in a key.
-- hint: Its entries have no order to compare by.
CREATE TABLE t (k MAP<STRING, INT> PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC = 't', FORMAT = 'JSON');

-- error: BindError DUPLICATE_COLUMN 1:15
-- message: The column A is named twice.
CREATE STREAM s (a INT, A STRING) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- error: BindError RESERVED_COLUMN 1:15
-- message: ROWTIME is a system column's name.
CREATE STREAM s (rowtime BIGINT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- error: BindError NO_COLUMNS 1:15
-- message: The statement names no columns.
-- hint: Name them, or use a format that has them in a schema registry: AVRO, JSON_SR, PROTOBUF.
CREATE STREAM s WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- error: BindError TOPIC_MISSING 1:15
-- message: KAFKA_TOPIC is missing.
-- hint: For example WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON').
CREATE STREAM s (a INT) WITH (VALUE_FORMAT = 'JSON');

-- error: BindError FORMAT_MISSING 1:15
-- message: VALUE_FORMAT is missing.
-- hint: For example VALUE_FORMAT='JSON'.
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC = 't');

-- error: BindError UNKNOWN_FORMAT 1:15
-- message: There is no format JSONN.
-- hint: Did you mean JSON?
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSONN');

-- error: BindError UNKNOWN_PROPERTY 1:15
-- message: There is no property KAFKA_TOPICS.
-- hint: Did you mean KAFKA_TOPIC?
CREATE STREAM s (a INT) WITH (KAFKA_TOPICS = 't', VALUE_FORMAT = 'JSON');

-- error: BindError INVALID_PROPERTY 1:15
-- message: FORMAT and VALUE_FORMAT can't both be given.
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC = 't', FORMAT = 'JSON', VALUE_FORMAT = 'JSON');

-- error: BindError INVALID_PROPERTY 1:15
-- message: PARTITIONS must be a whole number from 1.
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', PARTITIONS = 0);

-- error: BindError INVALID_PROPERTY 1:15
-- message: PARTITIONS must be a whole number from 1.
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', PARTITIONS = '--5');

-- error: BindError INVALID_PROPERTY 1:15
-- message: VALUE_DELIMITER goes with the format DELIMITED, not JSON.
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', VALUE_DELIMITER = ';');

-- error: BindError INVALID_PROPERTY 1:15
-- message: WRAP_SINGLE_VALUE is only valid for a single value column.
CREATE STREAM s (a INT, b INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', WRAP_SINGLE_VALUE = TRUE);

-- error: BindError INVALID_PROPERTY 1:15
-- message: WRAP_SINGLE_VALUE is TRUE or FALSE.
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', WRAP_SINGLE_VALUE = 'yes');

-- error: BindError INVALID_FORMAT 1:15
-- message: The format KAFKA holds a single column, and the key has 2.
-- hint: Add WITH (KEY_FORMAT='JSON').
CREATE STREAM s (a INT KEY, b INT KEY, c INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- error: BindError INVALID_FORMAT 1:15
-- message: The format KAFKA does not support type DECIMAL (key A).
-- hint: Add WITH (KEY_FORMAT='JSON').
CREATE STREAM s (a DECIMAL(4, 2) KEY, c INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- error: BindError INVALID_FORMAT 1:15
-- message: The format KAFKA holds a single column, and the value has 2.
-- hint: Add WITH (VALUE_FORMAT='JSON').
CREATE STREAM s (a INT, b INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'KAFKA');

-- error: BindError INVALID_FORMAT 1:15
-- message: The format NONE is for no columns at all, and the key has A.
-- hint: Add WITH (KEY_FORMAT='JSON').
CREATE STREAM s (a INT KEY, b INT) WITH (KAFKA_TOPIC = 't', KEY_FORMAT = 'NONE', VALUE_FORMAT = 'JSON');

-- error: BindError INVALID_FORMAT 1:15
-- message: In JSON the keys of a MAP are STRING.
CREATE STREAM s (a MAP<INT, INT>) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- error: BindError UNKNOWN_COLUMN 1:15
-- message: TIMESTAMP names a column TSS that isn't there.
-- hint: Did you mean TS?
CREATE STREAM s (ts BIGINT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', TIMESTAMP = 'TSS');

-- error: BindError INVALID_PROPERTY 1:15
-- message: TIMESTAMP column TS is INTEGER; it must be BIGINT, TIMESTAMP or STRING.
CREATE STREAM s (ts INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', TIMESTAMP = 'TS');

-- error: BindError INVALID_PROPERTY 1:15
-- message: TIMESTAMP_FORMAT goes with a STRING column, and with no other.
CREATE STREAM s (ts STRING) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', TIMESTAMP = 'TS');

-- error: BindError INVALID_PROPERTY 1:15
-- message: A HOPPING window needs WINDOW_SIZE.
CREATE STREAM s (k INT KEY, a INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', WINDOW_TYPE = 'HOPPING');

-- error: BindError INVALID_PROPERTY 1:15
-- message: A windowed source needs a key column.
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', WINDOW_TYPE = 'SESSION');

-- error: ParseError UNKNOWN_TYPE 1:20
-- message: There is no type STRNG.
-- hint: Did you mean STRING?
-- caret:
--   1 | CREATE STREAM s (a STRNG) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');
--                          ^^^^^
CREATE STREAM s (a STRNG) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- error: ParseError INVALID_DECIMAL 1:20
-- message: DECIMAL(39, 2) can't be.
-- hint: The precision is 1 to 38 and the scale at most the precision.
CREATE STREAM s (a DECIMAL(39, 2)) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- error: ParseError INVALID_DECIMAL 1:20
-- message: DECIMAL(3, 4) can't be.
-- hint: The precision is 1 to 38 and the scale at most the precision.
CREATE STREAM s (a DECIMAL(3, 4)) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- error: ParseError SYNTAX 1:25
-- message: Expected a length, found 'KEY'.
CREATE STREAM s (a INT (KEY)) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- Columns over headers, and a source that is only read.
-- plan:
--   topic h: must exist
--   define stream H over topic h (key KAFKA, value JSON): V INTEGER, ALL_ ARRAY<STRUCT<KEY VARCHAR(STRING), VALUE BYTES>>
CREATE STREAM h (v INT, all_ ARRAY<STRUCT<key STRING, value BYTES>> HEADERS) WITH (KAFKA_TOPIC = 'h', VALUE_FORMAT = 'JSON');

-- error: BindError INVALID_HEADERS 1:18
-- message: A HEADER('a') column is BYTES, not INTEGER.
CREATE STREAM s (a INT HEADER('a'), v INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- error: BindError DUPLICATE_HEADERS 1:15
-- message: There is one HEADERS column, or one HEADER('name') for each name.
CREATE STREAM s (a BYTES HEADER('x'), b BYTES HEADER('x')) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- error: BindError READ_ONLY 1:32
-- message: Cannot add table S: CREATE OR REPLACE doesn't go with SOURCE.
CREATE OR REPLACE SOURCE TABLE s (k INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- error: BindError INVALID_PROPERTY 1:15
-- message: KEY_DELIMITER can't be empty.
-- hint: For a tab or a space write 'TAB' or 'SPACE'.
CREATE STREAM s (k INT KEY, v INT) WITH (KAFKA_TOPIC = 't', FORMAT = 'DELIMITED', KEY_DELIMITER = ' ');

-- error: BindError INVALID_FORMAT 1:15
-- message: The format DELIMITED does not support type ARRAY (value A).
-- hint: Add WITH (VALUE_FORMAT='JSON').
CREATE STREAM s (a ARRAY<INT>) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'DELIMITED');

-- error: BindError INVALID_PROPERTY 1:15
-- message: The format JSON has no property VALUE_SCHEMA_ID.
-- hint: It goes with AVRO, JSON_SR, PROTOBUF.
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', VALUE_SCHEMA_ID = 3);

-- error: BindError INVALID_PROPERTY 1:14
-- message: RETENTION_MS is for streams and windowed tables: the rows of any other table stay.
CREATE TABLE s (k INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', RETENTION_MS = 1000);

-- error: BindError INVALID_PROPERTY 1:15
-- message: The format KAFKA has no WRAP_SINGLE_VALUE=true.
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'KAFKA', WRAP_SINGLE_VALUE = TRUE);

-- error: BindError UNKNOWN_PROPERTY 1:15
-- message: There is no property WINDOW_TYPE here.
-- hint: Properties are CLEANUP_POLICY, ERRORS_TOLERANCE, FORMAT, GUARANTEE, KAFKA_TOPIC, KEY_DELIMITER, KEY_FORMAT, LATE_ROWS, ORDERED, PARTITIONS, PROFILE, REPLICAS, RETENTION_MS, SOURCED_BY_CONNECTOR, TIMESTAMP, TIMESTAMP_FORMAT, TTL, VALUE_DELIMITER, VALUE_FORMAT, WRAP_SINGLE_VALUE.
CREATE STREAM s WITH (WINDOW_TYPE = 'SESSION') AS SELECT * FROM h;
