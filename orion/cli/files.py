"""Files that commands are given."""

from __future__ import annotations

from pathlib import Path

from orion.errors import UserError


def read_text_file(path: Path) -> str:
    """The text of a file; one that can't be read is the user's to mend."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        hint = "Paths are seen from the current folder."
        raise UserError("FILE_UNREADABLE", f"{path} can't be read: {why}.", hint=hint) from error
