"""What records mean: a schema registry that speaks Confluent's API over the topic `_schemas`."""
