"""Keeps a broker from outliving Orion: `python leash.py SECONDS COMMAND...` runs the command until stdin ends.

Stdin is a pipe whose other end only Orion holds. The kernel closes it when Orion ends, in whatever way, and then the
command gets SIGTERM and, when it is still there after SECONDS, SIGKILL. Should this process itself be killed, Linux
kills the command with it. The command runs in a session of its own, out of reach of a Ctrl-C in the terminal.

The first line on stdout is the command's process id; the exit code is the command's. Only the standard library is used
and nothing of Orion, so that it starts in a few milliseconds.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import threading

PR_SET_PDEATHSIG = 1
WATCH = 1.0  # seconds from one look at the parent to the next


def leashed(seconds: float, command: list[str]) -> list[str]:
    """The command line that runs a command on a leash. Give it a pipe as stdin; what the command says is on stderr."""
    return [sys.executable, "-I", "-S", __file__, str(seconds), *command]


def die_with_parent(parent: int) -> None:
    """Between fork and exec: ask Linux to kill this process when the leash dies. Elsewhere the pipe has to do."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the request was made
            os._exit(1)


def wait_for_end(owner: int, ended: threading.Event) -> None:
    """Return when the owner is gone or the command has ended.

    A process that the owner forked may hold the pipe open after the owner's death, so its id is looked at as well.
    """
    while not ended.is_set():
        ready, _, _ = select.select([0], [], [], WATCH)
        if os.getppid() != owner or (ready and not os.read(0, 4096)):
            return


def run(seconds: float, command: list[str]) -> int:
    owner, leash = os.getppid(), os.getpid()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=2, preexec_fn=lambda: die_with_parent(leash))
    ended = threading.Event()

    def leave_with_child() -> None:
        code = child.wait()
        ended.set()
        os._exit(code if code >= 0 else 128 - code)

    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    threading.Thread(target=leave_with_child, daemon=True).start()
    with contextlib.suppress(OSError):  # the owner may be gone already; the next line finds out
        print(child.pid, flush=True)
    wait_for_end(owner, ended)
    child.terminate()
    if not ended.wait(seconds):
        child.kill()
    threading.Event().wait()  # the thread above ends the process
    return 0


if __name__ == "__main__":
    run(float(sys.argv[1]), sys.argv[2:])
