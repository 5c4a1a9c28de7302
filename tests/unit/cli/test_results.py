"""Rows on a screen of some width, in files, and in the forms that programs read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet
import pytest

from orion.cli import grid, output
from orion.cli.results import Results, form_of
from orion.errors import UserError
from tests.unit.cli.canned import CREATED, NARROW, TABLES, WIDE, line_of
from tests.unit.cli.canned import DESCRIBED as WINDOWED


@pytest.fixture(autouse=True)
def screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(output, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "40")
    yield
    grid.DISPLAY.expanded = "auto"


def show(answer: list[Any], results: Results | None = None, kind: Literal["pull", "push"] = "pull") -> None:
    from decimal import Decimal

    head, *rows = (json.loads(line_of(one), parse_float=Decimal) for one in answer)
    (results or Results()).write_rows(head, iter(rows), kind)


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_rows_that_fit_are_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    show(NARROW)
    assert lines(capsys) == [
        "K                         N  NOTE",
        "─────────────────────────────────",
        "a       1234567890123456789  NULL",
        "'NULL'                    2  ''",
        "(2 rows)",
    ]


def test_rows_that_are_too_wide_are_records(capsys: pytest.CaptureFixture[str]) -> None:
    show(WIDE)
    found = lines(capsys)
    assert found[0].startswith("-[ RECORD 1 ]--")
    assert found[1:-1] == [
        "ID          | 9007199254740993",
        "AMOUNT      | 1234567.10",
        'TAGS        | ["a", "it\'s"]',
        'WHO         | {"NAME": "Zoë", "OK": true}',
        "AT          | 2026-01-31T12:00:00.000",
        "WINDOWSTART | 2026-01-01T00:00:00.000Z",
        f"COMMENT     | {'x' * 60}",
    ]


def test_the_same_rows_are_a_table_on_a_wider_screen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    show(WIDE)
    head, _, row, count = lines(capsys)
    assert head.split() == list(WIDE[0]["columnNames"])
    assert "9007199254740993  1234567.10" in row
    assert count == "(1 row)"


@pytest.mark.parametrize("kind", ["pull", "push"])
def test_no_number_or_time_is_cut_or_broken_whatever_the_width(
    kind: Literal["pull", "push"], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for width in (20, 40, 60, 80, 100, 140, 200):
        for expanded in ("auto", "on", "off"):
            monkeypatch.setenv("COLUMNS", str(width))
            monkeypatch.setattr(grid.DISPLAY, "expanded", expanded)
            show(WIDE, kind=kind)
            text = capsys.readouterr().out
            whole = ("9007199254740993", "1234567.10", "2026-01-31T12:00:00.000", "2026-01-01T00:00:00.000Z")
            assert all(value in text or _is_chopped(value, text) for value in whole), (width, expanded, text)


def _is_chopped(value: str, text: str) -> bool:
    """Whether a record has it in parts, one below the other."""
    return value in "".join(line.partition(" : ")[2] or line.partition(" | ")[2] for line in text.splitlines())


def test_a_push_query_prints_rows_as_they_come(capsys: pytest.CaptureFixture[str]) -> None:
    show([{**NARROW[0], "queryId": "q1"}, *NARROW[1:]], kind="push")
    head, first, second = lines(capsys)
    assert head.split() == ["K", "N", "NOTE"]
    assert first.split() == ["a", "1234567890123456789", "NULL"]
    assert second.split() == ["'NULL'", "2", "''"]


def test_a_pipe_gets_tabs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "on_terminal", lambda: False)
    show(NARROW)
    assert lines(capsys) == ["K\tN\tNOTE", "a\t1234567890123456789\tNULL", "'NULL'\t2\t''"]


def test_a_window_is_told_where_a_table_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    Results().write_answer(WINDOWED)
    title, _, _, key, other = lines(capsys)
    assert (title, other.split()) == ("PER_ZIP (table)", ["ORDERS", "BIGINT"])
    assert key == "ZIP     STRING (primary key) (window: TUMBLING (SIZE 1 MINUTE))"


def test_the_id_of_a_query_is_in_the_answer_that_creates_it(capsys: pytest.CaptureFixture[str]) -> None:
    Results().write_answer(CREATED)
    assert lines(capsys) == ["Table PER_ZIP created, query CTAS_PER_ZIP_7."]


def test_a_table_of_answers_folds_texts_and_leaves_numbers_whole(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(("id", "rows", "error"), [("q", 12345678901234567890, "word " * 40)])
    head, _, first, *more = lines(capsys)
    assert "12345678901234567890" in first
    assert len(more) >= 2
    assert all(len(line) <= 80 for line in (head, first, *more))


def test_a_table_of_too_many_columns_is_records(capsys: pytest.CaptureFixture[str]) -> None:
    output.table([f"column {n}" for n in range(10)], [[10**12] * 10])
    found = lines(capsys)
    assert found[0].startswith("-[ RECORD 1 ]-")
    assert found[1] == "column 0 | 1000000000000"


# ---- files and forms ---------------------------------------------------------------------------------------------


def written(path: Path, *answers: list[Any]) -> None:
    results = Results(path=path)
    for answer in answers:
        show(answer, results)
    results.close()


def test_a_file_of_csv(tmp_path: Path) -> None:
    written(tmp_path / "x.csv", NARROW)
    assert (tmp_path / "x.csv").read_text() == 'K,N,NOTE\na,1234567890123456789,\nNULL,2,""\n'


def test_a_file_of_json_lines(tmp_path: Path) -> None:
    written(tmp_path / "x.json", NARROW, WIDE)
    first, second, third = (json.loads(line) for line in (tmp_path / "x.json").read_text().splitlines())
    assert (first, second["NOTE"]) == ({"K": "a", "N": 1234567890123456789, "NOTE": None}, "")
    assert (third["WINDOWSTART"], third["TAGS"]) == (1767225600000, ["a", "it's"])


def test_a_file_of_parquet_has_the_types(tmp_path: Path) -> None:
    written(tmp_path / "x.parquet", WIDE)
    table = pyarrow.parquet.read_table(tmp_path / "x.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    assert types["ID"] == "int64"
    assert types["AMOUNT"] == "decimal128(20, 2)"
    assert types["AT"].startswith("timestamp[ms")
    (row,) = table.to_pylist()
    assert (row["ID"], str(row["AMOUNT"]), row["TAGS"]) == (9007199254740993, "1234567.10", ["a", "it's"])
    assert row["WHO"] == {"NAME": "Zoë", "OK": True}


def test_parquet_holds_one_result_and_needs_a_file(tmp_path: Path) -> None:
    with pytest.raises(UserError) as raised:
        written(tmp_path / "x.parquet", NARROW, WIDE)
    assert raised.value.code == "ONE_RESULT"
    with pytest.raises(UserError) as raised:
        Results("parquet")
    assert raised.value.code == "OUTPUT_MISSING"


def test_a_value_that_parquet_cannot_hold_is_refused_with_a_way_out(tmp_path: Path) -> None:
    answer: list[Any] = [{"queryId": None, "columnNames": ["D"], "columnTypes": ["DATE"]}, ["+9999999-01-01"]]
    with pytest.raises(UserError) as raised:
        written(tmp_path / "x.parquet", answer)
    assert (raised.value.code, "csv" in str(raised.value.hint)) == ("NOT_FOR_PARQUET", True)


def test_parquet_of_no_rows_has_its_columns(tmp_path: Path) -> None:
    written(tmp_path / "x.parquet", NARROW[:1])
    assert pyarrow.parquet.read_table(tmp_path / "x.parquet").column_names == ["K", "N", "NOTE"]


def test_what_was_done_is_no_line_of_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = Results(path=tmp_path / "x.csv")
    results.write_answer(CREATED)
    results.write_answer(TABLES)
    results.close()
    assert (tmp_path / "x.csv").read_text().splitlines() == [
        "name,topic,key format,value format,windowed",
        "PER_ZIP,PER_ZIP,KAFKA,JSON,yes",
    ]
    assert "CTAS_PER_ZIP_7" in capsys.readouterr().err


def test_a_form_beats_the_ending_and_the_pipe(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    results = Results(form_of("csv"), tmp_path / "x.txt")
    show(NARROW, results)
    results.close()
    assert (tmp_path / "x.txt").read_text().startswith("K,N,NOTE\n")
    show(NARROW, Results(form_of("expanded")))
    assert lines(capsys)[0].startswith("-[ RECORD 1 ]-")


def test_an_unknown_format_and_a_file_that_cant_be_written(tmp_path: Path) -> None:
    with pytest.raises(UserError) as raised:
        form_of("xml")
    assert raised.value.code == "UNKNOWN_FORMAT"
    with pytest.raises(UserError) as raised:
        Results(path=tmp_path / "missing" / "x.csv")
    assert raised.value.code == "FILE_UNWRITABLE"
