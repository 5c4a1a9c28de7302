"""Expressions are interpreted while batches are small, and compiled while they are large."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from py4j.protocol import Py4JError

from orion.runtime.evaluation import Evaluation


class Settings:
    """Those of the session that a stream of Spark's has for itself."""

    def __init__(self) -> None:
        self.set_to: list[str] = []
        self.whole: list[str] = []
        self.is_gone = False

    def set(self, name: str, value: str) -> None:
        if self.is_gone:
            raise Py4JError("the stream has ended")
        found = {"spark.sql.codegen.factoryMode": self.set_to, "spark.sql.codegen.wholeStage": self.whole}
        found[name].append(value)


def stream_with(settings: Settings) -> Any:
    session = SimpleNamespace(conf=lambda: settings)
    execution = SimpleNamespace(sparkSessionForStream=lambda: session)
    return cast(Any, SimpleNamespace(_jsq=SimpleNamespace(streamingQuery=lambda: execution)))


@pytest.mark.parametrize(("behind", "mode"), [(0, "NO_CODEGEN"), (19_999, "NO_CODEGEN"), (20_000, "FALLBACK")])
def test_it_begins_by_how_much_there_is_to_read(behind: int, mode: str) -> None:
    settings = Settings()
    Evaluation(stream_with(settings), behind)
    assert settings.set_to == [mode]


def test_it_goes_by_the_last_batch() -> None:
    settings = Settings()
    evaluation = Evaluation(stream_with(settings), 0)
    for records in (100, 19_000, 20_000, 10_000, 5_001, 30_000, 5_000, 10_000):
        evaluation.adapt(records)
    assert settings.set_to == ["NO_CODEGEN", "FALLBACK", "NO_CODEGEN"]
    assert settings.whole == ["false", "true", "false"]


def test_what_many_statements_make_is_not_compiled_as_a_whole() -> None:
    settings = Settings()
    Evaluation(stream_with(settings), 0, is_wide=True).adapt(50_000)
    assert (settings.set_to, settings.whole) == (["NO_CODEGEN", "FALLBACK"], ["false", "false"])


def test_a_stream_that_has_ended_is_left_alone() -> None:
    settings = Settings()
    evaluation = Evaluation(stream_with(settings), 0)
    settings.is_gone = True
    evaluation.adapt(50_000)
