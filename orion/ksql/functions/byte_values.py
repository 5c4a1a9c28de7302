"""Bytes: what they mean as text or numbers, digests and identifiers."""

from __future__ import annotations

from collections.abc import Sequence

from orion.ksql.functions.declare import example, overload, scalar

_UTF8_TEXT = "make_valid_utf8(CAST({at} AS STRING))"
_ASCII_TEXT = r"regexp_replace(decode({at}, 'ISO-8859-1'), '[^\\x00-\\x7F]', '\ufffd')"
_ASCII_BYTES = r"CAST(regexp_replace({at}, '[^\\x00-\\x7F]', '?') AS BINARY)"
_BASE64_LINE = 76  # characters, after which Java's MIME encoder begins a new one

# A double from its bits: sign, 11 bits of exponent, 52 of fraction.
_IEEE_754 = (
    "if(__b < 0, -1D, 1D) * CASE shiftrightunsigned(__b, 52) & 2047 "
    "WHEN 2047 THEN if((__b & 4503599627370495L) = 0, DOUBLE('Infinity'), DOUBLE('NaN')) "
    "WHEN 0 THEN (__b & 4503599627370495L) * pow(2D, -1074) "
    "ELSE ((__b & 4503599627370495L) + 4503599627370496L) * pow(2D, (shiftrightunsigned(__b, 52) & 2047) - 1075) END"
)


def _by_word(word: str, branches: dict[str, str]) -> str:
    """What a word picks, in whatever case it is written; NULL for any other word. A constant picks right away."""
    if word.startswith("'") and (chosen := branches.get(word.strip("'").lower())):
        return chosen
    whens = [f"WHEN '{name}' THEN {spark}" for name, spark in branches.items()]
    return f"CASE lower({word}) {' '.join(whens)} END"


def _bare_digits(text: str) -> str:
    """0x4869 and x'4869' say the same as 4869; behind 0x a digit may be missing, which is a zero in front."""
    even = f"regexp_replace({text}, '^0x(?=(?:..)*$)', '')"
    odd = f"regexp_replace({even}, '^0x', '0')"
    return rf"regexp_replace({odd}, '^[xX]\'(.*)\'$', '$1')"


def _unhex(digits: str) -> str:
    """Pairs of digits as bytes. Spark's unhex would take half a pair."""
    return f"unhex(regexp_replace({digits}, '^(?:..)*.$', '?'))"


def _to_bytes(text: str, encoding: str, digits: str) -> str:
    branches = {
        "hex": _unhex(digits),
        "utf8": f"CAST({text} AS BINARY)",
        "ascii": _ASCII_BYTES.format(at=text),
        "base64": f"try_to_binary(regexp_replace({text}, '[^A-Za-z0-9+/=]', ''), 'base64')",
    }
    return _by_word(encoding, branches)


def _to_text(value: str, encoding: str, digits: str, base64: str) -> str:
    branches = {
        "hex": digits,
        "utf8": _UTF8_TEXT.format(at=value),
        "ascii": _ASCII_TEXT.format(at=value),
        "base64": base64,
    }
    return _by_word(encoding, branches)


def _from_bytes(args: Sequence[str]) -> str:
    value, encoding = args
    lines = rf"regexp_replace(base64({value}), '(.{{{_BASE64_LINE}}})(?=.)', '$1\r\n')"
    return _to_text(value, encoding, f"hex({value})", lines)


def _encode(args: Sequence[str]) -> str:
    """From one encoding to another; to the same is no such way."""
    text, given, wanted = args
    value = f"({_to_bytes(text, given, _bare_digits(text))})"
    made = _to_text(value, wanted, f"lower(hex({value}))", f"base64({value})")
    if given.startswith("'") and wanted.startswith("'"):
        return "CAST(NULL AS STRING)" if given.lower() == wanted.lower() else made
    return f"if(lower({given}) = lower({wanted}), NULL, {made})"


def _digits(args: Sequence[str]) -> str:
    """Hexadecimal digits, the most significant first."""
    plain = f"hex({args[0]})"
    if len(args) == 1:
        return plain
    swapped = f"regexp_replace(reverse({plain}), '(.)(.)', '$2$1')"
    return _by_word(args[1], {"big_endian": plain, "little_endian": swapped})


def _integer(args: Sequence[str]) -> str:
    return f"CASE WHEN length({args[0]}) = 4 THEN CAST(CAST(conv({_digits(args)}, 16, 10) AS BIGINT) AS INT) END"


def _bigint(args: Sequence[str]) -> str:
    return f"CASE WHEN length({args[0]}) = 8 THEN CAST(conv({_digits(args)}, 16, -10) AS BIGINT) END"


def _double(args: Sequence[str]) -> str:
    return f"element_at(transform(array({_bigint(args)}), __b -> {_IEEE_754}), 1)"


BIGINT_FROM_BYTES = scalar(
    "BIGINT_FROM_BYTES",
    "Eight bytes as a BIGINT, 'BIG_ENDIAN' unless 'LITTLE_ENDIAN' is said; NULL for another length or order.",
    overload("(BYTES) -> BIGINT", _bigint),
    overload("(BYTES, STRING) -> BIGINT", _bigint),
    examples=[
        example("BIGINT_FROM_BYTES(TO_BYTES('AAAAASoF8gA=', 'base64'))", 5000000000),
        example("BIGINT_FROM_BYTES(TO_BYTES('FEFFFFFFFFFFFFFF', 'hex'), 'LITTLE_ENDIAN')", -2),
        example("BIGINT_FROM_BYTES(TO_BYTES('00', 'hex'))", None),
    ],
)

DOUBLE_FROM_BYTES = scalar(
    "DOUBLE_FROM_BYTES",
    "Eight bytes as a DOUBLE, 'BIG_ENDIAN' unless 'LITTLE_ENDIAN' is said; NULL for another length or order.",
    overload("(BYTES) -> DOUBLE", _double),
    overload("(BYTES, STRING) -> DOUBLE", _double),
    examples=[
        example("DOUBLE_FROM_BYTES(TO_BYTES('QICm/ZvJ9YI=', 'base64'))", 532.8738323),
        example("DOUBLE_FROM_BYTES(TO_BYTES('000000000000F8BF', 'hex'), 'LITTLE_ENDIAN')", -1.5),
        example("DOUBLE_FROM_BYTES(TO_BYTES('FFF0000000000000', 'hex'))", float("-inf")),
        example("DOUBLE_FROM_BYTES(TO_BYTES('0000000000000000', 'hex'), 'SIDEWAYS')", None),
    ],
)

ENCODE = scalar(
    "ENCODE",
    "A text in one encoding ('hex', 'utf8', 'ascii' or 'base64') as the text in another.",
    overload("(STRING, STRING, STRING) -> STRING", _encode),
    examples=[
        example("ENCODE('4f72696f6e', 'hex', 'utf8')", "Orion"),
        example("ENCODE('0x4f72', 'hex', 'base64')", "T3I="),
        example("ENCODE('X''4F72''', 'hex', 'utf8')", "Or"),
        example("ENCODE('0xf72', 'hex', 'base64')", "D3I="),
        example("ENCODE('f72', 'hex', 'base64')", None),
        example("ENCODE('0x', 'hex', 'utf8')", ""),
        example("ENCODE('Orion', 'utf8', 'UTF8')", None),
        example("ENCODE('Orion', 'ascii', 'hex')", "4f72696f6e"),
        example("ENCODE('Größe', 'utf8', 'hex')", "4772c3b6c39f65"),
        example("ENCODE(NULL, 'utf8', 'hex')", None),
    ],
)

FROM_BYTES = scalar(
    "FROM_BYTES",
    "Bytes as text in an encoding: 'hex', 'utf8', 'ascii' or 'base64'.",
    overload("(BYTES, STRING) -> STRING", _from_bytes),
    examples=[
        example("FROM_BYTES(TO_BYTES('Orion', 'utf8'), 'hex')", "4F72696F6E"),
        example("FROM_BYTES(TO_BYTES('T3Jpb24=', 'base64'), 'ascii')", "Orion"),
        example("FROM_BYTES(NULL, 'hex')", None),
    ],
)

INT_FROM_BYTES = scalar(
    "INT_FROM_BYTES",
    "Four bytes as an INTEGER, 'BIG_ENDIAN' unless 'LITTLE_ENDIAN' is said; NULL for another length or order.",
    overload("(BYTES) -> INTEGER", _integer),
    overload("(BYTES, STRING) -> INTEGER", _integer),
    examples=[
        example("INT_FROM_BYTES(TO_BYTES('AAAH5Q==', 'base64'))", 2021),
        example("INT_FROM_BYTES(TO_BYTES('E5070000', 'hex'), 'LITTLE_ENDIAN')", 2021),
        example("INT_FROM_BYTES(TO_BYTES('FFFFFFFF', 'hex'))", -1),
    ],
)

MD5 = scalar(
    "MD5",
    "The MD5 digest of the text, in hexadecimal digits.",
    overload("(STRING) -> STRING", "md5(CAST({0} AS BINARY))", duckdb="md5({0})"),
    examples=[example("MD5('abc')", "900150983cd24fb0d6963f7d28e17f72"), example("MD5(NULL)", None)],
)

TO_BYTES = scalar(
    "TO_BYTES",
    "The bytes that a text means in an encoding: 'hex', 'utf8', 'ascii' or 'base64'. NULL where it means none.",
    overload("(STRING, STRING) -> BYTES", lambda args: _to_bytes(args[0], args[1], args[0])),
    examples=[
        example("TO_BYTES('Orion', 'utf8')", "T3Jpb24="),
        example("TO_BYTES('4F72', 'hex')", "T3I="),
        example("TO_BYTES('zz', 'hex')", None),
        example("TO_BYTES('4F7', 'hex')", None),
    ],
)

UUID = scalar(
    "UUID",
    "A new random UUID, or the UUID that 16 bytes spell.",
    overload("() -> STRING", "uuid()"),
    overload(
        "(BYTES) -> STRING",
        "CASE WHEN length({0}) = 16 THEN "
        "regexp_replace(lower(hex({0})), '(.{{8}})(.{{4}})(.{{4}})(.{{4}})', '$1-$2-$3-$4-') END",
    ),
    examples=[
        example("UUID(TO_BYTES('237E9877E79B12D4A765321741963000', 'hex'))", "237e9877-e79b-12d4-a765-321741963000"),
        example("UUID(TO_BYTES('00', 'hex'))", None),
    ],
)
