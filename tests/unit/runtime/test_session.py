"""Settings of the Spark session that hang on the machine."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

from orion.runtime.session import _socket_settings

SPARKS_NAME = ".01234567-89ab-cdef-0123-456789abcdef.sock"


def test_workers_are_reached_by_sockets_in_a_folder_that_nobody_else_can_enter() -> None:
    short = Path(tempfile.gettempdir())
    told = _socket_settings(short)
    folder = Path(told["spark.python.unix.domain.socket.dir"])
    try:
        assert told["spark.python.unix.domain.socket.enabled"] == "true"
        assert folder.parent == short
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        # What a Unix socket's path may have on Linux, and on macOS.
        assert len(str(folder / SPARKS_NAME)) < 104
    finally:
        folder.rmdir()


def test_where_paths_are_too_long_for_sockets_workers_are_reached_by_tcp(tmp_path: Path) -> None:
    long = tmp_path / ("x" * 60)
    long.mkdir()
    assert _socket_settings(long) == {}
    assert list(long.iterdir()) == []
