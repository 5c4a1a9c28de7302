"""Names of Java's classes, asked for once.

PySpark's client asks the JVM each time that a name is used, and the JVM looks for each in all packages that it might
be of. A name that isn't in one of them is looked for in every jar that Spark has, of which there are some 280: that is
a good part of what the start of a statement takes.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaClass, JavaPackage, JVMView


def remember_names() -> None:
    """Have views of a JVM, and packages, keep what they have found; a new JVM has a new view. Does so once."""
    for kind in (JVMView, JavaPackage):
        ask = kind.__getattr__
        if not hasattr(ask, "remembers"):
            kind.__getattr__ = _remembering(ask)


def _remembering(ask: Any) -> Any:
    def look_up(self: Any, name: str) -> Any:
        found = ask(self, name)
        if isinstance(found, JavaClass | JavaPackage):
            vars(self)[name] = found  # from now on it is an attribute like any other
        return found

    vars(look_up)["remembers"] = True
    return look_up
