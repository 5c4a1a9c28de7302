"""The header of records, and the question that a record with an unknown one asks."""

from __future__ import annotations

import re

import pytest

from orion.errors import InternalError
from orion.formats.wire import framing
from orion.plan.sources import Serde, WireSchema, Wiring

KNOWN = Wiring("orders-value", (WireSchema(1, "AVRO", '"int"'), WireSchema(258, "AVRO", '"long"')))


def asked(wiring: Wiring, number: int) -> str:
    """The text that Spark raises for a record of a schema."""
    bad, _ = framing.refused("raw", wiring, (), "broken")
    parts = re.search(r"raise_error\(concat\('(.*)', hex\(substring\(raw, 2, 4\)\), '(.*)'\)\)", bad)
    assert parts
    return f"{parts[1]}{number.to_bytes(4, 'big').hex().upper()}{parts[2]}"


@pytest.mark.parametrize("number", [0, 1, 259, 1_000_000, 2**31 - 1, 2**32 - 1])
@pytest.mark.parametrize("topic", ["orders", "a.b_c-d", "_"])
def test_what_a_record_asks_is_understood_in_whatever_stands_around_it(topic: str, number: int) -> None:
    text = asked(Wiring(f"{topic}-value"), number)
    assert framing.unknown_id(text) == (f"{topic}-value", number)
    assert framing.unknown_id(f"[USER_RAISED_EXCEPTION] {text} SQLSTATE: P0001\n\tat org.apache") == (
        f"{topic}-value",
        number,
    )


def test_other_errors_ask_nothing() -> None:
    bad, _ = framing.refused("raw", KNOWN, (), "broken")
    for error in ("", "boom", "ORION_SCHEMA_UNKNOWN", "ORION_SCHEMA_UNKNOWN[t-value][]", f"failed to run {bad}"):
        assert framing.unknown_id(error) is None


def test_known_ids_are_looked_into_and_others_ask() -> None:
    bad, why = framing.refused("raw", KNOWN, (), "broken")
    ill_framed = "(length(raw) < 5 OR substring(raw, 1, 1) != X'00')"
    assert bad.startswith(
        f"(CASE WHEN {ill_framed} THEN TRUE "
        "WHEN substring(raw, 1, 5) IN (X'0000000001', X'0000000102') THEN broken ELSE CAST(raise_error("
    )
    assert why.startswith(f"CASE WHEN {ill_framed} THEN 'no schema is named")
    assert why.endswith("ELSE concat('the bytes do not fit schema ', conv(hex(substring(raw, 2, 4)), 16, 10)) END")


def test_ids_that_nobody_knows_and_schemas_that_do_not_fit_are_refused_with_their_reason() -> None:
    wiring = Wiring("orders-value", KNOWN.reads, (9,))
    bad, why = framing.refused("raw", wiring, ((258, "it's no record"),), "broken")
    assert "IN (X'0000000001') THEN broken WHEN substring(raw, 1, 5) IN (X'0000000009', X'0000000102') THEN TRUE" in bad
    assert "WHEN substring(raw, 1, 5) = X'0000000009' THEN 'the registry knows no schema 9'" in why
    assert "WHEN substring(raw, 1, 5) = X'0000000102' THEN 'it\\'s no record'" in why


def test_where_nothing_is_known_every_record_asks() -> None:
    bad, _ = framing.refused("raw", Wiring("orders-value"), (), "broken")
    assert "broken" not in bad
    assert " IN (" not in bad


def test_a_header_is_a_zero_byte_and_the_id_in_four() -> None:
    assert framing.header(258) == "X'0000000102'"
    assert len(framing.header(2**32 - 1)) == len("X''") + 2 * framing.LENGTH


def test_a_serde_that_was_told_no_schemas_is_our_own_mistake() -> None:
    for ask in (framing.wiring_of, framing.written_by):
        with pytest.raises(InternalError, match="AVRO was not told"):
            ask(Serde("AVRO"))
