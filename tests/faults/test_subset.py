"""Some of the faults, with a fixed seed, short enough to run with all other tests. `make faults` has the rest."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from tests.faults.fault import Fault
from tests.faults.kinds.poison import PoisonBurst
from tests.faults.kinds.servers import SecondServerOnFolder
from tests.faults.kinds.worker import WorkerKilled
from tests.faults.runner import once
from tests.faults.stage import Stage

SEED = 7


class AnyPoison(PoisonBurst):
    kinds = ("bad JSON", "wrong type", "5 MB", "far future")
    most = 24


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with Stage(SEED, brokers=1) as made:
        yield made


@pytest.mark.timeout(640)
@pytest.mark.parametrize(
    "fault",
    [
        AnyPoison,
        WorkerKilled,
        SecondServerOnFolder,
    ],
    ids=lambda fault: fault.name,
)
def test_results_are_as_if_nothing_had_happened(stage: Stage, fault: type[Fault]) -> None:
    result = once(stage, fault(), SEED, Random(f"{fault.name} {SEED}"), print)
    if result.verdict == "skipped":
        pytest.skip(result.detail)
    assert result.verdict == "ok", f"{result.detail}; evidence is in {stage.folder}"
