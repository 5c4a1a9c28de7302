-- A statement of every kind that the journal keeps, with every relation, type, window and join.

CREATE TYPE address AS STRUCT<number INT, street STRING>;

CREATE TYPE people AS MAP<STRING, STRUCT<name STRING, home ADDRESS>>;

CREATE FUNCTION shout(x STRING, n INT) RETURNS STRING LANGUAGE PYTHON AS $$
  return x.upper() + '!' * n  # "quoted" and a \ backslash
$$;

CREATE STREAM scalars (
  k STRING KEY, f BOOLEAN, i INT, b BIGINT, d DOUBLE, n DECIMAL(9, 2), t STRING, y BYTES, day DATE, hour TIME,
  at TIMESTAMP, tags ARRAY<STRING>, m MAP<STRING, BIGINT>, home ADDRESS, others PEOPLE,
  h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS
) WITH (KAFKA_TOPIC = 'scalars', VALUE_FORMAT = 'JSON', TIMESTAMP = 'at');

CREATE STREAM lines (id INT, line STRING, trace BYTES HEADER('trace'))
  WITH (KAFKA_TOPIC = 'lines', VALUE_FORMAT = 'DELIMITED', VALUE_DELIMITER = '|', KEY_FORMAT = 'NONE',
        TIMESTAMP = 'line', TIMESTAMP_FORMAT = 'yyyy-MM-dd');

CREATE STREAM `Mixed Case` (`größe` INT KEY, "spelledSo" STRING)
  WITH (KAFKA_TOPIC = 'mixed', KEY_FORMAT = 'JSON', VALUE_FORMAT = 'JSON', WRAP_SINGLE_VALUE = FALSE);

CREATE STREAM protos (k STRING KEY, v INT)
  WITH (KAFKA_TOPIC = 'protos', VALUE_FORMAT = 'PROTOBUF', VALUE_PROTOBUF_NULLABLE_REPRESENTATION = 'WRAPPER',
        VALUE_SCHEMA_FULL_NAME = 'shop.Order');

CREATE STREAM clicks (user STRING KEY, page STRING, at BIGINT) WITH (KAFKA_TOPIC = 'clicks', VALUE_FORMAT = 'JSON');

CREATE STREAM views (user STRING KEY, ad STRING) WITH (KAFKA_TOPIC = 'views', VALUE_FORMAT = 'JSON');

CREATE TABLE users (id STRING PRIMARY KEY, city STRING) WITH (KAFKA_TOPIC = 'users', VALUE_FORMAT = 'JSON');

CREATE TABLE cities (id STRING PRIMARY KEY, land STRING) WITH (KAFKA_TOPIC = 'cities', VALUE_FORMAT = 'JSON');

CREATE SOURCE TABLE windowed (id INT PRIMARY KEY, n BIGINT)
  WITH (KAFKA_TOPIC = 'w', VALUE_FORMAT = 'JSON', WINDOW_TYPE = 'HOPPING', WINDOW_SIZE = '1 MINUTE');

CREATE STREAM sessions (id INT KEY, n BIGINT)
  WITH (KAFKA_TOPIC = 'w2', VALUE_FORMAT = 'JSON', WINDOW_TYPE = 'SESSION');

CREATE STREAM filtered AS SELECT k, i + 1 AS i, t, home->street AS street, n * 2 AS n FROM scalars WHERE t IS NOT NULL;

CREATE STREAM rekeyed WITH (KAFKA_TOPIC = 'by-text', KEY_FORMAT = 'JSON', PARTITIONS = 8, TIMESTAMP = 'at')
  AS SELECT t, i, at, day FROM scalars PARTITION BY t;

CREATE STREAM exploded AS SELECT k, EXPLODE(tags) AS tag, i FROM scalars;

CREATE STREAM loud AS SELECT k, SHOUT(t, i) AS s FROM scalars;

CREATE STREAM nested AS SELECT k, TRANSFORM(tags, x => UCASE(x)) AS tags, CAST(NULL AS address) AS none, m['a'] AS a,
  STRUCT(x := i, y := ARRAY[1, 2]) AS made FROM scalars;

CREATE TABLE counted AS SELECT k, COUNT(*) AS c, SUM(i) AS total FROM scalars GROUP BY k;

CREATE TABLE ranked WITH (KEY_FORMAT = 'JSON') AS
  SELECT t, f, TOPK(i, 5) AS best, COLLECT_LIST(t) AS texts, LATEST_BY_OFFSET(d, 3) AS last, HISTOGRAM(t) AS h
  FROM scalars GROUP BY t, f;

CREATE TABLE tumbling AS SELECT page, COUNT(*) AS n, MAX(at) AS newest FROM clicks
  WINDOW TUMBLING (SIZE 1 MINUTE, RETENTION 2 HOURS, GRACE PERIOD 10 SECONDS) GROUP BY page;

CREATE TABLE hopping WITH (late_rows = 'keep') AS SELECT page, COUNT(*) AS n FROM clicks
  WINDOW HOPPING (SIZE 30 SECONDS, ADVANCE BY 10 SECONDS) GROUP BY page;

CREATE TABLE by_session AS SELECT user, COUNT(*) AS n, WINDOWSTART AS began FROM clicks
  WINDOW SESSION (60 SECONDS) GROUP BY user;

CREATE TABLE final AS SELECT user, COUNT(*) AS n FROM clicks
  WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY user HAVING COUNT(*) > 2 EMIT FINAL;

CREATE TABLE per_city AS SELECT city, COUNT(*) AS n FROM users GROUP BY city;

CREATE TABLE of_berlin AS SELECT * FROM users WHERE city = 'Berlin';

CREATE TABLE brief WITH (ttl = '1 HOUR') AS SELECT user, COUNT(*) AS n FROM clicks GROUP BY user;

CREATE STREAM firsts AS SELECT DISTINCT user, page FROM clicks WINDOW TUMBLING (SIZE 1 SECOND);

CREATE STREAM paired AS SELECT c.user, page, ad FROM clicks c
  JOIN views v WITHIN (1 SECOND, 2 SECONDS) GRACE PERIOD 3 SECONDS ON c.user = v.user;

CREATE STREAM either AS SELECT ROWKEY, page, ad FROM clicks c FULL OUTER JOIN views v WITHIN 1 SECOND ON c.user = v.user;

CREATE STREAM backwards AS SELECT v.user, page, ad FROM clicks c RIGHT JOIN views v WITHIN 1 MINUTE ON c.user = v.user;

CREATE STREAM seen AS SELECT * FROM clicks c LEFT JOIN users u ON c.user = u.id;

CREATE TABLE both AS SELECT ROWKEY, city, land FROM users u FULL JOIN cities c ON u.id = c.id;

CREATE TABLE lands AS SELECT u.id, city, land FROM users u JOIN cities c ON u.city = c.id;

CREATE STREAM three AS SELECT c.user AS user, page, ad, city FROM clicks c
  JOIN views v WITHIN 1 HOUR ON c.user = v.user JOIN users u ON c.user = u.id;

CREATE STREAM all_of_them AS SELECT user, page AS what FROM clicks UNION ALL SELECT user, ad AS what FROM views;

CREATE STREAM quick WITH (guarantee = 'fast') AS SELECT user, page FROM clicks WHERE page <> '';

CREATE STREAM strict WITH (errors_tolerance = 'none', profile = 'throughput') AS SELECT * FROM views;

SET 'auto.offset.reset' = 'latest';

SET 'orion.tasks' = '4';

CREATE TABLE newest AS SELECT user, LATEST_BY_OFFSET(page) AS page FROM clicks GROUP BY user;

INSERT INTO strict WITH (QUERY_ID = 'by_hand') SELECT user, page AS ad FROM clicks;

UNSET 'orion.tasks';

INSERT INTO strict SELECT user, UCASE(ad) AS ad FROM views;

CREATE SINK CONNECTOR lake WITH (
  'connector.class' = 'delta', 'topics' = 'clicks, QUICK', 'path' = '/lake', 'errors.tolerance' = 'none'
);

CREATE SINK CONNECTOR database WITH (
  'connector.class' = 'jdbc', 'topics' = 'LANDS', 'connection.url' = 'jdbc:postgresql://db/shop',
  'connection.user' = 'orion', 'connection.password' = '${file:shop}', 'transforms' = 'cut',
  'transforms.cut.type' = 'org.apache.kafka.connect.transforms.ReplaceField$Value', 'transforms.cut.exclude' = 'LAND'
);

CREATE SOURCE CONNECTOR crm WITH (
  'connector.class' = 'cdc', 'database' = 'postgresql', 'database.hostname' = 'db', 'database.port' = '5432',
  'database.dbname' = 'crm', 'database.user' = 'orion', 'database.password' = '${file:crm}', 'topic.prefix' = 'crm',
  'table.include.list' = 'public.customers'
);

CREATE SOURCE CONNECTOR made_up WITH ('connector.class' = 'datagen', 'kafka.topic' = 'clicks', 'quickstart' = 'pageviews');

-- What is changed is journaled again, what ends has a tombstone.

PAUSE CONNECTOR lake;

PAUSE CSAS_FILTERED_13;

PAUSE CTAS_COUNTED_23;

RESUME CSAS_FILTERED_13;

CREATE OR REPLACE STREAM quick WITH (guarantee = 'fast') AS SELECT user, page, at FROM clicks WHERE page <> '/';

ALTER STREAM clicks ADD COLUMN browser STRING;

CREATE STREAM gone AS SELECT * FROM clicks;

DROP STREAM gone;

DROP TYPE people;
