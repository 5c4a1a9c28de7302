-- What do our customers do? Customers live in a PostgreSQL table that other people change.
-- ${...} is filled in by the example: where the servers are, and where the lake is.

-- Every change of the table becomes a record. The connector declares the TABLE customers over them.
CREATE SOURCE CONNECTOR crm WITH (
  'connector.class' = 'cdc',
  'database' = 'postgresql',
  'database.hostname' = '${pg_host}',
  'database.port' = '${pg_port}',
  'database.dbname' = '${pg_database}',
  'database.user' = '${pg_user}',
  'database.password' = '${file:hub}',
  'topic.prefix' = 'crm',
  'table.include.list' = 'public.customers'
);

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
  'path' = '${lake}'
);

CREATE SINK CONNECTOR activity_database WITH (
  'connector.class' = 'jdbc',
  'topics' = 'ACTIVITY',
  'connection.url' = 'jdbc:postgresql://${pg_host}:${pg_port}/${pg_database}',
  'connection.user' = '${pg_user}',
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
  'connection.url' = '${search_url}',
  'key.ignore' = 'false',
  'behavior.on.null.values' = 'delete'
);
