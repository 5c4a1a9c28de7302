"""A store of each kind in turn, on a namespace of its own."""

from __future__ import annotations

from typing import cast

import pytest

from tests.contracts.case import StoreCase
from tests.contracts.cases import MODULES


@pytest.fixture
def case(request: pytest.FixtureRequest) -> StoreCase:
    return cast(StoreCase, MODULES[request.param].opened(request))
