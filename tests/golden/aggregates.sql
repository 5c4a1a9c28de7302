-- GROUP BY: keys, aggregates, windows, and how they are folded.

CREATE STREAM plays (user STRING KEY, track STRING, country STRING, seconds INT, price DECIMAL(6, 2), paid BOOLEAN)
WITH (KAFKA_TOPIC = 'plays', VALUE_FORMAT = 'JSON');

CREATE TABLE users (id STRING PRIMARY KEY, country STRING) WITH (KAFKA_TOPIC = 'users', VALUE_FORMAT = 'JSON');

-- Into a table whose topic is compacted.
-- plan:
--   topic PER_TRACK: partitions as plays, cleanup.policy=compact
--   define table PER_TRACK over topic PER_TRACK (key KAFKA, value JSON): TRACK VARCHAR(STRING) PRIMARY KEY, N BIGINT, HEARD INTEGER
--   query CTAS_PER_TRACK_2 (stateful, exactly once) -> topic PER_TRACK, dead letters dlq.PER_TRACK
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; not fast: it keeps state
--     aggregate TRACK, COUNT(*) AS N, SUM(SECONDS) AS HEARD
--       by TRACK
--       operator tasks: a batch's rows folded together
--       filter (SECONDS > 30)
--         scan stream PLAYS over topic plays (key KAFKA, value JSON): USER VARCHAR(STRING) KEY, TRACK VARCHAR(STRING), COUNTRY VARCHAR(STRING), SECONDS INTEGER, PRICE DECIMAL(6, 2), PAID BOOLEAN
CREATE TABLE per_track AS
SELECT track, COUNT(*) AS n, SUM(seconds) AS heard FROM plays WHERE seconds > 30 GROUP BY track EMIT CHANGES;

-- A window takes late rows for a day unless it says otherwise; old windows are deleted from the topic.
-- plan:
--   topic PER_MINUTE: partitions as plays, cleanup.policy=compact,delete
--   define table PER_MINUTE over topic PER_MINUTE (key KAFKA, value JSON, window TUMBLING ( SIZE 60000 MILLISECONDS )): COUNTRY VARCHAR(STRING) PRIMARY KEY, SINCE BIGINT, N BIGINT
--   query CTAS_PER_MINUTE_4 (stateful, exactly once) -> topic PER_MINUTE, dead letters dlq.PER_MINUTE
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; not fast: it keeps state
--     aggregate COUNTRY, WINDOWSTART AS SINCE, COUNT(*) AS N
--       by COUNTRY
--       window TUMBLING ( SIZE 60000 MILLISECONDS ) GRACE 86340000 MILLISECONDS
--       operator tasks: a batch's rows folded together, lateness judged row by row
--       scan stream PLAYS over topic plays (key KAFKA, value JSON): USER VARCHAR(STRING) KEY, TRACK VARCHAR(STRING), COUNTRY VARCHAR(STRING), SECONDS INTEGER, PRICE DECIMAL(6, 2), PAID BOOLEAN
CREATE TABLE per_minute AS
SELECT country, WINDOWSTART AS since, COUNT(*) AS n FROM plays WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY country;

-- plan:
--   push query from the end of the log
--     aggregate AVG(SECONDS) AS MEAN, (MAX(PRICE) - MIN(PRICE)) AS SPREAD
--       by COUNTRY, UCASE(TRACK)
--       window HOPPING ( SIZE 60000 MILLISECONDS , ADVANCE BY 10000 MILLISECONDS ) GRACE 0 MILLISECONDS
--       operator tasks: a batch's rows folded together, lateness judged row by row
--       scan stream PLAYS over topic plays (key KAFKA, value JSON): USER VARCHAR(STRING) KEY, TRACK VARCHAR(STRING), COUNTRY VARCHAR(STRING), SECONDS INTEGER, PRICE DECIMAL(6, 2), PAID BOOLEAN
SELECT AVG(seconds) AS mean, MAX(price) - MIN(price) AS spread FROM plays
WINDOW HOPPING (SIZE 1 MINUTE, ADVANCE BY 10 SECONDS, RETENTION 1 DAY, GRACE PERIOD 0 SECONDS)
GROUP BY (country, UCASE(track)) EMIT CHANGES;

-- Sessions merge, and a reader of the topic must be told of each: row by row.
-- plan:
--   topic VISITS: partitions as plays, cleanup.policy=compact,delete
--   define table VISITS over topic VISITS (key KAFKA, value JSON, window SESSION ( 1800000 MILLISECONDS )): USER VARCHAR(STRING) PRIMARY KEY, N BIGINT
--   query CTAS_VISITS_6 (stateful, exactly once) -> topic VISITS, dead letters dlq.VISITS
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; not fast: it keeps state
--     aggregate USER, COUNT(*) AS N
--       by USER
--       window SESSION ( 1800000 MILLISECONDS ) GRACE 300000 MILLISECONDS
--       operator tasks: row by row, sessions merge, and a merged one is withdrawn
--       scan stream PLAYS over topic plays (key KAFKA, value JSON): USER VARCHAR(STRING) KEY, TRACK VARCHAR(STRING), COUNTRY VARCHAR(STRING), SECONDS INTEGER, PRICE DECIMAL(6, 2), PAID BOOLEAN
CREATE TABLE visits AS
SELECT user, COUNT(*) AS n FROM plays WINDOW SESSION (30 MINUTES, GRACE PERIOD 5 MINUTES) GROUP BY user;

-- A group that stops fulfilling HAVING is withdrawn: what it came to before a batch and after it is enough for that.
-- plan:
--   topic HEAVY: partitions as plays, cleanup.policy=compact
--   define table HEAVY over topic HEAVY (key KAFKA, value JSON): USER VARCHAR(STRING) PRIMARY KEY, HOURS INTEGER
--   query CTAS_HEAVY_8 (stateful, exactly once) -> topic HEAVY, dead letters dlq.HEAVY
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; not fast: it keeps state
--     aggregate USER, (SUM(SECONDS) / 3600) AS HOURS
--       by USER
--       having ((COUNT(*) > 10) AND (SUM(SECONDS) >= 3600))
--       operator tasks: a batch's rows folded together
--       scan stream PLAYS over topic plays (key KAFKA, value JSON): USER VARCHAR(STRING) KEY, TRACK VARCHAR(STRING), COUNTRY VARCHAR(STRING), SECONDS INTEGER, PRICE DECIMAL(6, 2), PAID BOOLEAN
CREATE TABLE heavy AS
SELECT user, SUM(seconds) / 3600 AS hours FROM plays GROUP BY user HAVING COUNT(*) > 10 AND SUM(seconds) >= 3600;

-- The last of a batch's rows counts: they are folded together, in the order of arrival.
-- plan:
--   push query from the end of the log
--     aggregate USER, LATEST_BY_OFFSET(TRACK) AS LAST
--       by USER
--       operator tasks: a batch's rows folded together
--       scan stream PLAYS over topic plays (key KAFKA, value JSON): USER VARCHAR(STRING) KEY, TRACK VARCHAR(STRING), COUNTRY VARCHAR(STRING), SECONDS INTEGER, PRICE DECIMAL(6, 2), PAID BOOLEAN
SELECT user, LATEST_BY_OFFSET(track) AS last FROM plays GROUP BY user EMIT CHANGES;

-- So are the rows of a group that come from all partitions.
-- plan:
--   push query from the end of the log
--     aggregate COUNTRY, EARLIEST_BY_OFFSET(TRACK) AS FIRST
--       by COUNTRY
--       operator tasks: a batch's rows folded together
--       scan stream PLAYS over topic plays (key KAFKA, value JSON): USER VARCHAR(STRING) KEY, TRACK VARCHAR(STRING), COUNTRY VARCHAR(STRING), SECONDS INTEGER, PRICE DECIMAL(6, 2), PAID BOOLEAN
SELECT country, EARLIEST_BY_OFFSET(track) AS first FROM plays GROUP BY country EMIT CHANGES;

-- Several keys stand in the order of GROUP BY, and need a format that holds them.
-- plan:
--   topic PAIRS: partitions as plays, cleanup.policy=compact
--   define table PAIRS over topic PAIRS (key JSON, value JSON): COUNTRY VARCHAR(STRING) PRIMARY KEY, TRACK VARCHAR(STRING) PRIMARY KEY, N BIGINT
--   query CTAS_PAIRS_10 (stateful, exactly once) -> topic PAIRS, dead letters dlq.PAIRS
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; not fast: it keeps state
--     aggregate COUNT(*) AS N, TRACK, COUNTRY
--       by COUNTRY, TRACK
--       operator tasks: a batch's rows folded together
--       scan stream PLAYS over topic plays (key KAFKA, value JSON): USER VARCHAR(STRING) KEY, TRACK VARCHAR(STRING), COUNTRY VARCHAR(STRING), SECONDS INTEGER, PRICE DECIMAL(6, 2), PAID BOOLEAN
CREATE TABLE pairs WITH (KEY_FORMAT = 'JSON') AS
SELECT COUNT(*) AS n, track, country FROM plays GROUP BY country, track;

-- Types of the aggregates, and what they are computed over: the folded columns.
-- type N: BIGINT
-- type SUM_: INTEGER
-- type MONEY: DECIMAL(6, 2)
-- type MEAN: DOUBLE
-- type BEST: ARRAY<INTEGER>
-- type OFTEN: ARRAY<STRUCT<ITEM VARCHAR(STRING), COUNT BIGINT>>
-- spark SUM_: `__a1`
-- spark K: (upper(`__k0`))
-- spark TWICE: CAST((`__a0` + `__a0`) AS BIGINT)
SELECT UCASE(country) AS k, COUNT(seconds) AS n, SUM(seconds) AS sum_, SUM(price) AS money, AVG(seconds) AS mean,
  TOPK(seconds, 3) AS best, TOPK_FREQUENT(track, 2) AS often, COUNT(seconds) + COUNT(seconds) AS twice
FROM plays GROUP BY country EMIT CHANGES;

-- A unit of time is no column here either.
-- type D: DATE
SELECT country, DATEADD(DAYS, 1, FROM_DAYS(MAX(seconds))) AS d FROM plays GROUP BY country EMIT CHANGES;

-- error: BindError NOT_GROUPED 1:17
-- message: TRACK is neither grouped by nor inside an aggregate.
-- hint: Add it to GROUP BY, or use e.g. LATEST_BY_OFFSET(TRACK).
-- caret:
--   1 | SELECT country, track, COUNT(*) FROM plays GROUP BY country EMIT CHANGES;
--                       ^^^^^
SELECT country, track, COUNT(*) FROM plays GROUP BY country EMIT CHANGES;

-- error: BindError NOT_GROUPED 1:77
-- message: SECONDS is neither grouped by nor inside an aggregate.
-- hint: Add it to GROUP BY, or use e.g. LATEST_BY_OFFSET(SECONDS).
SELECT country, COUNT(*) AS n FROM plays GROUP BY country HAVING COUNT(*) + seconds > 1 EMIT CHANGES;

-- An unknown function or column is that first of all.
-- error: BindError UNKNOWN_FUNCTION 1:17
-- message: There is no function SUMM.
-- hint: Did you mean SUM?
SELECT country, SUMM(seconds) FROM plays GROUP BY country EMIT CHANGES;

-- error: BindError UNKNOWN_COLUMN 1:21
-- message: There is no column SECNDS in PLAYS.
-- hint: Did you mean SECONDS?
SELECT country, SUM(secnds) FROM plays GROUP BY country EMIT CHANGES;

-- error: BindError UNKNOWN_COLUMN 1:17
-- message: There is no column WINDOWSTART in PLAYS.
-- hint: Columns are USER, TRACK, COUNTRY, SECONDS, PRICE, PAID, ROWTIME, ROWPARTITION, ROWOFFSET.
SELECT country, WINDOWSTART, COUNT(*) FROM plays GROUP BY country EMIT CHANGES;

-- error: BindError NESTED_AGGREGATE 1:21
-- message: An aggregate can't hold another one.
SELECT country, SUM(COUNT(*)) FROM plays GROUP BY country EMIT CHANGES;

-- error: BindError AGGREGATE_NOT_HERE 1:43
-- message: WHERE can't hold an aggregate.
-- hint: Use HAVING.
SELECT country, COUNT(*) FROM plays WHERE COUNT(*) > 1 GROUP BY country EMIT CHANGES;

-- error: BindError AGGREGATE_NOT_HERE 1:46
-- message: GROUP BY can't hold an aggregate.
SELECT COUNT(*) FROM plays GROUP BY country, MAX(seconds) EMIT CHANGES;

-- error: BindError AGGREGATE_WITHOUT_GROUP_BY 1:15
-- message: An aggregate needs GROUP BY.
-- hint: Add GROUP BY with the columns that make a group.
SELECT track, COUNT(*) AS n FROM plays EMIT CHANGES;

-- error: BindError HAVING_WITHOUT_GROUP_BY 1:32
-- message: HAVING needs GROUP BY.
-- hint: Use WHERE.
SELECT track FROM plays HAVING seconds > 1 EMIT CHANGES;

-- error: BindError WINDOW_WITHOUT_GROUP_BY 1:32
-- message: WINDOW needs GROUP BY.
SELECT track FROM plays WINDOW TUMBLING (SIZE 1 MINUTE) EMIT CHANGES;

-- error: BindError NO_AGGREGATE 1:19
-- message: GROUP BY requires aggregate functions in either the SELECT or HAVING clause.
CREATE TABLE t AS SELECT country, UCASE(country) AS c FROM plays GROUP BY country;

-- error: BindError PARTITION_BY_WITH_GROUP_BY 1:19
-- message: PARTITION BY and GROUP BY exclude each other.
CREATE TABLE t AS SELECT country, COUNT(*) AS n FROM plays PARTITION BY track GROUP BY country;

-- error: BindError KEY_MISSING 1:26
-- message: Key missing from projection: the query must select COUNTRY.
-- hint: Add COUNTRY to the SELECT list.
CREATE TABLE t AS SELECT COUNT(*) AS n FROM plays GROUP BY country;

-- error: BindError KEY_TWICE 1:35
-- message: The key COUNTRY stands more than once in the SELECT list.
-- hint: Use AS_VALUE(...) for the copy in the value.
CREATE TABLE t AS SELECT country, country AS c, COUNT(*) AS n FROM plays GROUP BY country;

-- error: BindError WRONG_KIND 1:15
-- message: Invalid result type. The SELECT query produces a TABLE, not a STREAM.
-- hint: Use CREATE TABLE T AS SELECT ...
CREATE STREAM t AS SELECT country, COUNT(*) AS n FROM plays GROUP BY country;

-- error: BindError INVALID_FORMAT 1:14
-- message: The format KAFKA holds a single column, and the key has 2.
-- hint: Add WITH (KEY_FORMAT='JSON').
CREATE TABLE t AS SELECT country, track, COUNT(*) AS n FROM plays GROUP BY country, track;

-- error: BindError NOT_CONSTANT 1:31
-- message: TOPK needs a constant here.
SELECT country, TOPK(seconds, seconds) FROM plays GROUP BY country EMIT CHANGES;

-- error: BindError NO_SUCH_SIGNATURE 1:17
-- message: SUM doesn't take (VARCHAR(STRING)).
-- hint: It takes (INTEGER) or (BIGINT) or (DOUBLE) or (DECIMAL).
SELECT country, SUM(track) FROM plays GROUP BY country EMIT CHANGES;

-- error: BindError INVALID_WINDOW 1:44
-- message: ADVANCE BY can't be more than SIZE.
-- caret:
--   1 | SELECT country, COUNT(*) FROM plays WINDOW HOPPING (SIZE 1 MINUTE, ADVANCE BY 1 HOUR) GROUP BY country EMIT CHANGES;
--                                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
SELECT country, COUNT(*) FROM plays WINDOW HOPPING (SIZE 1 MINUTE, ADVANCE BY 1 HOUR) GROUP BY country EMIT CHANGES;

-- error: BindError INVALID_WINDOW 1:44
-- message: A window's size and advance must be above zero.
SELECT country, COUNT(*) FROM plays WINDOW HOPPING (SIZE 1 MINUTE, ADVANCE BY 0 SECONDS) GROUP BY country EMIT CHANGES;

-- error: BindError INVALID_WINDOW 1:44
-- message: A window's size and advance must be above zero.
SELECT country, COUNT(*) FROM plays WINDOW SESSION (0 SECONDS) GROUP BY country EMIT CHANGES;

-- error: BindError INVALID_WINDOW 1:44
-- message: RETENTION must be at least SIZE plus GRACE PERIOD.
SELECT country, COUNT(*) FROM plays WINDOW TUMBLING (SIZE 1 DAY, RETENTION 1 HOUR) GROUP BY country EMIT CHANGES;

-- error: ParseError SYNTAX 1:66
-- message: Expected ADVANCE BY in a HOPPING window, found ')'.
SELECT country, COUNT(*) FROM plays WINDOW HOPPING (SIZE 1 MINUTE) GROUP BY country EMIT CHANGES;

-- error: ParseError SYNTAX 1:61
-- message: Expected a time unit (MILLISECONDS, SECONDS, MINUTES, HOURS or DAYS), found 'MINUETS'.
-- hint: Did you mean MINUTES?
SELECT country, COUNT(*) FROM plays WINDOW TUMBLING (SIZE 1 MINUETS) GROUP BY country EMIT CHANGES;

-- error: ParseError SYNTAX 1:44
-- message: Expected TUMBLING, HOPPING or SESSION, found 'TUMBLNG'.
-- hint: Did you mean TUMBLING?
SELECT country, COUNT(*) FROM plays WINDOW TUMBLNG (SIZE 1 MINUTE) GROUP BY country EMIT CHANGES;

-- error: ParseError SYNTAX 1:59
-- message: Expected ADVANCE BY, RETENTION or GRACE PERIOD, found 'ADVANCED'.
-- hint: Did you mean ADVANCE BY?
SELECT COUNT(*) FROM plays WINDOW HOPPING (SIZE 1 MINUTE, ADVANCED BY 1 SECOND) GROUP BY country EMIT CHANGES;
