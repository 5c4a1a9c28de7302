"""Files as rows, in Spark's workers: what stands in a file, line by line or column by column."""
