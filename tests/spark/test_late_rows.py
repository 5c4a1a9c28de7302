"""Rows too late for their window, kept as dead letters by every operator that has one."""

from __future__ import annotations

import json

import pytest

from orion.runtime.session import Spark
from orion.testing import Given, run

S = "CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='s', value_format='JSON');"
TUMBLING = "WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS)"
# The third comes when the window of the first is closed.
ROWS = [Given("s", b"a", json.dumps({"v": v}).encode(), at) for v, at in ((1, 1_000), (2, 30_000), (3, 2_000))]


def kept(spark: Spark, query: str, rows: list[Given], more: str = "") -> tuple[list[Given], list[Given]]:
    """The results and the letters of a query that keeps late rows."""
    made = run(spark, S + more + query, rows, {"orion.tasks": "1", "orion.late.rows": "keep"})
    return [r for r in made if r.topic == "OUT"], [r for r in made if r.topic == "dlq.OUT"]


@pytest.mark.parametrize(
    "query",
    [
        "CREATE TABLE out WITH (timestamp='at') AS "
        f"SELECT k, MAX(ROWTIME) AS at FROM s {TUMBLING} GROUP BY k HAVING SUM(v) > 0;",
        "CREATE TABLE out WITH (value_format='AVRO') AS "
        "SELECT k, SUM(v) AS n FROM s WINDOW SESSION (5 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY k;",
        f"CREATE STREAM out AS SELECT DISTINCT k, v FROM s {TUMBLING};",
    ],
)
def test_a_late_row_becomes_a_letter_with_the_row_and_its_place(spark: Spark, query: str) -> None:
    results, (letter,) = kept(spark, query, ROWS)
    assert len(results) == 2
    assert (letter.key, letter.timestamp) == (b"a", 2_000)
    assert json.loads(letter.value or b"") == {"K": "a", "V": 3, "ROWTIME": 2_000}
    headers = {name: (value or b"").decode() for name, value in letter.headers}
    assert headers["orion.error.code"] == "LATE_ROW"
    assert "the stream had come to 1970-01-01T00:00:30.000Z, and its grace is 0 ms" in headers["orion.error.reason"]
    place = [headers[f"orion.source.{name}"] for name in ("topic", "partition", "offset", "timestamp")]
    assert place == ["s", "0", "2", "2000"]


def test_a_late_row_that_a_join_made_has_no_place(spark: Spark) -> None:
    table = "CREATE TABLE t (k STRING PRIMARY KEY, x STRING) WITH (kafka_topic='t', value_format='JSON');"
    query = (
        f"CREATE TABLE out AS SELECT s.k, t.x, COUNT(*) AS n FROM s JOIN t ON s.k = t.k {TUMBLING} GROUP BY s.k, t.x;"
    )
    query = query.replace(" AS SELECT", " WITH (key_format='JSON') AS SELECT")
    results, (letter,) = kept(spark, query, [Given("t", b"a", b'{"x": "y"}', 1), *ROWS], table)
    assert len(results) == 2
    assert "y" in json.loads(letter.value or b"").values()
    assert dict(letter.headers)["orion.source.partition"] is None


def test_bad_records_are_letters_beside_late_rows(spark: Spark) -> None:
    query = f"CREATE TABLE out AS SELECT k, SUM(v) AS n FROM s {TUMBLING} GROUP BY k;"
    results, letters = kept(spark, query, [*ROWS, Given("s", b"a", b"{", 3_000)])
    assert [r.value for r in results] == [b'{"N":1}', b'{"N":2}']
    assert sorted(dict(r.headers)["orion.error.code"] or b"" for r in letters) == [b"LATE_ROW", b"VALUE_UNREADABLE"]


def test_a_record_that_was_sent_back_counts_on_and_keeps_its_headers(spark: Spark) -> None:
    again = (("trace", b"t"), ("orion.attempt", b"2"), ("orion.replayed.from", b"dlq.OUT/0/0"))
    rows = [Given("s", b"a", b"{", 1, again), Given("s", b"b", b"{", 2, (("trace", b"u"),)), Given("s", b"c", b"{", 3)]
    for query in (
        "CREATE STREAM out AS SELECT * FROM s;",
        "CREATE TABLE out AS SELECT k, SUM(v) AS n FROM s GROUP BY k;",
    ):
        _, letters = kept(spark, query, rows)
        told = {r.key: dict(r.headers) for r in letters}
        assert [told[k]["orion.attempt"] for k in (b"a", b"b", b"c")] == [b"3", b"1", b"1"]
        assert [told[k].get("trace") for k in (b"a", b"b", b"c")] == [b"t", b"u", None]
        assert "orion.replayed.from" not in told[b"a"]
