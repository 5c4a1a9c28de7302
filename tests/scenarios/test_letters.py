"""Dead letters on the whole platform: late rows kept and counted, and a repaired record that comes out once."""

from __future__ import annotations

import json

from orion.app import Orion
from orion.hub.dead_letters import DeadLetters, Letter, Repaired
from orion.hub.records import Outgoing, Record
from orion.hub.writer import send_all
from tests.scenarios.conftest import Await, everything

HOUR = 3_600_000


def send(orion: Orion, topic: str, *rows: tuple[str, object, int]) -> None:
    """(key, value, timestamp) each; a str value goes as it is."""
    values = [v.encode() if isinstance(v, str) else json.dumps(v).encode() for _, v, _ in rows]
    records = [Outgoing(v, k.encode(), timestamp=t) for (k, _, t), v in zip(rows, values, strict=True)]
    send_all(orion.kafka, topic, records)


def late(orion: Orion, sink: str) -> int:
    return next(q.late for q in orion.queries() if q.sink == sink)


def latest(records: list[Record]) -> dict[bytes | None, bytes | None]:
    return {r.key: r.value for r in records}


def test_late_rows_are_counted_and_where_told_so_kept(orion: Orion, until: Await) -> None:
    window = "WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 5 SECONDS)"
    orion.execute(
        "CREATE STREAM lr (k STRING KEY, v INT) WITH (kafka_topic='lr', value_format='JSON', partitions=1);"
        f"CREATE TABLE lr_kept WITH (late_rows='keep') AS SELECT k, COUNT(*) AS n FROM lr {window} GROUP BY k;"
        f"CREATE TABLE lr_counted AS SELECT k, COUNT(*) AS n FROM lr {window} GROUP BY k;",
        {"orion.tasks": "1"},  # which rows share a clock is no matter of their hashes
    )
    send(orion, "lr", ("a", {"v": 1}, HOUR), ("a", {"v": 2}, HOUR + 40_000))
    until(lambda: len(everything(orion.kafka, "LR_COUNTED")) == 2, 90)
    # The clock moves on with a batch that has no late rows.
    send(orion, "lr", ("a", {"v": 9}, HOUR + 40_001))
    until(lambda: len(everything(orion.kafka, "LR_COUNTED")) == 3, 90)
    send(orion, "lr", ("a", {"v": 3}, HOUR + 1), ("a", {"v": 4}, HOUR + 36_000), ("a", {"v": 5}, HOUR + 41_000))
    until(lambda: bool(late(orion, "LR_KEPT") and late(orion, "LR_COUNTED")), 90)
    assert (late(orion, "LR_KEPT"), late(orion, "LR_COUNTED")) == (1, 1)
    counts = {0: b'{"N":1}', 30_000: b'{"N":1}', 40_000: b'{"N":3}'}
    wanted = {b"a" + (HOUR + start).to_bytes(8, "big"): n for start, n in counts.items()}
    until(lambda: latest(everything(orion.kafka, "LR_KEPT")) == wanted, 90)
    (letter,) = DeadLetters(orion.kafka).read("LR_KEPT")
    assert (letter.code, letter.record.key, str(letter.origin)) == ("LATE_ROW", b"a", "lr/0/3")
    assert json.loads(letter.record.value or b"") == {"K": "a", "V": 3, "ROWTIME": HOUR + 1}
    assert "from 1970-01-01T01:00:00.000Z to 1970-01-01T01:00:10.000Z was closed" in letter.reason
    assert "come to 1970-01-01T01:00:40.001Z" in letter.reason
    assert not everything(orion.kafka, "dlq.LR_COUNTED")
    (shown,) = [q for q in orion.execute("SHOW QUERIES;")[0]["queries"] if q["sinks"] == ["LR_KEPT"]]
    assert shown["lateRows"] == 1
    for query in [q.id for q in orion.queries() if q.sink.startswith("LR_")]:
        orion.execute(f"TERMINATE {query};")


def test_a_repaired_letter_comes_out_once_and_one_that_fails_again_says_so(orion: Orion, until: Await) -> None:
    orion.execute(
        "CREATE STREAM rp (k STRING KEY, v INT) WITH (kafka_topic='rp', value_format='JSON', partitions=2);"
        "CREATE TABLE rp_sums AS SELECT k, SUM(v) AS s FROM rp GROUP BY k;"
    )
    letters = DeadLetters(orion.kafka)
    wrong = [Outgoing(b'{"v": "x"}', b"a", (("trace", b"t1"),), 1_000), Outgoing(b"{oops", b"b", timestamp=2_000)]
    send_all(orion.kafka, "rp", wrong)
    send(orion, "rp", ("a", {"v": 1}, 3_000))
    until(lambda: len(list(letters.read("RP_SUMS"))) == 2, 90)
    found = {one.record.key: one for one in letters.read("RP_SUMS")}
    repaired = [Repaired(found[b"a"], b'{"v": 41}'), Repaired(found[b"b"], b"{still")]
    assert len(letters.replay("RP_SUMS", repaired).sent) == 2
    assert len(letters.replay("RP_SUMS", repaired).sent_before) == 2
    until(lambda: latest(everything(orion.kafka, "RP_SUMS")).get(b"a") == b'{"S":42}', 90)
    until(lambda: len(list(letters.read("RP_SUMS"))) == 3, 90)
    assert _attempts(letters) == [(b"a", 1, True), (b"b", 1, True), (b"b", 2, False)]
    # What comes behind them shows that nothing else was on its way.
    send(orion, "rp", ("a", {"v": 100}, 4_000))
    until(lambda: latest(everything(orion.kafka, "RP_SUMS")).get(b"a") == b'{"S":142}', 90)
    (sent,) = [r for r in everything(orion.kafka, "rp") if r.value == b'{"v": 41}']
    place = found[b"a"]
    assert (sent.timestamp, sent.partition) == (1_000, place.origin.partition if place.origin else None)
    assert dict(sent.headers) == {"trace": b"t1", "orion.replayed.from": place.id.encode(), "orion.attempt": b"1"}


def _attempts(letters: DeadLetters) -> list[tuple[bytes | None, int, bool]]:
    def told(letter: Letter) -> tuple[bytes | None, int, bool]:
        return letter.record.key, letter.attempt, letter.replayed

    return sorted(map(told, letters.read("RP_SUMS")), key=lambda one: (one[0] or b"", one[1]))
