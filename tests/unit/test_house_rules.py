"""Rules of the house that no linter knows."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import orion

ROOT = Path(__file__).parents[2]
FOLDERS = (".ci", "benchmarks", "docs", "examples", "orion", "scripts", "tests")

# Packages with NAMES, and the modules in them that are no plug-ins.
PLUGINS: dict[str, set[str]] = {
    "orion.cli": {
        "backslash",
        "client",
        "connect_client",
        "entities",
        "envelope",
        "files",
        "grid",
        "output",
        "prompt",
        "registry_client",
        "repair",
        "results",
        "shell",
        "spool",
        "target",
        "values",
    },  # what commands share
    "orion.feeds": {"frames", "polling", "target", "values"},  # what feeds are held to, and made of
    "orion.formats": set(),
    "orion.ksql.functions": {"declare", "signatures"},  # what declarations are made of
    "orion.ksql.statements": {"create_as"},  # reached through create_source: both begin alike
    "orion.sinks": {"store", "transforms", "warehouses"},  # what sinks are held to, can do, and are loaded from
    "orion.web.console.pages": set(),
    "orion.web.routes": set(),
}


def _files(*suffixes: str) -> Iterator[Path]:
    for path in (*ROOT.iterdir(), *(p for folder in FOLDERS for p in (ROOT / folder).rglob("*"))):
        if path.is_file() and "__pycache__" not in path.parts and (not suffixes or path.suffix in suffixes):
            yield path


def _shown(paths: Iterator[Path] | list[Path]) -> list[str]:
    return sorted(str(p.relative_to(ROOT)) for p in paths)


def _names(package: str) -> list[str]:
    """NAMES of a package, without importing it."""
    source = (ROOT.joinpath(*package.split(".")) / "__init__.py").read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "NAMES":
            found = ast.literal_eval(node.value)
            return [str(name) for name in found]
    return []


def test_every_package_of_plug_ins_is_known_here() -> None:
    packages = {".".join(p.parent.relative_to(ROOT).parts) for p in (ROOT / "orion").rglob("__init__.py")}
    assert {p for p in packages if _names(p)} == set(PLUGINS)


@pytest.mark.parametrize("package", PLUGINS)
def test_a_plug_in_is_one_file_and_one_name(package: str) -> None:
    modules = {f.stem for f in ROOT.joinpath(*package.split(".")).glob("*.py")} - {"__init__"}
    names = _names(package)
    assert len(names) == len(set(names))
    assert set(names) == modules - PLUGINS[package]
    assert modules >= PLUGINS[package]


def test_no_file_is_too_long() -> None:
    """Written ones; a reference in docs/ or a lock file is made by a program."""
    long = {p: len(p.read_text(encoding="utf-8").splitlines()) for p in _files(".py", ".sql", ".toml", "")}
    assert _shown([p for p, lines in long.items() if lines > 600]) == []


def test_no_file_has_a_name_that_says_nothing() -> None:
    banned = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"}
    assert _shown(p for p in _files(".py") if p.stem.removeprefix("test_") in banned) == []


def test_no_class_has_a_name_that_says_nothing() -> None:
    vague = re.compile(r"^\s*class (\w+(?:Manager|Helper|Impl|Mixin))\b", re.MULTILINE)
    assert [name for p in _files(".py") for name in vague.findall(p.read_text(encoding="utf-8"))] == []


def test_no_batch_has_code_of_its_own() -> None:
    """Spark writes a stream's `current_timestamp()` into the code that it compiles for each batch; see scan.DAY_END."""
    told = [p for p in _files(".py") if "orion/runtime" in p.as_posix() and "current_timestamp" in p.read_text("utf-8")]
    assert _shown(told) == []


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(?!Unreleased)([^\]\s]+)", changes, re.MULTILINE)
    assert newest is not None
    assert orion.__version__ == project["version"] == newest[1]


def test_no_file_names_where_packages_come_from() -> None:
    """That is the machine's business: its pip and its Ivy are set up for it. Ivy's own is the name of an XML space."""
    address = re.compile(
        r"https?://(?!ant\.apache\.org/ivy/)[^\s'\"]*(?:pypi|pythonhosted|maven|repo1|artifactory|nexus|/simple\b)"
        r"|^\s*(?:-i|--(?:extra-)?index-url|index-url\s*=)\s",
        re.IGNORECASE | re.MULTILINE,
    )
    texts = ((p, p.read_text(encoding="utf-8", errors="ignore")) for p in _files())
    assert _shown(p for p, text in texts if address.search(text)) == []


def test_make_has_few_targets() -> None:
    targets = re.findall(r"^([a-z][\w-]*):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {"help", "test", "demo"} <= set(targets)
    assert len(targets) == len(set(targets)) <= 14
