"""Ctrl-C while something starts or stops, in a process of its own: when it is noticed, and how it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

from orion.web.interrupts import Interrupts

PROGRAM = """
import sys, threading, time
from orion.web.interrupts import Interrupts

interrupts = Interrupts(stopping={stopping})

def start():
    print("started", flush=True)
    while True:
        {step}
        time.sleep(0.01)

try:
    with interrupts.caught():
        interrupts.run(start, lambda told: print(told, flush=True))
except KeyboardInterrupt:
    print("cleared up", flush=True)
    sys.exit(130)
"""


def run(step: str, signals: list[signal.Signals], stopping: bool = False) -> tuple[int, list[str], str]:
    """Exit code and what was said, of a start that gets signals; each after a line more was said."""
    program = PROGRAM.format(step=step, stopping=stopping)
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        said = []
        for number in signals:
            said.append(process.stdout.readline().split(" ...")[0].strip())
            process.send_signal(number)
        said += [line.split(" ...")[0].strip() for line in process.stdout]
        errors = process.stderr.read()
        return process.wait(60), said, errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_start_at_its_next_step_and_what_is_there_is_cleared_up(number: signal.Signals) -> None:
    code, said, errors = run("interrupts.check()", [number])
    assert (code, said[0], said[-1], errors) == (130, "started", "cleared up", "")


def test_a_second_one_ends_a_start_that_is_stuck() -> None:
    assert run("pass", [signal.SIGINT, signal.SIGINT]) == (130, ["started", "stopping"], "")


def test_one_is_enough_while_it_stops_already() -> None:
    assert run("pass", [signal.SIGINT], stopping=True) == (130, ["started"], "")


def test_what_the_work_gives_and_raises_is_passed_on() -> None:
    interrupts = Interrupts()
    assert interrupts.run(lambda: 7, print) == 7
    with pytest.raises(ValueError, match="wrong"):
        interrupts.run(lambda: int("wrong"), print)


def test_signals_go_to_whoever_had_them_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupts().caught():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before


def test_a_thread_that_cant_have_signals_does_without() -> None:
    found: list[int] = []

    def work() -> None:
        interrupts = Interrupts()
        with interrupts.caught():
            found.append(interrupts.run(lambda: 7, print))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert found == [7]
