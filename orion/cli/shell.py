"""A session of `orion sql`: statements sent to a server, what is about this machine's files, and where results go."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from orion.cli import output
from orion.cli.files import read_text_file
from orion.cli.results import Results
from orion.cli.spool import Spool

if TYPE_CHECKING:
    from orion.cli.client import Client

# What a statement that gives rows, not an answer, begins with.
_STREAMING = ("SELECT", "PRINT")
_OF_SESSION = ("SET", "UNSET", "DEFINE", "UNDEFINE")


class Shell:
    def __init__(self, client: Client, results: Results | None = None) -> None:
        self.client = client
        self.results = results or Results()
        self._spool = Spool()
        self._within: tuple[Path, ...] = ()  # the scripts that run now, each run by the one before it

    def close(self) -> None:
        self._spool.stop()
        self.results.close()

    def send_results_to(self, results: Results) -> None:
        self.results.close()
        self.results = results

    def run(self, script: str) -> None:
        """Every statement in turn; the first that fails ends the script."""
        from orion import ksql

        for text in ksql.split(script):
            self.run_statement(text)

    def run_statement(self, text: str) -> None:
        """One statement, and what came of it."""
        from orion.ksql.tokens import tokenize
        from orion.ksql.variables import substitute

        self._spool.note(text)
        words = tokenize(text)
        if words[0].is_word("RUN") and words[1].is_word("SCRIPT"):
            file = _file_of(substitute(text, self.client.session.variables))
            assert file is not None
            self.run_script(file)
        elif words[0].is_word("SPOOL"):
            self._spool_to(_file_of(substitute(text, self.client.session.variables)))
        elif words[0].text in _STREAMING:
            self._show_rows(text, "print" if words[0].is_word("PRINT") else "push")
        else:
            for entity in self.client.execute(text + ";"):
                self.results.write_answer(entity)
            if words[0].is_word(*_OF_SESSION):
                self._remember(text)

    def run_script(self, file: Path) -> None:
        from orion.errors import NotFound, UserError

        if not file.is_file():
            hint = "Paths are seen from the current folder."
            raise NotFound("SCRIPT_MISSING", f"There is no file {file}.", hint=hint)
        whole, before = file.resolve(), self._within
        if whole in before:
            raise UserError("SCRIPT_IN_ITSELF", f"{file} runs itself.")
        self._within = (*before, whole)
        try:
            self.run(read_text_file(whole))
        finally:
            self._within = before

    def _show_rows(self, text: str, kind: Literal["push", "print"]) -> None:
        """Rows as they come. Ctrl-C ends the query, not the session."""
        stream = self.client.stream(text + ";")
        if output.on_terminal() and self.results.form is None and "EMIT" in text.upper().split():
            output.note("starting the query; Ctrl-C ends it")
        try:
            head = next(stream)
            if self.client.warning is not None:
                output.note(f"warning: {self.client.warning}")
            self.results.write_rows(head, stream, "pull" if kind == "push" and head["queryId"] is None else kind)
        except KeyboardInterrupt:
            output.note("query ended")
        finally:
            stream.close()

    def _remember(self, text: str) -> None:
        """SET and DEFINE live in the session, which is the client's."""
        from orion import ksql
        from orion.plan.catalog import Catalog

        session = self.client.session
        for step in ksql.compile(text, Catalog(), session.properties, session.variables).steps:
            self.client.session = self.client.session.after(step)

    def _spool_to(self, file: Path | None) -> None:
        if file is not None:
            self._spool.start(file)
            output.note(f"what is shown goes to {file} as well")
        elif self._spool.stop():
            output.note("spooling ended")


def _file_of(text: str) -> Path | None:
    """The file that RUN SCRIPT and SPOOL name; None: OFF."""
    from orion.ksql.parser import Parser

    parser = Parser(text)
    spool = parser.accept("SPOOL")
    if not spool:
        parser.expect("RUN", "SCRIPT")
    elif parser.accept("OFF"):
        return None
    return Path(parser.string("a file's name, in quotes" + (", or OFF" if spool else "")))
