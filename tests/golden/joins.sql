-- Joins: the kind, the key, and what is refused.

CREATE STREAM clicks (user STRING KEY, page STRING, at BIGINT) WITH (KAFKA_TOPIC = 'clicks', VALUE_FORMAT = 'JSON');

CREATE STREAM views (user STRING KEY, ad STRING) WITH (KAFKA_TOPIC = 'views', VALUE_FORMAT = 'JSON');

CREATE TABLE users (id STRING PRIMARY KEY, city STRING) WITH (KAFKA_TOPIC = 'users', VALUE_FORMAT = 'JSON');

CREATE TABLE cities (id STRING PRIMARY KEY, land STRING) WITH (KAFKA_TOPIC = 'cities', VALUE_FORMAT = 'JSON');

-- plan:
--   topic PAIRED: partitions as clicks
--   define stream PAIRED over topic PAIRED (key KAFKA, value JSON): C_USER VARCHAR(STRING) KEY, PAGE VARCHAR(STRING), AD VARCHAR(STRING)
--   query CSAS_PAIRED_4 (stateful, exactly once) -> topic PAIRED, dead letters dlq.PAIRED
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; not fast: it keeps state
--     project C.USER AS C_USER, C.PAGE AS PAGE, V.AD AS AD
--       inner join, stream-stream, on C.USER = V.USER
--         within 1000 before, 2000 after, GRACE 3000 MILLISECONDS
--         operator tasks: both sides are kept and met row by row
--         project C.USER, C.PAGE
--           scan stream CLICKS over topic clicks (key KAFKA, value JSON): USER VARCHAR(STRING) KEY, PAGE VARCHAR(STRING), AT BIGINT
--         project V.USER, V.AD
--           scan stream VIEWS over topic views (key KAFKA, value JSON): USER VARCHAR(STRING) KEY, AD VARCHAR(STRING)
CREATE STREAM paired AS SELECT c.user, page, ad FROM clicks c JOIN views v WITHIN (1 SECOND, 2 SECONDS) GRACE PERIOD 3 SECONDS ON c.user = v.user;

-- plan:
--   topic SEEN: partitions as clicks
--   define stream SEEN over topic SEEN (key KAFKA, value JSON): C_USER VARCHAR(STRING) KEY, C_PAGE VARCHAR(STRING), C_AT BIGINT, U_ID VARCHAR(STRING), U_CITY VARCHAR(STRING)
--   query CSAS_SEEN_6 (stateful, exactly once) -> topic SEEN, dead letters dlq.SEEN
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; not fast: it keeps state
--     project C.USER AS C_USER, C.PAGE AS C_PAGE, C.AT AS C_AT, U.ID AS U_ID, U.CITY AS U_CITY
--       left join, stream-table, on C.USER = U.ID
--         operator tasks: both sides are kept and met row by row
--         project C.USER, C.PAGE, C.AT
--           scan stream CLICKS over topic clicks (key KAFKA, value JSON): USER VARCHAR(STRING) KEY, PAGE VARCHAR(STRING), AT BIGINT
--         project U.ID, U.CITY
--           scan table USERS over topic users (key KAFKA, value JSON): ID VARCHAR(STRING) PRIMARY KEY, CITY VARCHAR(STRING)
CREATE STREAM seen AS SELECT * FROM clicks c LEFT JOIN users u ON c.user = u.id;

-- plan:
--   topic LANDS: partitions as users, cleanup.policy=compact
--   define table LANDS over topic LANDS (key KAFKA, value JSON): U_ID VARCHAR(STRING) PRIMARY KEY, CITY VARCHAR(STRING), LAND VARCHAR(STRING)
--   query CTAS_LANDS_8 (stateful, exactly once) -> topic LANDS, dead letters dlq.LANDS
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; not fast: it keeps state
--     project U.ID AS U_ID, U.CITY AS CITY, C.LAND AS LAND
--       inner join, foreign-key, on U.CITY = C.ID
--         keyed by U.ID
--         operator tasks: both sides are kept and met row by row
--         project U.ID, U.CITY
--           scan table USERS over topic users (key KAFKA, value JSON): ID VARCHAR(STRING) PRIMARY KEY, CITY VARCHAR(STRING)
--         project C.ID, C.LAND
--           scan table CITIES over topic cities (key KAFKA, value JSON): ID VARCHAR(STRING) PRIMARY KEY, LAND VARCHAR(STRING)
CREATE TABLE lands AS SELECT u.id, city, land FROM users u JOIN cities c ON u.city = c.id;

-- plan:
--   topic EITHER: partitions as clicks
--   define stream EITHER over topic EITHER (key KAFKA, value JSON): ROWKEY VARCHAR(STRING) KEY, PAGE VARCHAR(STRING), AD VARCHAR(STRING)
--   query CSAS_EITHER_10 (stateful, exactly once) -> topic EITHER, dead letters dlq.EITHER
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; not fast: it keeps state
--     project ROWKEY, C.PAGE AS PAGE, V.AD AS AD
--       full join, stream-stream, on C.USER = V.USER
--         within 1000 before, 1000 after, GRACE 86398000 MILLISECONDS, rows without a partner come out at once
--         operator tasks: both sides are kept and met row by row
--         project C.USER, C.PAGE
--           scan stream CLICKS over topic clicks (key KAFKA, value JSON): USER VARCHAR(STRING) KEY, PAGE VARCHAR(STRING), AT BIGINT
--         project V.USER, V.AD
--           scan stream VIEWS over topic views (key KAFKA, value JSON): USER VARCHAR(STRING) KEY, AD VARCHAR(STRING)
CREATE STREAM either AS SELECT ROWKEY, page, ad FROM clicks c FULL OUTER JOIN views v WITHIN 1 SECOND ON c.user = v.user;

-- error: BindError INVALID_JOIN 1:54
-- message: A stream-stream join must have a WITHIN clause.
-- hint: For example: ... JOIN b WITHIN 1 HOUR ON a.id = b.id
CREATE STREAM bad AS SELECT c.user, ad FROM clicks c JOIN views v ON c.user = v.user;

-- error: BindError INVALID_JOIN 1:72
-- message: Invalid join condition: stream-table joins require to join on the primary key of the right input table. Got C.PAGE = U.CITY.
CREATE STREAM bad AS SELECT c.user, city FROM clicks c JOIN users u ON c.page = u.city;

-- error: BindError INVALID_JOIN 1:56
-- message: Invalid join type: FULL OUTER between a stream and a table.
-- hint: INNER and LEFT joins are possible.
CREATE STREAM bad AS SELECT c.user, city FROM clicks c FULL JOIN users u ON c.user = u.id;

-- error: BindError INVALID_JOIN 1:52
-- message: Invalid join order: table-stream joins are not supported; only stream-table joins.
-- hint: Write the stream first.
CREATE TABLE bad AS SELECT u.id, page FROM users u JOIN clicks c ON u.id = c.user;

-- error: BindError INVALID_JOIN 1:86
-- message: The sides of a join condition must have one type: C.AT is BIGINT, V.USER is VARCHAR(STRING).
-- hint: CAST one of them.
CREATE STREAM bad AS SELECT c.user, ad FROM clicks c JOIN views v WITHIN 1 SECOND ON c.at = v.user;

-- error: BindError INVALID_JOIN 1:86
-- message: A join condition compares an expression of one side with one of the other by =.
-- hint: Other conditions belong into WHERE.
CREATE STREAM bad AS SELECT c.user, ad FROM clicks c JOIN views v WITHIN 1 SECOND ON c.user > v.user;

-- error: BindError KEY_MISSING 1:29
-- message: Key missing from projection: the query must select C.USER or V.USER.
-- hint: Add C.USER or V.USER to the SELECT list.
CREATE STREAM bad AS SELECT page, ad FROM clicks c JOIN views v WITHIN 1 SECOND ON c.user = v.user;

-- error: BindError AMBIGUOUS_COLUMN 1:29
-- message: Column USER is ambiguous: it could be C.USER or V.USER.
-- hint: Write which.
CREATE STREAM bad AS SELECT user, ad FROM clicks c JOIN views v WITHIN 1 SECOND ON c.user = v.user;

-- error: BindError UNKNOWN_SOURCE 1:29
-- message: X is not a source of this query.
-- hint: Sources are C, V.
CREATE STREAM bad AS SELECT x.user, ad FROM clicks c JOIN views v WITHIN 1 SECOND ON c.user = v.user;

-- error: BindError UNKNOWN_COLUMN 1:37
-- message: There is no column C.PAG.
-- hint: Did you mean C.PAGE?
CREATE STREAM bad AS SELECT c.user, c.pag FROM clicks c JOIN views v WITHIN 1 SECOND ON c.user = v.user;

-- error: BindError DUPLICATE_ALIAS 1:61
-- message: The source C is named twice.
-- hint: Give one of them another name: C AS other.
CREATE STREAM bad AS SELECT c.user, page FROM clicks c JOIN clicks c WITHIN 1 SECOND ON c.user = c.user;

-- error: BindError INVALID_JOIN 1:52
-- message: Invalid join type: FULL OUTER join over a foreign key is not supported.
CREATE TABLE bad AS SELECT u.id, land FROM users u FULL JOIN cities c ON u.city = c.id;

