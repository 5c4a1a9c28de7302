// A shop's orders by @kafkajs/confluent-schema-registry. ../README.md says what every client does and prints.
"use strict";

const fs = require("fs");
const path = require("path");
const { SchemaRegistry, SchemaType } = require("@kafkajs/confluent-schema-registry");
const { Kafka, logLevel } = require("kafkajs");

const DEADLINE_MS = 60000;
const [url, bootstrap, topic, schemas] = process.argv.slice(2);
const schema = (name) => fs.readFileSync(path.join(schemas, name), "utf8");
const avro = (name, references) => ({ type: SchemaType.AVRO, schema: schema(name), references });
const subject = (of) => ({ subject: `${of}-value` });

async function main() {
  const registry = new SchemaRegistry({ host: url, retry: { retries: 0 } });
  const kafka = new Kafka({ brokers: [bootstrap], logLevel: logLevel.ERROR });
  const producer = kafka.producer();
  await producer.connect();
  const send = async (to, id, value) =>
    producer.send({ topic: to, messages: [{ key: "node", value: await registry.encode(id, value) }] });

  const first = await registry.register(avro("order-1.avsc"), subject(topic));
  await send(topic, first.id, { id: 1, item: "node" });
  const second = await registry.register(avro("order-2.avsc"), subject(topic));
  await send(topic, second.id, { id: 2, item: "node", note: "gift" });
  const refused = await registry.register(avro("order-refused.avsc"), subject(topic)).then(
    () => 200,
    (error) => error.status,
  );

  const basket = { customer: "Ann", orders: [{ id: 3, item: "node" }] };
  const references = [{ name: "shop.Order", subject: `${topic}-value`, version: 1 }];
  const { id } = await registry.register(avro("basket.avsc", references), subject(`${topic}-baskets`));
  await send(`${topic}-baskets`, id, basket);
  for (const [type, of, suffix] of [
    [SchemaType.JSON, `${topic}-json`, "schema.json"],
    [SchemaType.PROTOBUF, `${topic}-protobuf`, "proto"],
  ]) {
    const order = `order.${suffix}`;
    await registry.register({ type, schema: schema(order) }, { subject: order });
    const references = [{ name: order, subject: order, version: 1 }];
    const { id } = await registry.register({ type, schema: schema(`basket.${suffix}`), references }, subject(of));
    await send(of, id, basket);
  }
  await producer.disconnect();

  const read = await everything(kafka, registry, {
    [topic]: 3,
    [`${topic}-baskets`]: 1,
    [`${topic}-json`]: 1,
    [`${topic}-protobuf`]: 1,
  });
  const answer = { ids: [first.id, second.id], refused, orders: read[topic] };
  for (const name of ["baskets", "json", "protobuf"]) answer[name] = read[`${topic}-${name}`];
  console.log(JSON.stringify(answer));
}

// So many records of each topic from its beginning, through the deserializer.
async function everything(kafka, registry, wanted) {
  const found = Object.fromEntries(Object.keys(wanted).map((name) => [name, []]));
  const complete = () => Object.entries(wanted).every(([name, count]) => found[name].length >= count);
  const consumer = kafka.consumer({ groupId: `${topic}-node` });
  await consumer.connect();
  await consumer.subscribe({ topics: Object.keys(wanted), fromBeginning: true });
  let deadline;
  try {
    await new Promise((resolve, reject) => {
      deadline = setTimeout(() => reject(new Error("the records didn't come back")), DEADLINE_MS);
      const eachMessage = async ({ topic: from, message }) => {
        found[from].push(await registry.decode(message.value).catch(reject));
        if (complete()) resolve();
      };
      consumer.run({ eachMessage }).catch(reject);
    });
  } finally {
    clearTimeout(deadline);
    await consumer.disconnect();
  }
  return found;
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
