"""A client's call that hangs ends the worker that made it: nothing else would."""

from __future__ import annotations

import subprocess
import sys


def ended(program: str) -> int:
    """The exit code of a program that uses the guard."""
    head = "import time\nfrom orion.hub.transactions import _ending\n"
    run = subprocess.run([sys.executable, "-c", head + program], capture_output=True, timeout=60, check=False)
    return run.returncode


def test_a_call_that_hangs_ends_its_process() -> None:
    assert ended("with _ending(0.2): time.sleep(50)") == 1


def test_one_that_comes_back_does_not() -> None:
    assert ended("with _ending(0.2): pass\ntime.sleep(0.5)") == 0
