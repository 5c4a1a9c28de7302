"""What each process of a run shares: one broker, one Spark session. Both start on first use, so that fast tests never
wait. Of two processes one takes all tests that use the session: a second one would be a second JVM to warm up."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from orion.cli.output import log_beside_results

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from orion.hub.kafka import Kafka

pytest_plugins = ("tests.servers.fixtures",)

# Nothing a developer has in the environment changes a test.
for name in [n for n in os.environ if n.startswith("ORION_") and n != "ORION_CACHE"]:
    del os.environ[name]

# Servers of a run are found by it alone, and it finds no others.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="orion-test-state-")
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)

# As the commands have it: a platform that runs in this process logs while they run, and they write results.
log_beside_results()

# How long an example takes is the machine's, and no part of what is tested.
settings.register_profile("orion", deadline=None)
settings.load_profile("orion")


# Tests that have servers of their own, and no use for the session.
WITHOUT_SESSION = (
    "tests/services/",
    "tests/contracts/test_stores.py",
    "tests/faults/",
    "tests/scenarios/test_crash.py",
    "tests/scenarios/test_restart.py",
    "tests/scenarios/test_start.py",
)
QUICK = ("tests/unit/", "tests/golden/")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Who takes which tests: of the quick ones anybody any."""
    if all(f"{Path(argument).as_posix()}/".startswith(QUICK) for argument in config.args):
        return None
    made = LoadScopeScheduling(config, log)
    made._split_scope = lambda test: "servers" if test.startswith(WITHOUT_SESSION) else "session"
    return made


@pytest.fixture(scope="session")
def scratch() -> Iterator[Path]:
    """A folder of this run, gone after it."""
    folder = Path(tempfile.mkdtemp(prefix="orion-test-"))
    folder.chmod(0o711)  # servers that refuse to run as root get to theirs as another user
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def bootstrap(scratch: Path) -> Iterator[str]:
    from orion.hub.embedded import EmbeddedCluster

    cluster = EmbeddedCluster.start(scratch / "broker")
    yield cluster.bootstrap
    cluster.stop()


@pytest.fixture(scope="session")
def kafka(bootstrap: str) -> Kafka:
    from orion.hub.kafka import Kafka

    return Kafka(bootstrap)


@pytest.fixture(scope="session")
def spark(scratch: Path) -> Iterator[SparkSession]:
    from orion.config import Engine
    from orion.runtime import session

    started = session.start(Engine(), scratch, print)
    yield started
    started.stop()
