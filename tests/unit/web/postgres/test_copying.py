"""COPY's statements and formats."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from orion.web.postgres import types
from orion.web.postgres.copying import CopyFormat, copied_query, copy_data
from orion.web.postgres.errors import Refused
from orion.web.postgres.lexer import joined, tokens


@pytest.mark.parametrize(
    ("text", "query", "wanted"),
    [
        ("COPY t TO STDOUT", "SELECT * FROM t", CopyFormat()),
        ('COPY main."T" (a, "B") TO STDOUT', 'SELECT a , "B" FROM main."T"', CopyFormat()),
        ("COPY (SELECT ')' FROM t) TO STDOUT (FORMAT binary)", "SELECT ')' FROM t", CopyFormat("binary")),
        ("copy (select 1) to stdout with (format csv, header, delimiter ';', null 'x', quote '''', force_quote *)",
         "select 1", CopyFormat("csv", ";", "x", "'", None, True, None)),
        ("COPY t TO STDOUT WITH CSV HEADER DELIMITER AS '|' NULL ''", "SELECT * FROM t",
         CopyFormat("csv", "|", "", header=True)),
        ("COPY t TO STDOUT BINARY", "SELECT * FROM t", CopyFormat("binary")),
        ("COPY t TO STDOUT (FORMAT 'csv', HEADER false, FORCE_QUOTE (a, b))", "SELECT * FROM t",
         CopyFormat("csv", ",", "", quoted=frozenset({"a", "b"}))),
        (r"COPY t TO STDOUT (DELIMITER E'\t')", "SELECT * FROM t", CopyFormat()),
    ],
)  # fmt: skip
def test_what_is_copied(text: str, query: str, wanted: CopyFormat) -> None:
    found, format_ = copied_query(tuple(tokens(text)))
    assert (joined(found), format_) == (query, wanted)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("COPY t TO '/tmp/x'", "42501"), ("COPY t TO PROGRAM 'cat'", "42501"), ("COPY t FROM STDIN", "25006"),
        ("COPY (SELECT 1 TO STDOUT", "42601"), ("COPY", "42601"), ("COPY t", "42601"),
        ("COPY '/etc/x' TO STDOUT", "42601"),
        ("COPY t TO STDOUT (FORMAT parquet)", "22023"), ("COPY t TO STDOUT (DELIMITER 'ab')", "22023"),
        ("COPY t TO STDOUT (FREEZE)", "42601"),
    ],
)  # fmt: skip
def test_what_is_not(text: str, code: str) -> None:
    with pytest.raises(Refused) as refused:
        copied_query(tuple(tokens(text)))
    assert refused.value.code == code


COLUMNS = (types.Column("a", types.TEXT), types.Column("b", types.INT4))


def copied(values: list[Any], format_: CopyFormat) -> list[bytes]:
    """The bodies of the messages."""
    batch = pa.record_batch({"a": pa.array(values, pa.string()), "b": pa.array([1] * len(values), pa.int32())})
    data = b"".join(part for part, _ in copy_data(iter([batch]), COLUMNS, format_))
    bodies = []
    while data:
        assert data[:1] == b"d"
        size = int.from_bytes(data[1:5])
        bodies.append(data[5 : 1 + size])
        data = data[1 + size :]
    return bodies


def test_text() -> None:
    assert copied(["x", None, "a\tb\\c\nd\re", "\\N", ""], CopyFormat()) == [
        b"x\t1\n", b"\\N\t1\n", b"a\\tb\\\\c\\nd\\re\t1\n", b"\\\\N\t1\n", b"\t1\n",
    ]  # fmt: skip
    assert copied(["a|b"], CopyFormat(delimiter="|", header=True)) == [b"a|b\n", b"a\\|b|1\n"]


def test_csv() -> None:
    assert copied(["x", None, 'a"b', "a,b", "a\nb", "", "\\."], CopyFormat("csv", ",", "", header=True)) == [
        b"a,b\n", b"x,1\n", b",1\n", b'"a""b",1\n', b'"a,b",1\n', b'"a\nb",1\n', b'"",1\n', b'"\\.",1\n',
    ]  # fmt: skip
    assert copied(["it's"], CopyFormat("csv", ";", "-", "'", "\\")) == [b"'it\\'s';1\n"]
    assert copied(["x", None], CopyFormat("csv", ",", "", quoted=None)) == [b'"x","1"\n', b',"1"\n']


def test_binary() -> None:
    head = b"PGCOPY\n\xff\r\n\0" + bytes(8)
    first, second, trailer = copied(["x", None], CopyFormat("binary"))
    assert first == head + b"\0\2\0\0\0\1x\0\0\0\4\0\0\0\1"
    assert second == b"\0\2\xff\xff\xff\xff\0\0\0\4\0\0\0\1"
    assert trailer == b"\xff\xff"
    assert copied([], CopyFormat("binary")) == [head + b"\xff\xff"]
