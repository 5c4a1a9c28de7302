"""How a letter's value is repaired: fields set by hand, or a program that takes the value and gives another."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Sequence
from typing import Any

from orion.cli.envelope import parsed
from orion.errors import UserError

_TIMEOUT_S = 60


class Repair:
    """What makes a value right. Without fields and without a program it stays as it is."""

    def __init__(self, fields: Sequence[str] = (), command: str | None = None) -> None:
        if fields and command is not None:
            raise UserError("INVALID_REPAIR", "--set and --command exclude each other.")
        self._changes = [_change(text) for text in fields]
        self._command = None if command is None else _words(command)

    def __call__(self, value: bytes | None) -> bytes | None:
        """Raises a UserError that says what is wrong with this value."""
        if self._command is not None:
            return _through(self._command, value)
        return _with_fields(value, self._changes) if self._changes else value


def _change(text: str) -> tuple[list[str], Any]:
    path, equals, written = text.partition("=")
    if not equals or not all(path.split(".")):
        raise UserError(
            "INVALID_REPAIR",
            f"{text!r} sets no field.",
            hint="Write --set amount=12.5 or --set address.city=Oslo; the value is JSON, or else text.",
        )
    try:
        return path.split("."), json.loads(written)
    except json.JSONDecodeError:
        return path.split("."), written


def _with_fields(value: bytes | None, changes: list[tuple[list[str], Any]]) -> bytes:
    try:
        document = parsed(value or b"")
    except UserError as error:
        raise UserError("REPAIR_FAILED", f"{error.message} --set needs JSON; --command takes anything.") from None
    for path, new in changes:
        place = document
        for at, name in enumerate(path):
            if not isinstance(place, dict):
                where = ".".join(path[:at]) or "the value"
                raise UserError("REPAIR_FAILED", f"{where} is not an object, so it has no field {name}.")
            if at == len(path) - 1:
                place[name] = new
            else:
                place = place.setdefault(name, {})
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


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
