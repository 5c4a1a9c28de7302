"""What an example expects at its end, held against what it finds."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text


@dataclass(frozen=True, slots=True)
class Check:
    """One line of an account: a sentence about a number that has to come out as expected."""

    claim: str
    expected: int
    actual: int

    @property
    def ok(self) -> bool:
        return self.expected == self.actual


def same_rows(what: str, expected: Mapping[Any, Hashable], actual: Mapping[Any, Any]) -> list[Check]:
    """Two lines about a result: it has as many rows as expected, and each of them is as expected."""
    alike = sum(key in actual and actual[key] == row for key, row in expected.items())
    return [
        Check(what, len(expected), len(actual)),
        Check("... each as computed in Python", len(expected), alike),
    ]


def all_hold(checks: Sequence[Check]) -> bool:
    """Whether the account balances; one without any line doesn't."""
    return bool(checks) and all(check.ok for check in checks)


def show(console: Console, title: str, checks: Sequence[Check]) -> None:
    """Print the account as a table, and its verdict below."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("what", overflow="fold")
    table.add_column("expected", justify="right", no_wrap=True)
    table.add_column("actual", justify="right", no_wrap=True)
    table.add_column("ok", justify="center", no_wrap=True)
    for check in checks:
        mark = Text("yes", style="green") if check.ok else Text("NO", style="bold red")
        table.add_row(check.claim, f"{check.expected:,}", f"{check.actual:,}", mark)
    console.print(table)
    wrong = sum(not check.ok for check in checks)
    if all_hold(checks):
        console.print("Everything produced is accounted for.", style="green")
    else:
        console.print(f"The account does not balance: {wrong} of {len(checks)} lines differ.", style="bold red")
