"""Repairs of dead letters, as the console offers them."""

from __future__ import annotations

import pytest

from orion.errors import UserError
from orion.hub.dead_letters import Letter
from orion.hub.records import Record
from orion.web.console.questions.dead_letters import Choice, Repair


def letter(code: str, offset: int) -> Letter:
    return Letter(Record("dlq.S", 0, offset, 1, None, b"{}", (("orion.error.code", code.encode()),)))


def test_letters_are_chosen_by_code_or_by_themselves() -> None:
    letters = [letter("A", 1), letter("B", 2)]
    assert [one.record.offset for one in letters if Choice("B").takes(one)] == [2]
    assert [one.record.offset for one in letters if Choice(id="dlq.S/0/1").takes(one)] == [1]
    assert all(Choice().takes(one) for one in letters)


def test_fields_are_set_one_a_line() -> None:
    assert Repair("total=7\n\nzip=10115x\n")(b'{"total": "a lot"}') == b'{"total":7,"zip":"10115x"}'
    assert Repair()(b"as it is") == b"as it is"
    assert Repair(value='{"new": 1}')(b"old") == b'{"new": 1}'
    with pytest.raises(UserError, match="sets no field"):
        Repair("oops")(b"{}")
