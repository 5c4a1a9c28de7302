// Reads the table of totals with pgjdbc: its metadata, parameters, server-side prepared statements, fetch sizes, COPY.

import java.io.StringWriter;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.postgresql.PGConnection;

public class Totals {
    static final List<String> told = new ArrayList<>();

    static void tell(String name, Object value) {
        told.add(name + "=" + value);
    }

    static String listed(ResultSet rows, String... columns) throws SQLException {
        List<String> found = new ArrayList<>();
        while (rows.next()) {
            List<String> row = new ArrayList<>();
            for (String column : columns) row.add(rows.getString(column));
            found.add(String.join(" ", row));
        }
        return String.join(", ", found);
    }

    static void metadata(DatabaseMetaData data) throws SQLException {
        String[] tables = {"TABLE"};
        tell("tables", listed(data.getTables(null, null, "%", tables), "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE"));
        tell("upper", listed(data.getTables(null, "main", "TOTALS", tables), "TABLE_NAME"));
        tell("columns", listed(data.getColumns(null, "main", "totals", "%"), "COLUMN_NAME", "TYPE_NAME", "IS_NULLABLE"));
        tell("keys", listed(data.getPrimaryKeys(null, "main", "hourly"), "COLUMN_NAME", "KEY_SEQ"));
        tell("indexes", listed(data.getIndexInfo(null, "main", "totals", true, false), "INDEX_NAME", "COLUMN_NAME"));
        tell("imported", listed(data.getImportedKeys(null, "main", "totals"), "FKTABLE_NAME"));
        tell("schemas", listed(data.getSchemas(), "TABLE_SCHEM"));
        tell("catalogs", listed(data.getCatalogs(), "TABLE_CAT"));
        tell("user", data.getUserName());
        listed(data.getTypeInfo(), "TYPE_NAME");
        listed(data.getFunctions(null, null, "%"), "FUNCTION_NAME");
        listed(data.getProcedures(null, null, "%"), "PROCEDURE_NAME");
        listed(data.getTableTypes(), "TABLE_TYPE");
        listed(data.getTablePrivileges(null, null, "totals"), "PRIVILEGE");
    }

    static void ann(Connection connection) throws SQLException {
        String sql = "SELECT * FROM totals WHERE n > ? AND seen < ? AND amount < ?";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int times = 0; times < 7; times++) { // after five of them pgjdbc prepares it, and reads binary
                statement.setInt(1, 3);
                statement.setObject(2, OffsetDateTime.parse("2025-01-01T00:00:00Z"));
                statement.setBigDecimal(3, new java.math.BigDecimal("99.5"));
                try (ResultSet rows = statement.executeQuery()) {
                    rows.next();
                    String row = rows.getString("customer") + " " + rows.getInt("n") + " " + rows.getBigDecimal("amount")
                        + " " + rows.getDouble("share") + " " + rows.getObject("seen", OffsetDateTime.class).toInstant()
                        + " " + rows.getObject("day", LocalDate.class) + " " + rows.getObject("clock", LocalTime.class)
                        + " " + Arrays.toString((Object[]) rows.getArray("tags").getArray())
                        + " " + Arrays.toString((Object[]) rows.getArray("counts").getArray())
                        + " " + rows.getBytes("raw").length + " " + rows.getLong("big") + " " + rows.getBoolean("active");
                    if (times == 0 || times == 6) tell("ann", row);
                }
            }
        }
    }

    static void pages(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        int count = 0;
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(100);
            try (ResultSet rows = statement.executeQuery("SELECT range FROM range(1050)")) {
                while (rows.next()) count++;
            }
        }
        connection.commit();
        connection.setAutoCommit(true);
        tell("pages", count);
    }

    public static void main(String[] arguments) throws Exception {
        String url = "jdbc:postgresql://" + arguments[0] + ":" + arguments[1] + "/orion?user=ann";
        try (Connection connection = DriverManager.getConnection(url)) {
            metadata(connection.getMetaData());
            ann(connection);
            pages(connection);
            try (Statement statement = connection.createStatement()) {
                statement.executeQuery("SELECT * FROM nowhere");
            } catch (SQLException error) {
                tell("refused", error.getSQLState());
            }
            StringWriter copied = new StringWriter();
            connection.unwrap(PGConnection.class).getCopyAPI()
                .copyOut("COPY (SELECT customer, n FROM totals ORDER BY n) TO STDOUT", copied);
            tell("copied", copied.toString().replace("\t", " ").replace("\n", ";"));
        }
        System.out.println(String.join("\n", told));
    }
}
