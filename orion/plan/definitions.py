"""What people add to the language: names for types, and functions written in Python."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from orion.schema import Field, SqlType

_SPARK_NAME = re.compile(r"\borion_py_(\w+)_[0-9a-f]{12}\(")


@dataclass(frozen=True, slots=True)
class CustomType:
    """Another name for a type. Whatever is declared with it holds the type itself, and so outlives the name."""

    name: str
    type: SqlType
    statement: str = ""


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A scalar function in Python: its text, or the module of the server's that holds it."""

    name: str
    parameters: tuple[Field, ...]  # under the names that Python knows them by
    returns: SqlType
    body: str = ""
    module: str | None = None  # `my_module:shout`; of the server's settings, not of the journal
    doc: str = ""
    statement: str = ""

    @property
    def signature(self) -> str:
        return f"({', '.join(f'{p.name} {p.type}' for p in self.parameters)})"

    @property
    def spark_name(self) -> str:
        """What Spark knows it by. Another body is another name: a running query can't get it by mistake.

        A function of a module is told by its signature alone: a query goes on with the code that a new start brings.
        """
        meaning = "\n".join((self.signature, str(self.returns), self.body, self.module or ""))
        # Spark's parser takes letters, digits and underscores; the hash tells names apart that differ in the rest.
        word = re.sub(r"\W", "_", self.name)
        return f"orion_py_{word}_{hashlib.sha256(f'{self.name}{meaning}'.encode()).hexdigest()[:12]}"


def python_calls(spark: str) -> list[str]:
    """Names of the Python functions that a piece of Spark SQL calls."""
    return sorted(set(_SPARK_NAME.findall(spark)))
