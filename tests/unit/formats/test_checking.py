"""Why a record would become a dead letter, told before it is sent."""

from __future__ import annotations

import pytest

from orion import ksql
from orion.formats.rows.checking import Check, checker
from orion.plan.catalog import Catalog
from orion.plan.steps import DefineSource

ORDERS = "(id STRING KEY, total DOUBLE, tags ARRAY<INT>, at BIGINT)"


def check_of(columns: str, settings: str) -> Check:
    text = f"CREATE STREAM s {columns} WITH (KAFKA_TOPIC='t', PARTITIONS=1, {settings});"
    step = next(s for s in ksql.compile(text, Catalog()).steps if isinstance(s, DefineSource))
    return checker(step.source, lambda _: None)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b'{"total": 1.5, "tags": [1], "at": 3}', None),
        (b'{"TOTAL": 1}', None),
        (b"null", None),
        (None, None),
        (b'{"total": "a lot"}', 'VALUE_UNREADABLE: TOTAL is "a lot", which is no DOUBLE'),
        (b'{"total": 1, "tags": ["x"]}', 'VALUE_UNREADABLE: TAGS is ["x"], which is no ARRAY<INTEGER>'),
        (b"[1]", "VALUE_UNREADABLE: it isn't an object of JSON with the columns as fields"),
        (b'{"total": ', "VALUE_UNREADABLE: it isn't JSON"),
    ],
)
def test_json_is_held_against_the_columns(value: bytes | None, why: str | None) -> None:
    fault = check_of(ORDERS, "VALUE_FORMAT='JSON'")(b"k", value)
    assert (fault is None) if why is None else str(fault).startswith(why)


def test_a_key_that_can_t_be_read_stays_so_whatever_the_value_is() -> None:
    check = check_of("(id BIGINT KEY, a INT)", "VALUE_FORMAT='JSON'")
    fault = check(b"abc", b'{"a": 1}')
    assert fault is not None
    assert fault.code == "KEY_UNREADABLE"
    assert check((7).to_bytes(8, "big"), b'{"a": 1}') is None


def test_a_row_needs_the_time_that_its_column_tells() -> None:
    check = check_of(ORDERS, "VALUE_FORMAT='JSON', TIMESTAMP='at'")
    assert check(b"k", b'{"at": 5}') is None
    assert str(check(b"k", b'{"total": 1}')) == "TIMESTAMP_UNREADABLE: no time in AT"
    assert str(check(b"k", b'{"at": -1}')) == "TIMESTAMP_UNREADABLE: no time in AT"
    assert check(b"k", None) is None


def test_cells_are_counted() -> None:
    check = check_of("(a INT, b STRING)", "VALUE_FORMAT='DELIMITED'")
    assert check(None, b"1,x") is None
    assert str(check(None, b"1")) == "VALUE_UNREADABLE: not 2 cells"
