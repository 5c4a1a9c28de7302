import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;

/**
 * What Kafka Streams makes of records.csv: windows with grace, and joins, each with every update and without a cache.
 *
 * <p>Arguments: bootstrap servers, records.csv, partitions, the file to write. A line of that is a statement's name, a
 * key, a window's start and end, the update's time, and the numbers of the records in the window; of a join, the two
 * records' numbers stand in place of the window, and nothing behind. A session that is withdrawn has "gone" for
 * numbers. The last lines say how many records each statement has dropped, as its tasks' metrics have it.
 */
public final class Lateness {
  static final Duration SIZE = Duration.ofSeconds(5);
  static final Duration ADVANCE = Duration.ofSeconds(2);
  static final Duration GAP = Duration.ofSeconds(2);
  static final Duration GRACE = Duration.ofSeconds(2);
  static final Duration BEFORE = Duration.ofSeconds(1);
  static final Duration AFTER = Duration.ofSeconds(3);

  interface Statement {
    void build(StreamsBuilder builder, List<String> out);
  }

  private final String bootstrap;
  private final int partitions;
  private final List<String> found = new ArrayList<>();

  Lateness(String bootstrap, int partitions) {
    this.bootstrap = bootstrap;
    this.partitions = partitions;
  }

  public static void main(String[] arguments) throws Exception {
    Lateness lateness = new Lateness(arguments[0], Integer.parseInt(arguments[2]));
    lateness.produce(Path.of(arguments[1]));
    List<String> dropped = new ArrayList<>();
    for (Map.Entry<String, Statement> statement : statements().entrySet()) {
      double lost = lateness.run(statement.getKey(), statement.getValue());
      dropped.add("dropped," + statement.getKey() + "," + (long) lost);
    }
    lateness.found.addAll(dropped);
    try (PrintStream out = new PrintStream(arguments[3], StandardCharsets.UTF_8)) {
      lateness.found.forEach(line -> out.print(line + "\n"));
    }
  }

  static Map<String, Statement> statements() {
    Map<String, Statement> all = new LinkedHashMap<>();
    TimeWindows tumbling = TimeWindows.ofSizeAndGrace(SIZE, GRACE);
    SessionWindows sessions = SessionWindows.ofInactivityGapAndGrace(GAP, GRACE);
    JoinWindows within = JoinWindows.ofTimeDifferenceAndGrace(Duration.ZERO, GRACE).before(BEFORE).after(AFTER);
    all.put("tumbling", (builder, out) -> windows(builder, out, tumbling, EmitStrategy.onWindowUpdate()));
    all.put("hopping", (builder, out) -> windows(builder, out, tumbling.advanceBy(ADVANCE), EmitStrategy.onWindowUpdate()));
    all.put("tumbling_final", (builder, out) -> windows(builder, out, tumbling, EmitStrategy.onWindowClose()));
    all.put("session", (builder, out) -> sessions(builder, out, sessions, EmitStrategy.onWindowUpdate()));
    all.put("session_final", (builder, out) -> sessions(builder, out, sessions, EmitStrategy.onWindowClose()));
    all.put("inner_join", (builder, out) ->
        builder.<String, String>stream("orders").join(builder.stream("payments"), Lateness::pair, within)
            .process(() -> new Telling<>(line -> out.add(line))));
    all.put("left_join", (builder, out) ->
        builder.<String, String>stream("orders").leftJoin(builder.stream("payments"), Lateness::pair, within)
            .process(() -> new Telling<>(line -> out.add(line))));
    return all;
  }

  static String pair(String left, String right) {
    return left + "," + (right == null ? "" : right);
  }

  static void windows(StreamsBuilder builder, List<String> out, TimeWindows windows, EmitStrategy strategy) {
    KTable<Windowed<String>, String> table =
        builder.<String, String>stream("plays").groupByKey().windowedBy(windows).emitStrategy(strategy)
            .aggregate(() -> "", (key, value, all) -> join(all, value), Materialized.with(Serdes.String(), Serdes.String()));
    table.toStream().process(() -> new Telling<>(line -> out.add(line)));
  }

  static void sessions(StreamsBuilder builder, List<String> out, SessionWindows windows, EmitStrategy strategy) {
    KTable<Windowed<String>, String> table =
        builder.<String, String>stream("plays").groupByKey().windowedBy(windows).emitStrategy(strategy)
            .aggregate(() -> "", (key, value, all) -> join(all, value), (key, one, two) -> join(one, two),
                Materialized.with(Serdes.String(), Serdes.String()));
    table.toStream().process(() -> new Telling<>(line -> out.add(line)));
  }

  /** The numbers of two lists, in the order of the numbers. */
  static String join(String one, String two) {
    return Stream.of(one.split(" "), two.split(" ")).flatMap(Stream::of).filter(number -> !number.isEmpty())
        .map(Integer::valueOf).sorted().map(String::valueOf).collect(Collectors.joining(" "));
  }

  /** Writes down what comes. */
  static final class Telling<K> extends ContextualProcessor<K, String, Void, Void> {
    private final java.util.function.Consumer<String> tell;

    Telling(java.util.function.Consumer<String> tell) {
      this.tell = tell;
    }

    @Override
    public void process(Record<K, String> record) {
      if (record.key() instanceof Windowed<?> windowed) {
        String numbers = record.value() == null ? "gone" : record.value();
        tell.accept(String.join(",", windowed.key().toString(), String.valueOf(windowed.window().start()),
            String.valueOf(windowed.window().end()), String.valueOf(record.timestamp()), numbers));
      } else {
        tell.accept(String.join(",", record.key().toString(), record.value(), String.valueOf(record.timestamp()), ""));
      }
    }
  }

  /** Makes the topics, and writes the records in the order of the file, by the client's own partitioner. */
  void produce(Path records) throws Exception {
    List<String[]> rows = Files.readAllLines(records).stream().skip(1).map(line -> line.split(",")).toList();
    Set<String> topics = rows.stream().map(row -> row[0]).collect(Collectors.toSet());
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
      // The records are of 1970: a topic that is kept for a week has lost them in a moment.
      Map<String, String> kept = Map.of("retention.ms", "-1");
      admin.createTopics(topics.stream().map(topic -> new NewTopic(topic, partitions, (short) 1).configs(kept)).toList())
          .all().get();
    }
    Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "acks", "all");
    try (KafkaProducer<String, String> producer =
        new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
      for (String[] row : rows) {
        producer.send(new ProducerRecord<>(row[0], null, Long.valueOf(row[2]), row[1], row[3]));
      }
    }
  }

  /** Runs one statement over all records that there are; how many its tasks have dropped. */
  double run(String name, Statement statement) throws Exception {
    List<String> out = new ArrayList<>();
    StreamsBuilder builder = new StreamsBuilder();
    statement.build(builder, out);
    Properties settings = new Properties();
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "lateness-" + partitions + "-" + name);
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
    settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0L);
    settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100L);
    settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
    settings.put(StreamsConfig.STATE_DIR_CONFIG, Files.createTempDirectory("lateness").toString());
    // Between two topics the record that is older goes first: a task waits for both.
    settings.put(StreamsConfig.MAX_TASK_IDLE_MS_CONFIG, 5_000L);
    settings.put("auto.offset.reset", "earliest");
    // What closes is told by the stream's time alone, not at most once a second by the machine's.
    settings.put(StreamsConfig.InternalConfig.EMIT_INTERVAL_MS_KSTREAMS_OUTER_JOIN_SPURIOUS_RESULTS_FIX, 0L);
    settings.put(StreamsConfig.InternalConfig.EMIT_INTERVAL_MS_KSTREAMS_WINDOWED_AGGREGATION, 0L);
    Set<String> topics = name.endsWith("join") ? Set.of("orders", "payments") : Set.of("plays");
    try (KafkaStreams streams = new KafkaStreams(builder.build(), settings)) {
      streams.start();
      awaitEnd((String) settings.get(StreamsConfig.APPLICATION_ID_CONFIG), topics);
      double dropped = streams.metrics().values().stream()
          .filter(metric -> metric.metricName().name().equals("dropped-records-total"))
          .mapToDouble(metric -> (Double) metric.metricValue()).sum();
      out.forEach(line -> found.add(name + "," + line));
      System.out.println(name + ": " + out.size() + " updates, " + (long) dropped + " dropped");
      return dropped;
    }
  }

  /** Until all records of the topics have been taken, and that was committed. */
  void awaitEnd(String group, Set<String> topics) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
      Map<TopicPartition, OffsetSpec> wanted = new LinkedHashMap<>();
      topics.forEach(topic -> {
        for (int partition = 0; partition < partitions; partition++) {
          wanted.put(new TopicPartition(topic, partition), OffsetSpec.latest());
        }
      });
      var ends = admin.listOffsets(wanted).all().get();
      long deadline = System.nanoTime() + Duration.ofMinutes(2).toNanos();
      while (System.nanoTime() < deadline) {
        var committed = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
        boolean done = ends.entrySet().stream().allMatch(end -> end.getValue().offset() == 0
            || (committed.get(end.getKey()) != null && committed.get(end.getKey()).offset() >= end.getValue().offset()));
        if (done) {
          return;
        }
        Thread.sleep(100);
      }
      throw new IllegalStateException(group + " has not come to the end of its topics");
    }
  }
}
