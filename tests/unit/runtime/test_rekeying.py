"""State records sent to the tasks that their keys' rows go to: an operator goes on as if it had always had so many."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orion import ksql
from orion.hub.partitioning import partition_of
from orion.plan.catalog import Catalog
from orion.plan.relations import Aggregate, JoinType, Within
from orion.plan.sources import Window, WindowKind
from orion.plan.steps import StartQuery
from orion.runtime.operators.folds import Aggregator, Folds, GroupFolding, Retraction
from orion.runtime.operators.joins import LEFT, RIGHT, Serve, StreamStream, StreamTable, Subscribe, TableTable
from orion.runtime.operators.key_hash import find_tasks
from orion.runtime.operators.rekeying import Rekeying
from orion.runtime.operators.rowwise import First, Visible
from orion.runtime.operators.tasks import InputRow, Operator, OutputRow
from orion.runtime.state.places import CLOCK, group, single
from orion.runtime.state.state import MemoryStore
from orion.runtime.state.values import decode, encode
from orion.schema import Scalar
from tests.unit.runtime.test_joins import take_batch

LONG = 1_000_000


def folding(window: Window | None) -> Aggregator:
    catalog = Catalog()
    for step in ksql.compile(
        "CREATE STREAM s (k STRING KEY) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON')", catalog
    ).steps:
        catalog = catalog.after(step)
    plan = ksql.compile("CREATE TABLE o AS SELECT k, COUNT(*) AS n FROM s GROUP BY k", catalog)
    [query] = [step.query for step in plan.steps if isinstance(step, StartQuery)]
    relation = query.relation
    while not isinstance(relation, Aggregate):
        relation = relation.input  # type: ignore[union-attr]
    return Aggregator(GroupFolding(Folds(relation.calls), window))


OPERATORS: dict[str, Callable[[], Operator]] = {
    "group": lambda: folding(None),
    "tumbling": lambda: folding(Window(WindowKind.TUMBLING, 10, 10, LONG)),
    "hopping": lambda: folding(Window(WindowKind.HOPPING, 10, 5, LONG)),
    "session": lambda: folding(Window(WindowKind.SESSION, 3, 3, LONG)),
    "retraction": Retraction,
    "visible": Visible,
    "ttl": lambda: Visible(LONG),
    "distinct": lambda: First(Window(WindowKind.TUMBLING, 10, 10, LONG)),
    "stream-stream": lambda: StreamStream(JoinType.FULL, Within(100, 100, LONG, patient=True)),
    "stream-table": lambda: StreamTable(JoinType.LEFT),
    "table-table": lambda: TableTable(JoinType.FULL),
    "subscribe": lambda: Subscribe(JoinType.LEFT),
    "serve": lambda: Serve(JoinType.LEFT),
}


def as_taken(name: str, key: int, value: int, time: int, side: int) -> InputRow:
    row = None if value == 0 and name not in ("group", "tumbling", "hopping", "session", "distinct") else b"%d" % value
    data: tuple[object, ...] = ()
    if name == "subscribe":
        data = (b"f%d" % (value % 3),)
    elif name == "serve":
        data = (b"l%d" % (value % 5), True, False) if side == LEFT else (None, None, None)
    return InputRow(b"k%d" % key, row, time, side if name.endswith(("stream", "table", "serve")) else LEFT, data)


def spread_batch(operator: Callable[[], Operator], rows: list[InputRow], stores: list[MemoryStore]) -> list[OutputRow]:
    """What the tasks make of a batch, whichever makes it."""
    tasks = find_tasks([row.key for row in rows], len(stores)).tolist()
    made = []
    for task, store in enumerate(stores):
        made += take_batch(operator(), [row for row, to in zip(rows, tasks, strict=True) if to == task], store)
    return sorted(made, key=repr)


def respread(operator: Operator, stores: list[MemoryStore], tasks: int) -> list[MemoryStore]:
    rekeying = Rekeying(operator, len(stores), tasks)
    found = [MemoryStore() for _ in range(tasks)]
    moved = [m for task, store in enumerate(stores) for m in rekeying.move(task, list(store.blobs.items()))]
    for record in (*moved, *rekeying.merge_own()):
        assert record.blob is not None
        assert record.place not in found[record.task].blobs
        found[record.task].blobs[record.place] = record.blob
    return found


@pytest.mark.parametrize("name", OPERATORS)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 12), st.integers(0, 5), st.integers(0, 60), st.sampled_from([LEFT, RIGHT])),
        max_size=40,
    ),
    cut=st.integers(0, 40),
    numbers=st.tuples(st.integers(1, 5), st.integers(1, 5)),
)
def test_an_operator_goes_on_as_if_it_had_always_had_so_many_tasks(
    name: str, rows: list[tuple[int, int, int, int]], cut: int, numbers: tuple[int, int]
) -> None:
    operator = OPERATORS[name]
    arrived = [as_taken(name, *row) for row in rows]
    one, several = [MemoryStore()], [MemoryStore() for _ in range(numbers[0])]
    assert spread_batch(operator, arrived[:cut], one) == spread_batch(operator, arrived[:cut], several)
    several = respread(operator(), several, numbers[1])
    assert spread_batch(operator, arrived[cut:], one) == spread_batch(operator, arrived[cut:], several)


def clocks(before: list[int | None], tasks: int) -> list[int | None]:
    rekeying = Rekeying(Retraction(), len(before), tasks)
    for task, clock in enumerate(before):
        if clock is not None:
            rekeying.move(task, [(CLOCK, encode(clock - 1)), (CLOCK, encode(clock))])
    found: list[int | None] = [None] * tasks
    for task, place, blob in rekeying.merge_own():
        assert place == CLOCK
        assert blob is not None
        found[task] = decode(blob)[0]
    return found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([7], [7, 7, 7]),  # all of its keys are the one task's
        ([7, 9], [7, 9, 7, 9]),  # keys of task 2 of 4 were with task 0 of 2
        ([7, 9, 8], [9, 9]),  # they come from everywhere
        ([7, 9, 8, 6], [8, 9]),
        ([7, None, 8, None], [8, None]),  # those tasks have never seen a row
        ([None], [None, None]),
    ],
)
def test_a_task_begins_with_the_latest_clock_that_its_keys_have_seen(
    before: list[int | None], after: list[int | None]
) -> None:
    assert clocks(before, len(after)) == after


def test_a_stream_join_knows_of_each_side_how_far_it_has_come() -> None:
    operator = StreamStream(JoinType.INNER, Within(5, 5, 0, patient=False))
    rekeying = Rekeying(operator, 3, 2)
    for task, times in enumerate(([5, -1], [3, 8], [4, 2])):
        assert rekeying.move(task, [(single(b""), encode(times))]) == []
    assert [(m.task, decode(m.blob or b"")[0]) for m in rekeying.merge_own()] == [(0, [5, 8]), (1, [5, 8])]


def test_the_last_record_of_a_place_comes_last_and_deletions_move_too() -> None:
    rekeying = Rekeying(Retraction(), 2, 3)
    records = [(single(b"a"), b"1"), (group(b"b") + b"m", b"2"), (single(b"a"), None)]
    moved = rekeying.move(0, records)
    assert [(m.place, m.blob) for m in moved] == records
    assert moved[0].task == moved[2].task == find_tasks([b"a"], 3)[0]


def test_what_a_task_has_taken_back_of_its_own_is_gone() -> None:
    rekeying = Rekeying(StreamStream(JoinType.INNER, Within(5, 5, 0, patient=False)), 1, 2)
    rekeying.move(0, [(single(b""), encode([1, 2]))])
    rekeying.move(0, [(single(b""), None)])
    assert list(rekeying.merge_own()) == []


@given(keys=st.lists(st.text(max_size=20), max_size=20), tasks=st.integers(1, 7))
def test_keys_that_go_where_kafka_puts_them_are_moved_to_that_task(keys: list[str], tasks: int) -> None:
    packed = [b"\x01" + key.encode() for key in keys]
    rekeying = Rekeying(Retraction(), 2, tasks, Scalar.STRING)
    moved = rekeying.move(0, [(single(key), b"1") for key in packed])
    assert [record.task for record in moved] == [partition_of(key.encode(), tasks) for key in keys]
