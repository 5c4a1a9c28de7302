"""Apache Kafka Connect: a worker of our own, a client for any, and what Debezium is told."""
