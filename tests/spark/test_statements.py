"""Statements over records: the real decoding, operators and encoding, in one batch."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from orion.runtime.session import Spark
from orion.testing import Given, run

MINUTE = 60_000


def values(records: list[Given], topic: str) -> list[Any]:
    return [None if r.value is None else json.loads(r.value) for r in records if r.topic == topic]


def play(user: str, track: str, ms: Any, timestamp: int = 0) -> Given:
    return Given("plays", user.encode(), json.dumps({"track": track, "ms": ms}).encode(), timestamp)


PLAYS = "CREATE STREAM plays (user STRING KEY, track STRING, ms INT) WITH (kafka_topic='plays', value_format='JSON');"


def test_a_stream_is_filtered_and_projected_with_its_key_and_time(spark: Spark) -> None:
    script = (
        PLAYS + "CREATE STREAM long AS SELECT user, track, ms / 1000 AS s FROM plays WHERE ms >= 5000 EMIT CHANGES;"
    )
    made = run(spark, script, [play("ann", "a", 7900, 11), play("bob", "b", 4999, 12), play("cem", "c", 5000, 13)])
    assert made == [
        Given("LONG", b"ann", b'{"TRACK":"a","S":7}', 11),
        Given("LONG", b"cem", b'{"TRACK":"c","S":5}', 13),
    ]


@pytest.mark.parametrize(
    "value", [b"{oops", b"", b"[1]", b'"text"', b"17", b'{"ms": "many"}', b'{"ms": 99999999999}', b"\xff\xfe"]
)
def test_what_is_not_the_declared_json_becomes_a_dead_letter(spark: Spark, value: bytes) -> None:
    script = PLAYS + "CREATE STREAM copy AS SELECT * FROM plays EMIT CHANGES;"
    good, letter = run(spark, script, [play("ann", "a", 1), Given("plays", b"k", value, 5)])
    assert good.topic == "COPY"
    assert letter == Given("dlq.COPY", b"k", value, 5)
    headers = dict(letter.headers)
    assert headers["orion.error.code"] == b"VALUE_UNREADABLE"
    assert (headers["orion.source.topic"], headers["orion.source.offset"]) == (b"plays", b"1")


def test_dead_letters_pass_an_aggregation_by(spark: Spark) -> None:
    script = PLAYS + "CREATE TABLE n AS SELECT user, COUNT(*) AS n FROM plays GROUP BY user EMIT CHANGES;"
    made = run(spark, script, [play("ann", "a", 1), Given("plays", b"ann", b"{", 3), play("ann", "b", 2)])
    assert values(made, "N") == [{"N": 2}]
    assert [r.value for r in made if r.topic == "dlq.N"] == [b"{"]


def test_a_stream_record_without_a_value_is_copied_and_nothing_else(spark: Spark) -> None:
    script = (
        PLAYS + "CREATE STREAM copy AS SELECT * FROM plays EMIT CHANGES;"
        "CREATE STREAM some AS SELECT * FROM plays WHERE track IS NULL EMIT CHANGES;"
        "CREATE TABLE n AS SELECT user, COUNT(*) AS n FROM plays GROUP BY user EMIT CHANGES;"
    )
    assert run(spark, script, [Given("plays", b"ann", None, 1)]) == [Given("COPY", b"ann", None, 1)]


ALL_TYPES = """
CREATE STREAM s (
    k STRING KEY, b BOOLEAN, i INT, l BIGINT, d DOUBLE, m DECIMAL(6,2), t STRING, y BYTES, da DATE, ti TIME,
    ts TIMESTAMP, a ARRAY<INT>, p MAP<STRING, BIGINT>,
    o STRUCT<x INT, nested STRUCT<y STRING>>, e ARRAY<STRUCT<at TIMESTAMP>>
) WITH (kafka_topic='s', value_format='JSON');
CREATE STREAM c AS SELECT * FROM s EMIT CHANGES;
"""
ROW = {
    "B": True,
    "I": -7,
    "L": 2**60,
    "D": 0.25,
    "M": 12.5,
    "T": 'grüße "x" \\ \n',
    "Y": "AAEC",
    "DA": 20000,
    "TI": 3_723_004,
    "TS": 1_700_000_000_123,
    "A": [1, None, 3],
    "P": {"one": 1},
    "O": {"X": 1, "NESTED": {"Y": "z"}},
    "E": [{"AT": 5}],
}


def test_every_type_comes_through_unchanged(spark: Spark) -> None:
    made = run(spark, ALL_TYPES, [Given("s", b"k", json.dumps(ROW).encode())])
    assert values(made, "C") == [{**ROW, "M": 12.50}]


def test_absent_and_null_fields_are_null(spark: Spark) -> None:
    made = run(spark, ALL_TYPES, [Given("s", b"k", b'{"I": null}')])
    assert values(made, "C") == [dict.fromkeys(ROW)]


def test_json_fields_are_found_in_upper_lower_and_declared_case(spark: Spark) -> None:
    script = (
        "CREATE STREAM s (userId INT, place STRUCT<city STRING>) WITH (kafka_topic='s', value_format='JSON');"
        "CREATE STREAM c AS SELECT userid, place->city AS city FROM s EMIT CHANGES;"
    )
    spelled = [
        b'{"userId": 1, "place": {"city": "a"}}',
        b'{"USERID": 2, "PLACE": {"CITY": "b"}}',
        b'{"userid": 3, "place": {"CITY": "c"}}',
    ]
    made = run(spark, script, [Given("s", None, v) for v in spelled])
    assert values(made, "C") == [{"USERID": 1, "CITY": "a"}, {"USERID": 2, "CITY": "b"}, {"USERID": 3, "CITY": "c"}]


@pytest.mark.parametrize(
    ("type_", "key", "shown"),
    [
        ("INT", struct.pack(">i", -5), -5),
        ("BIGINT", struct.pack(">q", -(2**62)), -(2**62)),
        ("DOUBLE", struct.pack(">d", -1.5), -1.5),
        ("STRING", "ü".encode(), "ü"),
    ],
)
def test_kafka_keys_are_read_and_written_as_kafkas_own_serialisers_do(
    spark: Spark, type_: str, key: bytes, shown: Any
) -> None:
    script = (
        f"CREATE STREAM s (k {type_} KEY, v INT) WITH (kafka_topic='s', value_format='JSON');"
        "CREATE STREAM c AS SELECT k, AS_VALUE(k) AS copy FROM s EMIT CHANGES;"
    )
    made = run(spark, script, [Given("s", key, b'{"v":1}')])
    assert made[0].key == key
    assert values(made, "C") == [{"COPY": shown}]


def test_a_key_of_the_wrong_length_is_a_dead_letter(spark: Spark) -> None:
    script = (
        "CREATE STREAM s (k INT KEY, v INT) WITH (kafka_topic='s', value_format='JSON');"
        "CREATE STREAM c AS SELECT k, v FROM s EMIT CHANGES;"
    )
    (letter,) = run(spark, script, [Given("s", b"abc", b'{"v":1}')])
    assert letter.topic == "dlq.C"
    assert dict(letter.headers)["orion.error.code"] == b"KEY_UNREADABLE"


def test_json_keys_stand_alone_when_single_and_in_an_object_when_several(spark: Spark) -> None:
    script = (
        "CREATE STREAM s (k STRING KEY, v INT, w INT) WITH (kafka_topic='s', key_format='JSON', value_format='JSON');"
        "CREATE TABLE one AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;"
        "CREATE TABLE two AS SELECT k, v, COUNT(*) AS n FROM s GROUP BY k, v EMIT CHANGES;"
    )
    one, two = run(spark, script, [Given("s", b'"a"', b'{"v":1}')])
    assert (one.key, two.key) == (b'"a"', b'{"K":"a","V":1}')


def test_rowtime_is_the_column_that_the_timestamp_property_names(spark: Spark) -> None:
    script = (
        "CREATE STREAM s (at STRING, v INT) WITH (kafka_topic='s', value_format='JSON', timestamp='at', "
        "timestamp_format='yyyy-MM-dd HH:mm:ss');"
        "CREATE STREAM c AS SELECT v, ROWTIME AS t FROM s EMIT CHANGES;"
    )
    good, letter = run(
        spark,
        script,
        [Given("s", None, b'{"at":"1970-01-01 00:01:00","v":1}', 7), Given("s", None, b'{"at":"soon","v":2}', 8)],
    )
    assert good == Given("C", None, b'{"V":1,"T":60000}', MINUTE)
    assert dict(letter.headers)["orion.error.code"] == b"TIMESTAMP_UNREADABLE"


def windowed(record: Given) -> tuple[str, int]:
    assert record.key is not None
    return record.key[:-8].decode(), struct.unpack(">q", record.key[-8:])[0]


def test_tumbling_windows_carry_their_start_behind_the_key(spark: Spark) -> None:
    script = PLAYS + (
        "CREATE TABLE w AS SELECT user, COUNT(*) AS n, SUM(ms) AS ms, WINDOWSTART AS ws, WINDOWEND AS we "
        "FROM plays WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY user EMIT CHANGES;"
    )
    made = run(spark, script, [play("ann", "a", 1, 0), play("ann", "b", 2, 59_999), play("ann", "c", 4, 60_000)])
    found = {windowed(r): (json.loads(r.value or b""), r.timestamp) for r in made}
    assert found == {
        ("ann", 0): ({"N": 2, "MS": 3, "WS": 0, "WE": MINUTE}, 59_999),
        ("ann", MINUTE): ({"N": 1, "MS": 4, "WS": MINUTE, "WE": 2 * MINUTE}, MINUTE),
    }


def test_hopping_windows_overlap(spark: Spark) -> None:
    script = PLAYS + (
        "CREATE TABLE w AS SELECT user, COUNT(*) AS n FROM plays "
        "WINDOW HOPPING (SIZE 30 SECONDS, ADVANCE BY 10 SECONDS) GROUP BY user EMIT CHANGES;"
    )
    made = run(spark, script, [play("ann", "a", 1, 35_000), play("ann", "b", 1, 41_000)])
    counts = {windowed(r)[1]: json.loads(r.value or b"")["N"] for r in made}
    assert counts == {10_000: 1, 20_000: 2, 30_000: 2, 40_000: 1}


def test_sessions_end_where_the_gap_is(spark: Spark) -> None:
    script = PLAYS + (
        "CREATE TABLE w AS SELECT user, COUNT(*) AS n, WINDOWSTART AS ws, WINDOWEND AS we FROM plays "
        "WINDOW SESSION (10 SECONDS) GROUP BY user EMIT CHANGES;"
    )
    times = [1_000, 11_000, 30_000, 21_000]
    made = run(spark, script, [play("ann", "a", 1, t) for t in times] + [play("bob", "a", 1, 50_000)])
    found = [(json.loads(r.value), struct.unpack(">qq", r.key[-16:])) for r in made if r.value and r.key]
    assert ({"N": 4, "WS": 1_000, "WE": 30_000}, (30_000, 1_000)) in found
    assert ({"N": 1, "WS": 50_000, "WE": 50_000}, (50_000, 50_000)) in found
    assert len(found) == 2


AGGREGATES = "COUNT(*) AS c, COUNT(v) AS cv, SUM(v) AS s, AVG(v) AS a, MIN(v) AS lo, MAX(v) AS hi, TOPK(v, 2) AS top"
FOLDED = {"C": 5, "CV": 4, "S": 17, "A": 4.25, "LO": 1, "HI": 8, "TOP": [8, 6]}


@pytest.mark.parametrize("having", ["", "HAVING COUNT(*) > 0"], ids=["all", "having"])
def test_both_operators_fold_alike(spark: Spark, having: str) -> None:
    script = (
        "CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='s', value_format='JSON');"
        f"CREATE TABLE t AS SELECT k, {AGGREGATES}, LATEST_BY_OFFSET(v) AS last, EARLIEST_BY_OFFSET(v) AS first, "
        f"TOPK_FREQUENT(v, 1) AS often FROM s GROUP BY k {having} EMIT CHANGES;"
    )
    given = [Given("s", b"k", json.dumps({"v": v}).encode(), t) for t, v in enumerate([6, 2, 8, None, 1], start=1)]
    given += [Given("s", None, b'{"v": 100}')]
    (row,) = values(run(spark, script, given), "T")
    often = row.pop("OFTEN")
    assert row == {**FOLDED, "LAST": 1, "FIRST": 6}
    assert [o["COUNT"] for o in often] == [1]


def test_rows_that_fail_having_are_not_there(spark: Spark) -> None:
    script = PLAYS + (
        "CREATE TABLE heavy AS SELECT user, COUNT(*) AS n FROM plays GROUP BY user HAVING COUNT(*) > 1 EMIT CHANGES;"
    )
    made = run(spark, script, [play("ann", "a", 1), play("bob", "a", 1), play("ann", "b", 1)])
    assert made == [Given("HEAVY", b"ann", b'{"N":2}', 0)]


def test_chained_windows_use_the_rows_time_and_not_the_clock(spark: Spark) -> None:
    script = PLAYS + (
        "CREATE STREAM copy AS SELECT * FROM plays EMIT CHANGES;"
        "CREATE TABLE w AS SELECT user, COUNT(*) AS n FROM copy WINDOW TUMBLING (SIZE 1 MINUTE) "
        "GROUP BY user EMIT CHANGES;"
    )
    made = run(spark, script, [play("ann", "a", 1, 5 * MINUTE)])
    assert [windowed(r) for r in made if r.topic == "W"] == [("ann", 5 * MINUTE)]


def test_a_table_passes_deletions_on_and_deletes_what_a_filter_drops(spark: Spark) -> None:
    script = (
        "CREATE TABLE u (id STRING PRIMARY KEY, age INT) WITH (kafka_topic='u', value_format='JSON');"
        "CREATE TABLE adults AS SELECT id, age FROM u WHERE age >= 18 EMIT CHANGES;"
    )
    made = run(
        spark,
        script,
        [Given("u", b"a", b'{"age":20}'), Given("u", b"b", b'{"age":3}'), Given("u", b"a", None)],
    )
    assert made == [Given("ADULTS", b"a", b'{"AGE":20}'), Given("ADULTS", b"a", None)]  # b was never in it
