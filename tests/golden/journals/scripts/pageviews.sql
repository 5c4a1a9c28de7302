-- Page views by region: views know their user, users know their region.

CREATE TABLE users (
  user_id STRING PRIMARY KEY,
  region STRING
) WITH (KAFKA_TOPIC = 'pageview_users', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON', PARTITIONS = 4);

CREATE STREAM pageviews (
  user_id STRING KEY,
  page STRING,
  viewed_at BIGINT
) WITH (
  KAFKA_TOPIC = 'pageviews', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON', PARTITIONS = 4, TIMESTAMP = 'viewed_at'
);

-- A view keeps its time through the join, so the windows below are windows of when pages were viewed.
CREATE STREAM pageviews_with_region AS
  SELECT v.user_id AS user_id, v.page AS page, u.region AS region
  FROM pageviews v
  LEFT JOIN users u ON v.user_id = u.user_id
  EMIT CHANGES;

-- A session of a region lasts as long as no more than 60 seconds pass between two views. A view without a region is in
-- no group. Hours are replayed here within seconds, so one partition may be read to its end before another is begun:
-- a grace of a day takes all of it. Live, a few minutes are enough.
CREATE TABLE region_sessions AS
  SELECT region, COUNT(*) AS views, COUNT_DISTINCT(user_id) AS visitors
  FROM pageviews_with_region
  WINDOW SESSION (60 SECONDS, GRACE PERIOD 1 DAY)
  GROUP BY region
  EMIT CHANGES;

-- The last 30 seconds, anew every 10: each view counts in three windows.
CREATE TABLE region_views AS
  SELECT region, COUNT(*) AS views
  FROM pageviews_with_region
  WINDOW HOPPING (SIZE 30 SECONDS, ADVANCE BY 10 SECONDS, GRACE PERIOD 1 DAY)
  GROUP BY region
  EMIT CHANGES;
