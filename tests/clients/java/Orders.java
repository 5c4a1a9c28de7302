import io.confluent.kafka.schemaregistry.avro.AvroSchema;
import io.confluent.kafka.schemaregistry.client.CachedSchemaRegistryClient;
import io.confluent.kafka.schemaregistry.client.SchemaRegistryClient;
import io.confluent.kafka.schemaregistry.client.rest.entities.SchemaReference;
import io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException;
import io.confluent.kafka.serializers.KafkaAvroDeserializer;
import io.confluent.kafka.serializers.KafkaAvroSerializer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.GenericRecordBuilder;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** A shop's orders by Confluent's own Java serializer. ../README.md says what every client does and prints. */
public final class Orders {
    private static final Duration DEADLINE = Duration.ofSeconds(60);

    private final String url;
    private final String bootstrap;
    private final Path schemas;

    private Orders(String url, String bootstrap, Path schemas) {
        this.url = url;
        this.bootstrap = bootstrap;
        this.schemas = schemas;
    }

    public static void main(String[] arguments) throws Exception {
        new Orders(arguments[0], arguments[1], Path.of(arguments[3])).run(arguments[2]);
    }

    private void run(String topic) throws Exception {
        String baskets = topic + "-baskets";
        Schema first = new Schema.Parser().parse(text("order-1.avsc"));
        Schema second = new Schema.Parser().parse(text("order-2.avsc"));
        Schema wrong = new Schema.Parser().parse(text("order-refused.avsc"));
        SchemaRegistryClient registry = new CachedSchemaRegistryClient(url, 100);

        // The serializer registers what it meets.
        int refused = 200;
        try (KafkaProducer<String, Object> producer = producer(Map.of())) {
            send(producer, topic, order(first, 1L));
            send(producer, topic, new GenericRecordBuilder(order(second, 2L)).set("note", "gift").build());
            send(producer, topic, order(wrong, "4"));
        } catch (SerializationException error) {
            refused = status(error);
        }

        // What has references is registered before, and the serializer takes what is there.
        List<SchemaReference> references = List.of(new SchemaReference("shop.Order", topic + "-value", 1));
        Map<String, String> resolved = Map.of("shop.Order", text("order-1.avsc"));
        AvroSchema basket = new AvroSchema(text("basket.avsc"), references, resolved, null);
        registry.register(baskets + "-value", basket);
        GenericRecord value = new GenericData.Record(basket.rawSchema());
        value.put("customer", "Ann");
        value.put("orders", List.of(order(first, 3L)));
        Map<String, Object> latest = Map.of("auto.register.schemas", false, "use.latest.version", true);
        try (KafkaProducer<String, Object> producer = producer(latest)) {
            send(producer, baskets, value);
        }

        int firstId = registry.getId(topic + "-value", new AvroSchema(first));
        int secondId = registry.getId(topic + "-value", new AvroSchema(second));
        System.out.printf(
            "{\"ids\": [%d, %d], \"refused\": %d, \"orders\": %s, \"baskets\": %s}%n",
            firstId, secondId, refused, everything(topic, 3), everything(baskets, 1));
    }

    private String text(String name) throws Exception {
        return Files.readString(schemas.resolve(name));
    }

    private static GenericData.Record order(Schema schema, Object id) {
        GenericData.Record order = new GenericData.Record(schema);
        order.put("id", id);
        order.put("item", "java");
        if (schema.getField("note") != null) {
            order.put("note", "");
        }
        return order;
    }

    private static void send(KafkaProducer<String, Object> producer, String topic, GenericRecord value)
            throws Exception {
        producer.send(new ProducerRecord<>(topic, "java", value)).get();
    }

    private static int status(Throwable error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (cause instanceof RestClientException) {
                return ((RestClientException) cause).getStatus();
            }
        }
        return 0;
    }

    private KafkaProducer<String, Object> producer(Map<String, Object> more) {
        Map<String, Object> settings = settings();
        settings.put("key.serializer", StringSerializer.class);
        settings.put("value.serializer", KafkaAvroSerializer.class);
        settings.putAll(more);
        return new KafkaProducer<>(settings);
    }

    private Map<String, Object> settings() {
        return new java.util.HashMap<>(Map.of("bootstrap.servers", bootstrap, "schema.registry.url", url));
    }

    /** So many records of a topic from its beginning, through the deserializer; Avro shows them as JSON. */
    private List<Object> everything(String topic, int count) {
        Map<String, Object> settings = settings();
        settings.put("key.deserializer", StringDeserializer.class);
        settings.put("value.deserializer", KafkaAvroDeserializer.class);
        List<Object> found = new ArrayList<>();
        long end = System.nanoTime() + DEADLINE.toNanos();
        try (KafkaConsumer<String, Object> consumer = new KafkaConsumer<>(settings)) {
            List<TopicPartition> partitions = List.of(new TopicPartition(topic, 0));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            while (found.size() < count) {
                if (System.nanoTime() > end) {
                    throw new IllegalStateException("the records didn't come back");
                }
                for (ConsumerRecord<String, Object> record : consumer.poll(Duration.ofMillis(200))) {
                    found.add(record.value());
                }
            }
        }
        return found;
    }
}
