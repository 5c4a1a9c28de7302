"""JSON in text: parts of it, its structure, and values written as it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from orion.ksql.functions.declare import Overload, example, overload, scalar

# A member's value as JSON. Spark's texts of strings have lost their quotes, those of NULL are NULL.
_VALUE = "CASE WHEN schema_of_variant(__v) = 'STRING' THEN to_json(__v) ELSE coalesce(__s, 'null') END"

_TO_JSON = "to_json(array({0}), map('ignoreNullFields', 'false', 'timestampFormat', \"yyyy-MM-dd'T'HH:mm:ss.SSS\"))"

_TIME_TEXT = "regexp_replace(date_format(timestamp_millis({0}), 'HH:mm:ss.SSS'), '(:00)?[.]000$', '')"


def _members(text: str) -> str:
    """The top-level keys, each with its value as JSON; NULL where the text isn't an object."""
    texts, values = (f"from_json({text}, 'map<string,{kind}>')" for kind in ("string", "variant"))
    return f"map_zip_with({texts}, {values}, (__k, __s, __v) -> {_VALUE})"


def _elements(text: str) -> str:
    """The elements, each as JSON; NULL where the text isn't an array."""
    texts, values = (f"from_json({text}, 'array<{kind}>')" for kind in ("string", "variant"))
    return f"zip_with({texts}, {values}, (__s, __v) -> {_VALUE})"


def _inside(array: str) -> str:
    """The one element of a JSON array: Spark writes no scalar by itself."""
    return f"regexp_extract({array}, '(?s)^.(.*).$', 1)"


def _extract(args: Sequence[str]) -> str:
    """What Spark finds at the path, but for the zeros at the end of a fraction, which it drops: there the number is
    looked at as a string. Spark finds nothing in a JSON null, ksqlDB the text null; a plain constant path can tell."""
    text, path = args
    found = f"get_json_object({text}, {path})"
    quoted = rf"regexp_replace({text}, '([:,\\[]\\s*)(-?[0-9]+[.][0-9]+)(?=\\s*[,}}\\]])', '$1\"$2\"')"
    written = f"get_json_object({quoted}, {path})"
    fraction = f"{found} RLIKE '^-?[0-9]+[.][0-9]+$' AND CAST({written} AS DOUBLE) = CAST({found} AS DOUBLE)"
    otherwise = found
    if re.fullmatch(r"'\$([.]\w+|\[\d+\])+'", path, re.ASCII):
        null = f"is_variant_null(try_variant_get(try_parse_json({text}), {path}, 'variant'))"
        otherwise = f"coalesce({found}, if({null}, 'null', NULL))"
    return f"CASE WHEN {fraction} THEN {written} ELSE {otherwise} END"


def _concat(args: Sequence[str]) -> str:
    """Objects into one object; else arrays into one array, where anything else is an array of one."""
    valid = " AND ".join(f"try_parse_json({arg}) IS NOT NULL" for arg in args)
    objects = " AND ".join(f"json_object_keys({arg}) IS NOT NULL" for arg in args)
    merged = f"map_entries(map_concat({', '.join(_members(arg) for arg in args)}))"
    pairs = f"transform({merged}, __e -> concat({_inside('to_json(array(__e.key))')}, ':', __e.value))"
    lists = [_elements(f"if(json_array_length({arg}) IS NULL, concat('[', {arg}, ']'), {arg})") for arg in args]
    return (
        f"CASE WHEN {valid} THEN if({objects}, concat('{{', array_join({pairs}, ','), '}}'), "
        f"concat('[', array_join(concat({', '.join(lists)}), ','), ']')) END"
    )


def _contains(type_: str, kinds: str, spark: str) -> Overload:
    """Membership among the elements that JSON writes in this type's way: 1 isn't 1.0 and isn't '1'."""
    return overload(
        f"(STRING, {type_}) -> BOOLEAN",
        "coalesce(exists(from_json({0}, 'array<variant>'), __v -> if({1} IS NULL, is_variant_null(__v), "
        f"schema_of_variant(__v) RLIKE '^({kinds})' AND try_variant_get(__v, '$', '{spark}') = {{1}})), false)",
    )


EXTRACTJSONFIELD = scalar(
    "EXTRACTJSONFIELD",
    "What stands at a path such as '$.log.cloud' or '$.items[0]' in a JSON text: strings without their quotes, "
    "objects and arrays as JSON. NULL where there is nothing.",
    overload("(STRING, STRING) -> STRING", _extract),
    examples=[
        example('EXTRACTJSONFIELD(\'{"log": {"cloud": "gcp", "n": 4}}\', \'$.log.cloud\')', "gcp"),
        example('EXTRACTJSONFIELD(\'{"log": {"cloud": "gcp", "n": 4}}\', \'$.log\')', '{"cloud":"gcp","n":4}'),
        example("EXTRACTJSONFIELD('{\"a\": [1, null]}', '$.a[1]')", "null"),
        example("EXTRACTJSONFIELD('{\"a\": [{\"b\": 1.50}]}', '$.a[0].b')", "1.50"),
        example("EXTRACTJSONFIELD('{\"a\": 1}', '$.b')", None),
    ],
)

IS_JSON_STRING = scalar(
    "IS_JSON_STRING",
    "Whether the text is JSON; NULL isn't.",
    overload("(STRING) -> BOOLEAN", "try_parse_json({0}) IS NOT NULL"),
    examples=[
        example("IS_JSON_STRING('[1, 2]')", True),
        example("IS_JSON_STRING('null')", True),
        example("IS_JSON_STRING('abc')", False),
        example("IS_JSON_STRING(NULL)", False),
    ],
)

JSON_ARRAY_CONTAINS = scalar(
    "JSON_ARRAY_CONTAINS",
    "Whether a value is among the elements of a JSON array; false where the text is none. 1, 1.0 and '1' are three "
    "different values.",
    _contains("INTEGER", "BIGINT", "BIGINT"),
    _contains("BIGINT", "BIGINT", "BIGINT"),
    _contains("DOUBLE", "DECIMAL|DOUBLE", "DOUBLE"),
    _contains("STRING", "STRING", "STRING"),
    _contains("BOOLEAN", "BOOLEAN", "BOOLEAN"),
    examples=[
        example("JSON_ARRAY_CONTAINS('[1, 2, 3]', 3)", True),
        example("JSON_ARRAY_CONTAINS('[1, 2, \"3\"]', '3')", True),
        example("JSON_ARRAY_CONTAINS('[1, 2, 3]', '3')", False),
        example("JSON_ARRAY_CONTAINS('{\"a\": 1}', 1)", False),
        example("JSON_ARRAY_CONTAINS('[1, null]', NULL)", True),
    ],
)

JSON_ARRAY_LENGTH = scalar(
    "JSON_ARRAY_LENGTH",
    "How many elements the JSON array has; NULL where the text is none.",
    overload("(STRING) -> INTEGER", "json_array_length({0})"),
    examples=[
        example("JSON_ARRAY_LENGTH('[1, [1, [2]], 3]')", 3),
        example("JSON_ARRAY_LENGTH('[]')", 0),
        example("JSON_ARRAY_LENGTH('{}')", None),
        example("JSON_ARRAY_LENGTH('abc')", None),
    ],
)

JSON_CONCAT = scalar(
    "JSON_CONCAT",
    "JSON values joined as PostgreSQL's || does: objects into one object, where the last of equal keys counts; "
    "anything else into one array. NULL where one of them isn't JSON.",
    overload("(STRING...) -> STRING", _concat),
    examples=[
        example('JSON_CONCAT(\'{"a": 1}\', \'{"b": "x"}\', \'{"a": null}\')', '{"a":null,"b":"x"}'),
        example("JSON_CONCAT('[1, [2]]', '[\"x\"]')", '[1,[2],"x"]'),
        example("JSON_CONCAT('[1, 2]', '{\"a\": 1}')", '[1,2,{"a":1}]'),
        example("JSON_CONCAT('null', '3')", "[null,3]"),
        example("JSON_CONCAT('abc', '[1]')", None),
    ],
)

JSON_ITEMS = scalar(
    "JSON_ITEMS",
    "The objects of a JSON array, each as JSON; NULL where the text isn't an array of objects.",
    overload(
        "(STRING) -> ARRAY<STRING>",
        "if(exists(from_json({0}, 'array<variant>'), __v -> NOT startswith(schema_of_variant(__v), 'OBJECT')), NULL, "
        "from_json({0}, 'array<string>'))",
    ),
    examples=[
        example('JSON_ITEMS(\'[{"b": 1, "a": "x"}, {}]\')', ['{"b":1,"a":"x"}', "{}"]),
        example("JSON_ITEMS('[1, {}]')", None),
        example("JSON_ITEMS(NULL)", None),
    ],
)

JSON_KEYS = scalar(
    "JSON_KEYS",
    "The top-level keys of a JSON object; NULL where the text is none.",
    overload("(STRING) -> ARRAY<STRING>", "json_object_keys({0})"),
    examples=[
        example('JSON_KEYS(\'{"a": "abc", "b": {"c": 1}}\')', ["a", "b"]),
        example("JSON_KEYS('{}')", []),
        example("JSON_KEYS('[]')", None),
    ],
)

JSON_RECORDS = scalar(
    "JSON_RECORDS",
    "The top-level keys of a JSON object with their values: strings as they are, anything else as JSON; NULL where the "
    "text is none.",
    overload(
        "(STRING) -> MAP<STRING, STRING>",
        "transform_values(from_json({0}, 'map<string,string>'), (__k, __s) -> coalesce(__s, 'null'))",
    ),
    examples=[
        example(
            'JSON_RECORDS(\'{"a": "abc", "b": {"z": 1, "c": null}, "d": 1}\')',
            {"a": "abc", "b": '{"z":1,"c":null}', "d": "1"},
        ),
        example("JSON_RECORDS('{}')", {}),
        example("JSON_RECORDS('123')", None),
    ],
)

TO_JSON_STRING = scalar(
    "TO_JSON_STRING",
    "Any value as JSON. Times are ISO texts, bytes base64, NULL is null.",
    overload("(TIME) -> STRING", f"coalesce(concat('\"', {_TIME_TEXT}, '\"'), 'null')"),
    overload("(T) -> STRING", _inside(_TO_JSON)),
    examples=[
        example("TO_JSON_STRING('a\"b')", '"a\\"b"'),
        example("TO_JSON_STRING(15.30)", "15.30"),
        example(
            "TO_JSON_STRING(ARRAY[STRUCT(a := 1, b := MAP('c' := NULL, 'd' := 3))])", '[{"A":1,"B":{"c":null,"d":3}}]'
        ),
        example("TO_JSON_STRING(FROM_UNIXTIME(446))", '"1970-01-01T00:00:00.446"'),
        example("TO_JSON_STRING(PARSE_TIME('13:25', 'HH:mm'))", '"13:25"'),
        example("TO_JSON_STRING(CAST(NULL AS INT))", "null"),
    ],
)
