// Reads the table of totals with node-postgres: a pool, parameters without casts, prepared statements, a cursor.
const { Pool, types } = require("pg");
const Cursor = require("pg-cursor");

const TIMESTAMPTZ = 1184;
types.setTypeParser(TIMESTAMPTZ, (text) => new Date(text).toISOString());
types.setTypeParser(1082, (text) => text); // a date, which it would put at midnight of this machine's zone

async function main(host, port) {
  const pool = new Pool({ host, port: Number(port), user: "ann", database: "orion", max: 2 });
  const answer = {};
  const one = await pool.query("SELECT * FROM totals WHERE n > $1 AND customer = $2", [3, "Ann"]);
  answer.ann = one.rows[0];
  answer.ann.raw = answer.ann.raw.toString("hex");
  answer.types = Object.fromEntries(one.fields.map((field) => [field.name, field.dataTypeID]));
  answer.sums = (await pool.query("SELECT n + $1 AS more FROM totals ORDER BY n LIMIT $2", [10, 2])).rows;
  answer.any = (await pool.query("SELECT customer FROM totals WHERE n = ANY($1) ORDER BY 1", [[3, 7]])).rows;
  answer.prepared = [];
  for (const n of [1, 3]) {
    const statement = { name: "by-n", text: "SELECT customer FROM totals WHERE n = $1", values: [n] };
    answer.prepared.push((await pool.query(statement)).rows[0].customer);
  }
  answer.nested = (await pool.query("SELECT clocks, by_name, place FROM nested WHERE k = $1", [1])).rows[0];
  answer.refused = await pool.query("SELECT * FROM nowhere").catch((error) => error.code);
  const client = await pool.connect();
  const cursor = client.query(new Cursor("SELECT range AS i FROM range($1)", [1000]));
  answer.pages = [(await cursor.read(3)).length, (await cursor.read(2000)).length];
  await cursor.close();
  client.release();
  await pool.end();
  console.log(JSON.stringify(answer));
}

main(...process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
