-- Where is every truck now? A stream of positions, folded into a table.

-- Each truck reports its position again and again. The key is the truck, so its reports stay in one of the five
-- partitions and thereby in order: Kafka keeps order within a partition only.
CREATE STREAM gps_location_trucks (
  truck_id STRING KEY,
  latitude DOUBLE,
  longitude DOUBLE
) WITH (KAFKA_TOPIC = 'gps_location_trucks', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON', PARTITIONS = 5);

-- A table holds one row a key. LATEST_BY_OFFSET takes the report that arrived last; the table's topic is compacted, so
-- a new reader finds the whole fleet without reading its past.
CREATE TABLE truck_positions AS
  SELECT
    truck_id,
    LATEST_BY_OFFSET(latitude) AS latitude,
    LATEST_BY_OFFSET(longitude) AS longitude,
    COUNT(*) AS reports
  FROM gps_location_trucks
  GROUP BY truck_id
  EMIT CHANGES;
