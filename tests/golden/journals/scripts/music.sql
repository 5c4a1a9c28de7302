-- A music-streaming service: from what clients report to charts, sessions, an alert and a lake.
-- Everything below is ksqlDB's dialect, and everything keeps running: each CREATE ... AS SELECT is a query that reads
-- one topic and writes another, for as long as Orion lives.

-- 1. Facts that change rarely: the last record of a key is the truth, so these are tables over compacted topics.
CREATE TABLE users (
  user_id STRING PRIMARY KEY,
  name STRING,
  country STRING,
  plan STRING
) WITH (KAFKA_TOPIC = 'users', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON');

CREATE TABLE tracks (
  track_id STRING PRIMARY KEY,
  title STRING,
  artist STRING,
  seconds INT
) WITH (KAFKA_TOPIC = 'tracks', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON');

-- 2. Things that happen: a stream. TIMESTAMP says that a play counts for when it was played, not for when it arrived;
--    plays that arrive a minute or two late still fall into the window they belong to.
CREATE STREAM plays (
  user_id STRING KEY,
  play_id STRING,
  track_id STRING,
  title STRING,
  country STRING,
  seconds INT,
  played_at BIGINT
) WITH (
  KAFKA_TOPIC = 'plays', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON', PARTITIONS = 4, TIMESTAMP = 'played_at'
);

-- 3. Clean once, use everywhere. Under five seconds is a skip and not a play; countries come in any case.
--    A record that can't be decoded is no row at all: it goes to the topic dlq.CLEAN_PLAYS with the reason.
CREATE STREAM clean_plays AS
  SELECT
    user_id,
    play_id,
    track_id,
    title,
    UCASE(country) AS country,
    seconds,
    played_at,
    FORMAT_TIMESTAMP(FROM_UNIXTIME(ROWTIME), 'yyyy-MM-dd') AS day
  FROM plays
  WHERE seconds >= 5
  EMIT CHANGES;

-- 4. Plays per country and minute. Each change of a count is a new record of the result's topic; the key is the country
--    with its window, so the last record of a key is the count. GRACE PERIOD is how long a window waits for late plays.
CREATE TABLE plays_per_country AS
  SELECT country, COUNT(*) AS plays, SUM(seconds) AS seconds
  FROM clean_plays
  WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 10 MINUTES)
  GROUP BY country
  EMIT CHANGES;

-- 5. Sessions: a listener's plays with less than half a minute between them are one sitting. A late play may join two
--    sessions into one; the two then leave the table.
CREATE TABLE listener_sessions AS
  SELECT user_id, COUNT(*) AS plays, SUM(seconds) AS seconds
  FROM clean_plays
  WINDOW SESSION (30 SECONDS, GRACE PERIOD 10 MINUTES)
  GROUP BY user_id
  EMIT CHANGES;

-- 6. The five most played tracks of each minute. Grouping by the day puts all plays of a minute in one group.
CREATE TABLE top_tracks AS
  SELECT day, TOPK_FREQUENT(track_id, 5) AS top
  FROM clean_plays
  WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 10 MINUTES)
  GROUP BY day
  EMIT CHANGES;

-- 7. An alert: 20 plays of at least five seconds are more music than a minute holds. An account is shared, or a machine
--    listens. Only groups that fulfil HAVING are in the table.
CREATE TABLE heavy_listeners AS
  SELECT user_id, COUNT(*) AS plays
  FROM clean_plays
  WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 10 MINUTES)
  GROUP BY user_id
  HAVING COUNT(*) >= 20
  EMIT CHANGES;

-- 8. The lake: clean plays as a Delta table, a folder a day, each play exactly once.
CREATE SINK CONNECTOR lake WITH (
  'connector.class' = 'delta',
  'topics' = 'CLEAN_PLAYS',
  'path' = '/lake',
  'partition.by' = 'DAY'
);
