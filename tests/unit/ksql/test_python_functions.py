"""The text of a Python function, and the names it goes by."""

from __future__ import annotations

from typing import Any

import pytest

from orion.ksql.python_functions import entry_point, source_of
from orion.plan.definitions import PythonFunction, python_calls
from orion.schema import Field, Scalar


def function(body: str, *parameters: str, name: str = "F") -> PythonFunction:
    return PythonFunction(name, tuple(Field(p, Scalar.STRING) for p in parameters), Scalar.STRING, body)


def called(made: PythonFunction, *args: Any) -> Any:
    space: dict[str, Any] = {}
    exec(source_of(made), space)
    return space[entry_point(made)](*args)


@pytest.mark.parametrize(
    "body",
    [
        "x + 'b'",
        " x + 'b' ",
        "return x + 'b'",
        "\n    return x + 'b'\n",
        "\n  if x:\n    return x + 'b'\n  return None\n",
        "if x:\n       return x + 'b'",
        " y = x\n return y + 'b'",
        "import re\ndef f(x):\n    return re.sub('$', 'b', x)",
        "\n  def F(y, more='b'):\n    return y + more\n",
        "(x\n + 'b')  # why not",
        "lines = '''\nb'''\nreturn x + lines.strip()",
    ],
)
def test_a_body_is_an_expression_statements_or_a_whole_function(body: str) -> None:
    assert called(function(body, "x"), "a") == "ab"


def test_a_name_that_python_cannot_have_does_no_harm() -> None:
    assert called(function("x", "x", name="MY FUN"), "a") == "a"


@pytest.mark.parametrize("body", ["", "   ", "# nothing", "x +", "return (", "x\n    y\n  z"])
def test_a_body_that_is_no_python_is_refused(body: str) -> None:
    with pytest.raises(SyntaxError):
        compile(source_of(function(body, "x")), "f", "exec")


def test_another_body_is_another_name_to_spark() -> None:
    names = {function("x", "x").spark_name, function("x ", "x").spark_name, function("x", "y").spark_name}
    assert len(names) == 3
    assert all(name.startswith("orion_py_F_") for name in names)
    assert function("x", "x").spark_name == function("x", "x").spark_name
    assert python_calls(f"concat({function('x', 'x', name='G_1').spark_name}(`A`), upper(B))") == ["G_1"]
