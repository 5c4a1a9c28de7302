"""The jdbc sink on MariaDB."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from tests.contracts.case import Feature
from tests.contracts.databases import MariaCase

LACKS: dict[Feature, str] = {}


def opened(request: pytest.FixtureRequest) -> MariaCase:
    stack = ExitStack()
    request.addfinalizer(stack.close)
    return MariaCase(stack.enter_context(request.getfixturevalue("mariadb").database()))
