"""The prompt of `orion sql`: history, statements over several lines, completion, errors with a caret."""

from __future__ import annotations

from collections.abc import Iterable

import typer
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from orion import ksql
from orion.cli import output
from orion.cli.backslash import NAMES as COMMANDS
from orion.cli.backslash import is_command, run_command, wants_to_leave
from orion.cli.client import Client
from orion.cli.shell import Shell
from orion.config import cache_folder
from orion.errors import OrionError
from orion.ksql.functions import functions
from orion.ksql.words import KEYWORDS


class Names(Completer):
    """Keywords, functions, and what the server has."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: list[str] = []

    def refresh(self) -> None:
        try:
            self._known = self._client.names()
        except OrionError:
            self._known = []

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        if document.text.startswith("\\") and " " not in document.text_before_cursor:
            typed = document.text_before_cursor
            yield from (Completion(name, -len(typed)) for name in COMMANDS if name.startswith(typed))
            return
        word = document.get_word_before_cursor(WORD=False)
        if not word:
            return
        sought = word.upper()
        for name in dict.fromkeys([*self._known, *KEYWORDS, *functions()]):
            if name.upper().startswith(sought):
                yield Completion(name, start_position=-len(word))


def converse(shell: Shell) -> None:
    """Read statements until Ctrl-D or `exit`."""
    client = shell.client
    info = client.info()
    output.note(f"Orion {info['version']} at {client.url}. Statements end with ';'. Try help.")
    history = cache_folder() / "sql_history"
    history.parent.mkdir(parents=True, exist_ok=True)
    names = Names(client)
    session: PromptSession[str] = PromptSession(
        history=FileHistory(str(history)),
        completer=names,
        multiline=True,
        key_bindings=_keys(),
        complete_while_typing=True,
    )
    while True:
        names.refresh()
        try:
            text = session.prompt("orion> ", prompt_continuation="   ... ").strip()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if wants_to_leave(text):
            return
        if not text:
            continue
        try:
            if is_command(text):
                run_command(shell, text)
            else:
                shell.run(text)
        except OrionError as error:
            output.problem(error)
        except KeyboardInterrupt:  # before a query had rows to end
            output.note("given up")
        typer.echo()


def _keys() -> KeyBindings:
    """Enter sends a statement that is whole, and otherwise begins a new line."""
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        text = event.current_buffer.text
        if not text.strip() or is_command(text) or ksql.is_complete(text):
            event.current_buffer.validate_and_handle()
        else:
            event.current_buffer.insert_text("\n")

    return keys
