-- Expressions, and the statements that select them.

CREATE STREAM s (
  id BIGINT KEY, i INT, l BIGINT, d DOUBLE, n DECIMAL(10, 2), m DECIMAL(5, 3), t STRING, u STRING, b BOOLEAN, x BYTES,
  day DATE, clock TIME, at TIMESTAMP, a ARRAY<INT>, tags MAP<STRING, BIGINT>,
  p STRUCT<name STRING, home STRUCT<city STRING, zip INT>>
) WITH (KAFKA_TOPIC = 'records', VALUE_FORMAT = 'JSON');

CREATE TABLE w (id INT PRIMARY KEY, n BIGINT)
WITH (KAFKA_TOPIC = 'w', VALUE_FORMAT = 'JSON', WINDOW_TYPE = 'TUMBLING', WINDOW_SIZE = '1 MINUTE');

-- plan:
--   push query from the end of the log
--     project ID, T
--       scan stream S over topic records (key KAFKA, value JSON): ID BIGINT KEY, I INTEGER, L BIGINT, D DOUBLE, N DECIMAL(10, 2), M DECIMAL(5, 3), T VARCHAR(STRING), U VARCHAR(STRING), B BOOLEAN, X BYTES, DAY DATE, CLOCK TIME, AT TIMESTAMP, A ARRAY<INTEGER>, TAGS MAP<VARCHAR(STRING), BIGINT>, P STRUCT<NAME VARCHAR(STRING), HOME STRUCT<CITY VARCHAR(STRING), ZIP INTEGER>>
SELECT id, t FROM s EMIT CHANGES;

-- with: auto.offset.reset=earliest
-- plan:
--   push query from the beginning of the log, 5 rows
--     project (I * 2) AS TWICE
--       filter (I > 3)
--         scan stream S over topic records (key KAFKA, value JSON): ID BIGINT KEY, I INTEGER, L BIGINT, D DOUBLE, N DECIMAL(10, 2), M DECIMAL(5, 3), T VARCHAR(STRING), U VARCHAR(STRING), B BOOLEAN, X BYTES, DAY DATE, CLOCK TIME, AT TIMESTAMP, A ARRAY<INTEGER>, TAGS MAP<VARCHAR(STRING), BIGINT>, P STRUCT<NAME VARCHAR(STRING), HOME STRUCT<CITY VARCHAR(STRING), ZIP INTEGER>>
SELECT i * 2 AS twice FROM s WHERE i > 3 EMIT CHANGES LIMIT 5;

-- A persistent query: its topic has as many partitions as its source's, and formats are inherited.
-- plan:
--   topic COPY: partitions as records
--   define stream COPY over topic COPY (key KAFKA, value JSON): ID BIGINT KEY, T VARCHAR(STRING)
--   query CSAS_COPY_2 (stateless, exactly once) -> topic COPY, dead letters dlq.COPY
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; fast is possible
--     project ID, T
--       filter (T IS NOT NULL)
--         scan stream S over topic records (key KAFKA, value JSON): ID BIGINT KEY, I INTEGER, L BIGINT, D DOUBLE, N DECIMAL(10, 2), M DECIMAL(5, 3), T VARCHAR(STRING), U VARCHAR(STRING), B BOOLEAN, X BYTES, DAY DATE, CLOCK TIME, AT TIMESTAMP, A ARRAY<INTEGER>, TAGS MAP<VARCHAR(STRING), BIGINT>, P STRUCT<NAME VARCHAR(STRING), HOME STRUCT<CITY VARCHAR(STRING), ZIP INTEGER>>
CREATE STREAM copy AS SELECT id, t FROM s WHERE t IS NOT NULL EMIT CHANGES;

-- A new key, a topic of its own, a timestamp. The key comes first.
-- plan:
--   topic by-text: 8 partitions, retention.ms=1000
--   define stream BY_TEXT over topic by-text (key JSON, value JSON, ROWTIME from AT): T VARCHAR(STRING) KEY, ID BIGINT, AT TIMESTAMP
--   query CSAS_BY_TEXT_4 (stateless, exactly once) -> topic by-text, dead letters dlq.BY_TEXT
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; fast is possible
--     project ID, T, AT
--       scan stream S over topic records (key KAFKA, value JSON): ID BIGINT KEY, I INTEGER, L BIGINT, D DOUBLE, N DECIMAL(10, 2), M DECIMAL(5, 3), T VARCHAR(STRING), U VARCHAR(STRING), B BOOLEAN, X BYTES, DAY DATE, CLOCK TIME, AT TIMESTAMP, A ARRAY<INTEGER>, TAGS MAP<VARCHAR(STRING), BIGINT>, P STRUCT<NAME VARCHAR(STRING), HOME STRUCT<CITY VARCHAR(STRING), ZIP INTEGER>>
CREATE STREAM by_text
WITH (KAFKA_TOPIC = 'by-text', KEY_FORMAT = 'JSON', PARTITIONS = 8, RETENTION_MS = 1000, TIMESTAMP = 'at')
AS SELECT id, t, at FROM s PARTITION BY t;

-- A star brings in the new key, and the old one goes to the end. Two keys stand in the order of PARTITION BY.
-- plan:
--   topic STARRED: partitions as by-text
--   define stream STARRED over topic STARRED (key JSON, value JSON): KSQL_COL_0 VARCHAR(STRING) KEY, ID BIGINT KEY, AT TIMESTAMP, T VARCHAR(STRING)
--   query CSAS_STARRED_6 (stateless, exactly once) -> topic STARRED, dead letters dlq.STARRED
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; fast is possible
--     project UCASE(T) AS KSQL_COL_0, ID, AT, T
--       scan stream BY_TEXT over topic by-text (key JSON, value JSON, ROWTIME from AT): T VARCHAR(STRING) KEY, ID BIGINT, AT TIMESTAMP
CREATE STREAM starred AS SELECT * FROM by_text PARTITION BY UCASE(t), id;

-- A table stays one, and its window with it; its topic is compacted.
-- plan:
--   topic W2: partitions as w, cleanup.policy=compact,delete
--   define table W2 over topic W2 (key KAFKA, value JSON, window TUMBLING ( SIZE 60000 MILLISECONDS )): ID INTEGER PRIMARY KEY, FROM_MS BIGINT
--   query CTAS_W2_8 (stateless, exactly once) -> topic W2, dead letters dlq.W2
--     lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; not fast: it writes a table, whose topic is compacted
--     project ID, WINDOWSTART AS FROM_MS
--       scan table W over topic w (key KAFKA, value JSON, window TUMBLING ( SIZE 60000 MILLISECONDS )): ID INTEGER PRIMARY KEY, N BIGINT
CREATE TABLE w2 AS SELECT id, WINDOWSTART AS from_ms FROM w;

-- plan:
--   nothing: Cannot add stream COPY: it already exists.
CREATE STREAM IF NOT EXISTS copy AS SELECT id, t FROM s;

-- Columns without a name get one that is free.
-- spark KSQL_COL_0: CAST((`I` + 1) AS INT)
-- spark NAME: `P`.`NAME`
-- spark KSQL_COL_1: CAST((`I` + 2) AS INT)
-- spark CITY: `P`.`HOME`.`CITY`
-- spark NAME_1: `P`.`NAME`
SELECT i + 1, p->name, i + 2, s.p->home->city, p->name FROM s EMIT CHANGES;

-- A star, alone, of the source, of a struct.
-- type ID: BIGINT
-- type NAME: VARCHAR(STRING)
-- type HOME: STRUCT<CITY VARCHAR(STRING), ZIP INTEGER>
-- spark HOME: `P`.`HOME`
SELECT *, p->* FROM s EMIT CHANGES;

-- What every row has besides its columns.
-- type ROWTIME: BIGINT
-- type ROWPARTITION: INTEGER
-- type ROWOFFSET: BIGINT
SELECT ROWTIME, rowpartition, z.RowOffset FROM s z EMIT CHANGES;

-- Arithmetic: whole numbers stay whole, a DOUBLE makes a DOUBLE, decimals keep every digit.
-- type II: INTEGER
-- spark II: CAST((`I` DIV 2) AS INT)
-- type IL: BIGINT
-- spark IL: CAST((`I` * `L`) AS BIGINT)
-- type ID_: DOUBLE
-- spark ID_: (CAST(`I` AS DOUBLE) - CAST(`D` AS DOUBLE))
-- type ND: DOUBLE
-- spark ND: (CAST(`N` AS DOUBLE) + CAST(`D` AS DOUBLE))
-- type NM: DECIMAL(12, 3)
-- spark NM: CAST((`N` + `M`) AS DECIMAL(12,3))
-- type TIMES: DECIMAL(16, 5)
-- type OVER: DECIMAL(19, 8)
-- type REST: DECIMAL(5, 3)
-- type LN_: DECIMAL(22, 2)
-- type TEXT: VARCHAR(STRING)
-- spark TEXT: concat(concat(`T`, '-'), `U`)
-- spark MINUS: (-`I`)
SELECT i / 2 AS ii, i * l AS il, i - d AS id_, n + d AS nd, n + m AS nm, n * m AS times, n / m AS over, n % m AS rest,
  l + n AS ln_, t + '-' || u AS text, -i AS minus
FROM s EMIT CHANGES;

-- Constants.
-- spark WHOLE: 2147483647
-- type WHOLE: INTEGER
-- spark LARGE: 2147483648L
-- type LARGE: BIGINT
-- spark LEAST: -9223372036854775808L
-- spark DEC: 1.50BD
-- type DEC: DECIMAL(3, 2)
-- type TINY: DECIMAL(4, 3)
-- spark EXP: 12.5D
-- type EXP: DOUBLE
-- spark YES: TRUE
-- spark QUOTE: 'it\'s a \\ "line"'
-- type EMPTY: VARCHAR(STRING)
-- spark EMPTY: CAST(NULL AS STRING)
SELECT 2147483647 AS whole, 2147483648 AS large, -9223372036854775808 AS least, 1.50 AS dec, .001 AS tiny,
  1.25e1 AS exp, TRUE AS yes, 'it''s a \ "line"' AS quote, CAST(NULL AS STRING) AS empty
FROM s EMIT CHANGES;

-- Comparisons and logic.
-- spark WHERE: ((coalesce(`I` = 1, false) OR (coalesce(`L` <> 2, false) AND (NOT coalesce(`D` >= 3, false)))) AND (`B` IS NULL))
-- type SAME: BOOLEAN
-- spark SAME: (`T` <=> `U`)
-- spark OTHER: (NOT (`T` <=> `U`))
-- spark RANGE: (coalesce(`I` >= 1, false) AND coalesce(`I` <= 9, false))
-- spark OUT_: (NOT (coalesce(`I` >= 1, false) AND coalesce(`I` <= 9, false)))
-- spark ONE_OF: coalesce(`I` IN (1, 2, 3), false)
-- spark NONE_OF: (NOT coalesce(`T` IN ('a', CAST(NULL AS STRING)), false))
-- spark WIDER: coalesce(`I` < `N`, false)
SELECT t IS NOT DISTINCT FROM u AS same, t IS DISTINCT FROM u AS other, i BETWEEN 1 AND 9 AS range,
  i NOT BETWEEN 1 AND 9 AS out_, i IN (1, 2, 3) AS one_of, t NOT IN ('a', NULL) AS none_of, i < n AS wider
FROM s WHERE (i = 1 OR l != 2 AND NOT d >= 3) AND b IS NULL EMIT CHANGES;

-- A text beside a point in time is read as one.
-- spark LATER: coalesce(`AT` > CAST('2024-01-01T00:00:00' AS TIMESTAMP), false)
-- spark THAT_DAY: coalesce(CAST('2024-01-01' AS DATE) = `DAY`, false)
-- spark NOON: coalesce(`CLOCK` >= CAST(unix_millis(CAST(concat('1970-01-01 ', regexp_substr('12:00', '^[0-9]{1,2}(:[0-9]{1,2}(:[0-9]{1,2}([.][0-9]{1,9})?)?)?$')) AS TIMESTAMP)) AS INT), false)
-- spark FRESH: coalesce(`ROWTIME` > unix_millis(CAST('2024-01-01T00:00:00Z' AS TIMESTAMP)), false)
SELECT at > '2024-01-01T00:00:00' AS later, '2024-01-01' = day AS that_day, clock >= '12:00' AS noon,
  ROWTIME > '2024-01-01T00:00:00Z' AS fresh
FROM s EMIT CHANGES;

-- LIKE: only a character behind ESCAPE escapes.
-- spark STARTS: (`T` LIKE 'a%' ESCAPE '\u0001')
-- spark NOT_IT: (`T` NOT LIKE `U` ESCAPE '\u0001')
-- spark PERCENT: (`T` LIKE '10!%' ESCAPE '!')
-- spark BACK: (`T` LIKE '10\\%' ESCAPE '\\')
-- spark MARK: (`T` LIKE '10\'%' ESCAPE '\'')
SELECT t LIKE 'a%' AS starts, t NOT LIKE u AS not_it, t LIKE '10!%' ESCAPE '!' AS percent,
  t LIKE '10\%' ESCAPE '\' AS back, t LIKE '10''%' ESCAPE '''' AS mark
FROM s EMIT CHANGES;

-- CASE: the branches take one type.
-- spark SIZE: (CASE WHEN coalesce(`I` > 10, false) THEN 'big' WHEN coalesce(`I` > 5, false) THEN 'mid' ELSE CAST(NULL AS STRING) END)
-- spark NUMBER: (CASE WHEN coalesce(`I` = 1, false) THEN CAST(1 AS DECIMAL(12,2)) WHEN coalesce(`I` = 2, false) THEN CAST(`N` AS DECIMAL(12,2)) END)
-- type NUMBER: DECIMAL(12, 2)
-- type MIXED: DOUBLE
SELECT CASE WHEN i > 10 THEN 'big' WHEN i > 5 THEN 'mid' ELSE NULL END AS size,
  CASE i WHEN 1 THEN 1 WHEN 2 THEN n END AS number,
  CASE WHEN b THEN i ELSE d END AS mixed
FROM s EMIT CHANGES;

-- CAST.
-- spark TEXT: CAST(`I` AS STRING)
-- spark WHOLE: CAST(regexp_substr(`T`, '^\\s*[+-]?[0-9]+\\s*$') AS INT)
-- spark DEC: CAST(`D` AS DECIMAL(5,1))
-- type DEC: DECIMAL(5, 1)
-- spark YES: (lower(`T`) = 'true')
-- spark MOMENT: date_format(`AT`, "yyyy-MM-dd'T'HH:mm:ss.SSS")
-- spark CLOCK_: CAST(pmod(unix_millis(`AT`), 86400000) AS INT)
-- spark BASE64: base64(`X`)
-- spark TEXTS: transform(`A`, x -> CAST(x AS STRING))
-- type TEXTS: ARRAY<VARCHAR(STRING)>
-- spark DOUBLES: transform_values(`TAGS`, (k, x) -> CAST(x AS DOUBLE))
-- type DOUBLES: MAP<VARCHAR(STRING), DOUBLE>
-- spark NUMBERED: transform_values(map_from_entries(filter(transform(map_entries(`TAGS`), x -> named_struct('k', CAST(regexp_substr(x.key, '^\\s*[+-]?[0-9]+\\s*$') AS INT), 'v', x.value)), x -> x.k IS NOT NULL)), (k, x) -> CAST(x AS BIGINT))
SELECT CAST(i AS STRING) AS text, CAST(t AS INT) AS whole, CAST(d AS DECIMAL(5, 1)) AS dec, CAST(t AS BOOLEAN) AS yes,
  CAST(at AS STRING) AS moment, CAST(at AS TIME) AS clock_, CAST(x AS STRING) AS base64,
  CAST(a AS ARRAY<STRING>) AS texts, CAST(tags AS MAP<STRING, DOUBLE>) AS doubles,
  CAST(tags AS MAP<INT, BIGINT>) AS numbered
FROM s EMIT CHANGES;

-- Parts and constructors. 1 is the first of an array, -1 the last.
-- spark FIRST: try_element_at(`A`, CAST(nullif(1, 0) AS INT))
-- spark TAG: try_element_at(`TAGS`, 'red')
-- type TAG: BIGINT
-- type ZIP: INTEGER
-- spark LIST: array(CAST(1 AS DECIMAL(11,1)), CAST(2.5BD AS DECIMAL(11,1)), CAST(NULL AS DECIMAL(11,1)))
-- spark DICT: map('a', CAST(`I` AS BIGINT), 'b', `L`)
-- type DICT: MAP<VARCHAR(STRING), BIGINT>
-- spark POINT: named_struct('X', `D`, 'it\'s', CAST(NULL AS STRING))
-- type POINT: STRUCT<X DOUBLE, it's VARCHAR(STRING)>
-- spark DEEP: named_struct('X', `D`).`X`
SELECT a[1] AS first, tags['red'] AS tag, p->home->zip, ARRAY[1, 2.5, NULL] AS list, MAP('a' := i, 'b' := l) AS dict,
  STRUCT(x := d, `it's` := NULL) AS point, STRUCT(x := d)->x AS deep
FROM s EMIT CHANGES;

-- Functions: the overload that fits best, its arguments brought to its types.
-- spark UP: (upper(`T`))
-- type FIRST: BIGINT
-- spark FIRST: (coalesce(CAST(`I` AS BIGINT), `L`, CAST(NULL AS BIGINT)))
SELECT UCASE(t) AS up, COALESCE(i, l, NULL) AS first FROM s EMIT CHANGES;

-- A unit of time is no column.
-- type NEXT: DATE
SELECT DATEADD(DAYS, 1, day) AS next FROM s EMIT CHANGES;
