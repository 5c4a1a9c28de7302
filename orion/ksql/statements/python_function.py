"""CREATE [OR REPLACE] FUNCTION name(param type, ...) RETURNS type LANGUAGE PYTHON AS $$ ... $$, DROP FUNCTION name."""

from __future__ import annotations

from dataclasses import dataclass

from orion.errors import BindError, Span, UnsupportedError, hint_nearest
from orion.ksql.context import Context, SqlErrorConflict, Statement
from orion.ksql.functions import functions
from orion.ksql.parser import Parser
from orion.ksql.python_functions import is_identifier, source_of
from orion.ksql.tokens import Kind
from orion.plan.definitions import PythonFunction
from orion.plan.steps import Ask, DefineFunction, DropFunction, Nothing, Step
from orion.schema import Field

STARTS = (("CREATE", "FUNCTION"), ("CREATE", "OR", "REPLACE", "FUNCTION"), ("DROP", "FUNCTION"))


@dataclass(frozen=True)
class Create:
    function: PythonFunction
    or_replace: bool
    if_not_exists: bool
    span: Span  # of the name
    body_span: Span

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        function = PythonFunction(
            self.function.name,
            self.function.parameters,
            self.function.returns,
            self.function.body,
            statement=context.text,
        )
        if function.name in functions():
            raise BindError("RESERVED_FUNCTION", f"{function.name} is a function of the language.", span=self.span)
        taken = context.catalog.functions.get(function.name)
        if taken is not None and self.if_not_exists:
            return (Nothing(f"Function {function.name} already exists."),)
        if taken is not None:
            self._check_replaced(taken, context)
        self._check_body(function)
        return (DefineFunction(function),)

    def _check_replaced(self, taken: PythonFunction, context: Context) -> None:
        if not self.or_replace:
            raise SqlErrorConflict(
                "FUNCTION_EXISTS",
                f"Function {taken.name} already exists.",
                span=self.span,
                hint="CREATE OR REPLACE FUNCTION changes it.",
            )
        refuse_change(taken, context, self.span, "replaced")

    def _check_body(self, function: PythonFunction) -> None:
        try:
            compile(source_of(function), function.name, "exec")
        except (SyntaxError, ValueError) as error:
            told = error.msg if isinstance(error, SyntaxError) else str(error)
            line = f"line {error.lineno}: " if isinstance(error, SyntaxError) and error.lineno else ""
            raise BindError(
                "PYTHON_SYNTAX",
                f"The body of {function.name} is not Python: {line}{told}.",
                span=self.body_span,
                hint="It is what stands inside of the function, or defines a function of that name.",
            ) from None


@dataclass(frozen=True)
class Drop:
    name: str
    if_exists: bool
    span: Span

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        found = context.catalog.functions.get(self.name)
        if found is not None:
            refuse_change(found, context, self.span, "dropped")
            return (DropFunction(self.name),)
        if self.name in functions():
            raise BindError("RESERVED_FUNCTION", f"{self.name} is a function of the language.", span=self.span)
        if self.if_exists:
            return (Nothing(f"Function {self.name} does not exist."),)
        raise BindError(
            "UNKNOWN_FUNCTION",
            f"There is no function {self.name}.",
            span=self.span,
            hint=hint_nearest(self.name, list(context.catalog.functions)),
        )


def refuse_change(function: PythonFunction, context: Context, span: Span, what: str) -> None:
    """A query goes on with the function that it was made with, and so keeps it."""
    if function.module is not None:
        raise SqlErrorConflict(
            "FUNCTION_OF_MODULE",
            f"{function.name} can't be {what}: it is from the module {function.module.partition(':')[0]}.",
            span=span,
            hint="Change the module, or orion.yaml, and start the server again.",
        )
    callers = context.catalog.callers_of(function)
    if callers:
        raise SqlErrorConflict(
            "IN_USE",
            f"{function.name} can't be {what}: {', '.join(sorted(callers))} still use it.",
            span=span,
            hint="TERMINATE those queries first, or give the new function another name.",
        )


def parse(parser: Parser) -> Statement:
    verb = parser.advance().text
    or_replace = parser.accept("OR", "REPLACE")
    parser.expect("FUNCTION")
    if verb == "DROP":
        if_exists = parser.accept("IF", "EXISTS")
        at = parser.at
        return Drop(parser.identifier("a function's name"), if_exists, parser.span_from(at))
    if_not_exists = parser.accept("IF", "NOT", "EXISTS")
    at = parser.at
    name = parser.identifier("a function's name")
    span = parser.span_from(at)
    parser.expect_symbol("(")
    parameters = () if parser.is_symbol(")") else parser.separated(lambda: _parameter(parser))
    parser.expect_symbol(")")
    _refuse_twice(parameters, span)
    parser.expect("RETURNS")
    returns = parser.type()
    _language(parser)
    parser.expect("AS")
    at = parser.at
    body = parser.string("the body, between $$ and $$")
    function = PythonFunction(name, parameters, returns, body)
    return Create(function, or_replace, if_not_exists, span, parser.span_from(at))


def _parameter(parser: Parser) -> Field:
    at, token = parser.at, parser.token
    name = parser.identifier("a parameter")
    # Python tells upper from lower: the parameter is spelled as the statement spells it.
    spelled = token.raw if token.kind is Kind.WORD else name
    if not is_identifier(spelled):
        raise BindError(
            "INVALID_PARAMETER",
            f"{spelled} is no name in Python.",
            span=parser.span_from(at),
            hint="Give the parameter another one.",
        )
    return Field(spelled, parser.type())


def _refuse_twice(parameters: tuple[Field, ...], span: Span) -> None:
    names = [p.name for p in parameters]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise BindError("DUPLICATE_PARAMETER", f"The parameter {twice} is named twice.", span=span)


def _language(parser: Parser) -> None:
    if not parser.accept("LANGUAGE"):
        return
    at = parser.at
    language = parser.string_or_name("a language")
    if language.upper() != "PYTHON":
        raise UnsupportedError(
            "FUNCTION_LANGUAGE",
            f"Functions in {language} are not run: their language is PYTHON.",
            span=parser.span_from(at),
            text=parser.text,
        )
