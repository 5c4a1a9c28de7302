import static org.apache.kafka.streams.CloseOptions.GroupMembershipOperation.LEAVE_GROUP;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.ObjectWriter;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.LogAndContinueExceptionHandler;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.TimeWindows;

/**
 * Runs the benchmarks' jobs in Kafka Streams, one after the other in one JVM, as it is told on stdin:
 * {@code start ID JOB IN[,IN] OUT SETTING=VALUE...}, {@code status ID}, {@code stop ID}. Each is answered by one line
 * that begins with ok or error. It ends with its stdin.
 */
public final class StreamsDriver {
    record Play(String play_id, String track_id, String title, String country, long ms_played, long played_at) {}

    record CleanPlay(
            @JsonProperty("PLAY_ID") String playId,
            @JsonProperty("TRACK_ID") String trackId,
            @JsonProperty("TITLE") String title,
            @JsonProperty("COUNTRY") String country,
            @JsonProperty("SECONDS") long seconds) {}

    record Counted(String track_id, int seconds, long at) {}

    record Totals(@JsonProperty("PLAYS") long plays, @JsonProperty("SECONDS") long seconds) {}

    record Plays(@JsonProperty("PLAYS") long plays) {}

    record User(String name, String user_type) {}

    record Click(String page, long at) {}

    record KnownClick(
            @JsonProperty("PAGE") String page,
            @JsonProperty("NAME") String name,
            @JsonProperty("USER_TYPE") String userType) {}

    record Order(double total, long at) {}

    record Payment(String method, long at) {}

    record Paid(@JsonProperty("TOTAL") double total, @JsonProperty("METHOD") String method) {}

    record Sent(long id, int amount, double sent) {}

    record Twice(
            @JsonProperty("ID") long id, @JsonProperty("TWICE") long twice, @JsonProperty("SENT") double sent) {}

    record Orders(@JsonProperty("ORDERS") long orders, @JsonProperty("SENT") double sent) {}

    record Part(@JsonProperty("TRACK_ID") String trackId, @JsonProperty("MORE") int more) {}

    private static final ObjectMapper JSON =
            new ObjectMapper().configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);
    private static final Duration END = Duration.ofSeconds(30);
    private static final Duration MINUTE = Duration.ofMinutes(1);
    private static final long SHORTEST_MS = 5_000;
    private static final long LEAST_PLAYS = 15;
    private static final int PARTS = 10;

    private final String bootstrap;
    private final String folder;
    private final Map<String, KafkaStreams> running = new HashMap<>();
    private final Map<String, Throwable> failures = new ConcurrentHashMap<>();

    private StreamsDriver(String bootstrap, String folder) {
        this.bootstrap = bootstrap;
        this.folder = folder;
    }

    public static void main(String[] given) throws IOException {
        StreamsDriver driver = new StreamsDriver(given[0], given[1]);
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
        for (String line = asked.readLine(); line != null; line = asked.readLine()) {
            String answer;
            try {
                answer = "ok " + driver.answer(line.split(" "));
            } catch (Exception error) {
                answer = "error " + error.toString().replace('\n', ' ');
            }
            System.out.println(answer);
        }
        Runtime.getRuntime().halt(0);
    }

    private String answer(String[] words) {
        return switch (words[0]) {
            case "start" -> start(words);
            case "status" -> status(words[1]);
            case "stop" -> stop(words[1]);
            default -> throw new IllegalArgumentException("no command: " + words[0]);
        };
    }

    private String start(String[] words) {
        String id = words[1];
        StreamsBuilder builder = new StreamsBuilder();
        build(builder, words[2], words[3].split(","), words[4]);
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, id);
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, folder);
        settings.put("auto.offset.reset", "earliest");
        settings.put(
                StreamsConfig.DESERIALIZATION_EXCEPTION_HANDLER_CLASS_CONFIG, LogAndContinueExceptionHandler.class);
        for (int n = 5; n < words.length; n++) {
            String[] setting = words[n].split("=", 2);
            settings.put(setting[0], setting[1]);
        }
        KafkaStreams streams = new KafkaStreams(builder.build(settings), settings);
        streams.setUncaughtExceptionHandler(error -> {
            failures.put(id, error);
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        running.put(id, streams);
        streams.start();
        return "started";
    }

    private String status(String id) {
        if (failures.containsKey(id)) {
            throw new IllegalStateException(failures.get(id));
        }
        return running.get(id).state().toString();
    }

    private String stop(String id) {
        KafkaStreams streams = running.remove(id);
        // A thread that stays in the group when it goes may have the others wait for it.
        if (!streams.close(CloseOptions.timeout(END).withGroupMembershipOperation(LEAVE_GROUP))) {
            throw new IllegalStateException("it didn't end within 30 s: " + streams.state() + failures.get(id));
        }
        streams.cleanUp();
        return "stopped";
    }

    private static void build(StreamsBuilder builder, String job, String[] in, String out) {
        if (job.startsWith("part-")) {
            part(read(builder, in[0], Counted.class), Integer.parseInt(job.substring(5)), out);
            return;
        }
        switch (job) {
            case "clean_plays" -> cleanPlays(builder, in[0], out);
            case "running_count" -> runningCount(builder, in[0], out);
            case "windowed_count" -> windowedCount(builder, in[0], out);
            case "windowed_having" -> windowedHaving(builder, in[0], out);
            case "stream_table_join" -> joinTable(builder, in[0], in[1], out);
            case "stream_stream_join" -> joinStream(builder, in[0], in[1], out);
            case "parts" -> allParts(builder, in[0], out.split(","));
            case "latency_filter" -> filterSent(builder, in[0], out);
            case "latency_count" -> countSent(builder, in[0], out);
            default -> throw new IllegalArgumentException("no job: " + job);
        }
    }

    private static void cleanPlays(StreamsBuilder builder, String in, String out) {
        read(builder, in, Play.class)
                .filter((user, play) -> play.ms_played >= SHORTEST_MS)
                .mapValues(play -> new CleanPlay(
                        play.play_id,
                        play.track_id,
                        play.title,
                        play.country == null ? null : play.country.toUpperCase(Locale.ROOT),
                        play.ms_played / 1000))
                .to(out, Produced.with(Serdes.String(), json(CleanPlay.class)));
    }

    private static void runningCount(StreamsBuilder builder, String in, String out) {
        read(builder, in, Counted.class)
                .groupByKey(Grouped.with(Serdes.String(), json(Counted.class)))
                .aggregate(
                        () -> new Totals(0, 0),
                        (user, play, sum) -> new Totals(sum.plays + 1, sum.seconds + play.seconds),
                        Materialized.with(Serdes.String(), json(Totals.class)))
                .toStream()
                .to(out, Produced.with(Serdes.String(), json(Totals.class)));
    }

    private static void windowedCount(StreamsBuilder builder, String in, String out) {
        read(builder, in, Counted.class)
                .groupByKey(Grouped.with(Serdes.String(), json(Counted.class)))
                .windowedBy(TimeWindows.ofSizeAndGrace(MINUTE, MINUTE))
                .aggregate(
                        () -> new Totals(0, 0),
                        (user, play, sum) -> new Totals(sum.plays + 1, sum.seconds + play.seconds),
                        Materialized.with(Serdes.String(), json(Totals.class)))
                .toStream((key, sum) -> key.key() + "@" + key.window().start())
                .to(out, Produced.with(Serdes.String(), json(Totals.class)));
    }

    private static void windowedHaving(StreamsBuilder builder, String in, String out) {
        read(builder, in, Counted.class)
                .groupByKey(Grouped.with(Serdes.String(), json(Counted.class)))
                .windowedBy(TimeWindows.ofSizeAndGrace(MINUTE, MINUTE))
                .count(Materialized.with(Serdes.String(), Serdes.Long()))
                .toStream((key, plays) -> key.key() + "@" + key.window().start())
                .filter((key, plays) -> plays >= LEAST_PLAYS)
                .mapValues(Plays::new)
                .to(out, Produced.with(Serdes.String(), json(Plays.class)));
    }

    private static void joinTable(StreamsBuilder builder, String in, String table, String out) {
        KTable<String, User> users = builder.table(table, Consumed.with(Serdes.String(), json(User.class)));
        read(builder, in, Click.class)
                .leftJoin(
                        users,
                        (click, user) -> new KnownClick(
                                click.page, user == null ? null : user.name, user == null ? null : user.user_type),
                        Joined.with(Serdes.String(), json(Click.class), json(User.class)))
                .to(out, Produced.with(Serdes.String(), json(KnownClick.class)));
    }

    private static void joinStream(StreamsBuilder builder, String in, String other, String out) {
        read(builder, in, Order.class)
                .join(
                        read(builder, other, Payment.class),
                        (order, payment) -> new Paid(order.total, payment.method),
                        JoinWindows.ofTimeDifferenceAndGrace(MINUTE, MINUTE),
                        StreamJoined.with(Serdes.String(), json(Order.class), json(Payment.class)))
                .to(out, Produced.with(Serdes.String(), json(Paid.class)));
    }

    /** Several statements in one program: the records are read and decoded once. */
    private static void allParts(StreamsBuilder builder, String in, String[] outs) {
        KStream<String, Counted> plays = read(builder, in, Counted.class);
        for (int n = 0; n < outs.length; n++) {
            part(plays, n, outs[n]);
        }
    }

    private static void part(KStream<String, Counted> plays, int number, String out) {
        plays.filter((user, play) -> play.seconds % PARTS == number)
                .mapValues(play -> new Part(play.track_id, play.seconds + number))
                .to(out, Produced.with(Serdes.String(), json(Part.class)));
    }

    private static void filterSent(StreamsBuilder builder, String in, String out) {
        read(builder, in, Sent.class)
                .filter((key, order) -> order.amount >= 0)
                .mapValues(order -> new Twice(order.id, order.amount * 2L, order.sent))
                .to(out, Produced.with(Serdes.String(), json(Twice.class)));
    }

    private static void countSent(StreamsBuilder builder, String in, String out) {
        read(builder, in, Sent.class)
                .groupByKey(Grouped.with(Serdes.String(), json(Sent.class)))
                .aggregate(
                        () -> new Orders(0, 0),
                        (key, order, before) -> new Orders(before.orders + 1, order.sent),
                        Materialized.with(Serdes.String(), json(Orders.class)))
                .toStream()
                .to(out, Produced.with(Serdes.String(), json(Orders.class)));
    }

    private static <T> KStream<String, T> read(StreamsBuilder builder, String topic, Class<T> type) {
        return builder.stream(topic, Consumed.with(Serdes.String(), json(type)));
    }

    private static <T> Serde<T> json(Class<T> type) {
        ObjectReader reader = JSON.readerFor(type);
        ObjectWriter writer = JSON.writerFor(type);
        return Serdes.serdeFrom(
                (topic, value) -> {
                    try {
                        return value == null ? null : writer.writeValueAsBytes(value);
                    } catch (IOException error) {
                        throw new SerializationException(error);
                    }
                },
                (topic, bytes) -> {
                    try {
                        return bytes == null ? null : reader.readValue(bytes);
                    } catch (IOException error) {
                        throw new SerializationException(error);
                    }
                });
    }
}
