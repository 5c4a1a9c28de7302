// A connector's life through the client that AKHQ uses: made, looked at, changed, paused, stopped, broken and dropped.
// Prints a line for each thing it has seen; tests/services/test_connect_api.py says what they must be.

import java.util.Map;
import java.util.TreeMap;
import org.sourcelab.kafka.connect.apiclient.Configuration;
import org.sourcelab.kafka.connect.apiclient.KafkaConnectClient;
import org.sourcelab.kafka.connect.apiclient.request.dto.ConnectorPluginConfigDefinition;
import org.sourcelab.kafka.connect.apiclient.request.dto.NewConnectorDefinition;
import org.sourcelab.kafka.connect.apiclient.request.post.PostConnectorRestart;
import org.sourcelab.kafka.connect.apiclient.rest.exceptions.ConcurrentConfigModificationException;
import org.sourcelab.kafka.connect.apiclient.rest.exceptions.ResourceNotFoundException;

public class Manage {
    public static void main(String[] arguments) {
        var client = new KafkaConnectClient(new Configuration(arguments[0]));
        var name = arguments[1];
        var config = new TreeMap<>(Map.of(
            "connector.class", "LakeSinkConnector", "topics", "a,b", "path", "/lake", "aws.secret.access.key", "hush"));

        say("version", client.getConnectServerVersion().getVersion());
        var plugin = client.getConnectorPlugins().iterator().next();
        say("plugin", plugin.getClassName() + " " + plugin.getType() + " " + plugin.getVersion());
        var wrong = client.validateConnectorPluginConfig(new ConnectorPluginConfigDefinition(
            plugin.getClassName(), Map.of("connector.class", plugin.getClassName(), "topics", "a")));
        say("wrong", wrong.getErrorCount());
        wrong.getConfigs().stream()
            .filter(one -> !one.getValue().getErrors().isEmpty())
            .forEach(one -> say("mistake", one.getDefinition().getName() + ": " + one.getValue().getErrors()));

        var made = client.addConnector(new NewConnectorDefinition(name, config));
        say("made", made.getName() + " " + made.getType() + " " + made.getTasks().size());
        say("secret", client.getConnectorConfig(name).get("aws.secret.access.key"));
        try {
            client.addConnector(new NewConnectorDefinition(name, config));
        } catch (ConcurrentConfigModificationException error) {
            say("again", error.getMessage());
        }
        var all = client.getConnectorsWithAllExpandedMetadata();
        say("all", all.getConnectorNames() + " " + all.getStatusForConnector(name).getConnector().get("state"));
        var changed = new TreeMap<>(client.getConnectorConfig(name));
        changed.put("mode", "upsert");
        say("changed", client.updateConnectorConfig(name, changed).getConfig().get("mode"));
        client.getConnectorTasks(name).forEach(
            task -> say("task", task.getId().getTask() + " " + task.getConfig().get("topics")));
        say("topics", client.getConnectorTopics(name).getTopics());
        say("reset", client.resetConnectorTopics(name));

        client.pauseConnector(name);
        say("paused", client.getConnectorStatus(name).getConnector().get("state"));
        client.resumeConnector(name);
        say("resumed", client.getConnectorTaskStatus(name, 1).getState());
        client.stopConnector(name);
        say("stopped", client.getConnectorStatus(name).getConnector().get("state"));
        client.resumeConnector(name);
        say("restarted", client.restartConnector(name));
        say("restarted", client.restartConnector(new PostConnectorRestart(name).withIncludeTasks(true)));
        say("restarted", client.restartConnectorTask(name, 0));
        say("dropped", client.deleteConnector(name));
        try {
            client.getConnector(name);
        } catch (ResourceNotFoundException error) {
            say("gone", error.getMessage());
        }
    }

    private static void say(String what, Object value) {
        System.out.println(what + "\t" + value);
    }
}
