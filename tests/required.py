"""What a test needs on the machine and doesn't find there; and which take so long that they wait to be asked for."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def refuse(reason: str) -> NoReturn:
    """End the test: as skipped on a user's machine, as failed on the build server, which promises to have it all."""
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


# The build server runs them, and who sets LONG=1: with them `make test` would take longer than 20 minutes on two cores.
long = pytest.mark.skipif(not (os.environ.get("CI") or os.environ.get("LONG")), reason="takes a minute or more: LONG=1")

# These start whole platforms again and again: with them the build server would take 50 minutes.
longest = pytest.mark.skipif(not os.environ.get("LONG"), reason="takes several minutes: LONG=1")
