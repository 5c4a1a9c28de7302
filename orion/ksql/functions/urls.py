"""URLs and their parts. What isn't a valid URL has no parts: NULL."""

from __future__ import annotations

from orion.ksql.functions.declare import example, overload, scalar


def _decoded(part: str) -> str:
    """A part with its %20 and the like resolved; unlike in a form, + is just a plus."""
    return f"try_url_decode(replace(try_parse_url({{0}}, '{part}'), '+', '%2B'))"


_QUERY = f"concat('&', {_decoded('QUERY')})"
_PARAMETER = r"concat('&', regexp_replace({1}, '([^a-zA-Z0-9])', '\\\\$1'), '(?:=([^&]*))?(?=&|$)')"

URL_DECODE_PARAM = scalar(
    "URL_DECODE_PARAM",
    "The text behind a form-encoded one.",
    overload("(STRING) -> STRING", "try_url_decode({0})"),
    examples=[
        example("URL_DECODE_PARAM('url%20encoded+%26')", "url encoded &"),
        example("URL_DECODE_PARAM('%zz')", None),
    ],
)

URL_ENCODE_PARAM = scalar(
    "URL_ENCODE_PARAM",
    "The text form-encoded, fit for a URL's query.",
    overload("(STRING) -> STRING", "url_encode({0})"),
    examples=[example("URL_ENCODE_PARAM('a b&c=ä')", "a+b%26c%3D%C3%A4"), example("URL_ENCODE_PARAM(NULL)", None)],
)

URL_EXTRACT_FRAGMENT = scalar(
    "URL_EXTRACT_FRAGMENT",
    "What stands behind the #, decoded.",
    overload("(STRING) -> STRING", _decoded("REF")),
    examples=[
        example("URL_EXTRACT_FRAGMENT('http://test.com#frag%20space')", "frag space"),
        example("URL_EXTRACT_FRAGMENT('http://test.com')", None),
    ],
)

URL_EXTRACT_HOST = scalar(
    "URL_EXTRACT_HOST",
    "The host's name.",
    overload("(STRING) -> STRING", "try_parse_url({0}, 'HOST')"),
    examples=[
        example("URL_EXTRACT_HOST('http://test.com:8080/path')", "test.com"),
        example("URL_EXTRACT_HOST('no url')", None),
    ],
)

URL_EXTRACT_PARAMETER = scalar(
    "URL_EXTRACT_PARAMETER",
    "The value of a parameter of the query, decoded; empty where it has none, NULL where it isn't there.",
    overload(
        "(STRING, STRING) -> STRING",
        f"CASE WHEN {_QUERY} RLIKE {_PARAMETER} THEN regexp_extract({_QUERY}, {_PARAMETER}, 1) END",
    ),
    examples=[
        example("URL_EXTRACT_PARAMETER('http://test.com?a%20b=c%20d', 'a b')", "c d"),
        example("URL_EXTRACT_PARAMETER('http://test.com?a=foo&b=bar', 'b')", "bar"),
        example("URL_EXTRACT_PARAMETER('http://test.com?a&b=bar', 'a')", ""),
        example("URL_EXTRACT_PARAMETER('http://test.com?ab=foo', 'a')", None),
    ],
)

URL_EXTRACT_PATH = scalar(
    "URL_EXTRACT_PATH",
    "The path, decoded; empty where there is none.",
    overload("(STRING) -> STRING", _decoded("PATH")),
    examples=[
        example("URL_EXTRACT_PATH('http://test.com/path/to%20it#a')", "/path/to it"),
        example("URL_EXTRACT_PATH('http://test.com')", ""),
    ],
)

URL_EXTRACT_PORT = scalar(
    "URL_EXTRACT_PORT",
    "The port, where one is written.",
    overload(
        "(STRING) -> INTEGER",
        r"CAST(nullif(regexp_extract(try_parse_url({0}, 'AUTHORITY'), ':(\\d+)$', 1), '') AS INT)",
    ),
    examples=[
        example("URL_EXTRACT_PORT('http://localhost:8080/path')", 8080),
        example("URL_EXTRACT_PORT('http://localhost/path')", None),
    ],
)

URL_EXTRACT_PROTOCOL = scalar(
    "URL_EXTRACT_PROTOCOL",
    "The protocol.",
    overload("(STRING) -> STRING", "try_parse_url({0}, 'PROTOCOL')"),
    examples=[
        example("URL_EXTRACT_PROTOCOL('http://test.com?a=foo')", "http"),
        example("URL_EXTRACT_PROTOCOL('///file.txt')", None),
    ],
)

URL_EXTRACT_QUERY = scalar(
    "URL_EXTRACT_QUERY",
    "The whole query, decoded.",
    overload("(STRING) -> STRING", _decoded("QUERY")),
    examples=[
        example("URL_EXTRACT_QUERY('http://test.com?a=foo%20bar&b=baz')", "a=foo bar&b=baz"),
        example("URL_EXTRACT_QUERY('http://test.com')", None),
    ],
)
