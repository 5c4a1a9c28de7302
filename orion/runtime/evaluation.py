"""How Spark evaluates a stream's expressions: interpreted while its batches are small, compiled while they are large.

To compile a plan takes Spark longer than a small batch: it writes the code anew for each task, and finds only then that
it has it compiled already. Interpreted, a batch of a hundred records takes a third of the time, and a first one a
thirtieth; one of 200,000 takes more than twice as long. In the middle both take the same.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql.streaming.query import StreamingQuery

# Records of a batch from which on compiling pays; down to a part of them it stays, so that it isn't changed at each.
_LARGE, _SMALL = 20_000, 5_000
_MODE, _WHOLE = "spark.sql.codegen.factoryMode", "spark.sql.codegen.wholeStage"
_INTERPRETED, _COMPILED = "NO_CODEGEN", "FALLBACK"


@dataclass
class Evaluation:
    """Of one stream. The next batch goes by what is set here."""

    stream: StreamingQuery
    behind: int  # how many records there are to read at its start
    is_wide: bool = False  # what many statements make of a record is too long for one method: Spark would try each time
    _mode: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self._set(_COMPILED if self.behind >= _LARGE else _INTERPRETED)

    def adapt(self, records: int) -> None:
        """Suit it to batches like one of so many records."""
        if records >= _LARGE:
            self._set(_COMPILED)
        elif records <= _SMALL:
            self._set(_INTERPRETED)

    def _set(self, mode: str) -> None:
        if mode == self._mode:
            return
        self._mode = mode
        stream: Any = self.stream._jsq
        with suppress(Py4JError, ConnectionError):  # it has ended
            # Each stream has a session of its own, with the settings that its tasks see.
            settings = stream.streamingQuery().sparkSessionForStream().conf()
            settings.set(_MODE, mode)
            settings.set(_WHOLE, str(mode == _COMPILED and not self.is_wide).lower())
