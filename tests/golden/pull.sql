-- SELECT without EMIT: the rows as they are now. DuckDB answers where it can, Spark where it can't and over streams.

CREATE STREAM s (k STRING KEY, v INT, at TIMESTAMP) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');

CREATE TABLE t AS SELECT k, COUNT(*) AS n, MAX(v) AS most FROM s GROUP BY k;

CREATE TABLE w AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY k;

CREATE TABLE p (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = 'p', VALUE_FORMAT = 'JSON');

CREATE SOURCE TABLE st (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = 'p', VALUE_FORMAT = 'JSON');

-- plan:
--   pull query, answered by DuckDB, look-up by K
--     SELECT "K" AS "K", "N" AS "N", "MOST" AS "MOST" FROM "T" WHERE ("K" = $1)
--     read table T over topic T (key KAFKA, value JSON): K VARCHAR(STRING) PRIMARY KEY, N BIGINT, MOST INTEGER
SELECT * FROM t WHERE k = 'a';

-- plan:
--   pull query, answered by DuckDB, look-up by K
--     SELECT "N" AS "N", "ROWTIME" AS "ROWTIME" FROM (WITH __r AS MATERIALIZED (SELECT * FROM "T" WHERE ("K" = $1)) SELECT * FROM __r) AS __l WHERE ("N" > 2)
--     read table T over topic T (key KAFKA, value JSON): K VARCHAR(STRING) PRIMARY KEY, N BIGINT, MOST INTEGER
SELECT n, ROWTIME FROM t WHERE k = 'a' AND n > 2;

-- plan:
--   pull query, answered by DuckDB, look-up by K
--     SELECT "K" AS "K", "WINDOWSTART" AS "WINDOWSTART", "WINDOWEND" AS "WINDOWEND", "N" AS "N" FROM (WITH __r AS MATERIALIZED (SELECT * FROM "W" WHERE ("K" = $1)) SELECT * FROM __r) AS __l WHERE ("WINDOWSTART" >= 1767323040000)
--     read table W over topic W (key KAFKA, value JSON, window TUMBLING ( SIZE 60000 MILLISECONDS )): K VARCHAR(STRING) PRIMARY KEY, N BIGINT
SELECT * FROM w WHERE k = 'a' AND WINDOWSTART >= '2026-01-02T03:04';

-- plan:
--   pull query, answered by DuckDB
--     SELECT "K", "N" FROM (SELECT "K" AS "K", "N" AS "N", (lower("K")) AS __o1 FROM "T" WHERE ((NOT coalesce(("N" = $1), FALSE)) OR ("MOST" IN (1, 2)))) AS __s ORDER BY 2 DESC NULLS FIRST, __o1 ASC NULLS FIRST LIMIT 5 OFFSET 10
--     read table T over topic T (key KAFKA, value JSON): K VARCHAR(STRING) PRIMARY KEY, N BIGINT, MOST INTEGER
SELECT k, n FROM t WHERE NOT (n = 1) OR most IN (1, 2) ORDER BY n DESC, LCASE(k) NULLS FIRST LIMIT 5 OFFSET 10;

-- plan:
--   pull query, answered by DuckDB
--     SELECT DISTINCT "N" AS "N" FROM "T"
--     read table T over topic T (key KAFKA, value JSON): K VARCHAR(STRING) PRIMARY KEY, N BIGINT, MOST INTEGER
SELECT DISTINCT n FROM t;

-- plan:
--   pull query, answered by DuckDB
--     SELECT "__k0" AS "N", "__a0" AS "KEYS" FROM (SELECT "N" AS __k0, CAST(count(*) AS BIGINT) AS __a0 FROM "T" WHERE ("K" LIKE 'a%') GROUP BY 1) AS __g WHERE ("__a0" > 1)
--     read table T over topic T (key KAFKA, value JSON): K VARCHAR(STRING) PRIMARY KEY, N BIGINT, MOST INTEGER
SELECT n, COUNT(*) AS keys FROM t WHERE k LIKE 'a%' GROUP BY n HAVING COUNT(*) > 1;

-- plan:
--   pull query, answered by DuckDB
--     SELECT "A.K" AS "A_K", "B.V" AS "V" FROM (SELECT *, greatest("A.ROWTIME", "B.ROWTIME") AS "ROWTIME" FROM (SELECT "K" AS "A.K", "N" AS "A.N", "MOST" AS "A.MOST", "ROWTIME" AS "A.ROWTIME" FROM "T") AS __j0 LEFT JOIN (SELECT "K" AS "B.K", "V" AS "B.V", "ROWTIME" AS "B.ROWTIME" FROM "ST") AS __j1 ON ("A.K" = "B.K")) AS __f
--     read table T over topic T (key KAFKA, value JSON): K VARCHAR(STRING) PRIMARY KEY, N BIGINT, MOST INTEGER
--     read table ST over topic p (key KAFKA, value JSON): K VARCHAR(STRING) PRIMARY KEY, V INTEGER
SELECT a.k, b.v FROM t a LEFT JOIN st b ON a.k = b.k;

-- plan:
--   pull query, answered by DuckDB
--     SELECT "N" AS "N" FROM (SELECT "N" AS "N" FROM "T") AS __d1 WHERE ("N" > 1)
--     read table T over topic T (key KAFKA, value JSON): K VARCHAR(STRING) PRIMARY KEY, N BIGINT, MOST INTEGER
SELECT x.n FROM (SELECT n FROM t) x WHERE x.n > 1;

-- plan:
--   pull query, answered by DuckDB
--     SELECT "K" AS "K", "__w0" AS "R" FROM (SELECT *, rank() OVER (PARTITION BY "N" ORDER BY "MOST" DESC NULLS FIRST) AS __w0 FROM "T") AS __v
--     read table T over topic T (key KAFKA, value JSON): K VARCHAR(STRING) PRIMARY KEY, N BIGINT, MOST INTEGER
SELECT k, RANK() OVER (PARTITION BY n ORDER BY most DESC) AS r FROM t;

-- plan:
--   pull query, answered by Spark: DuckDB has no equal for TRANSFORM
--     SELECT (if(exists(array(`N`), __l0_0 -> CAST((__l0_0 + 1) AS BIGINT) IS NULL), NULL, transform(array(`N`), __l0_0 -> CAST((__l0_0 + 1) AS BIGINT)))) AS `L` FROM __t0
--     read table T over topic T (key KAFKA, value JSON): K VARCHAR(STRING) PRIMARY KEY, N BIGINT, MOST INTEGER
SELECT TRANSFORM(ARRAY[n], x => x + 1) AS l FROM t;

-- plan:
--   pull query, answered by Spark: DuckDB has no equal for FORMAT_TIMESTAMP
--     SELECT `K` AS `K`, (date_format((timestamp_micros(try_multiply(`ROWTIME`, 1000L))), 'HH')) AS `H` FROM __t0 WHERE coalesce(`K` = 'a', false)
--     over the rows where ("K" = $1)
--     read table T over topic T (key KAFKA, value JSON): K VARCHAR(STRING) PRIMARY KEY, N BIGINT, MOST INTEGER
SELECT k, FORMAT_TIMESTAMP(FROM_UNIXTIME(ROWTIME), 'HH') AS h FROM t WHERE k = 'a';

-- plan:
--   pull query, answered by Spark: a stream's records are read from its topic
--     SELECT `K` AS `K`, `V` AS `V`, `AT` AS `AT` FROM __t0 WHERE coalesce(`V` > 3, false) LIMIT 2
--     read stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, AT TIMESTAMP
SELECT * FROM s WHERE v > 3 LIMIT 2;

-- The order of arrival is not known here: the rows' times stand for it. Spark's sums have more digits than ksqlDB's.
-- plan:
--   pull query, answered by Spark: a stream's records are read from its topic
--     SELECT `__k0` AS `K`, `__a0` AS `A`, `__a1` AS `B`, `__a2` AS `C`, `__a3` AS `D` FROM (SELECT `K` AS __k0, max_by(`V`, if(`V` IS NULL, NULL, `ROWTIME`)) AS __a0, max_by(`V`, if(`V` IS NULL, NULL, `ROWTIME`)) AS __a1, min_by(`V`, `ROWTIME`) AS __a2, CAST(coalesce(sum(CAST(`V` AS DECIMAL(6,2))), 0) AS DECIMAL(6,2)) AS __a3 FROM __t0 GROUP BY 1) AS __g
--     read stream S over topic s (key KAFKA, value JSON): K VARCHAR(STRING) KEY, V INTEGER, AT TIMESTAMP
SELECT k, LATEST_BY_OFFSET(v) AS a, LATEST_BY_OFFSET(v, true) AS b, EARLIEST_BY_OFFSET(v, false) AS c, SUM(CAST(v AS DECIMAL(6, 2))) AS d FROM s GROUP BY k;

-- error: UnsupportedError AGGREGATE_NOT_HERE 1:8
-- message: LATEST_BY_OFFSET is not there for pull queries.
-- hint: Let a CREATE TABLE AS keep it, and pull from that.
SELECT LATEST_BY_OFFSET(v, 2) AS l FROM s;

-- error: BindError NOT_MATERIALISED 1:15
-- message: The P table isn't queryable: nothing keeps its rows.
-- hint: Keep them: CREATE TABLE QUERYABLE_P AS SELECT * FROM P; or declare it as SOURCE TABLE.
SELECT * FROM p;

-- error: BindError WINDOW_IN_PULL 1:24
-- message: Pull queries don't support WINDOW.
-- hint: Add EMIT CHANGES for a push query.
SELECT * FROM t WINDOW TUMBLING (SIZE 1 SECOND);

-- error: BindError JOIN_OF_STREAM 1:19
-- message: Pull queries join tables; a stream is read alone.
-- hint: Let a CREATE TABLE AS make a table of the stream, or add EMIT CHANGES.
SELECT t.k FROM t JOIN s ON t.k = s.k;

-- error: BindError PSEUDO_COLUMN_NOT_HERE 1:8
-- message: Pull queries don't know ROWOFFSET.
-- hint: Add EMIT CHANGES for a push query, which does.
SELECT ROWOFFSET FROM t;

-- error: BindError UNKNOWN_COLUMN 1:8
-- message: There is no column NN in T.
-- hint: Did you mean N?
SELECT nn FROM t;

-- error: BindError TYPE_MISMATCH 1:23
-- message: VARCHAR(STRING) can't be compared with INTEGER.
-- hint: CAST one side to the other's type.
SELECT * FROM t WHERE k = 1;

-- error: BindError ORDER_NOT_HERE 1:39
-- message: ORDER BY and OFFSET need all rows, and a stream has no end: they stand in pull queries only.
-- hint: Pull what is there now: a SELECT without EMIT.
SELECT * FROM t EMIT CHANGES ORDER BY n;

-- error: BindError WINDOW_FUNCTION_NOT_HERE 1:8
-- message: A window function can only stand in the SELECT list of a pull query.
-- hint: Leave out EMIT, or use a sub-query in FROM.
SELECT RANK() OVER (ORDER BY v) AS r FROM s EMIT CHANGES;

-- error: BindError TABLE_FUNCTION_NOT_HERE 1:8
-- message: Pull queries don't support EXPLODE.
SELECT EXPLODE(ARRAY[n]) FROM t;

-- plan:
--   pull query, answered by DuckDB
--     SELECT 1 AS "KSQL_COL_0"
SELECT 1;

-- plan:
--   pull query, answered by DuckDB
--     SELECT (upper('a')) AS "BIG", 1 AS "ONE", [1, 2] AS "LIST"
SELECT UCASE('a') AS big, 1 one, ARRAY[1, 2] AS list;

-- plan:
--   pull query, answered by Spark: DuckDB has no equal for TRANSFORM
--     SELECT 1 AS `N`, (if(exists(array(1, 2), __l0_0 -> CAST((__l0_0 + 1) AS INT) IS NULL), NULL, transform(array(1, 2), __l0_0 -> CAST((__l0_0 + 1) AS INT)))) AS `LIST`
SELECT 1 AS n, TRANSFORM(ARRAY[1, 2], x => x + 1) AS list;

-- error: BindError UNKNOWN_COLUMN 1:8
-- message: There is no column K.
SELECT k;

-- error: BindError FROM_MISSING 1:8
-- message: * and OVER need rows, and there is no FROM.
-- hint: Add FROM and a source.
SELECT *;

-- error: BindError FROM_MISSING 1:8
-- message: COUNT needs rows, and there is no FROM.
-- hint: Add FROM and a source.
SELECT COUNT(*);

-- error: BindError FROM_MISSING 1:8
-- message: EXPLODE needs rows, and there is no FROM.
-- hint: Add FROM and a source.
SELECT EXPLODE(ARRAY[1, 2]);

-- error: BindError NULL_TYPE 1:8
-- message: A column that is NULL has no type.
-- hint: CAST it, for example CAST(NULL AS STRING).
SELECT NULL;

-- error: BindError DUPLICATE_COLUMN 1:16
-- message: The column A comes out twice.
-- hint: Give one of them another name: A AS other.
SELECT 1 AS a, 2 AS a;

-- error: ParseError SYNTAX 1:10
-- message: Expected FROM, found 'EMIT'.
SELECT 1 EMIT CHANGES;

-- error: ParseError SYNTAX 1:10
-- message: Expected FROM, found 'FRM'.
-- hint: Did you mean FROM?
SELECT k FRM s;
