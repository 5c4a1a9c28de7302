-- The five largest orders of every zip code, hour by hour.

CREATE STREAM orders (
  order_id STRING KEY,
  zip STRING,
  total DOUBLE,
  placed_at BIGINT
) WITH (
  KAFKA_TOPIC = 'shop_orders', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON', PARTITIONS = 4, TIMESTAMP = 'placed_at'
);

-- Orders are keyed by their id; the table is keyed by zip code and hour. TOPK keeps the k largest, largest first.
CREATE TABLE top_orders AS
  SELECT zip, TOPK(total, 5) AS totals, COUNT(*) AS orders
  FROM orders
  WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 1 DAY)
  GROUP BY zip
  EMIT CHANGES;
