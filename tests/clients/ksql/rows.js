// What ksqldb-client can do, against the server and the stream it is told; what came of it goes out as JSON.
const KsqldbClient = require("ksqldb-client");

const [host, port, stream] = process.argv.slice(2);
const earliest = { properties: { "auto.offset.reset": "earliest" } };

async function main() {
  const client = new KsqldbClient({ host, port: Number(port) });
  await client.connect();
  const created = await client.executeStatement(
    `CREATE STREAM ${stream} (k STRING KEY, v INT) WITH (kafka_topic='${stream}', value_format='JSON', partitions=1);`,
  );
  const executed = await client.executeStatement(`INSERT INTO ${stream} VALUES ('a', 1);`);
  const inserted = [];
  for (const row of [{ k: "b", v: 2 }, { k: "c", v: "three" }]) {
    inserted.push(await client.insertInto(stream, row));
  }
  const queried = await client.query(`SELECT k, v FROM ${stream} EMIT CHANGES LIMIT 2;`, earliest);
  const pushed = [];
  const ended = await client.streamQuery(
    `SELECT v FROM ${stream} EMIT CHANGES;`,
    ({ rows, metadata }) => {
      pushed.push(...(rows || []));
      if (pushed.length === 2) client.terminatePushQuery(metadata.queryId);
    },
    earliest,
  );
  const refused = await client.query(`SELECT nothing FROM ${stream} EMIT CHANGES;`);
  const streams = await client.listStreams();
  const described = await client.describeSource(stream);
  await client.disconnect();
  console.log(
    JSON.stringify({
      created: created.data.rows[0].commandId,
      executed: [executed.data.rows[0].commandId, executed.data.rows[0].commandStatus.status],
      inserted: inserted.map((one) => (one.error ? one.error.code : one.data.rows[0])),
      queried: queried.data.rows,
      pushed,
      ended: ended.status,
      refused: [refused.status, refused.error.error_code],
      listed: streams.some((one) => one.name === stream.toUpperCase()),
      fields: described.fields.map((one) => one.name),
    }),
  );
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
