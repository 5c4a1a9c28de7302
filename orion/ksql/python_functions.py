"""Functions written in Python, as the binder sees them, and what their text may be."""

from __future__ import annotations

import ast as python
import textwrap
from collections.abc import Sequence
from keyword import iskeyword

from orion.errors import UnsupportedError
from orion.ksql import ast
from orion.ksql.functions.declare import Function, Kind, Overload
from orion.ksql.functions.signatures import Exactly, Signature
from orion.moments import timestamp_sql
from orion.plan.definitions import PythonFunction
from orion.schema import Scalar, SqlType


def declared(function: PythonFunction) -> Function:
    """The function as the built-in ones are declared: by signature and Spark SQL."""
    signature = Signature(tuple(Exactly(p.type) for p in function.parameters), Exactly(function.returns), False)

    def lower(args: Sequence[str]) -> str:
        given = (_sent(arg, p.type) for arg, p in zip(args, function.parameters, strict=True))
        return _received(f"{function.spark_name}({', '.join(given)})", function.returns)

    return Function(function.name, Kind.SCALAR, function.doc, (Overload(signature, lower),))


def _sent(arg: str, type_: SqlType) -> str:
    """A point in time goes over as milliseconds: what Spark makes of one depends on the machine's own time zone."""
    return f"unix_millis({arg})" if type_ is Scalar.TIMESTAMP else arg


def _received(call: str, type_: SqlType) -> str:
    return timestamp_sql(call) if type_ is Scalar.TIMESTAMP else call


def refuse_in_lambda(node: ast.Call, *, within: bool) -> None:
    if within and node.declared is not None:
        raise UnsupportedError(
            "PYTHON_IN_LAMBDA",
            f"{node.name} is a Python function, which can't stand in a lambda.",
            span=node.span,
            hint="Give the function the whole ARRAY or MAP.",
        )


# ---- text --------------------------------------------------------------------------------------------------------


def is_identifier(name: str) -> bool:
    return name.isidentifier() and not iskeyword(name)


def source_of(function: PythonFunction) -> str:
    """Python that defines the function under its own name. Raises SyntaxError with the line in the body.

    A body may define a function of that name, be one expression, or be what stands inside of the function.
    """
    body = _plain(function.body)
    tree = python.parse(body)
    if defined_name(function) is not None:
        return body
    if not tree.body:
        raise SyntaxError("the body is empty")
    if len(tree.body) == 1 and isinstance(tree.body[0], python.Expr):
        body = f"return (\n{body}\n)"
    return f"def {_python_name(function)}({', '.join(p.name for p in function.parameters)}):\n{_indented(body)}\n"


def entry_point(function: PythonFunction) -> str:
    """The name that `source_of` defines the function under."""
    return defined_name(function) or _python_name(function)


def defined_name(function: PythonFunction) -> str | None:
    """As what the body itself defines the function, if it does."""
    tree = python.parse(_plain(function.body))
    names = [node.name for node in tree.body if isinstance(node, python.FunctionDef)]
    return next((name for name in names if name.upper() == function.name.upper()), None)


def _plain(body: str) -> str:
    """The body without the indentation it has inside of a statement, where Python can be made of it."""
    first, _, rest = body.partition("\n")
    written = [
        textwrap.dedent(body).strip("\n"),
        f"{first.lstrip()}\n{rest}",
        f"{first.lstrip()}\n{textwrap.dedent(rest)}",
    ]
    return next((text for text in written if _parses(text)), written[0])


def _parses(text: str) -> bool:
    try:
        python.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _python_name(function: PythonFunction) -> str:
    lower = function.name.lower()
    return lower if is_identifier(lower) else "function"


def _indented(body: str) -> str:
    """Each line one level deeper; the inside of a string over several lines stays as it is."""
    inside: set[int] = set()
    for node in python.walk(python.parse(body)):
        if isinstance(node, python.Constant | python.JoinedStr) and node.end_lineno and node.end_lineno > node.lineno:
            inside |= set(range(node.lineno + 1, node.end_lineno + 1))
    lines = body.split("\n")
    return "\n".join(line if at in inside else f"    {line}" for at, line in enumerate(lines, 1))
