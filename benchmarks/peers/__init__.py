"""Orion beside Flink SQL and Kafka Streams, on one broker and the same topics. `make bench PEERS=1` runs it.

All three are warm: each runs a row twice before it is measured, the first row four times, in the process that it is
measured in. Then they take turns, and each row has the medians of its rounds. What each is told and how it is set
stands at the top of `kafka_streams.py`, `flink.py` and `flink_sql.py`; Orion is as the other benchmarks have it. All
write exactly once unless a row says otherwise.

- The processors' seconds are those of an engine's processes (Orion: Spark's JVM and its Python workers), from before a
  job starts until it has been stopped. The broker's are not among them, and neither are those of Orion's own process,
  which watches.
- The wall is from before a job starts until it has committed its last result. Orion commits after each batch; Flink at
  a checkpoint, Kafka Streams at a commit, both once a second: on the average they wait half of that at the end.
- Results are read back and checked, in every round, as the benchmarks of the same names check them.
- Orion and Kafka Streams keep what they know in topics, in the transaction of the results, Kafka Streams beside RocksDB
  and Orion beside LMDB. Flink keeps it on its heap and copies it into files.
- Orion and Kafka Streams tell a window as it grows, Flink once it is over: its windows have the fewest results.
"""
