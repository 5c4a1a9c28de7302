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
from orion.cli.client import Client
from orion.cli.sql import run
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
        word = document.get_word_before_cursor(WORD=False)
        if not word:
            return
        sought = word.upper()
        for name in dict.fromkeys([*self._known, *KEYWORDS, *functions()]):
            if name.upper().startswith(sought):
                yield Completion(name, start_position=-len(word))


def converse(client: Client) -> None:
    """Read statements until Ctrl-D or `exit`."""
    info = client.info()
    output.note(f"Orion {info['version']} at {client.url}. End a statement with ';', leave with Ctrl-D.")
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
        if text.rstrip(";").lower() in ("exit", "quit"):
            return
        if not text:
            continue
        try:
            run(client, text)
        except OrionError as error:
            output.problem(error)
        typer.echo()


def _keys() -> KeyBindings:
    """Enter sends a statement that is whole, and otherwise begins a new line."""
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        text = event.current_buffer.text
        alone = text.strip().rstrip(";").lower() in ("exit", "quit", "")
        if alone or ksql.is_complete(text):
            event.current_buffer.validate_and_handle()
        else:
            event.current_buffer.insert_text("\n")

    return keys
