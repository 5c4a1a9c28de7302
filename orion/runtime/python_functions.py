"""Python functions in Spark: loaded once a process, called with plain Python values, one batch of rows at a time.

An error of one row makes that row's value NULL and is logged; a query never ends by it.
"""

from __future__ import annotations

import datetime as dt
import decimal
import importlib
import inspect
import os
import sys
import types
import typing
from collections.abc import Callable
from typing import Any, assert_never

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from orion.errors import BindError, ConfigError, OrionError
from orion.ksql.functions import functions as built_in
from orion.ksql.parser import Parser
from orion.ksql.python_functions import entry_point, source_of
from orion.plan.definitions import PythonFunction
from orion.schema import Array, Decimal, Field, Map, Scalar, SqlType, Struct, spark_type

Convert = Callable[[Any], Any]
_RANGES = {Scalar.INTEGER: 2**31, Scalar.BIGINT: 2**63}


def register(spark: SparkSession, function: PythonFunction) -> None:
    """Make the function known to Spark. Raises when its code can't be loaded."""
    runner = Runner(function)
    runner.load()
    # A point in time comes back as milliseconds; the Spark SQL around the call makes it one.
    returned = "BIGINT" if function.returns is Scalar.TIMESTAMP else spark_type(function.returns)
    spark.udf.register(function.spark_name, udf(runner, returned, useArrow=True))


def unregister(spark: SparkSession, function: PythonFunction) -> None:
    spark.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {function.spark_name}")


class Runner:
    """A function as Spark's workers call it. What travels to them is its text; each loads it for itself."""

    def __init__(self, function: PythonFunction) -> None:
        self.function = function
        self.folder = os.getcwd()  # where modules beside orion.yaml are found
        self._call: Callable[..., Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"function": self.function, "folder": self.folder}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _call=None)

    def __call__(self, *args: Any) -> Any:
        if self._call is None:
            self.load()
        assert self._call is not None
        try:
            given = [arg if arg is None else convert(arg) for convert, arg in zip(self._ins, args, strict=True)]
            result = self._call(*given)
            return None if result is None else self._out(result)
        except (Exception, SystemExit) as error:
            self._note(error)
            return None

    def load(self) -> None:
        try:
            self._call = _loaded(self.function, self.folder)
        except (Exception, SystemExit) as error:
            raise BindError(
                "PYTHON_LOAD", f"The function {self.function.name} can't be loaded: {type(error).__name__}: {error}."
            ) from error
        self._ins = [_incoming(p.type) for p in self.function.parameters]
        self._out = _outgoing(self.function.returns)
        self._failed = 0

    def _note(self, error: BaseException) -> None:
        """To the log of Spark's workers: the 1st, 2nd, 4th, 8th time and so on."""
        self._failed += 1
        if self._failed & (self._failed - 1) == 0:
            times = f", {self._failed} times so far" if self._failed > 1 else ""
            told = f"{type(error).__name__}: {error}"
            print(f"WARN orion: the Python function {self.function.name} failed{times}: {told}", file=sys.stderr)


def _loaded(function: PythonFunction, folder: str) -> Callable[..., Any]:
    if function.module is not None:
        module, _, name = function.module.partition(":")
        found: Callable[..., Any] = getattr(_imported(module, folder), name)
        return found
    space: dict[str, Any] = {"__name__": f"orion_function_{function.name}"}
    exec(compile(source_of(function), f"<{function.name}>", "exec"), space)
    called: Callable[..., Any] = space[entry_point(function)]
    inspect.signature(called).bind(*function.parameters)  # as many parameters as the statement says
    return called


def _imported(module: str, folder: str) -> types.ModuleType:
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(module)


# ---- values ------------------------------------------------------------------------------------------------------


def _incoming(type_: SqlType) -> Convert:
    """From what Spark hands over to plain Python values."""
    match type_:
        case Scalar.TIME:
            return lambda ms: (dt.datetime.min + dt.timedelta(milliseconds=ms)).time()
        case Scalar.TIMESTAMP:
            return _instant
        case Scalar.BYTES:
            return bytes
        case Scalar() | Decimal():
            return lambda value: value
        case Array(element):
            inner = _or_none(_incoming(element))
            return lambda values: [inner(v) for v in values]
        case Map(key, value):
            keys, values = _or_none(_incoming(key)), _or_none(_incoming(value))
            return lambda pairs: {keys(k): values(v) for k, v in dict(pairs).items()}
        case Struct(fields):
            each = [(f.name, _or_none(_incoming(f.type))) for f in fields]
            return lambda row: {name: convert(row[name]) for name, convert in each}
        case _:
            assert_never(type_)


def _instant(value: Any) -> dt.datetime:
    if isinstance(value, dt.datetime):  # inside of an ARRAY, MAP or STRUCT: in the machine's own time zone
        return value.astimezone(dt.UTC)
    return dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(milliseconds=value)


def _or_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _outgoing(type_: SqlType, *, nested: bool = False) -> Convert:
    """From what a function returns to what Spark takes. A value of another type is an error of that row."""
    match type_:
        case Scalar.BOOLEAN:
            return lambda value: _of(value, bool, type_)
        case Scalar.INTEGER | Scalar.BIGINT:
            return lambda value: _whole(value, type_)
        case Scalar.DOUBLE:
            return lambda value: float(_of(value, (int, float), type_))
        case Scalar.STRING:
            return lambda value: _of(value, str, type_)
        case Scalar.BYTES:
            return lambda value: bytes(_of(value, (bytes, bytearray, memoryview), type_))
        case Scalar.DATE:
            return lambda value: value.date() if isinstance(value, dt.datetime) else _of(value, dt.date, type_)
        case Scalar.TIME:
            return _millis_of_day
        case Scalar.TIMESTAMP:
            return _aware if nested else lambda value: round((_aware(value) - _EPOCH) / dt.timedelta(milliseconds=1))
        case Decimal():
            return lambda value: _decimal(value, type_)
        case Array(element):
            inner = _or_none(_outgoing(element, nested=True))
            return lambda values: [inner(v) for v in _of(values, (list, tuple), type_)]
        case Map(key, value):
            keys, values = _outgoing(key, nested=True), _or_none(_outgoing(value, nested=True))
            return lambda pairs: {keys(k): values(v) for k, v in _of(pairs, dict, type_).items()}
        case Struct(fields):
            each = [(f.name, _or_none(_outgoing(f.type, nested=True))) for f in fields]
            return lambda row: {name: convert(_field(_of(row, dict, type_), name)) for name, convert in each}
        case _:
            assert_never(type_)


_EPOCH = dt.datetime.fromtimestamp(0, dt.UTC)


def _of(value: Any, classes: type[Any] | tuple[type[Any], ...], type_: SqlType) -> Any:
    wanted = classes if isinstance(classes, tuple) else (classes,)
    if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
        raise TypeError(f"it returned {type(value).__name__} {value!r}, which is no {type_}")
    return value


def _whole(value: Any, type_: Scalar) -> int:
    number: int = _of(value, int, type_)
    if not -_RANGES[type_] <= number < _RANGES[type_]:
        raise OverflowError(f"{number} doesn't fit into {type_}")
    return number


def _decimal(value: Any, type_: Decimal) -> decimal.Decimal:
    number = decimal.Decimal(str(_of(value, (int, float, decimal.Decimal), type_)))
    context = decimal.Context(prec=type_.precision, rounding=decimal.ROUND_HALF_UP)
    return number.quantize(decimal.Decimal(1).scaleb(-type_.scale), context=context)


def _millis_of_day(value: Any) -> int:
    time: dt.time = _of(value, dt.time, Scalar.TIME)
    return ((time.hour * 60 + time.minute) * 60 + time.second) * 1000 + time.microsecond // 1000


def _aware(value: Any) -> dt.datetime:
    """A time without a zone is in UTC, as everything is."""
    moment: dt.datetime = _of(value, dt.datetime, Scalar.TIMESTAMP)
    return moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment


def _field(row: dict[str, Any], name: str) -> Any:
    """A field under its name, or as Python would rather write it."""
    return row[name] if name in row else row.get(name.lower())


# ---- modules -----------------------------------------------------------------------------------------------------


def of_modules(modules: tuple[str, ...]) -> list[PythonFunction]:
    """Every function of these modules that `@orion.udf` marks."""
    return [function for module in modules for function in _of_module(module)]


def _of_module(name: str) -> list[PythonFunction]:
    try:
        module = _imported(name, os.getcwd())
    except Exception as error:
        raise ConfigError(
            "FUNCTIONS_MODULE",
            f"functions.modules: {name} can't be imported: {type(error).__name__}: {error}.",
            hint="A module lies in the folder where the server is started, or is installed beside Orion.",
        ) from error
    marked = [f for f in vars(module).values() if callable(f) and hasattr(f, "__orion_udf__")]
    return [_declared(f, name) for f in marked if f.__module__ == name]


def _declared(function: Callable[..., Any], module: str) -> PythonFunction:
    mark = function.__orion_udf__  # type: ignore[attr-defined]
    name = (mark.name or function.__name__).upper()
    try:
        parameters, returns = _from_text(mark.signature) if mark.signature else _from_annotations(function)
    except (OrionError, TypeError, NameError) as error:
        raise ConfigError(
            "FUNCTIONS_MODULE",
            f"The types of {module}.{function.__name__} can't be told: {error}.",
            hint='Write them: @orion.udf("(x STRING, n INT) -> STRING").',
        ) from error
    if name in built_in():
        raise ConfigError("FUNCTIONS_MODULE", f"{module}: {name} is a function of the language.")
    place = f"{module}:{function.__name__}"
    return PythonFunction(name, parameters, returns, module=place, doc=inspect.getdoc(function) or "")


def _from_text(signature: str) -> tuple[tuple[Field, ...], SqlType]:
    """`(x STRING, n INT) -> STRING`."""
    parser = Parser(signature)
    parser.expect_symbol("(")
    parameters = (
        ()
        if parser.is_symbol(")")
        else parser.separated(lambda: Field(parser.identifier("a parameter").lower(), parser.type()))
    )
    parser.expect_symbol(")")
    parser.expect_symbol("->")
    return parameters, parser.type()


_ANNOTATED: dict[Any, SqlType] = {
    bool: Scalar.BOOLEAN,
    int: Scalar.BIGINT,
    float: Scalar.DOUBLE,
    str: Scalar.STRING,
    bytes: Scalar.BYTES,
    dt.date: Scalar.DATE,
    dt.time: Scalar.TIME,
    dt.datetime: Scalar.TIMESTAMP,
}


def _from_annotations(function: Callable[..., Any]) -> tuple[tuple[Field, ...], SqlType]:
    hints = typing.get_type_hints(function)
    names = list(inspect.signature(function).parameters)
    missing = [n for n in (*names, "return") if n not in hints]
    if missing:
        raise TypeError(f"{missing[0]} has no annotation")
    return tuple(Field(n, _annotated(hints[n])) for n in names), _annotated(hints["return"])


def _annotated(hint: Any) -> SqlType:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        some = [a for a in args if a is not type(None)]
        if len(some) == 1:
            return _annotated(some[0])
    if origin is list and len(args) == 1:
        return Array(_annotated(args[0]))
    if origin is dict and len(args) == 2:
        return Map(_annotated(args[0]), _annotated(args[1]))
    if hint not in _ANNOTATED:
        raise TypeError(f"{hint} stands for no type of SQL")
    return _ANNOTATED[hint]
