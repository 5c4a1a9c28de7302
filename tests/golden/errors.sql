-- What is refused, with what is said about it. Windows and GROUP BY are in aggregates.sql, sources in sources.sql.

CREATE STREAM orders (id BIGINT KEY, name STRING, amount DOUBLE, flag BOOLEAN, tags MAP<STRING, INT>, items ARRAY<INT>,
  place STRUCT<city STRING, zip INT>, at TIMESTAMP)
WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'JSON');

CREATE TABLE users (id BIGINT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC = 'users', VALUE_FORMAT = 'JSON');

-- Names that nothing has.

-- error: BindError UNKNOWN_COLUMN 1:12
-- message: There is no column NAEM in ORDERS.
-- hint: Did you mean NAME?
-- caret:
--   1 | SELECT id, naem FROM orders EMIT CHANGES;
--                  ^^^^
SELECT id, naem FROM orders EMIT CHANGES;

-- On a line of its own, and far from everything known.
-- error: BindError UNKNOWN_COLUMN 3:7
-- message: There is no column XYZZY in ORDERS.
-- hint: Columns are ID, NAME, AMOUNT, FLAG, TAGS, ITEMS, PLACE, AT, ROWTIME, ROWPARTITION, ROWOFFSET.
-- caret:
--   3 | WHERE xyzzy > 1
--             ^^^^^
SELECT id
FROM orders
WHERE xyzzy > 1
EMIT CHANGES;

-- error: BindError UNKNOWN_SOURCE 1:16
-- message: There is no stream or table ORDER.
-- hint: Did you mean ORDERS?
-- caret:
--   1 | SELECT id FROM `ORDER` EMIT CHANGES;
--                      ^^^^^^^
SELECT id FROM `ORDER` EMIT CHANGES;

-- error: BindError UNKNOWN_SOURCE 1:8
-- message: OTHER is not a source of this query.
-- caret:
--   1 | SELECT other.id FROM orders o EMIT CHANGES;
--              ^^^^^^^^
SELECT other.id FROM orders o EMIT CHANGES;

-- error: BindError UNKNOWN_SOURCE 1:8
-- message: X is not a source of this query.
SELECT x.* FROM orders EMIT CHANGES;

-- error: BindError UNKNOWN_FUNCTION 1:8
-- message: There is no function UPPERCASE.
-- hint: Did you mean UCASE?
-- caret:
--   1 | SELECT UPPERCASE(name) FROM orders EMIT CHANGES;
--              ^^^^^^^^^^^^^^^
SELECT UPPERCASE(name) FROM orders EMIT CHANGES;

-- error: BindError UNKNOWN_FIELD 1:8
-- message: The STRUCT has no field TOWN.
-- hint: Fields are CITY, ZIP.
-- caret:
--   1 | SELECT place->town FROM orders EMIT CHANGES;
--              ^^^^^^^^^^^
SELECT place->town FROM orders EMIT CHANGES;

-- Types that don't go together.

-- error: BindError TYPE_MISMATCH 1:29
-- message: WHERE needs BOOLEAN, not DOUBLE.
SELECT id FROM orders WHERE amount EMIT CHANGES;

-- error: BindError TYPE_MISMATCH 1:29
-- message: DOUBLE can't be compared with VARCHAR(STRING).
-- hint: CAST one side to the other's type.
-- caret:
--   1 | SELECT id FROM orders WHERE amount > 'ten' EMIT CHANGES;
--                                   ^^^^^^^^^^^^^^
SELECT id FROM orders WHERE amount > 'ten' EMIT CHANGES;

-- error: BindError TYPE_MISMATCH 1:8
-- message: + doesn't work on VARCHAR(STRING) and INTEGER.
-- caret:
--   1 | SELECT name + 1 FROM orders EMIT CHANGES;
--              ^^^^^^^^
SELECT name + 1 FROM orders EMIT CHANGES;

-- error: BindError TYPE_MISMATCH 1:8
-- message: || doesn't work on BIGINT and BIGINT.
SELECT id || id FROM orders EMIT CHANGES;

-- error: BindError TYPE_MISMATCH 1:8
-- message: - needs a number, not VARCHAR(STRING).
SELECT -name FROM orders EMIT CHANGES;

-- error: BindError TYPE_MISMATCH 1:8
-- message: - needs a number, not BOOLEAN.
SELECT -TRUE FROM orders EMIT CHANGES;

-- error: BindError TYPE_MISMATCH 1:44
-- message: AND needs BOOLEAN, not BIGINT.
SELECT id FROM orders WHERE amount > 1 AND id EMIT CHANGES;

-- error: BindError TYPE_MISMATCH 1:33
-- message: NOT needs BOOLEAN, not BIGINT.
SELECT id FROM orders WHERE NOT id EMIT CHANGES;

-- error: BindError TYPE_MISMATCH 1:29
-- message: LIKE needs VARCHAR(STRING), not BIGINT.
SELECT id FROM orders WHERE id LIKE '1%' EMIT CHANGES;

-- error: BindError INVALID_TEXT 1:39
-- message: 'two' can't be read as BIGINT.
SELECT id FROM orders WHERE id IN (1, 'two') EMIT CHANGES;

-- error: BindError TYPE_MISMATCH 1:29
-- message: ARRAY<INTEGER> has no order: only = and <> work on it.
SELECT id FROM orders WHERE items < items EMIT CHANGES;

-- error: BindError TYPE_MISMATCH 1:35
-- message: The branches of CASE must have one type: INTEGER and VARCHAR(STRING) don't go together.
SELECT CASE WHEN flag THEN 1 ELSE 'no' END FROM orders EMIT CHANGES;

-- error: BindError TYPE_MISMATCH 1:18
-- message: WHEN needs BOOLEAN, not BIGINT.
SELECT CASE WHEN id THEN 1 END FROM orders EMIT CHANGES;

-- error: BindError INVALID_TEXT 1:17
-- message: 'a' can't be read as INTEGER.
SELECT ARRAY[1, 'a'] FROM orders EMIT CHANGES;

-- error: BindError TYPE_MISMATCH 1:17
-- message: INTEGER and VARCHAR(STRING) don't go together.
-- hint: CAST one of them to the other's type.
SELECT ARRAY[1, name] FROM orders EMIT CHANGES;

-- error: BindError TYPE_MISMATCH 1:29
-- message: = doesn't work on NULL.
-- hint: Write IS NULL or IS NOT NULL.
SELECT id FROM orders WHERE id = NULL EMIT CHANGES;

-- error: BindError TYPE_MISMATCH 1:8
-- message: + doesn't work on NULL.
-- hint: CAST it to the type that is meant.
SELECT id + NULL FROM orders EMIT CHANGES;

-- error: BindError INVALID_TEXT 1:39
-- message: 'soon' can't be read as TIMESTAMP.
SELECT id FROM orders WHERE ROWTIME > 'soon' EMIT CHANGES;

-- error: BindError AMBIGUOUS_CALL 1:8
-- message: GREATEST takes none of these types as they are, and more than one by turning them into others.
-- hint: CAST the arguments: it takes (INTEGER, INTEGER...) or (BIGINT, BIGINT...) or (DOUBLE, DOUBLE...) or (DECIMAL, DECIMAL...) or (STRING, STRING...) or (BYTES, BYTES...) or (DATE, DATE...) or (TIME, TIME...) or (TIMESTAMP, TIMESTAMP...).
SELECT GREATEST(id, 1) FROM orders EMIT CHANGES;

-- Lambdas: only as arguments, with the parameters that the function gives and the type that it wants.
-- error: BindError NO_SUCH_SIGNATURE 1:8
-- message: COALESCE doesn't take (LAMBDA, INTEGER).
-- hint: It takes (T, T...).
SELECT COALESCE(x => x + 1, 2) FROM orders EMIT CHANGES;

-- error: BindError LAMBDA_NOT_HERE 1:8
-- message: A lambda can only be an argument of a function.
SELECT x => 1 FROM orders EMIT CHANGES;

-- error: BindError TYPE_MISMATCH 1:27
-- message: The lambda must give BOOLEAN, not INTEGER.
-- hint: CAST it to BOOLEAN.
SELECT FILTER(items, x => x + 1) FROM orders EMIT CHANGES;

-- error: BindError LAMBDA_PARAMETER 1:25
-- message: The lambda's parameter ID is a column's name.
-- hint: Give it another name.
SELECT TRANSFORM(items, id => id + 1) FROM orders EMIT CHANGES;

-- error: BindError TYPE_MISMATCH 1:8
-- message: -> needs a STRUCT, not VARCHAR(STRING).
SELECT name->first FROM orders EMIT CHANGES;

-- error: BindError TYPE_MISMATCH 1:8
-- message: [] works on an ARRAY or a MAP, not on VARCHAR(STRING).
SELECT name[1] FROM orders EMIT CHANGES;

-- error: BindError TYPE_MISMATCH 1:14
-- message: An ARRAY is indexed by a whole number, not VARCHAR(STRING).
SELECT items['a'] FROM orders EMIT CHANGES;

-- error: BindError TYPE_MISMATCH 1:13
-- message: This MAP's keys are VARCHAR(STRING), not INTEGER.
SELECT tags[1] FROM orders EMIT CHANGES;

-- error: BindError INVALID_CAST 1:8
-- message: BOOLEAN can't be cast to INTEGER.
SELECT CAST(flag AS INT) FROM orders EMIT CHANGES;

-- error: BindError NO_SUCH_SIGNATURE 1:8
-- message: UCASE doesn't take (BIGINT).
-- hint: It takes (STRING).
SELECT UCASE(id) FROM orders EMIT CHANGES;

-- error: BindError NUMBER_TOO_LARGE 1:8
-- message: 9223372036854775808 doesn't fit into BIGINT.
SELECT 9223372036854775808 FROM orders EMIT CHANGES;

-- error: BindError NUMBER_TOO_LARGE 1:8
-- message: The number doesn't fit into DOUBLE.
SELECT 1e999 FROM orders EMIT CHANGES;

-- error: BindError NULL_TYPE 1:12
-- message: A column that is NULL has no type.
-- hint: CAST it, for example CAST(NULL AS STRING).
SELECT id, NULL AS nothing FROM orders EMIT CHANGES;

-- error: BindError NULL_TYPE 1:8
-- message: Every branch of CASE is NULL.
-- hint: CAST one of them.
SELECT CASE WHEN flag THEN NULL END FROM orders EMIT CHANGES;

-- error: BindError EMPTY_ARRAY 1:8
-- message: An ARRAY needs an element that isn't NULL.
SELECT ARRAY[] FROM orders EMIT CHANGES;

-- error: BindError EMPTY_MAP 1:8
-- message: A MAP needs a key and a value that aren't NULL.
SELECT MAP('a' := NULL) FROM orders EMIT CHANGES;

-- error: BindError DUPLICATE_FIELD 1:8
-- message: The STRUCT has two fields A.
SELECT STRUCT(a := 1, A := 2) FROM orders EMIT CHANGES;

-- error: BindError INVALID_ESCAPE 1:29
-- message: ESCAPE takes one character.
SELECT id FROM orders WHERE name LIKE 'a' ESCAPE '!!' EMIT CHANGES;

-- error: BindError STAR_NOT_HERE 1:14
-- message: * stands only in a select list or in COUNT(*).
SELECT UCASE(*) FROM orders EMIT CHANGES;

-- What can't be a source.

-- error: BindError KEY_MISSING 1:27
-- message: Key missing from projection: the query must select ID.
-- hint: Add ID to the SELECT list.
-- caret:
--   1 | CREATE STREAM o AS SELECT name, amount FROM orders;
--                                 ^^^^
CREATE STREAM o AS SELECT name, amount FROM orders;

-- error: BindError KEY_MISSING 1:27
-- message: Key missing from projection: the query must select UCASE(NAME).
-- hint: Add UCASE(NAME) to the SELECT list.
CREATE STREAM o AS SELECT name, amount FROM orders PARTITION BY UCASE(name);

-- error: BindError DUPLICATE_COLUMN 1:37
-- message: The column NAME comes out twice.
-- caret:
--   1 | CREATE STREAM o AS SELECT id, name, amount AS name FROM orders;
--                                           ^^^^^^^^^^^^^^
CREATE STREAM o AS SELECT id, name, amount AS name FROM orders;

-- error: BindError RESERVED_COLUMN 1:31
-- message: ROWTIME is a system column: give it an alias.
-- hint: For example ROWTIME AS ROWTIME_.
CREATE STREAM o AS SELECT id, rowtime FROM orders;

-- error: BindError NO_VALUE_COLUMN 1:20
-- message: The projection has no value column.
-- hint: Select something besides the key; AS_VALUE(key) copies it.
CREATE STREAM o AS SELECT id FROM orders;

-- error: BindError INVALID_KEY 2:32
-- message: A MAP can't be in a key.
-- hint: Its entries have no order to compare by.
CREATE STREAM o WITH (KEY_FORMAT = 'JSON') AS
SELECT id, name, /* the key */ tags FROM orders PARTITION BY tags;

-- error: BindError WRONG_KIND 1:15
-- message: Invalid result type. The SELECT query produces a TABLE, not a STREAM.
-- hint: Use CREATE TABLE O AS SELECT ...
CREATE STREAM o AS SELECT * FROM users;

-- error: BindError PARTITION_BY_TABLE 1:19
-- message: PARTITION BY works on streams only.
CREATE TABLE o AS SELECT * FROM users PARTITION BY name;

-- error: BindError LIMIT_NOT_HERE 1:20
-- message: A query that runs for good has no LIMIT.
CREATE STREAM o AS SELECT * FROM orders EMIT CHANGES LIMIT 3;

-- error: BindError INVALID_FORMAT 1:15
-- message: The format KAFKA holds a single column, and the value has 2.
-- hint: Add WITH (VALUE_FORMAT='JSON').
CREATE STREAM o WITH (VALUE_FORMAT = 'KAFKA') AS SELECT id, name, amount FROM orders;

-- Grammar.

-- error: ParseError UNEXPECTED_CHARACTER 1:36
-- message: The ' that opens here is never closed.
-- caret:
--   1 | SELECT id FROM orders WHERE name = 'abc EMIT CHANGES;
--                                          ^
SELECT id FROM orders WHERE name = 'abc EMIT CHANGES;

-- error: ParseError UNEXPECTED_CHARACTER 2:6
-- message: The ` that opens here is never closed.
-- caret:
--   2 | FROM `orders EMIT CHANGES;
--            ^
SELECT id
FROM `orders EMIT CHANGES;

-- error: ParseError UNEXPECTED_CHARACTER 1:11
-- message: The comment that opens here is never closed.
SELECT id /* everything FROM orders EMIT CHANGES;

-- error: ParseError UNEXPECTED_CHARACTER 1:11
-- message: '?' can't stand here.
SELECT id ? FROM orders EMIT CHANGES;

-- error: ParseError SYNTAX 1:1
-- message: Expected a statement: ALTER or ASSERT or CREATE or DEFINE or DESCRIBE or DROP or EXPLAIN or INSERT or LIST or PAUSE or PRINT or RESUME or RUN or SELECT or SET or SHOW or SPOOL or TERMINATE or UNDEFINE or UNSET, found 'SELCT'.
-- hint: Did you mean SELECT?
-- caret:
--   1 | SELCT id FROM orders EMIT CHANGES;
--       ^^^^^
SELCT id FROM orders EMIT CHANGES;

-- error: ParseError SYNTAX 1:8
-- message: Expected FUNCTION or OR or SINK or SOURCE or STREAM or TABLE or TYPE, found 'STRAEM'.
-- hint: Did you mean STREAM?
CREATE STRAEM s (a INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');

-- A misspelt FROM isn't taken for an alias.
-- error: ParseError SYNTAX 1:11
-- message: Expected FROM, found 'FORM'.
-- hint: Did you mean FROM?
-- caret:
--   1 | SELECT id FORM orders EMIT CHANGES;
--                 ^^^^
SELECT id FORM orders EMIT CHANGES;

-- error: ParseError SYNTAX 1:23
-- message: Expected WINDOW, WHERE, GROUP, PARTITION, HAVING, EMIT, LIMIT or the end of the statement, found 'WHRE'.
-- hint: Did you mean WHERE?
SELECT id FROM orders WHRE id = 1 EMIT CHANGES;

-- error: ParseError SYNTAX 1:28
-- message: Expected CHANGES or FINAL, found 'CHANGE'.
-- hint: Did you mean CHANGES?
SELECT id FROM orders EMIT CHANGE;

-- error: ParseError SYNTAX 1:39
-- message: Expected BY, found 'id'.
SELECT id, COUNT(*) FROM orders GROUP id EMIT CHANGES;

-- error: ParseError SYNTAX 1:12
-- message: Expected an expression, found 'FROM'.
-- caret:
--   1 | SELECT id, FROM orders EMIT CHANGES;
--                  ^^^^
SELECT id, FROM orders EMIT CHANGES;

-- error: ParseError SYNTAX 1:32
-- message: Expected ')', found 'FROM'.
SELECT UCASE(CONCAT(name, 'a') FROM orders EMIT CHANGES;

-- error: ParseError SYNTAX 1:42
-- message: Expected AND, found 'EMIT'.
SELECT id FROM orders WHERE id BETWEEN 1 EMIT CHANGES;

-- error: ParseError SYNTAX 1:23
-- message: Expected THEN, found 'ELSE'.
SELECT CASE WHEN flag ELSE 1 END FROM orders EMIT CHANGES;

-- error: ParseError SYNTAX 1:37
-- message: Expected the end of the statement, found 'SELECT'.
SELECT id FROM orders EMIT CHANGES; SELECT id FROM orders EMIT CHANGES;

-- error: ParseError SYNTAX 1:15
-- message: Expected an expression, found the end of the statement.
-- caret:
--   1 | SELECT id, 1 +
--                     ^
SELECT id, 1 +

-- error: ParseError SYNTAX 1:45
-- message: Expected a property's value (a quoted string, a number, TRUE or FALSE), found 't'.
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC = t);
