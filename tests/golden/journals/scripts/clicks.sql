-- Who clicks? A stream of clicks, each with what is known of its user at that moment.

-- The last record of a user is the truth, and a record without a value deletes the user.
CREATE TABLE users (
  user_id STRING PRIMARY KEY,
  name STRING,
  user_type STRING
) WITH (KAFKA_TOPIC = 'click_users', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON', PARTITIONS = 4);

CREATE STREAM clicks (
  user_id STRING KEY,
  click_id STRING,
  page STRING,
  clicked_at BIGINT
) WITH (
  KAFKA_TOPIC = 'clicks', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON', PARTITIONS = 4, TIMESTAMP = 'clicked_at'
);

-- LEFT: a click of somebody unknown stays, without a name. A user who changes later changes no earlier click.
CREATE STREAM enriched_clicks AS
  SELECT c.user_id AS user_id, c.click_id AS click_id, c.page AS page, u.name AS name, u.user_type AS user_type
  FROM clicks c
  LEFT JOIN users u ON c.user_id = u.user_id
  EMIT CHANGES;

CREATE STREAM platinum_clicks AS
  SELECT user_id, click_id, page, name
  FROM enriched_clicks
  WHERE user_type = 'platinum'
  EMIT CHANGES;
