import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;

/**
 * Runs the benchmarks' jobs in Flink SQL, one after the other on one cluster in this JVM, as it is told on stdin:
 * {@code start ID FILE SETTING=VALUE...}, {@code await ID}, {@code stop ID}. A file has statements between lines of two
 * semicolons; each that writes is a job. Each command is answered by one line that begins with ok or error. It ends
 * with its stdin.
 */
public final class FlinkDriver {
    private static final int TASK_SLOTS = 24;

    private final MiniCluster cluster;
    private final URI address;
    private final Map<String, List<JobID>> running = new HashMap<>();

    private FlinkDriver(Path folder) throws Exception {
        Configuration settings = new Configuration();
        settings.setString("rest.port", "0");
        settings.setString("rest.bind-port", "0");
        settings.setString("io.tmp.dirs", folder.toString());
        settings.setString("execution.checkpointing.dir", folder.resolve("checkpoints").toUri().toString());
        settings.setString("taskmanager.memory.network.min", "128m");
        settings.setString("taskmanager.memory.network.max", "128m");
        cluster = new MiniCluster(new MiniClusterConfiguration.Builder()
                .setConfiguration(settings)
                .setNumTaskManagers(1)
                .setNumSlotsPerTaskManager(TASK_SLOTS)
                .build());
        cluster.start();
        address = cluster.getRestAddress().get();
    }

    public static void main(String[] given) throws Exception {
        FlinkDriver driver = new FlinkDriver(Path.of(given[0]));
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
        for (String line = asked.readLine(); line != null; line = asked.readLine()) {
            String answer;
            try {
                answer = "ok " + driver.answer(line.split(" "));
            } catch (Exception error) {
                answer = "error " + told(error);
            }
            System.out.println(answer);
        }
        Runtime.getRuntime().halt(0);
    }

    private static String told(Throwable error) {
        StringBuilder text = new StringBuilder(error.toString());
        for (Throwable cause = error.getCause(); cause != null; cause = cause.getCause()) {
            text.append("; because of ").append(cause);
        }
        return text.toString().replace('\n', ' ');
    }

    private String answer(String[] words) throws Exception {
        return switch (words[0]) {
            case "start" -> start(words);
            case "await" -> await(words[1]);
            case "stop" -> stop(words[1]);
            default -> throw new IllegalArgumentException("no command: " + words[0]);
        };
    }

    private String start(String[] words) throws IOException {
        Configuration settings = new Configuration();
        settings.setString("execution.target", "remote");
        settings.setString("rest.address", address.getHost());
        settings.setString("rest.port", String.valueOf(address.getPort()));
        for (int n = 3; n < words.length; n++) {
            String[] setting = words[n].split("=", 2);
            settings.setString(setting[0], setting[1]);
        }
        TableEnvironment tables = TableEnvironment.create(EnvironmentSettings.newInstance()
                .inStreamingMode()
                .withConfiguration(settings)
                .build());
        List<JobID> jobs = new ArrayList<>();
        running.put(words[1], jobs);
        for (String statement : Files.readString(Path.of(words[2])).split("\n;;\n")) {
            tables.executeSql(statement).getJobClient().map(JobClient::getJobID).ifPresent(jobs::add);
        }
        return "started " + jobs.size();
    }

    private String await(String id) throws Exception {
        for (JobID job : running.get(id)) {
            JobResult result = cluster.requestJobResult(job).get();
            if (!result.isSuccess()) {
                throw new IllegalStateException(
                        "the job failed", result.getSerializedThrowable().orElse(null));
            }
        }
        return "finished";
    }

    private String stop(String id) throws Exception {
        for (JobID job : running.remove(id)) {
            if (!cluster.getJobStatus(job).get().isGloballyTerminalState()) {
                cluster.cancelJob(job).get();
            }
            cluster.requestJobResult(job).get();
        }
        return "stopped";
    }
}
