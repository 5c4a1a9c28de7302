-- What do our customers do? Customers live in a PostgreSQL table that other people change.

-- Every change of the table becomes a record. The connector declares the TABLE customers over them.
CREATE SOURCE CONNECTOR crm WITH (
  'connector.class' = 'cdc',
  'database' = 'postgresql',
  'database.hostname' = 'db.example',
  'database.port' = '5432',
  'database.dbname' = 'crm',
  'database.user' = 'orion',
  'database.password' = '${file:hub}',
  'topic.prefix' = 'crm',
  'table.include.list' = 'public.customers'
);

-- The connector's own statement.
CREATE TABLE customers (id INT PRIMARY KEY, name STRING, city STRING)
  WITH (KAFKA_TOPIC = 'crm.public.customers', KEY_FORMAT = 'JSON', VALUE_FORMAT = 'JSON');

CREATE STREAM clicks (
  customer_id INT KEY,
  page STRING
) WITH (KAFKA_TOPIC = 'hub_clicks', KEY_FORMAT = 'JSON', VALUE_FORMAT = 'JSON', PARTITIONS = 2);

CREATE TABLE clicks_per_customer AS
  SELECT customer_id, COUNT(*) AS clicks, LATEST_BY_OFFSET(page) AS last_page
  FROM clicks
  GROUP BY customer_id
  EMIT CHANGES;

-- One row a customer who has clicked; it goes when the customer does.
CREATE TABLE activity AS
  SELECT c.id AS id, c.name AS name, c.city AS city, k.clicks AS clicks, k.last_page AS last_page
  FROM customers c
  JOIN clicks_per_customer k ON c.id = k.customer_id
  EMIT CHANGES;

CREATE SINK CONNECTOR activity_lake WITH (
  'connector.class' = 'delta',
  'topics' = 'ACTIVITY',
  'path' = '/lake/activity'
);

CREATE SINK CONNECTOR activity_database WITH (
  'connector.class' = 'jdbc',
  'topics' = 'ACTIVITY',
  'connection.url' = 'jdbc:postgresql://db.example:5432/crm',
  'connection.user' = 'orion',
  'connection.password' = '${file:hub}',
  'table.name.format' = 'activity',
  'insert.mode' = 'upsert',
  'pk.mode' = 'record_key',
  'delete.enabled' = 'true',
  'auto.create' = 'true'
);

CREATE SINK CONNECTOR activity_search WITH (
  'connector.class' = 'elasticsearch',
  'topics' = 'ACTIVITY',
  'connection.url' = 'http://search.example:9200',
  'key.ignore' = 'false',
  'behavior.on.null.values' = 'delete'
);
