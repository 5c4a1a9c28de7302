"""Statements that people keep under a name, in the data folder: whoever opens this server's console sees them."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path

from orion.errors import ExternalError, UserError
from orion.options import masked

MOST_SAVED = 500
LONGEST_NAME = 80
LONGEST_TEXT = 100_000


class SavedStatements:
    """A file of texts by name. Secrets of connectors' options are masked before they are written."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "saved-statements.json"
        self._lock = threading.Lock()

    def read(self) -> dict[str, str]:
        """All of them, by name. A file that can't be read is an error, and is never written over."""
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise self._unreadable(str(error)) from error
        if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
            raise self._unreadable("it isn't an object of texts")
        return dict(sorted(found.items()))

    def save(self, name: str, text: str) -> None:
        name = name.strip()
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise UserError("INVALID_NAME", f"A name has 1 to {LONGEST_NAME} letters, without control characters.")
        if not text.strip() or len(text) > LONGEST_TEXT:
            raise UserError("INVALID_TEXT", f"A text to be saved has 1 to {LONGEST_TEXT} characters.")
        with self._lock:
            saved = {**self.read(), name: masked(text)}
            if len(saved) > MOST_SAVED:
                raise UserError("TOO_MANY_SAVED", f"{MOST_SAVED} texts are saved.", hint="Delete some first.")
            self._write(saved)

    def delete(self, name: str) -> None:
        with self._lock:
            self._write({other: text for other, text in self.read().items() if other != name})

    def _write(self, saved: Mapping[str, str]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(saved, ensure_ascii=False, indent=1), encoding="utf-8")
        os.replace(new, self._file)

    def _unreadable(self, why: str) -> ExternalError:
        return ExternalError(
            "SAVED_UNREADABLE",
            f"The saved statements can't be read: {why}.",
            hint=f"Mend or remove {self._file.name} in the folder `console` of the data folder.",
        )
