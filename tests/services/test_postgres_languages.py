"""PostgreSQL's drivers of other languages over tables as the platform keeps them: node-postgres, pgx and pgjdbc.

The programs are in tests/clients. What they need is fetched by their own package managers, once, into Orion's cache.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.languages import COPY, INSTALL_S, RUN_S, Language, make_node, need, ran
from tests.services.postgres_served import Served
from tests.services.postgres_world import serving

JAR = "org.postgresql:postgresql:42.7.14"
JAR_SHA256 = "73914527305a40cce504b0d3d90b23caf565136912d607ae8ae7c5895512332c"


def make_go(sources: Path, folder: Path) -> None:
    ran("go", "build", "-buildvcs=false", "-o", str(folder / "totals"), ".", cwd=sources, timeout=INSTALL_S)


def make_java(sources: Path, folder: Path) -> None:
    ran(
        *("mvn", "--batch-mode", "--quiet", COPY, f"-Dartifact={JAR}", f"-DoutputDirectory={folder}"),
        cwd=folder,
        timeout=INSTALL_S,
    )
    (jar,) = folder.glob("*.jar")
    assert hashlib.sha256(jar.read_bytes()).hexdigest() == JAR_SHA256
    source = str(sources / "Totals.java")
    ran("javac", "--release", "17", "-cp", str(jar), "-d", str(folder), source, cwd=folder, timeout=INSTALL_S)


NODE = Language("pg-node", ("node", "npm"), make_node, ("node", "totals.js"))
GO = Language("pg-go", ("go",), make_go, ("./totals",))
RUN_JAVA = ("java", "-cp", f".{os.pathsep}*", "Totals")
JAVA = Language("pg-java", ("java", "javac", "mvn"), make_java, RUN_JAVA, JAR_SHA256)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    served = Served()
    with serving(served) as url:
        yield url
    served.close()


def tell(language: Language, address: str) -> str:
    """What a program says of the tables at an address."""
    need(language)
    parts = urlsplit(address)
    return ran(*language.start, str(parts.hostname), str(parts.port), cwd=language.ready(), timeout=RUN_S)


@pytest.mark.timeout(600)
def test_node_postgres(address: str) -> None:
    answer = json.loads(tell(NODE, address))
    assert answer["ann"] == {
        "customer": "Ann", "n": 7, "amount": "12.34", "share": 1.5, "seen": "2024-01-02T03:04:05.678Z",
        "day": "2024-02-29", "clock": "10:11:12.500000", "tags": ["a", "b c", None], "counts": [1, 2, None],
        "raw": "abcd", "big": "9000000000", "active": True, "camelCase": "x", "rowtime": "1",
    }  # fmt: skip
    types = {"seen": 1184, "clock": 1083, "day": 1082, "n": 23, "amount": 1700, "tags": 1009, "counts": 1007}
    assert answer["types"].items() >= types.items()
    assert answer["sums"] == [{"more": 11}, {"more": 13}]
    assert answer["any"] == [{"customer": "Ann"}, {"customer": "Bob"}]
    assert answer["prepared"] == ["Cem", "Bob"]
    assert answer["nested"]["by_name"] == {"first": "2024-01-02 03:04:05.678+00"}
    assert answer["nested"]["place"]["OPENS"] == "00:00:00"
    assert (answer["refused"], answer["pages"]) == ("42P01", [3, 997])


@pytest.mark.timeout(600)
def test_pgx(address: str) -> None:
    answer = json.loads(tell(GO, address))
    assert answer["ann"] == {
        "customer": "Ann", "n": 7, "amount": "12.34", "share": 1.5, "seen": "2024-01-02T03:04:05.678Z",
        "day": "2024-02-29", "clock": 36_672_500_000, "tags": ["a", "b c", None], "counts": [1, 2, None],
        "raw": "abcd", "big": 9_000_000_000, "active": True,
    }  # fmt: skip
    assert (answer["any"], answer["between"]) == (["Ann", "Bob"], ["Bob"])
    assert (answer["more"], answer["counts"], answer["refused"]) == (17, [2, 1], "42P01")
    assert answer["copied"] == "Cem,1\nBob,3\nAnn,7\n"


ROW = "Ann 7 12.34 1.5 2024-01-02T03:04:05.678Z 2024-02-29 10:11:12.500 [a, b c, null] [1, 2, null] 2 9000000000 true"


@pytest.mark.timeout(600)
def test_pgjdbc(address: str) -> None:
    lines = [line.partition("=") for line in tell(JAVA, address).splitlines()]
    assert [value for name, _, value in lines if name == "ann"] == [ROW, ROW]  # first as text, then binary
    answer = {name: value for name, _, value in lines}
    assert answer["tables"] == "main hourly TABLE, main nested TABLE, main totals TABLE"
    assert answer["upper"] == "totals"
    columns = answer["columns"].split(", ")
    assert columns[:2] == ["customer text NO", "n int4 YES"]
    assert {"seen timestamptz YES", "clock time YES", "tags _text YES", "amount numeric YES"} <= {*columns}
    assert answer["keys"] == "page 1, windowstart 2, windowend 3"
    assert answer["indexes"] == "totals_pkey customer"
    assert (answer["imported"], answer["catalogs"], answer["user"]) == ("", "orion", "ann")
    assert "main" in answer["schemas"].split(", ")
    assert (answer["pages"], answer["refused"], answer["copied"]) == ("1050", "42P01", "Cem 1;Bob 3;Ann 7;")
