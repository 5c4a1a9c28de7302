"""SQL files with what is expected of each statement written above it.

A case is a paragraph: its first lines, each behind `--`, say what is expected, the rest is one statement. Statements
are compiled one after the other; what succeeds goes into the catalog that the next ones see. A paragraph that is only
comment is for the reader.

    -- plan:                         the whole text of the plan, a line behind `--   ` each
    -- type NAME: INTEGER            of a column that the statement selects
    -- spark NAME: (`A` + 1)         its Spark SQL, or that of the query's WHERE or HAVING
    -- error: BindError CODE 1:8     class, code, line:column (or none); with it, exactly:
    -- message: ...
    -- hint: ...                     none written: there is none
    -- caret:                        the two lines that show the place, behind `--   `; may be left out
    -- with: name=value              properties of the session
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path

import pytest

from orion import ksql
from orion.errors import OrionError, SqlError
from orion.plan.catalog import Catalog
from orion.plan.explain import plan_tree
from orion.plan.relations import Aggregate, Expr, Filter, Project, Relation
from orion.plan.steps import Plan, Push, StartQuery

FOLDER = Path(__file__).parent
_KEY = re.compile(r"-- (plan|type|spark|error|message|hint|caret|with)\b(?: (\S+))?:(?: (.*))?")


@dataclass(frozen=True)
class Case:
    """One statement and what is expected of it: (key, column) -> text."""

    file: str
    line: int
    statement: str
    expected: dict[tuple[str, str], str]

    @property
    def properties(self) -> dict[str, str]:
        written = self.expected.get(("with", ""), "")
        return dict(pair.split("=", 1) for pair in written.split())

    def of(self, key: str) -> str | None:
        return self.expected.get((key, ""))


@cache
def cases(file: str) -> tuple[Case, ...]:
    return tuple(_cases(file, (FOLDER / file).read_text(encoding="utf-8")))


def _cases(file: str, text: str) -> Iterator[Case]:
    paragraph: list[tuple[int, str]] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line:
            paragraph.append((number, line))
            continue
        comments = list(takewhile(lambda numbered: numbered[1].startswith("--"), paragraph))
        statement = paragraph[len(comments) :]
        if statement:
            sql = "\n".join(text for _, text in statement)
            yield Case(file, statement[0][0], sql, _expected([text for _, text in comments]))
        paragraph = []


def _expected(lines: list[str]) -> dict[tuple[str, str], str]:
    expected: dict[tuple[str, str], str] = {}
    block: tuple[str, str] | None = None
    for line in lines:
        found = _KEY.fullmatch(line)
        if found:
            block = (found[1], found[2] or "")
            expected[block] = found[3] or ""
        elif block is not None and line.startswith("--   "):
            expected[block] += f"\n{line[5:]}" if expected[block] else line[5:]
        else:
            block = None  # a remark
    return expected


@cache
def catalog_before(file: str, number: int) -> Catalog:
    """What exists before the statement of that number, by all those above it."""
    if number == 0:
        return Catalog()
    case, catalog = cases(file)[number - 1], catalog_before(file, number - 1)
    if case.of("error") is not None:
        return catalog
    for step in ksql.compile(case.statement, catalog, case.properties).steps:
        catalog = catalog.after(step)
    return catalog


FILES = sorted(f.name for f in FOLDER.glob("*.sql"))
ALL = [
    pytest.param(file, number, id=f"{file}:{case.line}") for file in FILES for number, case in enumerate(cases(file))
]


@pytest.mark.parametrize(("file", "number"), ALL)
def test_statement(file: str, number: int) -> None:
    case, catalog = cases(file)[number], catalog_before(file, number)
    if case.of("error") is not None:
        _check_error(case, catalog)
        return
    plan = ksql.compile(case.statement, catalog, case.properties)
    if case.of("plan") is not None:
        assert plan_tree(plan) == case.of("plan")
    expressions = _expressions(plan)
    for (key, column), text in case.expected.items():
        if key == "spark":
            assert expressions[column].spark == text, column
        if key == "type":
            assert str(expressions[column].type) == text, column


def _check_error(case: Case, catalog: Catalog) -> None:
    with pytest.raises(OrionError) as caught:
        ksql.compile(case.statement, catalog, case.properties)
    error = caught.value
    shown = error.as_dict()
    place = f"{shown['line']}:{shown['column']}" if "line" in shown else "none"
    assert f"{type(error).__name__} {error.code} {place}" == case.of("error"), error.message
    assert error.message == case.of("message")
    assert error.hint == case.of("hint")
    if case.of("caret") is not None:
        assert isinstance(error, SqlError)
        assert error.caret() == case.of("caret")


def _expressions(plan: Plan) -> dict[str, Expr]:
    """The columns of a statement's query by name, and its conditions under WHERE and HAVING."""
    if isinstance(plan.ask, Push):
        return dict(_of(plan.ask.query.relation))
    return {
        name: expr for step in plan.steps if isinstance(step, StartQuery) for name, expr in _of(step.query.relation)
    }


def _of(relation: Relation) -> Iterator[tuple[str, Expr]]:
    match relation:
        case Filter(inner, condition):
            yield "WHERE", condition
            yield from _of(inner)
        case Project(inner, items):
            yield from ((item.name, item.expr) for item in items)
            yield from _of(inner)
        case Aggregate(input=inner, items=items, having=having):
            yield from ((item.name, item.expr) for item in items)
            if having is not None:
                yield "HAVING", having
            yield from _of(inner)


def test_every_case_expects_something_or_prepares_the_next() -> None:
    """An expectation that is misspelt would be taken for a remark."""
    for file in FILES:
        for line in (FOLDER / file).read_text(encoding="utf-8").splitlines():
            assert not re.match(
                r"--\s*(plan|type|spark|error|message|hint|caret|with)\b[^:]*:", line
            ) or _KEY.fullmatch(line), f"{file}: {line}"
