"""The documents say what the code does: references are up to date, SQL compiles, commands parse, links lead on."""

from __future__ import annotations

import configparser
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from orion import errors, ksql
from orion.cli import app
from orion.config import load
from orion.errors import OrionError
from orion.ksql.session import Session
from orion.plan.catalog import Catalog
from scripts import reference

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*/README.md")])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
PUNCTUATION = "|&;<>"


@dataclass(frozen=True)
class Snippet:
    language: str
    text: str


def snippets(page: Path, *languages: str) -> list[Snippet]:
    found = (Snippet(*fence) for fence in FENCE.findall(page.read_text(encoding="utf-8")))
    return [snippet for snippet in found if snippet.language in languages]


def prose(page: Path) -> str:
    """A page without its fenced snippets."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


# ---- generated pages ---------------------------------------------------------------------------------------------


def test_references_are_up_to_date() -> None:
    assert reference.outdated() == [], "run: python scripts/reference.py"


# ---- SQL ---------------------------------------------------------------------------------------------------------


@dataclass
class World:
    """What a page's statements have made so far, as the engine would hold it."""

    catalog: Catalog = field(default_factory=Catalog)
    session: Session = field(default_factory=Session)

    def run(self, script: str) -> None:
        for text in ksql.split(script):
            for step in ksql.compile(text, self.catalog, self.session.properties, self.session.variables).steps:
                self.catalog, self.session = self.catalog.after(step), self.session.after(step)


@pytest.mark.parametrize("name", NAMES)
def test_sql_compiles_in_the_order_of_its_page(name: str) -> None:
    world = World()
    for snippet in snippets(ROOT / name, "sql", "console", "bash"):
        for script in [snippet.text] if snippet.language == "sql" else _inline_sql(snippet):
            try:
                world.run(script)
            except OrionError as error:
                pytest.fail(f"{name}: {error.as_dict()}")


def _inline_sql(snippet: Snippet) -> Iterator[str]:
    """What `orion sql -e` is given, unless it is about another server's catalog."""
    for arguments in commands(snippet):
        called, given = parsed(arguments)
        if called == ("sql",) and "--data" not in arguments:
            yield from given["execute"] or ()


@pytest.mark.parametrize("name", NAMES)
def test_settings_in_pages_are_settings(name: str, tmp_path: Path) -> None:
    for snippet in snippets(ROOT / name, "yaml"):
        file = tmp_path / "orion.yaml"
        file.write_text(snippet.text, encoding="utf-8")
        load(file)


# ---- commands ----------------------------------------------------------------------------------------------------


def commands(snippet: Snippet) -> Iterator[list[str]]:
    """The arguments of every call of `orion` in a snippet; in a console only lines with a prompt are commands."""
    text = snippet.text.replace("\\\n", " ")
    lines = text.splitlines()
    if snippet.language == "console":
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    for line in lines:
        for words in _simple_commands(line):
            if words and Path(words[0]).name == "orion":
                yield words[1:]


def _simple_commands(line: str) -> Iterator[list[str]]:
    """The commands of a pipeline, each without redirections and settings of variables."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=PUNCTUATION)
    lexer.whitespace_split = True
    words: list[str] = []
    redirected = False
    for token in lexer:
        if set(token) <= set(PUNCTUATION):
            redirected = token[0] in "<>"
            if not redirected:
                yield words
                words = []
        elif redirected:
            redirected = False
        elif words or not re.match(r"\w+=", token):
            words.append(token)
    yield words


Call = tuple[tuple[str, ...], dict[str, Any]]


@cache
def recording() -> tuple[TyperGroup, list[Call]]:
    """The command line with commands that only note how they were called."""
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    calls: list[Call] = []
    for path, command in leaves(root):

        def note(path: tuple[str, ...] = path, **given: Any) -> None:
            calls.append((path, given))

        command.callback = note
    return root, calls


def parsed(arguments: list[str]) -> Call:
    """Which command it is and what it is given. Nothing runs; what the command wouldn't take is raised."""
    root, calls = recording()
    calls.clear()
    root.main(args=arguments, prog_name="orion", standalone_mode=False)
    return calls[0] if calls else ((), {})


def leaves(group: TyperGroup, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from leaves(command, (*path, name))
        else:
            yield (*path, name), command


@pytest.mark.parametrize("name", NAMES)
def test_commands_parse(name: str) -> None:
    for snippet in snippets(ROOT / name, "console", "bash"):
        for arguments in commands(snippet):
            try:
                parsed(arguments)
            except Exception as error:
                pytest.fail(f"{name}: orion {shlex.join(arguments)}: {error}")


def test_a_wrong_command_is_noticed() -> None:
    snippet = Snippet("console", "$ A=1 orion topics list --colour | cat > file\nsome output\n")
    (arguments,) = commands(snippet)
    assert arguments == ["topics", "list", "--colour"]
    with pytest.raises(Exception, match="--colour"):
        parsed(arguments)


def test_every_command_has_an_example() -> None:
    root, _ = recording()
    shown = {parsed(a)[0] for s in snippets(ROOT / "docs/cli.md", "console") for a in commands(s)}
    assert {path for path, _ in leaves(root)} <= shown


# ---- links -------------------------------------------------------------------------------------------------------


@cache
def anchors(page: Path) -> frozenset[str]:
    """The places a page can be linked at, as GitHub names them."""
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(prose(page)))
    return frozenset(text.strip().replace(" ", "-") for text in plain)


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    page = ROOT / name
    for target in LINK.findall(prose(page)):
        if target.startswith(("http://", "https://")):
            continue
        file, _, anchor = target.partition("#")
        found = (page.parent / file).resolve() if file else page
        assert found.exists(), f"{name}: {target}"
        assert found.is_relative_to(ROOT), f"{name}: {target}"
        assert not anchor or anchor in anchors(found), f"{name}: {target}"


# ---- what pages tell about the code ------------------------------------------------------------------------------


def _section(page: str, title: str) -> str:
    text = (ROOT / page).read_text(encoding="utf-8")
    return text.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def test_the_tree_is_the_tree() -> None:
    (block,) = FENCE.findall(_section("ARCHITECTURE.md", "The tree"))
    listed: set[Path] = set()
    parents: list[str] = []
    for line in block[1].splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        parents = [*parents[:depth], line.split()[0]]
        listed.add(Path(*parents))
    assert [str(path) for path in sorted(listed) if not (ROOT / path).exists()] == []
    inside = {path.relative_to(ROOT) for path in (ROOT / "orion").iterdir()}
    code = {path for path in inside if path.suffix == ".py" or (ROOT / path / "__init__.py").exists()}
    assert sorted(map(str, code - listed)) == ["orion/__init__.py"]


def test_the_layers_are_those_that_are_checked() -> None:
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    written = contracts["importlinter:contract:layers"]["layers"].split("\n")
    layers = [[n for n in re.findall(r"\w+", line) if _is_there(n)] for line in written]
    block = FENCE.findall(_section("ARCHITECTURE.md", "Layers"))[0][1]
    assert [line.split(", ") for line in block.splitlines()] == [layer for layer in layers if layer]


def _is_there(name: str) -> bool:
    return (ROOT / "orion" / name).is_dir() or (ROOT / "orion" / f"{name}.py").exists()


def test_every_exit_code_is_told() -> None:
    told = {int(number) for number in re.findall(r"\b\d+\b", _section("docs/operations.md", "Exit codes"))}
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, OrionError)]
    assert {c.exit_code for c in classes} <= told
