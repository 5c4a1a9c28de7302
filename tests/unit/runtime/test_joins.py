"""Joins a row at a time, over state that is written between batches."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orion.plan.relations import JoinType, Within
from orion.runtime.operators.arrival import arrival_order
from orion.runtime.operators.joins import LEFT, RIGHT, Serve, StreamStream, StreamTable, Subscribe, TableTable
from orion.runtime.operators.tasks import InputRow, Operator, OutputRow, run_rows
from orion.runtime.state.state import MemoryStore, TaskState


def made(operator: Operator, rows: Iterable[InputRow], *, batch: int = 1) -> list[OutputRow]:
    """What the operator makes of the rows, in batches of a size: the size must not matter."""
    store, found, given_rows = MemoryStore(), [], list(rows)
    for at in range(0, len(given_rows), batch):
        found += take_batch(operator, given_rows[at : at + batch], store)
    return found


def take_batch(operator: Operator, rows: Iterable[InputRow], store: MemoryStore) -> list[OutputRow]:
    state = TaskState(store)
    found = [m for _, m in run_rows(operator, rows, state)]
    store.apply(state.changes())
    return found


def left(key: str, row: str | None, time: int) -> InputRow:
    return InputRow(key.encode(), None if row is None else row.encode(), time, LEFT)


def right(key: str, row: str | None, time: int) -> InputRow:
    return InputRow(key.encode(), None if row is None else row.encode(), time, RIGHT)


def pairs(found: list[OutputRow]) -> list[tuple[bytes | None, bytes | None, int]]:
    return [(m.values[0], m.values[1], m.time) for m in found]


EAGER = Within(10, 10, 1000, patient=False)
PATIENT = Within(10, 10, 5, patient=True)


@pytest.mark.parametrize(("apart", "meets"), [(-11, False), (-10, True), (0, True), (10, True), (11, False)])
def test_streams_meet_within_both_bounds(apart: int, meets: bool) -> None:
    rows = [left("k", "l", 100), right("k", "r", 100 + apart)]
    for order in (rows, rows[::-1]):
        found = pairs(made(StreamStream(JoinType.INNER, EAGER), order))
        assert found == ([(b"l", b"r", max(100, 100 + apart))] if meets else [])


def test_before_and_after_are_the_left_rows_view() -> None:
    ahead_only = Within(0, 10, 0, patient=False)
    join = StreamStream(JoinType.INNER, ahead_only)
    assert pairs(made(join, [left("k", "l", 100), right("k", "r", 105)])) == [(b"l", b"r", 105)]
    assert made(join, [left("k", "l", 100), right("k", "r", 95)]) == []


@pytest.mark.parametrize(("reached", "meets"), [(124, True), (125, False)])
def test_a_late_row_finds_none_of_a_side_that_has_gone_on(reached: int, meets: bool) -> None:
    """As far back as both bounds and the grace reach, 25 ms here, and not a moment further, whatever is still kept."""
    rows = [right("k", "r", 100), right("k", "other", reached), left("k", "l", 105)]
    found = pairs(made(StreamStream(JoinType.INNER, PATIENT), rows))
    assert ((b"l", b"r", 105) in found) is meets


def test_an_impatient_row_comes_alone_at_once_and_again_with_its_partner() -> None:
    found = made(StreamStream(JoinType.LEFT, EAGER), [left("k", "l", 0), right("k", "r", 5)])
    assert pairs(found) == [(b"l", None, 0), (b"l", b"r", 5)]


def test_a_patient_row_waits_for_the_end_of_its_grace() -> None:
    rows = [left("k", "l", 0), right("x", "r", 15), right("x", "r", 16)]
    found = made(StreamStream(JoinType.LEFT, PATIENT), rows[:2])
    assert found == []
    assert pairs(made(StreamStream(JoinType.LEFT, PATIENT), rows)) == [(b"l", None, 0)]


def test_a_patient_row_that_found_a_partner_is_not_told_alone() -> None:
    rows = [left("k", "l", 0), right("k", "r", 3), right("x", "r", 100)]
    assert pairs(made(StreamStream(JoinType.LEFT, PATIENT), rows)) == [(b"l", b"r", 3)]


def test_old_rows_are_forgotten() -> None:
    store = MemoryStore()
    join = StreamStream(JoinType.INNER, Within(10, 10, 0, patient=False))
    take_batch(join, [left(str(n), "l", n) for n in range(5)], store)
    before = len(store.blobs)
    take_batch(join, [left("new", "l", 10_000), right("new", "r", 10_000)], store)
    assert len(store.blobs) < before


times = st.integers(0, 60)
keys = st.sampled_from("ab")
events = st.lists(st.tuples(st.sampled_from((LEFT, RIGHT)), keys, times), max_size=25)


@given(events, st.integers(1, 7))
def test_an_inner_join_is_all_pairs_near_enough_whatever_the_batches(
    drawn: list[tuple[int, str, int]], batch: int
) -> None:
    rows = [InputRow(k.encode(), f"{n}".encode(), t, side) for n, (side, k, t) in enumerate(drawn)]
    found = sorted((m.values[0], m.values[1]) for m in made(StreamStream(JoinType.INNER, EAGER), rows, batch=batch))
    wanted = sorted(
        (a.row, b.row)
        for a in rows
        for b in rows
        if a.side == LEFT and b.side == RIGHT and a.key == b.key and abs(a.time - b.time) <= 10
    )
    assert found == wanted


def test_a_stream_sees_the_table_of_its_moment() -> None:
    rows = [left("k", "1", 0), right("k", "t", 1), left("k", "2", 2), right("k", None, 3), left("k", "3", 4)]
    assert pairs(made(StreamTable(JoinType.INNER), rows)) == [(b"2", b"t", 2)]
    assert pairs(made(StreamTable(JoinType.LEFT), rows)) == [(b"1", None, 0), (b"2", b"t", 2), (b"3", None, 4)]


changes = st.lists(st.tuples(st.sampled_from((LEFT, RIGHT)), keys, st.none() | st.sampled_from("xyz")), max_size=25)


@given(changes, st.sampled_from(JoinType), st.integers(1, 7))
def test_what_a_table_join_ends_with_is_the_join_of_what_the_tables_end_with(
    drawn: list[tuple[int, str, str | None]], kind: JoinType, batch: int
) -> None:
    rows = [InputRow(k.encode(), v.encode() if v else None, n, side) for n, (side, k, v) in enumerate(drawn)]
    shown = {m.key: m.values[:2] for m in made(TableTable(kind), rows, batch=batch) if not m.values[2]}
    gone = {m.key for m in made(TableTable(kind), rows, batch=batch)[-1:] if m.values[2]}
    result: dict[bytes, tuple[bytes | None, bytes | None]] = {}
    for m in made(TableTable(kind), rows, batch=batch):
        if m.values[2]:
            result.pop(m.key, None)
        else:
            result[m.key] = (m.values[0], m.values[1])
    tables: list[dict[bytes, bytes]] = [{}, {}]
    for row in rows:
        if row.row is None:
            tables[row.side].pop(row.key, None)
        else:
            tables[row.side][row.key] = row.row
    both = {k: (tables[0].get(k), tables[1].get(k)) for k in tables[0].keys() | tables[1].keys()}
    keep_left, keep_right = kind in (JoinType.LEFT, JoinType.FULL), kind in (JoinType.RIGHT, JoinType.FULL)
    wanted = {
        k: (a, b)
        for k, (a, b) in both.items()
        if (a is not None and b is not None) or (a is not None and keep_left) or (b is not None and keep_right)
    }
    assert result == wanted
    assert not gone & result.keys()
    assert result.keys() <= shown.keys()


left_changes = st.tuples(
    st.just(LEFT), st.sampled_from("123"), st.none() | st.tuples(st.just("v"), st.sampled_from("ab"))
)
right_changes = st.tuples(
    st.just(RIGHT), st.sampled_from("ab"), st.none() | st.tuples(st.sampled_from("xy"), st.none())
)


@given(st.lists(left_changes | right_changes, max_size=25), st.sampled_from((JoinType.INNER, JoinType.LEFT)))
def test_a_foreign_key_join_ends_with_the_join_of_the_tables(
    drawn: list[tuple[int, str, tuple[str, str | None] | None]], kind: JoinType
) -> None:
    subscribe, serve = MemoryStore(), MemoryStore()
    result: dict[bytes, tuple[bytes | None, bytes | None]] = {}
    lefts: dict[bytes, tuple[bytes, bytes]] = {}
    rights: dict[bytes, bytes] = {}
    for n, (side, key, value) in enumerate(drawn):
        name = key.encode()
        if side == RIGHT:
            row = value[0].encode() if value else None
            rights.pop(name, None) if row is None else rights.update({name: row})
            arrived = [InputRow(name, row, n, RIGHT)]
        else:
            foreign = value[1].encode() if value and value[1] else None
            content = f"{key}{n}".encode() if value else None
            lefts.pop(name, None) if content is None or foreign is None else lefts.update({name: (content, foreign)})
            told = take_batch(Subscribe(kind), [InputRow(name, content, n, LEFT, (foreign,))], subscribe)
            arrived = [
                InputRow(m.key, m.values[1], m.time, LEFT, (m.values[0], m.values[2], m.values[3])) for m in told
            ]
        for m in take_batch(Serve(kind), arrived, serve):
            if m.values[2]:
                result.pop(m.key, None)
            else:
                result[m.key] = (m.values[0], m.values[1])
    wanted = {
        k: (row, rights.get(foreign))
        for k, (row, foreign) in lefts.items()
        if kind is JoinType.LEFT or foreign in rights
    }
    assert result == wanted


def _order(time: int, lane: int, offset: int) -> bytes:
    return time.to_bytes(8, "big") + lane.to_bytes(8, "big") + offset.to_bytes(8, "big")


def test_partitions_are_read_together_and_each_in_its_own_order() -> None:
    found = {
        "a2": _order(5, 1, 2),  # older than what stands before it in its partition
        "b1": _order(8, 2, 1),
        "a1": _order(10, 1, 1),
        "b2": _order(12, 2, 2),
    }
    ordered = [list(found)[at] for at in arrival_order(pa.array(found.values(), pa.binary()))]
    assert ordered == ["b1", "a1", "a2", "b2"]


places = st.tuples(st.integers(0, 20), st.integers(0, 2), st.integers(0, 10), st.lists(st.integers(0, 3), max_size=2))


@given(st.lists(places, unique_by=lambda p: (p[1], p[2], tuple(p[3])), max_size=20))
def test_the_order_of_arrival_is_that_of_partitions_read_together(
    drawn: list[tuple[int, int, int, list[int]]],
) -> None:
    orders = [_order(*p[:3]) + b"".join(n.to_bytes(4, "big") for n in p[3]) for p in drawn]
    queues: dict[bytes, list[bytes]] = {}
    for order in sorted(orders, key=lambda o: o[8:].ljust(24, b"\0")):
        queues.setdefault(order[8:16], []).append(order)
    wanted = []
    reached = dict.fromkeys(queues, b"")
    while any(queues.values()):
        lane = min((max(q[0][:8], reached[at]), at) for at, q in queues.items() if q)[1]
        reached[lane] = max(reached[lane], queues[lane][0][:8])
        wanted.append(queues[lane].pop(0))
    found = [orders[at] for at in arrival_order(pa.array(orders, pa.binary()))]
    lengths = {len(order) for order in orders}
    assert [o[:24] for o in found] == [o[:24] for o in wanted] if len(lengths) > 1 else found == wanted
