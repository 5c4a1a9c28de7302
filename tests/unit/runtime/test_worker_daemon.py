"""The process that Python workers are forks of: what it may load, and what its forks don't share."""

from __future__ import annotations

import subprocess
import sys

import pytest


def _run(program: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    return done.stdout.split()


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_nothing_that_is_loaded_starts_a_thread() -> None:
    program = """
import os
from orion.runtime.worker_daemon import _LOADED, load_modules
before = dict(os.environ)
load_modules()
import sys
print(len(os.listdir("/proc/self/task")), all(name in sys.modules for name in _LOADED), dict(os.environ) == before)
"""
    assert _run(program) == ["1", "True", "True"]


def test_forks_draw_random_numbers_of_their_own() -> None:
    program = """
import os, random, sys
from orion.runtime.worker_daemon import load_modules
load_modules()
import numpy
for _ in range(2):
    child = os.fork()
    if child == 0:
        print(numpy.random.random(), random.random())
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
"""
    drawn = _run(program)
    assert len(drawn) == 4 == len(set(drawn))
