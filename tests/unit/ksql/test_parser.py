"""The grammar of expressions and types: what binds to what, and where it stands."""

from __future__ import annotations

import pytest

from orion.errors import ParseError
from orion.ksql import ast
from orion.ksql.parser import Parser
from orion.schema import Array, Decimal, Field, Map, Scalar, SqlType, Struct


def shown(node: ast.Expression) -> str:
    """The expression with every parenthesis it could have."""
    match node:
        case ast.Literal(value):
            return "NULL" if value is None else repr(value) if isinstance(value, str) else str(value)
        case ast.Name() | ast.Star():
            return str(node) if isinstance(node, ast.Name) else f"{node.source}.*" if node.source else "*"
        case ast.Over(call):
            return f"{shown(call)} OVER"
        case ast.Unary(op, operand):
            return f"({op} {shown(operand)})"
        case ast.Binary(op, left, right):
            return f"({shown(left)} {op} {shown(right)})"
        case ast.Between(operand, low, high, negated):
            return f"({shown(operand)}{_not(negated)} BETWEEN {shown(low)} AND {shown(high)})"
        case ast.In(operand, choices, negated):
            return f"({shown(operand)}{_not(negated)} IN ({_list(choices)}))"
        case ast.Like(operand, pattern, escape, negated):
            return f"({shown(operand)}{_not(negated)} LIKE {shown(pattern)}{f' ESCAPE {escape!r}' if escape else ''})"
        case ast.IsNull(operand, negated):
            return f"({shown(operand)} IS{_not(negated)} NULL)"
        case ast.Case(operand, whens, otherwise):
            start = f" {shown(operand)}" if operand else ""
            tail = f" ELSE {shown(otherwise)}" if otherwise else ""
            return f"(CASE{start}{''.join(f' WHEN {shown(c)} THEN {shown(r)}' for c, r in whens)}{tail} END)"
        case ast.Cast(operand, type_):
            return f"CAST({shown(operand)} AS {type_})"
        case ast.Call(name, args):
            return f"{name}({_list(args)})"
        case ast.Lambda(params, body):
            return f"(({', '.join(params)}) => {shown(body)})"
        case ast.Deref(base, field):
            return f"({shown(base)}->{field})"
        case ast.Index(base, index):
            return f"({shown(base)}[{shown(index)}])"
        case ast.ArrayOf(items):
            return f"ARRAY[{_list(items)}]"
        case ast.MapOf(pairs):
            return f"MAP({', '.join(f'{shown(k)}:={shown(v)}' for k, v in pairs)})"
        case ast.StructOf(fields):
            return f"STRUCT({', '.join(f'{name}:={shown(v)}' for name, v in fields)})"


def _not(negated: bool) -> str:
    return " NOT" if negated else ""


def _list(nodes: tuple[ast.Expression, ...]) -> str:
    return ", ".join(shown(n) for n in nodes)


def parsed(text: str) -> ast.Expression:
    parser = Parser(text)
    node = parser.expression()
    assert parser.token.span.start == len(text), f"only read up to {parser.token.shown}"
    return node


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        # arithmetic
        ("a + b * c", "(A + (B * C))"),
        ("a * b + c", "((A * B) + C)"),
        ("a - b - c", "((A - B) - C)"),
        ("a / b * c % d", "(((A / B) * C) % D)"),
        ("a + b || c - d", "(((A + B) || C) - D)"),
        ("(a + b) * c", "((A + B) * C)"),
        ("-a * b", "((- A) * B)"),
        ("a * -b", "(A * (- B))"),
        ("- -1", "1"),
        ("-(-a)", "(- (- A))"),
        ("+a", "(+ A)"),
        ("-1.50", "-1.50"),
        ("1 - -1", "(1 - -1)"),
        ("-TRUE", "(- True)"),
        # comparison
        ("a + 1 = b - 1", "((A + 1) = (B - 1))"),
        ("a != b", "(A <> B)"),
        ("a < b = c", "((A < B) = C)"),
        ("a IS NULL = b", "((A IS NULL) = B)"),
        ("a + b IS NOT NULL", "((A + B) IS NOT NULL)"),
        ("a IS DISTINCT FROM b + 1", "(A IS DISTINCT FROM (B + 1))"),
        ("a IS NOT DISTINCT FROM b", "(A IS NOT DISTINCT FROM B)"),
        ("a BETWEEN 1 AND 2 AND b", "((A BETWEEN 1 AND 2) AND B)"),
        ("a NOT BETWEEN b + 1 AND c * 2", "(A NOT BETWEEN (B + 1) AND (C * 2))"),
        ("a IN (1, b OR c)", "(A IN (1, (B OR C)))"),
        ("a + 1 NOT IN (1)", "((A + 1) NOT IN (1))"),
        ("a LIKE 'x' || b ESCAPE '!'", "(A LIKE ('x' || B) ESCAPE '!')"),
        ("a NOT LIKE b", "(A NOT LIKE B)"),
        # logic
        ("a OR b AND c", "(A OR (B AND C))"),
        ("a AND b OR c AND d", "((A AND B) OR (C AND D))"),
        ("(a OR b) AND c", "((A OR B) AND C)"),
        ("NOT a AND b", "((NOT A) AND B)"),
        ("NOT a = b", "(NOT (A = B))"),
        ("NOT NOT a", "(NOT (NOT A))"),
        ("a OR NOT b IS NULL", "(A OR (NOT (B IS NULL)))"),
        # parts
        ("a->b->c", "((A->B)->C)"),
        ("a->b[1]->c", "(((A->B)[1])->C)"),
        ("-a[1]", "(- (A[1]))"),
        ("a[b + 1] * 2", "((A[(B + 1)]) * 2)"),
        ("s.a->b", "(S.A->B)"),
        ("f(a)[1]", "(F(A)[1])"),
        ("(a)->b", "(A->B)"),
        # the rest
        ("CASE WHEN a THEN 1 ELSE 2 END + 1", "((CASE WHEN A THEN 1 ELSE 2 END) + 1)"),
        ("CASE a WHEN 1 THEN b OR c END", "(CASE A WHEN 1 THEN (B OR C) END)"),
        ("CAST(a + 1 AS BIGINT) / 2", "(CAST((A + 1) AS BIGINT) / 2)"),
        ("COUNT(*)", "COUNT(*)"),
        ("f()", "F()"),
        ("ARRAY[1, a + 1]", "ARRAY[1, (A + 1)]"),
        ("ARRAY[]", "ARRAY[]"),
        ("MAP('a' := 1, b := c OR d)", "MAP('a':=1, B:=(C OR D))"),
        ("STRUCT(a := 1, `b` := 2)->b", "(STRUCT(A:=1, b:=2)->B)"),
        ("f(x => x + 1)", "F(((X) => (X + 1)))"),
        ("f((x, y) => x OR y, 1)", "F(((X, Y) => (X OR Y)), 1)"),
        ("array + map", "(ARRAY + MAP)"),
        ("DATEADD(DAYS, 1, day)", "DATEADD('DAYS', 1, DAY)"),
    ],
)
def test_precedence(text: str, meant: str) -> None:
    assert shown(parsed(text)) == meant


def test_numbers_keep_the_width_they_were_written_in() -> None:
    values = [parsed(t) for t in ("1", "1.0", "1e0")]
    assert [type(v.value).__name__ for v in values if isinstance(v, ast.Literal)] == ["int", "Decimal", "float"]


def test_a_node_spans_exactly_its_text() -> None:
    text = "a + UCASE( b )->c"
    whole = parsed(text)
    assert isinstance(whole, ast.Binary)
    assert isinstance(whole.right, ast.Deref)
    spans = [n.span for n in (whole, whole.left, whole.right, whole.right.base)]
    assert [text[s.start : s.end] for s in spans] == [text, "a", "UCASE( b )->c", "UCASE( b )"]


def test_where_it_stands_does_not_make_an_expression_another() -> None:
    assert parsed("a  +  f(1)") == parsed("A + F( 1 ) ".strip())


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("int", Scalar.INTEGER),
        ("VARCHAR", Scalar.STRING),
        ("VARCHAR(10)", Scalar.STRING),
        ("VARCHAR(STRING)", Scalar.STRING),
        ("DECIMAL(4, 2)", Decimal(4, 2)),
        ("DEC(38)", Decimal(38, 0)),
        ("ARRAY<ARRAY<INT>>", Array(Array(Scalar.INTEGER))),
        ("MAP<STRING, ARRAY<DOUBLE>>", Map(Scalar.STRING, Array(Scalar.DOUBLE))),
        ("STRUCT<a INT, `b c` DATE>", Struct((Field("A", Scalar.INTEGER), Field("b c", Scalar.DATE)))),
        ("STRUCT<a STRUCT<b INT>>", Struct((Field("A", Struct((Field("B", Scalar.INTEGER),))),))),
        ("STRUCT<>", Struct(())),
        ("STRUCT< >", Struct(())),
        ("STRUCT<array ARRAY<INT>>", Struct((Field("ARRAY", Array(Scalar.INTEGER)),))),
    ],
)  # fmt: skip
def test_types(text: str, type_: SqlType) -> None:
    assert Parser(text).type() == type_


@pytest.mark.parametrize("type_", ["ARRAY", "ARRAY<INT", "MAP<STRING>", "STRUCT<INT>", "DECIMAL", "INT(x)", "TEXT"])
def test_what_is_no_type_is_refused(type_: str) -> None:
    with pytest.raises(ParseError):
        Parser(type_).type()


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("5 MILLISECONDS", 5),
        ("1 SECOND", 1_000),
        ("2 minutes", 120_000),
        ("3 HOURS", 10_800_000),
        ("1 DAY", 86_400_000),
    ],
)
def test_durations(text: str, ms: int) -> None:
    assert Parser(text).duration_ms() == ms


@pytest.mark.parametrize(
    "text", ["SECONDS", "5", "5 SECONDSS", "5 S", "1.5 SECONDS", "5SECONDS", "-5 SECONDS", "5 YEARS"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        Parser(text).duration_ms()


def test_properties_keep_a_quoted_name_as_it_is() -> None:
    written = "(a = 1, 'b.c' = 'D', e = TRUE, f = -2, \"g\" = 1.5)"
    assert Parser(written).properties() == {"A": "1", "b.c": "D", "E": "TRUE", "F": "-2", "g": "1.5"}
    assert Parser("()").properties() == {}


def _alone(text: str) -> None:
    parser = Parser(text)
    parser.expression()
    parser.expect_symbol(";")


@pytest.mark.parametrize(
    "text",
    ["", "a +", "a b", "(a", "a)", "f(a,", "CASE END", "CASE WHEN a THEN 1", "a IS b", "a NOT b", "CAST(a)", "a[",
     "a->1", "a IN ()", "ARRAY[1", "MAP(1)", "STRUCT(1)", "STRUCT('a' := 1)", "SELECT", "a..b", "x => "],
)  # fmt: skip
def test_what_is_no_expression_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(ParseError) as refused:
        _alone(text)
    assert refused.value.code == "SYNTAX"
    assert refused.value.span is not None
    assert refused.value.caret().endswith("^")
