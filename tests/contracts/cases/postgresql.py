"""The jdbc sink on PostgreSQL."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from tests.contracts.case import Feature
from tests.contracts.databases import PostgresCase

LACKS: dict[Feature, str] = {}


def opened(request: pytest.FixtureRequest) -> PostgresCase:
    stack = ExitStack()
    request.addfinalizer(stack.close)
    return PostgresCase(stack.enter_context(request.getfixturevalue("postgres").database()))
