"""What a test needs on the machine and doesn't find there."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def refuse(reason: str) -> NoReturn:
    """End the test: as skipped on a user's machine, as failed on the build server, which promises to have it all."""
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
