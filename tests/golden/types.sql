-- CREATE TYPE, DROP TYPE, and types of one's own wherever a type stands.

-- plan:
--   define type ADDRESS as STRUCT<NUMBER INTEGER, STREET VARCHAR(STRING)>
CREATE TYPE address AS STRUCT<number INT, street STRING>;

-- A type may be made of others.

-- plan:
--   define type People as MAP<VARCHAR(STRING), STRUCT<NAME VARCHAR(STRING), HOME STRUCT<NUMBER INTEGER, STREET VARCHAR(STRING)>>>
CREATE TYPE IF NOT EXISTS `People` AS MAP<STRING, STRUCT<name STRING, home address>>;

-- plan:
--   nothing: Type ADDRESS already exists.
CREATE TYPE IF NOT EXISTS address AS INT;

-- error: SqlErrorConflict TYPE_EXISTS 1:13
-- message: Cannot register custom type ADDRESS: it is STRUCT<NUMBER INTEGER, STREET VARCHAR(STRING)> already.
-- hint: DROP TYPE it first; what was declared with it stays as it is.
CREATE TYPE address AS INT;

-- error: BindError RESERVED_TYPE 1:13
-- message: STRING is a type of the language.
CREATE TYPE string AS INT;

-- error: ParseError SYNTAX 1:13
-- message: Expected a type's name, found 'AS'.
CREATE TYPE AS INT;

-- error: ParseError SYNTAX 1:15
-- message: Expected AS, found 'INT'.
CREATE TYPE a INT;

-- plan:
--   topic s: must exist
--   define stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, HOME STRUCT<NUMBER INTEGER, STREET VARCHAR(STRING)>, OTHERS ARRAY<STRUCT<NUMBER INTEGER, STREET VARCHAR(STRING)>>, P MAP<VARCHAR(STRING), STRUCT<NAME VARCHAR(STRING), HOME STRUCT<NUMBER INTEGER, STREET VARCHAR(STRING)>>>
CREATE STREAM s (k STRING KEY, home ADDRESS, others ARRAY<address>, p `People`)
WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');

-- plan:
--   topic O: partitions as s
--   define stream O over topic O (key KAFKA, value JSON): K VARCHAR(STRING) KEY, STREET VARCHAR(STRING), NONE STRUCT<NUMBER INTEGER, STREET VARCHAR(STRING)>
--   query CSAS_O_3 (stateless, exactly once) -> topic O, dead letters dlq.O
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; fast is possible
--     project K, HOME->STREET AS STREET, CAST(null AS STRUCT<NUMBER INTEGER, STREET VARCHAR(STRING)>) AS NONE
--       scan stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, HOME STRUCT<NUMBER INTEGER, STREET VARCHAR(STRING)>, OTHERS ARRAY<STRUCT<NUMBER INTEGER, STREET VARCHAR(STRING)>>, P MAP<VARCHAR(STRING), STRUCT<NAME VARCHAR(STRING), HOME STRUCT<NUMBER INTEGER, STREET VARCHAR(STRING)>>>
CREATE STREAM o AS SELECT k, home->street AS street, CAST(NULL AS address) AS none FROM s;

-- error: ParseError UNKNOWN_TYPE 1:20
-- message: There is no type ADDRES.
-- hint: Did you mean ADDRESS?
CREATE STREAM p (a addres) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');

-- plan:
--   list types
SHOW TYPES;

-- What was declared with a type outlives it.
-- plan:
--   drop type ADDRESS
DROP TYPE address;

-- error: BindError UNKNOWN_TYPE 1:11
-- message: There is no type ADDRESS.
-- hint: SHOW TYPES; lists them.
DROP TYPE address;

-- plan:
--   nothing: Type ADDRESS does not exist.
DROP TYPE IF EXISTS address;

-- error: BindError UNKNOWN_TYPE 1:11
-- message: There is no type PEOPLE.
-- hint: Did you mean People?
DROP TYPE people;

-- plan:
--   alter to stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, HOME STRUCT<NUMBER INTEGER, STREET VARCHAR(STRING)>, OTHERS ARRAY<STRUCT<NUMBER INTEGER, STREET VARCHAR(STRING)>>, P MAP<VARCHAR(STRING), STRUCT<NAME VARCHAR(STRING), HOME STRUCT<NUMBER INTEGER, STREET VARCHAR(STRING)>>>, MORE MAP<VARCHAR(STRING), STRUCT<NAME VARCHAR(STRING), HOME STRUCT<NUMBER INTEGER, STREET VARCHAR(STRING)>>>
ALTER STREAM s ADD COLUMN more `People`;
