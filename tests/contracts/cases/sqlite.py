"""The jdbc sink on SQLite: a file, made for each test. Nobody serves it, and nobody logs in."""

from __future__ import annotations

import pytest

from tests.contracts.case import Feature
from tests.contracts.databases import SqliteCase

LACKS = {
    Feature.SERVER: "a file has no server",
    Feature.LOGIN: "a file has no users",
}


def opened(request: pytest.FixtureRequest) -> SqliteCase:
    return SqliteCase(request.getfixturevalue("tmp_path") / "plays.db")
