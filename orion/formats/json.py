"""JSON: an object of columns. A single key column stands alone, without an object around it, as in ksqlDB.

A field is found whatever its case, and by its exact name first. Numbers may stand in quotes; text takes anything. A
whole number cuts a fraction off. TIMESTAMP, DATE and TIME travel as numbers (milliseconds, days, milliseconds of the
day), BYTES as base64, DECIMAL as a number. A TIMESTAMP is also read from text of ISO 8601 with its offset, which is how
Debezium writes times with a zone; it is cut to milliseconds.

Records are first read the fast way: Spark's parser, which wants each field in one of a few spellings and of exactly
its type. Only what it can't read, or where a field is missing that stands there in another case, is read once more the
slow way, value by value, by ksqlDB's rules.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from orion.formats import Decoded, step_name
from orion.formats.wire import ranges
from orion.moments import MILLIS
from orion.plan.sources import Serde, is_alone
from orion.schema import (
    Array,
    Column,
    Decimal,
    Field,
    Map,
    Scalar,
    SqlType,
    Struct,
    escaped,
    literal,
    nested,
    quote,
    spark_type,
)

_CORRUPT = "__corrupt"
_OPTIONS = f"map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{_CORRUPT}', 'allowNonNumericNumbers', 'true')"
_GOOD, _BAD, _EMPTY = 0, 1, 2
_ISO = r"^[+-]?[0-9]{4,6}-[0-9]{2}-[0-9]{2}T[0-9:.]+(?:Z|[+-][0-9]{2}:[0-9]{2})$"
_SHORT = 16  # a text of fewer characters is no such time, and a number of fewer digits is a TIMESTAMP


def decode(columns: tuple[Column, ...], serde: Serde, raw: str, value: str) -> Decoded:
    if not columns:
        return Decoded("1", (), "FALSE", "''")
    text = f"CAST({raw} AS STRING)"
    bare = is_alone(columns, serde)
    names = [_spellings(column) for column in columns]
    fields = [f"{quote(s)} {_column_type(c)}" for c, spelled in zip(columns, names, strict=True) for s in spelled]
    schema = escaped(", ".join([*fields, f"{_CORRUPT} STRING"]))
    whole = f"concat('{{{escaped(_quoted(columns[0].name))}:', {text}, '}}')" if bare else text
    if any(_holds_decimal(c.type) for c in columns) and any(c.spelling is not None for c in columns):
        whole = f"CASE WHEN {text} NOT RLIKE {literal(_LONG_EXPONENT)} THEN {whole} END"
    parsed = f"from_json({whole}, '{schema}', {_OPTIONS})"
    found = step_name(value, 0)
    fast = [_field(c, spelled, found) for c, spelled in zip(columns, names, strict=True)]
    unread_times = [
        _unread_time(f"{found}.{quote(s)}") for c, of in zip(columns, names, strict=True) for s in of if _is_time(c)
    ]
    missing = " OR ".join([f"{found} IS NULL", f"{found}.{_CORRUPT} IS NOT NULL", *unread_times])
    before = [parsed]
    if any(_is_special(c.type) or isinstance(c.type, Array | Map) for c in columns):
        # What takes time to make is made once, for all who ask for the column.
        before.append(f"CASE WHEN {missing} THEN NULL ELSE {_fields(fast)} END")
        row = step_name(value, 1)
        fast, missing = [f"{row}.c{at}" for at in range(len(columns))], f"{row} IS NULL"
    again = missing
    other_case = _other_case(columns, names, text, bare=bare)
    if other_case is not None:
        gaps = " OR ".join(_gaps(each, c.type) for each, c in zip(fast, columns, strict=True))
        again = f"{missing} OR (({gaps}) AND {other_case})"
    unwritable = ""
    if any(c.spelling is not None for c in columns):  # written by others
        before[0] = f"if({_misspelled(text)}, NULL, {parsed})"
        none = _row(str(_BAD), f"CAST(NULL AS {_row_type(columns)})")
        unwritable = f"WHEN {found} IS NULL AND {_misspelled(text)} THEN {none} "
    return Decoded(
        f"CASE {unwritable}WHEN {again} THEN {_slow(columns, text, bare=bare)} END",
        tuple(f"if({value} IS NULL, {each}, {value}.it.c{at})" for at, each in enumerate(fast)),
        f"coalesce({value}.state = {_BAD}, FALSE)",
        "'not the JSON that was declared'",
        f"coalesce({value}.state = {_EMPTY}, FALSE)",
        tuple(before),
    )


# To write the digits of 1e600000000 out, as Java does to round a decimal, takes minutes. The slow way doesn't.
_LONG_EXPONENT = "[0-9.][eE][+-]?[0-9]{4}"


def _holds_decimal(type_: SqlType) -> bool:
    match type_:
        case Decimal():
            return True
        case Array(element) | Map(_, element):
            return _holds_decimal(element)
        case Struct(fields):
            return any(_holds_decimal(f.type) for f in fields)
        case _:
            return False


# Half of a pair of surrogates, which stands for no character, in an escape that isn't itself escaped.
_HALF = (
    r"(?i)(?<!\\)(?:\\\\)*\\ud(?:[89ab][0-9a-f]{2}(?!\\ud[c-f][0-9a-f]{2})"
    r"|(?<!\\ud[89ab][0-9a-f]{2}\\ud)[c-f][0-9a-f]{2})"
)


def _misspelled(text: str) -> str:
    """A condition: the text has what no text can hold. Java would put question marks there, without a word."""
    perhaps = " OR ".join(f"contains({text}, {literal(start)})" for start in (r"\ud", r"\uD"))
    return f"(NOT is_valid_utf8({text}) OR (({perhaps}) AND {text} RLIKE {literal(_HALF)}))"


def _row_type(columns: tuple[Column, ...]) -> str:
    return f"STRUCT<{', '.join(f'c{at}: {spark_type(c.type)}' for at, c in enumerate(columns))}>"


def _row(state: str, fields: str) -> str:
    return f"named_struct('state', {state}, 'it', {fields})"


def _fields(values: list[str]) -> str:
    named = ", ".join(f"'c{at}', {value}" for at, value in enumerate(values))
    return f"named_struct({named})"


# ---- the fast way ----------------------------------------------------------------------------------------------


def _spellings(column: Column) -> list[str]:
    if column.spelling is None:
        return [column.name]  # written by Orion itself, which spells it like this
    if not _has_cases(column.name):
        return [column.name]
    return list(dict.fromkeys((column.spelling, column.name, column.name.lower())))


def _has_cases(name: str) -> bool:
    """Whether a column of this name takes fields in any case: ksqlDB holds a field's name in capitals against it."""
    return name == name.upper() != name.lower()


def _field(column: Column, spellings: list[str], value: str) -> str:
    read = _time if _is_time(column) else lambda found: _from_wire(found, column.type)
    return _first([read(f"{value}.{quote(s)}") for s in spellings])


def _is_time(column: Column) -> bool:
    """Whether the column is a TIMESTAMP that others write, and so perhaps as text. Orion's own are numbers."""
    return column.type is Scalar.TIMESTAMP and column.spelling is not None


def _column_type(column: Column) -> str:
    return "STRING" if _is_time(column) else _wire_type(column.type)


def _time(text: str) -> str:
    """A TIMESTAMP from a number's digits or from ISO 8601; NULL where the text is neither."""
    return (
        f"timestamp_millis(CASE WHEN length({text}) < {_SHORT} THEN try_cast({text} AS BIGINT) ELSE {_iso(text)} END)"
    )


def _unread_time(text: str) -> str:
    return f"({text} IS NOT NULL AND {_time(text)} IS NULL)"


def _iso(text: str) -> str:
    """The milliseconds of a text. Spark alone would read others as well: a time of today, or of the session's zone."""
    return f"CASE WHEN {text} RLIKE {literal(_ISO)} THEN unix_millis(try_cast({text} AS TIMESTAMP)) END"


def _first(spelled: list[str]) -> str:
    return spelled[0] if len(spelled) == 1 else f"coalesce({', '.join(spelled)})"


def _wire_type(type_: SqlType) -> str:
    """The type as it stands in JSON, in Spark's DDL; a nested field is looked for in both cases too."""
    match type_:
        case Scalar.TIMESTAMP:
            return "BIGINT"
        case Scalar.DATE | Scalar.TIME:
            return "INT"
        case Array(element):
            return f"ARRAY<{_wire_type(element)}>"
        case Map(_, value):
            return f"MAP<STRING,{_wire_type(value)}>"
        case Struct(fields):
            inner = (f"{quote(s)}:{_wire_type(f.type)}" for f in fields for s in _both_cases(f))
            return f"STRUCT<{','.join(inner)}>"
        case _:
            return spark_type(type_)


def _both_cases(field: Field) -> list[str]:
    return [field.name, field.name.lower()] if _has_cases(field.name) else [field.name]


def _from_wire(value: str, type_: SqlType, depth: int = 0) -> str:
    x = f"x{depth}"
    match type_:
        case Scalar.TIMESTAMP:
            return ranges.timestamp(value)
        case Scalar.DATE:
            return f"date_from_unix_date({value})"
        case Array(element) if _is_special(element):
            return f"transform({value}, {x} -> {_from_wire(x, element, depth + 1)})"
        case Map(_, inner) if _is_special(inner):
            return f"transform_values({value}, (k{depth}, {x}) -> {_from_wire(x, inner, depth + 1)})"
        case Struct(fields):
            parts = []
            for f in fields:
                spelled = [_from_wire(f"{value}.{quote(s)}", f.type, depth + 1) for s in _both_cases(f)]
                parts.append(f"{literal(f.name)}, {_first(spelled)}")
            return f"if({value} IS NULL, NULL, named_struct({', '.join(parts)}))"
        case _:
            return value


def _is_special(type_: SqlType) -> bool:
    """Whether a value of the type stands otherwise in JSON than in Spark."""
    match type_:
        case Scalar.TIMESTAMP | Scalar.DATE | Struct():
            return True
        case Array(element) | Map(_, element):
            return _is_special(element)
        case _:
            return False


# ---- whether the fast way has missed something -----------------------------------------------------------------


def _other_case(columns: tuple[Column, ...], names: list[list[str]], text: str, *, bare: bool) -> str | None:
    """A condition: some key of the text is a field's name, in a case the fast way doesn't know.

    None if there is no such field: what Orion has written it spells as it reads it.
    """
    if all(c.spelling is None for c in columns):
        return None
    wanted = {} if bare else dict.fromkeys(c.name for c in columns if c.spelling is not None)
    known = dict.fromkeys(s for spelled in names for s in spelled)
    for field in (f for c in columns for f in nested(c.type)):
        wanted |= dict.fromkeys([field.name])
        known |= dict.fromkeys(_both_cases(field))
    wanted = {name: None for name in wanted if _has_cases(name)}
    if not wanted:
        return None
    fields, exact = ("|".join(re.escape(_quoted(n)[1:-1]) for n in listed) for listed in (wanted, known))
    pattern = rf'(?<!\\)"(?!(?:{exact})")(?iu:{fields})"\s*:'
    return f"{text} RLIKE {literal(pattern)}"


def _gaps(value: str, type_: SqlType, depth: int = 0) -> str:
    """A condition: something in the value is NULL, so perhaps only not found."""
    x = f"g{depth}"
    match type_:
        case Struct(fields):
            inside = (_gaps(f"{value}.{quote(f.name)}", f.type, depth) for f in fields)
            return " OR ".join([f"{value} IS NULL", *inside])
        case Array(element) if any(nested(element)):
            return f"{value} IS NULL OR exists({value}, {x} -> {_gaps(x, element, depth + 1)})"
        case Map(_, element) if any(nested(element)):
            return f"{value} IS NULL OR exists(map_values({value}), {x} -> {_gaps(x, element, depth + 1)})"
        case _:
            return f"{value} IS NULL"


# ---- the slow way ----------------------------------------------------------------------------------------------


def _slow(columns: tuple[Column, ...], text: str, *, bare: bool) -> str:
    """The row by ksqlDB's rules, through VARIANT, which keeps what kind of value stood there.

    Spark plans all of this anew for each batch, though it is hardly ever needed: what can be said once for all columns
    is said so.
    """
    none = f"CAST(NULL AS {_row_type(columns)})"
    names = ", ".join(literal(c.name) for c in columns)
    found = "array(d)" if bare else f"transform(array({names}), n -> {_looked_up('m', 'n')})"
    there = f"transform({found}, v -> {_not_null('v')})"
    reads = [_read_fitting(f"fit[{at}]", c.type) for at, c in enumerate(columns)]
    bad = " OR ".join(_missed(f"vs[{at}]", f"it.c{at}", c.type) for at, c in enumerate(columns))
    judged = _let("it", _fields(reads), _row(f"if({bad}, {_BAD}, {_GOOD})", "it"))
    row = _let("vs", there, _let("fit", _fitting("vs", columns), judged))
    if not bare:
        row = _let("m", _object("d"), f"CASE WHEN m IS NULL THEN {_row(str(_BAD), none)} ELSE {row} END")
    otherwise = f"WHEN is_variant_null(d) THEN {_row(str(_EMPTY), none)} ELSE {row}"
    unread = f"CASE WHEN d IS NULL THEN {_row(str(_BAD), none)} {otherwise} END"
    return _let("d", f"try_parse_json({text})", unread)


def _fitting(values: str, columns: tuple[Column, ...]) -> str:
    """The values without those of the wrong kind: Spark would make a number of a boolean, and the other way round."""
    if not any(_minds(c.type) for c in columns):
        return values
    booleans, minding = (
        f"array({', '.join(map(_truth, kinds))})"
        for kinds in ([c.type is Scalar.BOOLEAN for c in columns], [_minds(c.type) for c in columns])
    )
    return f"transform({values}, (v, i) -> if({minding}[i] AND {_is_boolean('v')} != {booleans}[i], NULL, v))"


def _truth(value: bool) -> str:
    return str(value).upper()


def _minds(type_: SqlType) -> bool:
    """Whether it matters for the type that a value is, or isn't, a boolean."""
    return isinstance(type_, Decimal) or (isinstance(type_, Scalar) and type_ not in (Scalar.STRING, Scalar.BYTES))


def _read_fitting(variant: str, type_: SqlType) -> str:
    """The variant, which is of the right kind, as the type."""
    match type_:
        case Scalar.TIMESTAMP:
            return _moment(variant, f"try_variant_get({variant}, '$', 'bigint')")
        case Scalar.DATE:
            return f"date_from_unix_date(try_variant_get({variant}, '$', 'int'))"
        case _ if _minds(type_):
            return f"try_variant_get({variant}, '$', '{spark_type(type_).lower()}')"
        case _:
            return _read(variant, type_)


def _missed(variant: str, value: str, type_: SqlType) -> str:
    """A condition: there is something, and it isn't of the type."""
    if isinstance(type_, Array | Map | Struct):
        return _unreadable(variant, type_)
    return f"({variant} IS NOT NULL AND {value} IS NULL)"


def _let(name: str, value: str, body: str) -> str:
    """The body with a name for a value, which is evaluated once."""
    return f"transform(array({value}), {name} -> {body})[0]"


def _object(variant: str) -> str:
    return f"try_variant_get({variant}, '$', 'map<string,variant>')"


def _not_null(variant: str) -> str:
    return f"CASE WHEN NOT is_variant_null({variant}) THEN {variant} END"


def _looked_up(fields: str, name: str) -> str:
    """By the exact name, or by one that is it in capitals; `name` is Spark's expression for it."""
    alike = f"map_filter({fields}, (fk, fv) -> upper(fk) = {name})"
    return f"coalesce(try_element_at({fields}, {name}), try_element_at(map_values({alike}), 1))"


def _read(variant: str, type_: SqlType, depth: int = 0) -> str:
    """The variant as the type; NULL where it can't be."""
    y, m = f"y{depth}", f"m{depth}"
    match type_:
        case Scalar.STRING:
            return f"try_variant_get({variant}, '$', 'string')"
        case Scalar.BOOLEAN:
            return f"CASE WHEN {_is_boolean(variant)} THEN try_variant_get({variant}, '$', 'boolean') END"
        case Scalar.BYTES:
            return f"try_to_binary(try_variant_get({variant}, '$', 'string'), 'base64')"
        case Scalar.TIMESTAMP:
            return _moment(variant, _number(variant, "bigint"))
        case Scalar.DATE:
            return f"date_from_unix_date({_number(variant, 'int')})"
        case Array(element):
            inside = _read(_not_null(y), element, depth + 1)
            return f"transform(try_variant_get({variant}, '$', 'array<variant>'), {y} -> {inside})"
        case Map(_, element):
            inside = _read(_not_null(y), element, depth + 1)
            return f"transform_values({_object(variant)}, (k{depth}, {y}) -> {inside})"
        case Struct(fields):
            found = [(f, _not_null(_looked_up(m, literal(f.name)))) for f in fields]
            parts = ", ".join(f"{literal(f.name)}, {_read(v, f.type, depth + 1)}" for f, v in found)
            return _let(m, _object(variant), f"if({m} IS NULL, NULL, named_struct({parts}))")
        case _:
            return _number(variant, spark_type(type_).lower())


def _moment(variant: str, number: str) -> str:
    """A TIMESTAMP from the variant's number, or from its text."""
    bounded = f"CASE WHEN {number} BETWEEN {MILLIS[0]}L AND {MILLIS[1]}L THEN {number} END"
    text = f"try_variant_get({variant}, '$', 'string')"
    return f"timestamp_millis(coalesce({bounded}, {_iso(text)}))"


def _number(variant: str, type_: str) -> str:
    return f"CASE WHEN NOT {_is_boolean(variant)} THEN try_variant_get({variant}, '$', '{type_}') END"


def _is_boolean(variant: str) -> str:
    return f"(schema_of_variant({variant}) = 'BOOLEAN')"


def _unreadable(variant: str, type_: SqlType, depth: int = 0) -> str:
    """A condition: there is something, and it isn't of the type."""
    y, m = f"y{depth}", f"m{depth}"
    match type_:
        case Array(element):
            items = f"try_variant_get({variant}, '$', 'array<variant>')"
            inside = f"exists({items}, {y} -> {_unreadable(_not_null(y), element, depth + 1)})"
            return f"coalesce({inside}, {variant} IS NOT NULL)"
        case Map(_, element):
            inside = f"exists(map_values({_object(variant)}), {y} -> {_unreadable(_not_null(y), element, depth + 1)})"
            return f"coalesce({inside}, {variant} IS NOT NULL)"
        case Struct(fields):
            each = [_unreadable(_not_null(_looked_up(m, literal(f.name))), f.type, depth + 1) for f in fields]
            broken = f"if({m} IS NULL, {variant} IS NOT NULL, {' OR '.join(each) or 'FALSE'})"
            return _let(m, _object(variant), broken)
        case _:
            return f"({variant} IS NOT NULL AND {_read(variant, type_)} IS NULL)"


# ---- writing ---------------------------------------------------------------------------------------------------


def encode(columns: tuple[Column, ...], serde: Serde) -> str:
    return encode_under([Field(c.name, c.type) for c in columns], columns, serde)


def encode_under(fields_: Sequence[Field], columns: tuple[Column, ...], serde: Serde) -> str:
    """The bytes, with the columns' values under these names, and what is inside of them under the types' names."""
    if not columns:
        return "CAST(NULL AS BINARY)"
    pairs = list(zip(fields_, columns, strict=True))
    values = [_renamed(quote(c.name), c.type, f.type) for f, c in pairs]
    if is_alone(columns, serde):
        return f"CAST({_alone(values[0], fields_[0].type)} AS BINARY)"
    parts = zip(fields_, values, strict=True)
    fields = ", ".join(f"{literal(f.name)}, {_to_wire(value, f.type)}" for f, value in parts)
    return f"CAST(to_json(named_struct({fields}), {_WITH_NULLS}) AS BINARY)"


_WITH_NULLS = "map('ignoreNullFields', 'false')"


def _renamed(value: str, given: SqlType, wanted: SqlType) -> str:
    """The value with other names inside: a cast goes by place."""
    return value if given == wanted else f"CAST({value} AS {spark_type(wanted)})"


def _alone(plain: str, type_: SqlType) -> str:
    """The JSON of one value; of NULL nothing at all."""
    value = _to_wire(plain, type_)
    match type_:
        case Array() | Map() | Struct():
            return f"to_json({value}, {_WITH_NULLS})"
        case Scalar.INTEGER | Scalar.BIGINT | Scalar.BOOLEAN | Scalar.DATE | Scalar.TIME | Scalar.TIMESTAMP:
            return f"CAST({value} AS STRING)"
        case _:
            # In an array, since Spark writes no value by itself; no text or number begins or ends with a bracket.
            return f"if({plain} IS NULL, NULL, btrim(to_json(array({value})), '[]'))"


def _quoted(name: str) -> str:
    """A name as JSON writes it."""
    return json.dumps(name, ensure_ascii=False)


def _to_wire(value: str, type_: SqlType, depth: int = 0) -> str:
    x = f"x{depth}"
    match type_:
        case Scalar.TIMESTAMP:
            return f"unix_millis({value})"
        case Scalar.DATE:
            return f"unix_date({value})"
        case Array(element) if _is_special(element):
            return f"transform({value}, {x} -> {_to_wire(x, element, depth + 1)})"
        case Map(_, inner) if _is_special(inner):
            return f"transform_values({value}, (k{depth}, {x}) -> {_to_wire(x, inner, depth + 1)})"
        case Struct(fields) if any(_is_special(f.type) for f in fields):
            parts = (f"{literal(f.name)}, {_to_wire(f'{value}.{quote(f.name)}', f.type, depth + 1)}" for f in fields)
            return f"if({value} IS NULL, NULL, named_struct({', '.join(parts)}))"
        case _:
            return value
