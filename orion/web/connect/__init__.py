"""Kafka Connect's HTTP API over Orion's connectors: its requests, answers and words."""
