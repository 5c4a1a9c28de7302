-- Formats whose records name a schema of a registry. No registry answers here: columns are always named.

-- plan:
--   topic orders: must exist
--   schema orders-value: AVRO of the columns unless there is one
--   define stream ORDERS over topic orders (key KAFKA, value AVRO): ID BIGINT KEY, AMOUNT DECIMAL(8, 2), NOTE VARCHAR(STRING)
CREATE STREAM orders (id BIGINT KEY, amount DECIMAL(8, 2), note STRING) WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'AVRO');

CREATE STREAM large WITH (KEY_FORMAT = 'JSON_SR', PARTITIONS = 1) AS SELECT * FROM orders WHERE amount > 100;

-- plan:
--   wait up to 3000 ms until a schema with subject orders-value exists
ASSERT SCHEMA SUBJECT 'orders-value' TIMEOUT 3 SECONDS;

-- plan:
--   wait up to 1000 ms until a schema with subject Orders and id 3 does not exist
ASSERT NOT EXISTS SCHEMA SUBJECT Orders ID 3;

-- error: BindError SCHEMA_MISSING 1:15
-- message: A schema for message values on topic t does not exist in the Schema Registry.
-- hint: Name the columns, or register a schema under t-value.
CREATE STREAM s WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'PROTOBUF');

-- error: BindError SCHEMA_MISSING 1:15
-- message: A schema with id 7 for message keys on topic t does not exist in the Schema Registry.
-- hint: Name the columns, or register a schema under t-key.
CREATE STREAM s (v INT) WITH (KAFKA_TOPIC = 't', FORMAT = 'AVRO', KEY_SCHEMA_ID = 7);

-- error: BindError INVALID_PROPERTY 1:15
-- message: Columns and VALUE_SCHEMA_ID can't both be given: the schema has the columns.
CREATE STREAM s (v INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'AVRO', VALUE_SCHEMA_ID = 7);

-- error: BindError INVALID_FORMAT 1:15
-- message: AVRO has no field 1st: a name is letters, digits and _, a digit not first.
-- hint: Give the column another name.
CREATE STREAM s (`1st` INT, v INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'AVRO');

-- error: BindError INVALID_FORMAT 1:15
-- message: In JSON_SR the keys of a MAP are STRING.
CREATE STREAM s (m MAP<INT, INT>) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON_SR');

-- error: BindError INVALID_PROPERTY 1:15
-- message: 'a b' can't be a schema's full name: it is names with dots between them.
CREATE STREAM s (v INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'AVRO', VALUE_SCHEMA_FULL_NAME = 'a b');

-- error: BindError INVALID_PROPERTY 1:15
-- message: VALUE_PROTOBUF_NULLABLE_REPRESENTATION is OPTIONAL or WRAPPER.
CREATE STREAM s (v INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'PROTOBUF', VALUE_PROTOBUF_NULLABLE_REPRESENTATION = 'x');

-- error: BindError INVALID_PROPERTY 1:15
-- message: The format PROTOBUF has no WRAP_SINGLE_VALUE=false.
CREATE STREAM s (v INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'PROTOBUF', WRAP_SINGLE_VALUE = FALSE);
