"""Tables that answer: each is kept in DuckDB from its topic, and pull queries are SQL over them."""
