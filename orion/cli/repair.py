"""How a letter's value is repaired: fields set by hand, or a program that takes the value and gives another."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence

from orion.errors import UserError
from orion.hub.repairs import change, with_fields

_TIMEOUT_S = 60


class Repair:
    """What makes a value right. Without fields and without a program it stays as it is."""

    def __init__(self, fields: Sequence[str] = (), command: str | None = None) -> None:
        if fields and command is not None:
            raise UserError("INVALID_REPAIR", "--set and --command exclude each other.")
        self._changes = [change(text) for text in fields]
        self._command = None if command is None else _words(command)

    def __call__(self, value: bytes | None) -> bytes | None:
        """Raises a UserError that says what is wrong with this value."""
        if self._command is not None:
            return _through(self._command, value)
        return with_fields(value, self._changes) if self._changes else value


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError("INVALID_REPAIR", f"--command can't be read: {error}.") from None
    if not words:
        raise UserError("INVALID_REPAIR", "--command names no program.")
    return words


def _through(command: list[str], value: bytes | None) -> bytes:
    try:
        ran = subprocess.run(command, input=value or b"", capture_output=True, timeout=_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise UserError("REPAIR_FAILED", f"{command[0]} took longer than {_TIMEOUT_S} s.") from None
    except OSError as error:
        raise UserError("REPAIR_FAILED", f"{command[0]} can't be run: {error.strerror or error}.") from None
    if ran.returncode != 0:
        said = ran.stderr.decode(errors="replace").strip().splitlines()
        raise UserError(
            "REPAIR_FAILED", f"{command[0]} ended with {ran.returncode}. {said[-1] if said else ''}".strip()
        )
    # Programs that write lines end the last one, too.
    made = ran.stdout if (value or b"").endswith(b"\n") else ran.stdout.removesuffix(b"\n")
    if not made:
        raise UserError("REPAIR_FAILED", f"{command[0]} gave nothing.")
    return made
