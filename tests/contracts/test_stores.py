"""Every store, on its real server: what orion.sinks.store says of stores holds for all of them.

A case is one file in cases/. What a store can't do, its case says in LACKS: those tests aren't there for it, and
`test_a_store_says_what_it_lacks` holds it to refusing what it doesn't have.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from orion.errors import ConfigError, UserError
from orion.schema import Scalar, SqlType
from orion.sinks.store import DELETED, Layout, Refusal, Session, Slot, Store, StoreAway, Transfer
from tests.contracts.case import REFUSED, Feature, Mode, StoreCase
from tests.contracts.cases import MODULES
from tests.contracts.rows import SAMPLES, Row, batch, layout

NAMED = layout(("NAME", Scalar.STRING))
A, B, C = {"ID": 1, "NAME": "a"}, {"ID": 2, "NAME": "b"}, {"ID": 3, "NAME": "c"}


def stores(*features: Feature) -> pytest.MarkDecorator:
    """The stores that have all of these features."""
    names = [n for n, m in MODULES.items() if not set(features) & set(m.LACKS)]
    return pytest.mark.parametrize("case", names, indirect=True)


def without(feature: Feature) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [n for n, m in MODULES.items() if feature in m.LACKS], indirect=True)


def slot(epoch: int, number: int = 3) -> Slot:
    return Slot("task", number, epoch)


def put(store: Store, rows: Sequence[Row], epoch: int) -> list[Refusal] | None:
    """Move a slot's rows; what was refused, or None when the store had the slot."""
    session = store.open()
    try:
        return moved(session, store, rows, epoch)
    finally:
        session.close()


def first_of(epoch: int) -> int:
    """The offset at which a batch begins: no two batches have the same records."""
    return 1000 * (epoch - 1)


def moved(session: Session, store: Store, rows: Sequence[Row], epoch: int) -> list[Refusal] | None:
    """In two writes, as a slot of several batches comes."""
    transfer = session.begin(slot(epoch))
    if transfer is None:
        return None
    half, first = len(rows) // 2, first_of(epoch)
    parts = [(first, rows[:half]), (first + half, rows[half:])]
    return completed(transfer, *(batch(store.layout, part, store.nested, at) for at, part in parts if part))


def completed(transfer: Transfer, *batches: pa.RecordBatch) -> list[Refusal]:
    refused = [refusal for rows in batches for refusal in transfer.write(rows)]
    refused += transfer.finish()
    transfer.commit()
    return refused


def abandoned(session: Session, store: Store) -> None:
    """A transfer that has written, and then stops."""
    transfer = session.begin(slot(1))
    assert transfer is not None
    transfer.write(batch(store.layout, [A, B], store.nested))
    transfer.abort()


def ready(case: StoreCase, layout: Layout, mode: Mode) -> Store:
    """A store that is prepared, as a worker gets it."""
    store = case.store(layout, mode)
    store.prepare()
    travelled: Store = pickle.loads(pickle.dumps(store))
    return travelled


def found(case: StoreCase, layout: Layout = NAMED) -> list[dict[str, Any]]:
    return sorted(case.rows(layout), key=lambda row: (row["ID"], str(row)))


def comparable(row: Row) -> dict[str, Any]:
    """With the values' types, since True is 1; and NaN, which is nothing's equal, by its name."""
    return {n: (type(value).__name__, value if value == value else "NaN") for n, value in row.items()}


@stores()
@pytest.mark.parametrize("type_", SAMPLES, ids=str)
def test_every_type_arrives(case: StoreCase, type_: SqlType) -> None:
    columns = layout(("V", type_))
    store = ready(case, columns, Mode.APPEND)
    rows = [{"ID": number, "V": value} for number, value in enumerate([*SAMPLES[type_], None])]
    refused = put(store, rows, 1)
    expected = [{**row, "V": case.seen(type_, row["V"]) if row["V"] is not None else None} for row in rows]
    assert refused is not None
    assert [r.offset for r in refused] == [row["ID"] for row in expected if row["V"] is REFUSED]
    there = [row for row in expected if row["V"] is not REFUSED]
    assert [comparable(row) for row in found(case, columns)] == [comparable(row) for row in there]


@stores()
def test_a_session_moves_one_slot_after_the_other(case: StoreCase) -> None:
    store = ready(case, NAMED, Mode.APPEND)
    session = store.open()
    assert moved(session, store, [A, B], 1) == []
    assert moved(session, store, [C], 2) == []
    session.close()
    assert found(case) == [A, B, C]


@stores()
def test_the_same_epoch_changes_nothing(case: StoreCase) -> None:
    store = ready(case, NAMED, Mode.APPEND)
    put(store, [A, B], 5)
    assert put(store, [A, B], 5) in (None, [])
    assert found(case) == [A, B]


@stores()
def test_an_older_epoch_changes_nothing(case: StoreCase) -> None:
    store = ready(case, NAMED, Mode.APPEND)
    put(store, [A], 4)
    put(store, [B], 5)
    assert put(store, [A], 4) in (None, [])
    assert found(case) == [A, B]


@stores()
def test_slots_and_tasks_have_epochs_of_their_own(case: StoreCase) -> None:
    store = ready(case, NAMED, Mode.APPEND)
    put(store, [A], 7)
    session = store.open()
    for number, (where, row) in enumerate([(Slot("task", 4, 7), B), (Slot("another", 3, 7), C)]):
        transfer = session.begin(where)
        assert transfer is not None
        completed(transfer, batch(store.layout, [row], store.nested, 100 + number))
    session.close()
    assert found(case) == [A, B, C]


@stores(Feature.UPSERT)
def test_the_last_row_of_a_key_counts(case: StoreCase) -> None:
    store = ready(case, NAMED, Mode.UPSERT)
    put(store, [A, B, {"ID": 1, "NAME": "later"}, C, {"ID": 1, "NAME": "last"}], 1)
    assert found(case) == [{"ID": 1, "NAME": "last"}, B, C]
    put(store, [{"ID": 2, "NAME": None}], 2)
    assert found(case) == [{"ID": 1, "NAME": "last"}, {"ID": 2, "NAME": None}, C]


@stores(Feature.UPSERT, Feature.DELETE)
def test_a_record_without_value_deletes(case: StoreCase) -> None:
    store = ready(case, NAMED, Mode.UPSERT)
    put(store, [A, B, C], 1)
    gone, back = {"ID": 1, DELETED: True}, {"ID": 2, "NAME": "back"}
    put(store, [gone, {"ID": 2, DELETED: True}, back, {"ID": 3, "NAME": "x"}, {"ID": 3, DELETED: True}], 2)
    assert found(case) == [back]
    assert put(store, [gone], 3) == []


@stores(Feature.EVOLUTION)
def test_more_columns_go_into_what_is_there(case: StoreCase) -> None:
    put(ready(case, NAMED, Mode.APPEND), [A], 1)
    wider = layout(("NAME", Scalar.STRING), ("STARS", Scalar.INTEGER))
    put(ready(case, wider, Mode.APPEND), [{"ID": 2, "NAME": "b", "STARS": 5}], 2)
    assert found(case, wider) == [{**A, "STARS": None}, {"ID": 2, "NAME": "b", "STARS": 5}]
    put(ready(case, NAMED, Mode.APPEND), [C], 3)
    assert found(case, wider)[2] == {**C, "STARS": None}


@stores(Feature.REFUSAL)
def test_what_the_server_refuses_comes_back_and_the_rest_goes_in(case: StoreCase) -> None:
    type_, good, bad = case.bad
    columns = layout(("V", type_))
    store = ready(case, columns, Mode.APPEND)
    wrong = {3, 17, 18, 39}
    rows = [{"ID": n, "V": bad if n in wrong else good} for n in range(40)]
    refused = put(store, rows, 1)
    assert refused is not None
    assert {r.offset for r in refused} == wrong
    assert all(r.reason for r in refused)
    assert [row["ID"] for row in found(case, columns)] == [n for n in range(40) if n not in wrong]


@stores(Feature.ATOMIC)
def test_nobody_sees_rows_before_their_commit(case: StoreCase) -> None:
    store = ready(case, NAMED, Mode.APPEND)
    session = store.open()
    transfer = session.begin(slot(1))
    assert transfer is not None
    transfer.write(batch(store.layout, [A, B], store.nested))
    transfer.finish()
    assert found(case) == []
    transfer.commit()
    session.close()
    assert found(case) == [A, B]


@stores(Feature.ATOMIC)
def test_a_slot_that_was_aborted_leaves_nothing(case: StoreCase) -> None:
    store = ready(case, NAMED, Mode.APPEND)
    session = store.open()
    abandoned(session, store)
    session.close()
    assert found(case) == []


@stores()
def test_a_slot_that_was_aborted_can_come_again(case: StoreCase) -> None:
    store = ready(case, NAMED, Mode.APPEND)
    session = store.open()
    abandoned(session, store)
    assert moved(session, store, [A, B], 1) == []
    session.close()
    assert found(case) == [A, B]


@stores(Feature.SERVER)
def test_a_server_that_is_killed_gets_the_slot_again(case: StoreCase) -> None:
    store = ready(case, NAMED, Mode.APPEND)
    put(store, [A], 1)
    session = store.open()
    transfer = session.begin(slot(2))
    assert transfer is not None
    transfer.write(batch(store.layout, [B], store.nested, first_of(2)))
    case.kill()
    try:
        with pytest.raises(StoreAway):
            completed(transfer, batch(store.layout, [C], store.nested, first_of(2) + 1))
        transfer.abort()
        session.close()
        with pytest.raises(StoreAway):
            put(store, [B, C], 2)
    finally:
        case.start()
    assert put(store, [B, C], 2) == []
    assert put(store, [B, C], 2) in (None, [])
    assert found(case) == [A, B, C]


@stores(Feature.SERVER)
def test_a_server_that_does_not_answer_is_away(case: StoreCase) -> None:
    store = case.with_nobody_there(NAMED)
    with pytest.raises(StoreAway) as told:
        store.prepare()
    assert told.value.retry_after
    with pytest.raises(StoreAway):
        put(store, [A], 1)


@stores(Feature.LOGIN)
def test_a_wrong_password_is_refused_at_the_statement(case: StoreCase) -> None:
    store = case.with_wrong_password(NAMED)
    with pytest.raises(ConfigError) as told:
        store.prepare()
    assert "wrong-password" not in f"{told.value!r} {told.value.as_dict()} {store!r}"


@without(Feature.UPSERT)
def test_a_store_says_what_it_lacks(case: StoreCase) -> None:
    with pytest.raises(UserError):
        case.store(NAMED, Mode.UPSERT)
