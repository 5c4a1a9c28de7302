"""What the delta sink is made of: the table, its upkeep, and Spark's way to S3."""
