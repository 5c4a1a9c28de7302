"""Pull queries over tables in DuckDB, from the statement to the rows."""

from __future__ import annotations

import threading
from decimal import Decimal
from typing import Any

import pytest

from orion import ksql
from orion.errors import BindError, ExternalError, SqlError, UserError
from orion.ksql.pull.cache import Compiled, shaped
from orion.ksql.pull.scans import SCANS
from orion.plan.interruption import Interruption
from orion.plan.steps import Pull
from orion.serving.pull import OutOfReach, Pulled, run
from orion.serving.store import Store
from tests.unit.serving.world import SOURCES, catalog, put

CATALOG = catalog()


@pytest.fixture(scope="module")
def store() -> Store:
    made = Store()
    put(
        made,
        SOURCES["T"],
        *((f'"{k}"'.encode(), f'{{"N":{n}}}'.encode()) for k, n in zip("abcd", (3, 1, 3, 2), strict=True)),
    )
    put(made, SOURCES["FLAT"], *((i.to_bytes(8, "big"), f"{i % 2},x{i}".encode()) for i in range(1, 6)))
    starts = ((b'"a"', 0, 1), (b'"a"', 1000, 2), (b'"b"', 1000, 5))
    put(made, SOURCES["W"], *((k + s.to_bytes(8, "big"), f'{{"N":{n}}}'.encode()) for k, s, n in starts))
    value = b'{"b":true,"l":5,"d":0.5,"t":"x","x":"AQI=","m":1.25,"day":1,"tm":61001,"ts":1001,"mp":{"a":1}}'
    put(made, SOURCES["EVERYTHING"], ((7).to_bytes(4, "big"), value))
    return made


def pulled(store: Store, text: str) -> Pulled:
    ask = ksql.compile(text, CATALOG).ask
    assert isinstance(ask, Pull)
    assert ask.duckdb is not None, ask.why
    return run(ask, store, [p.value for p in ask.parameters])


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT * FROM t WHERE k = 'a'", [["a", 3]]),
        ("SELECT * FROM t WHERE 'a' = k AND n > 5", []),
        ("SELECT k FROM t LIMIT 2 OFFSET 1", [["b"], ["c"]]),
        ("SELECT * FROM t WHERE k IN ('a', 'x', 'c') ORDER BY k", [["a", 3], ["c", 3]]),
        ("SELECT k FROM t WHERE k >= 'b' AND k < 'd' ORDER BY 1 DESC", [["c"], ["b"]]),
        ("SELECT k, n * 2 AS twice FROM t WHERE n <> 3 ORDER BY n LIMIT 1", [["b", 2]]),
        ("SELECT k FROM t ORDER BY n DESC, k LIMIT 2 OFFSET 1", [["c"], ["d"]]),
        ("SELECT DISTINCT n FROM t ORDER BY n", [[1], [2], [3]]),
        ("SELECT COUNT(*) AS c, SUM(n) AS s, AVG(n) AS a FROM t", [[4, 9, 2.25]]),
        ("SELECT COUNT(*) AS c FROM t WHERE n > 100", [[0]]),
        ("SELECT n, COUNT(*) AS c FROM t GROUP BY n HAVING COUNT(*) > 1", [[3, 2]]),
        ("SELECT n + 1 AS m, MAX(k) FROM t GROUP BY n + 1 ORDER BY m", [[2, "b"], [3, "d"], [4, "c"]]),
        ("SELECT * FROM w WHERE k = 'a'", [["a", 0, 1000, 1], ["a", 1000, 2000, 2]]),
        ("SELECT k, n FROM w WHERE k = 'a' AND WINDOWSTART >= '1970-01-01T00:00:01'", [["a", 2]]),
        ("SELECT k FROM w WHERE WINDOWEND <= 1000", [["a"]]),
        ("SELECT t.k, w.n FROM t JOIN w ON t.k = w.k AND w.n > 1 ORDER BY w.n", [["a", 2], ["b", 5]]),
        ("SELECT t.k, w.n FROM t LEFT JOIN w ON t.k = w.k WHERE w.n IS NULL ORDER BY t.k", [["c", None], ["d", None]]),
        ("SELECT a.k, b.k FROM t a JOIN t b ON a.n = b.n WHERE a.k < b.k", [["a", "c"]]),
        ("SELECT x.s FROM (SELECT n, SUM(n) AS s FROM t GROUP BY n) x WHERE x.s > 5", [[6]]),
        (
            "SELECT x.k, y.m FROM (SELECT k, n FROM t) x JOIN (SELECT MAX(n) AS m FROM t) y ON x.n = y.m ORDER BY x.k",
            [["a", 3], ["c", 3]],
        ),
        ("SELECT k, ROW_NUMBER() OVER (ORDER BY n DESC, k) AS r FROM t ORDER BY r LIMIT 2", [["a", 1], ["c", 2]]),
        ("SELECT k, LAG(n) OVER (ORDER BY k) AS b FROM t ORDER BY k LIMIT 2", [["a", None], ["b", 3]]),
        ("SELECT k, SUM(n) OVER (PARTITION BY n) AS s FROM t WHERE n = 3 ORDER BY k", [["a", 6], ["c", 6]]),
        (
            "SELECT n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM t GROUP BY n ORDER BY r, n LIMIT 2",
            [[3, 1], [1, 2]],
        ),
        (
            "SELECT SUM(n) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM t ORDER BY k LIMIT 2",
            [[3], [4]],
        ),
        ("SELECT k FROM t ORDER BY CASE WHEN k = 'c' THEN 0 ELSE 1 END, k LIMIT 1", [["c"]]),
        ("SELECT K, ROWTIME FROM t WHERE k = 'b'", [["b", 2]]),
        ("SELECT a, MIN(b) FROM flat GROUP BY a ORDER BY a", [[0, "x2"], [1, "x1"]]),
    ],
)
def test_rows(store: Store, text: str, rows: list[list[Any]]) -> None:
    assert pulled(store, text).rows == rows


def test_values_are_shown_as_push_queries_show_them(store: Store) -> None:
    found = pulled(store, "SELECT * FROM everything")
    times = ["1970-01-02", "00:01:01.001", "1970-01-01T00:00:01.001"]
    assert found.rows == [[7, True, 5, 0.5, "x", "AQI=", Decimal("1.25"), *times, None, {"a": 1}, None]]
    assert [str(c.type) for c in found.columns][:2] == ["INTEGER", "BOOLEAN"]
    table = found.arrow()
    assert table.num_rows == 1
    assert str(table.schema.field("TS").type) == "timestamp[us, tz=UTC]"
    assert table.column("MP").to_pylist() == [[("a", 1)]]


def test_numbers_that_leave_their_type_are_left_to_spark(store: Store) -> None:
    with pytest.raises(OutOfReach):
        pulled(store, "SELECT n * 9223372036854775807 AS big FROM t")


def test_spark_gets_only_the_rows_it_needs(store: Store) -> None:
    ask = ksql.compile("SELECT INITCAP(k) AS i FROM t WHERE n = 3 AND k >= 'b' AND INITCAP(k) = 'C'", CATALOG).ask
    assert isinstance(ask, Pull)
    assert ask.duckdb is None
    assert ask.why == "DuckDB has no equal for INITCAP"
    found = store.arrow(SOURCES["T"], ask.fetched, [p.value for p in ask.parameters])
    assert found.column("K").to_pylist() == ["c"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT * FROM s JOIN t ON s.k = t.k", "JOIN_OF_STREAM"),
        ("SELECT * FROM t WINDOW TUMBLING (SIZE 1 SECOND)", "WINDOW_IN_PULL"),
        ("SELECT * FROM t PARTITION BY n", "PARTITION_BY_IN_PULL"),
        ("SELECT ROWOFFSET FROM t", "PSEUDO_COLUMN_NOT_HERE"),
        ("SELECT * FROM s WHERE ROWPARTITION = 1", "PSEUDO_COLUMN_NOT_HERE"),
        ("SELECT k, k FROM t", "DUPLICATE_COLUMN"),
        ("SELECT k, COUNT(*) FROM t", "NOT_GROUPED"),
        ("SELECT k FROM t WHERE COUNT(*) > 1", "AGGREGATE_NOT_HERE"),
        ("SELECT k FROM t HAVING n > 1", "HAVING_WITHOUT_GROUP_BY"),
        ("SELECT k FROM t ORDER BY 3", "INVALID_ORDER"),
        ("SELECT DISTINCT k FROM t ORDER BY n", "INVALID_DISTINCT"),
        ("SELECT RANK() OVER (PARTITION BY k) FROM t", "ORDER_MISSING"),
        ("SELECT RANG() OVER (ORDER BY k) FROM t", "UNKNOWN_FUNCTION"),
        ("SELECT * FROM t WHERE k IN ('a', NULL)", "INVALID_KEY"),
        ("SELECT * FROM flat WHERE k IN ('1', 2)", "INVALID_KEY"),
        ("SELECT EXPLODE(arr) FROM everything", "TABLE_FUNCTION_NOT_HERE"),
        ("SELECT * FROM t ORDER BY k EMIT CHANGES", "SYNTAX"),
        ("SELECT * FROM t EMIT CHANGES ORDER BY k", "ORDER_NOT_HERE"),
        ("CREATE TABLE o AS SELECT * FROM t ORDER BY k", "ORDER_NOT_HERE"),
        ("SELECT ROW_NUMBER() OVER (ORDER BY k) AS r FROM s EMIT CHANGES", "WINDOW_FUNCTION_NOT_HERE"),
    ],
)
def test_what_is_refused(text: str, code: str) -> None:
    with pytest.raises(SqlError) as caught:
        ksql.compile(text, CATALOG)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("where", "fits"),
    [
        ("k = 'a'", True),
        ("k IN ('a', 'b') AND n > 1", True),
        ("k = 'a' OR k = 'b'", True),
        ("k >= 'b'", True),
        ("k > 'a' AND k < 'c'", False),
        ("k <> 'a'", False),
        ("n = 3", False),
        ("k = 'a' OR n = 3", False),
        ("k = UCASE(k)", False),
    ],
)
def test_scans_can_be_refused(where: str, fits: bool) -> None:
    text = f"SELECT * FROM t WHERE {where}"
    if fits:
        ksql.compile(text, CATALOG, {SCANS: "false"})
        return
    with pytest.raises(BindError) as caught:
        ksql.compile(text, CATALOG, {SCANS: "false"})
    assert caught.value.code == "TABLE_SCAN_OFF"
    ksql.compile(text, CATALOG)


def test_a_look_up_is_compiled_once() -> None:
    compiled, asked = Compiled(), []

    def get(text: str) -> tuple[Pull, list[Any]]:
        def compile_() -> Pull:
            asked.append(text)
            ask = ksql.compile(text, CATALOG).ask
            assert isinstance(ask, Pull)
            return ask

        found = compiled.get(text, CATALOG, compile_)
        assert found is not None
        return found

    first, values = get("SELECT * FROM t WHERE k = 'it''s' LIMIT 5")
    assert values == ["it's"]
    again, values = get("SELECT * FROM t WHERE k = 'b' LIMIT 5")
    assert again is first
    assert values == ["b"]
    other, _ = get("SELECT * FROM t WHERE k = 'b' LIMIT 6")
    assert other is not first
    assert len(asked) == 2
    assert get("SELECT * FROM w WHERE n = 3 AND k = 'x'")[1] == ["x", 3]
    assert get("SELECT * FROM w WHERE n = 4 AND k = 'y'")[1] == ["y", 4]
    assert len(asked) == 3


def test_constants_are_found_in_a_text() -> None:
    text = "SELECT a1, 'x' FROM `t'1` WHERE b = 12 AND c = 1.5 -- 'no' 3\n AND d = '3'"
    shape, constants, _ = shaped(text)
    assert constants == ["x", 12, "3"]
    assert shape.count("?") == 3


def test_a_plain_table_is_refused_with_a_hint() -> None:
    made = CATALOG
    for step in ksql.compile(
        "CREATE TABLE p (k STRING PRIMARY KEY, v INT) WITH (kafka_topic='p', value_format='JSON', partitions=1)", made
    ).steps:
        made = made.after(step)
    with pytest.raises(BindError) as caught:
        ksql.compile("SELECT * FROM p WHERE k = 'a'", made)
    assert caught.value.code == "NOT_MATERIALISED"
    assert "CREATE TABLE QUERYABLE_P AS SELECT * FROM P" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("statement", "names", "row"),
    [
        ("SELECT 1;", ["KSQL_COL_0"], [1]),
        ("SELECT UCASE('a') AS big, 1.50 AS money", ["BIG", "MONEY"], ["A", Decimal("1.50")]),
        ("SELECT ARRAY[1, 2] AS list, STRUCT(a := 'x') AS s", ["LIST", "S"], [[1, 2], {"A": "x"}]),
        ("SELECT CAST(NULL AS STRING) AS nothing", ["NOTHING"], [None]),
    ],
)
def test_a_query_without_sources_is_one_row(store: Store, statement: str, names: list[str], row: list[Any]) -> None:
    found = pulled(store, statement)
    assert ([column.name for column in found.columns], found.rows) == (names, [row])


# ---- how it ends -------------------------------------------------------------------------------------------------

LONG = (
    "SELECT COUNT(*) AS c FROM flat x JOIN flat y ON x.a = y.a JOIN flat z ON y.a = z.a "
    "WHERE x.k % 7 = (y.k * z.k) % 11 - 9"
)


def planned(text: str) -> Pull:
    ask = ksql.compile(text, CATALOG).ask
    assert isinstance(ask, Pull)
    assert ask.duckdb is not None, ask.why
    return ask


@pytest.fixture(scope="module")
def large() -> Store:
    """Rows whose joins with each other are without end."""
    made = Store(most_rows=100)
    put(made, SOURCES["FLAT"], *((i.to_bytes(8, "big"), f"1,x{i}".encode()) for i in range(1, 5001)))
    return made


def test_a_query_under_way_is_ended(large: Store) -> None:
    interruption, ask = Interruption(), planned(LONG)
    threading.Timer(0.2, lambda: interruption.interrupt(ExternalError("CLIENT_LEFT", "gone"))).start()
    with pytest.raises(ExternalError, match="gone"):
        run(ask, large, [p.value for p in ask.parameters], interruption)
    assert run(planned("SELECT COUNT(*) AS c FROM flat"), large, [], Interruption()).rows == [[5000]]


def test_an_answer_has_so_many_rows_at_most(large: Store) -> None:
    with pytest.raises(UserError) as refused:
        run(planned("SELECT k FROM flat"), large, [], Interruption())
    assert (refused.value.code, refused.value.hint is not None) == ("PULL_TOO_LARGE", True)
    assert len(run(planned("SELECT k FROM flat LIMIT 100"), large, [], Interruption()).rows) == 100


def test_what_a_row_pads_beyond_the_bound_is_null(large: Store) -> None:
    ask = planned("SELECT LPAD(b, CAST(k AS INT) * 1000000, 'x') AS p FROM flat LIMIT 3")
    assert run(ask, large, [p.value for p in ask.parameters], Interruption()).rows == [[None]] * 3
