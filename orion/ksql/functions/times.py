"""Dates, times of day and timestamps. All of them are in UTC unless a time zone is named."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from orion.errors import BindError, UnsupportedError, hint_nearest
from orion.ksql.functions.declare import Lowering, Overload, example, overload, scalar
from orion.moments import DAY_MS, date_sql, midnight_sql, timestamp_sql, zoned_sql

_DAY = DAY_MS
_UNITS = {"MILLISECOND": 1, "SECOND": 1_000, "MINUTE": 60_000, "HOUR": 3_600_000, "DAY": _DAY}


def _pattern(text: str) -> str:
    """A format as Spark takes it: the year u, which Java has beside y, is y."""
    if not re.fullmatch(r"'(?:[^'\\]|\\.)*'", text, re.DOTALL):
        return text
    parts = text[1:-1].split(r"\'")  # every second one is quoted
    return "'" + r"\'".join(p if at % 2 else p.replace("u", "y") for at, p in enumerate(parts)) + "'"


def _names_zone(pattern: str) -> bool:
    """Whether a constant format writes the time zone."""
    bare = re.sub(r"\\\\'.*?\\\\'", "", pattern[1:-1])
    return pattern.startswith("'") and re.search("[VzOXxZ]", bare) is not None


def _format(moment: str) -> Lowering:
    """A point in time as text; in a time zone where there is a third argument."""

    def lower(args: Sequence[str]) -> str:
        value = moment.format(args[0])
        if len(args) > 2 and _names_zone(args[1]):
            if not args[2].startswith("'"):
                raise UnsupportedError("TIME_ZONE", "A format that writes the time zone needs a constant zone.")
            # date_format knows only the session's zone; JSON is written in any.
            options = f"map('timestampFormat', {_pattern(args[1])}, 'timeZone', {args[2]})"
            return f"get_json_object(to_json(named_struct('t', {value}), {options}), '$.t')"
        local = zoned_sql("from_utc_timestamp", value, args[2]) if len(args) > 2 else value
        return f"date_format({local}, {_pattern(args[1])})"

    return lower


def _parse(result: str) -> Lowering:
    """Text as a point in time, read in a time zone if there is a third argument and the text names none itself."""

    def lower(args: Sequence[str]) -> str:
        pattern = _pattern(args[1])
        moment = f"try_to_timestamp({args[0]}, {pattern})"
        if len(args) > 2:
            names_zone = f"regexp_replace({pattern}, '\\'[^\\']*\\'', '') RLIKE '[VzOXxZ]'"
            moment = f"if({names_zone}, {moment}, {zoned_sql('to_utc_timestamp', moment, args[2])})"
        return result.format(moment)

    return lower


def _parse_date(args: Sequence[str]) -> str:
    """What follows the date is left alone, where the format says how long a date is."""
    text, pattern = args
    width = re.fullmatch(r"'((?:[yu]{4}|MM|dd|[^A-Za-z'\\\\])+)'", pattern)
    head = f"left({text}, {len(width.group(1))})" if width else text
    return f"CAST(try_to_timestamp({head}, {_pattern(pattern)}) AS DATE)"


def _shifted(result: Callable[[str, str, str], str], add: str) -> Lowering:
    """A point in time moved by some units, forwards or backwards."""

    def lower(args: Sequence[str]) -> str:
        unit, count, value = args
        word = unit.strip("'").upper()
        size = _UNITS.get(word.removesuffix("S"))
        if size is None:
            raise BindError(
                "UNKNOWN_UNIT",
                f"{word} is not a unit of time.",
                hint=hint_nearest(word, list(_UNITS)) or f"Units are {', '.join(f'{u}S' for u in _UNITS)}.",
            )
        return result(add, value, f"try_multiply(CAST({count} AS BIGINT), {size}L)")

    return lower


def _date(add: str, value: str, shift: str) -> str:
    return date_sql(f"({add}(unix_date({value}) * {_DAY}L, {shift}) DIV {_DAY})")


def _time(add: str, value: str, shift: str) -> str:
    return f"CAST(pmod({add}({value}, {shift}), {_DAY}) AS INT)"


def _timestamp(add: str, value: str, shift: str) -> str:
    """NULL where it leaves the range: plain arithmetic would wrap around."""
    return f"timestamp_micros({add}(unix_micros({value}), try_multiply({shift}, 1000L)))"


def _zoned(given: str, returned: str, spark: Lowering) -> tuple[Overload, Overload]:
    """Without and with a time zone."""
    return (
        overload(f"({given}, STRING) -> {returned}", spark),
        overload(f"({given}, STRING, STRING) -> {returned}", spark),
    )


CONVERT_TZ = scalar(
    "CONVERT_TZ",
    "A timestamp that shows one time zone's clock, set to what another zone's clock shows then.",
    overload(
        "(TIMESTAMP, STRING, STRING) -> TIMESTAMP",
        zoned_sql("from_utc_timestamp", zoned_sql("to_utc_timestamp", "{0}", "{1}"), "{2}"),
    ),
    examples=[example("CONVERT_TZ(FROM_UNIXTIME(0), 'UTC', 'Asia/Tokyo')", "1970-01-01T09:00:00.000")],
)

DATEADD = scalar(
    "DATEADD",
    "A date some units later: DATEADD(DAYS, 5, day). What isn't a whole day is dropped.",
    overload("(STRING, INTEGER, DATE) -> DATE", _shifted(_date, "try_add")),
    examples=[
        example("DATEADD(DAYS, 5, PARSE_DATE('2024-02-27', 'yyyy-MM-dd'))", "2024-03-03"),
        example("DATEADD(HOURS, 25, PARSE_DATE('2024-02-27', 'yyyy-MM-dd'))", "2024-02-28"),
        example("DATEADD(DAYS, NULL, PARSE_DATE('2024-02-27', 'yyyy-MM-dd'))", None),
    ],
)

DATESUB = scalar(
    "DATESUB",
    "A date some units earlier.",
    overload("(STRING, INTEGER, DATE) -> DATE", _shifted(_date, "try_subtract")),
    examples=[
        example("DATESUB(DAY, 1, PARSE_DATE('2024-03-01', 'yyyy-MM-dd'))", "2024-02-29"),
        example("DATESUB(DAYS, -1, PARSE_DATE('2024-03-01', 'yyyy-MM-dd'))", "2024-03-02"),
    ],
)

DATETOSTRING = scalar(
    "DATETOSTRING",
    "Days since 1970-01-01 as text in a format. FORMAT_DATE does it for a DATE.",
    overload(
        "(INTEGER, STRING) -> STRING", _format("timestamp_micros(try_multiply(CAST({0} AS BIGINT), 86400000000L))")
    ),
    examples=[example("DATETOSTRING(19782, 'dd.MM.yyyy')", "29.02.2024")],
)

FORMAT_DATE = scalar(
    "FORMAT_DATE",
    "A date as text, in a format of Java's DateTimeFormatter.",
    overload("(DATE, STRING) -> STRING", _format(midnight_sql("{0}"))),
    examples=[
        example("FORMAT_DATE(FROM_DAYS(19782), 'yyyy-MM-dd')", "2024-02-29"),
        example("FORMAT_DATE(FROM_DAYS(0), '''day'' d, uuuu')", "day 1, 1970"),
        example("FORMAT_DATE(CAST(NULL AS DATE), 'yyyy')", None),
    ],
)

FORMAT_TIME = scalar(
    "FORMAT_TIME",
    "A time of day as text, in a format of Java's DateTimeFormatter.",
    overload("(TIME, STRING) -> STRING", _format("timestamp_millis({0})")),
    examples=[example("FORMAT_TIME(PARSE_TIME('21:05:09', 'HH:mm:ss'), 'hh:mm a')", "09:05 PM")],
)

FORMAT_TIMESTAMP = scalar(
    "FORMAT_TIMESTAMP",
    "A timestamp as text, in a format of Java's DateTimeFormatter and, if named, a time zone.",
    *_zoned("TIMESTAMP", "STRING", _format("{0}")),
    examples=[
        example("FORMAT_TIMESTAMP(FROM_UNIXTIME(1), 'yyyy-MM-dd''T''HH:mm:ss.SSS')", "1970-01-01T00:00:00.001"),
        example("FORMAT_TIMESTAMP(FROM_UNIXTIME(0), 'yyyy-MM-dd HH:mm', 'America/Los_Angeles')", "1969-12-31 16:00"),
    ],
)

FROM_DAYS = scalar(
    "FROM_DAYS",
    "The date so many days after 1970-01-01.",
    overload(
        "(INTEGER) -> DATE",
        date_sql("{0}"),
        duckdb="CAST(make_timestamp(CAST({0} AS BIGINT) * 86400000000) AS DATE)",
    ),
    examples=[example("FROM_DAYS(19782)", "2024-02-29"), example("FROM_DAYS(-1)", "1969-12-31")],
)

FROM_UNIXTIME = scalar(
    "FROM_UNIXTIME",
    "The timestamp so many milliseconds after 1970-01-01.",
    overload("(BIGINT) -> TIMESTAMP", timestamp_sql("{0}"), duckdb="make_timestamp({0} * 1000)"),
    examples=[
        example("FROM_UNIXTIME(1709210096789)", "2024-02-29T12:34:56.789"),
        example("FROM_UNIXTIME(CAST(NULL AS BIGINT))", None),
    ],
)

PARSE_DATE = scalar(
    "PARSE_DATE",
    "The date that a text says in a format; NULL where it doesn't.",
    overload("(STRING, STRING) -> DATE", _parse_date),
    examples=[
        example("PARSE_DATE('29 Feb 2024', 'dd MMM yyyy')", "2024-02-29"),
        example("PARSE_DATE('2024-02-29T12:00', 'yyyy-MM-dd')", "2024-02-29"),
        example("PARSE_DATE('yesterday', 'yyyy-MM-dd')", None),
    ],
)

PARSE_TIME = scalar(
    "PARSE_TIME",
    "The time of day that a text says in a format; NULL where it doesn't.",
    overload("(STRING, STRING) -> TIME", _parse(f"CAST(pmod(unix_millis({{0}}), {_DAY}) AS INT)")),
    examples=[
        example("PARSE_TIME('09:05 PM', 'hh:mm a')", "21:05:00.000"),
        example("PARSE_TIME('noon', 'HH:mm')", None),
    ],
)

PARSE_TIMESTAMP = scalar(
    "PARSE_TIMESTAMP",
    "The timestamp that a text says in a format and, if named, a time zone; NULL where it doesn't.",
    *_zoned("STRING", "TIMESTAMP", _parse("{0}")),
    examples=[
        example("PARSE_TIMESTAMP('2024-02-29 12:34:56', 'yyyy-MM-dd HH:mm:ss')", "2024-02-29T12:34:56.000"),
        example("PARSE_TIMESTAMP('2024-02-29 12', 'yyyy-MM-dd HH', 'Asia/Tokyo')", "2024-02-29T03:00:00.000"),
        example("PARSE_TIMESTAMP('2024-02-29T12+02', 'yyyy-MM-dd''T''HHX', 'Asia/Tokyo')", "2024-02-29T10:00:00.000"),
        example("PARSE_TIMESTAMP('soon', 'yyyy')", None),
    ],
)

STRINGTODATE = scalar(
    "STRINGTODATE",
    "The date that a text says in a format, as days since 1970-01-01. PARSE_DATE gives a DATE.",
    overload("(STRING, STRING) -> INTEGER", _parse("unix_date(CAST({0} AS DATE))")),
    examples=[example("STRINGTODATE('29.02.2024', 'dd.MM.yyyy')", 19782), example("STRINGTODATE('', 'yyyy')", None)],
)

STRINGTOTIMESTAMP = scalar(
    "STRINGTOTIMESTAMP",
    "The timestamp that a text says, as milliseconds since 1970-01-01. PARSE_TIMESTAMP gives a TIMESTAMP.",
    *_zoned("STRING", "BIGINT", _parse("unix_millis({0})")),
    examples=[
        example("STRINGTOTIMESTAMP('1970-01-02 00:00:00.001', 'yyyy-MM-dd HH:mm:ss.SSS')", 86400001),
        example("STRINGTOTIMESTAMP('1970-01-01 01', 'yyyy-MM-dd HH', 'Europe/Berlin')", 0),
    ],
)

TIMEADD = scalar(
    "TIMEADD",
    "A time of day some units later; midnight comes after 23:59:59.999.",
    overload("(STRING, INTEGER, TIME) -> TIME", _shifted(_time, "try_add")),
    examples=[example("TIMEADD(HOURS, 3, PARSE_TIME('22:30', 'HH:mm'))", "01:30:00.000")],
)

TIMESTAMPADD = scalar(
    "TIMESTAMPADD",
    "A timestamp some units later.",
    overload("(STRING, INTEGER, TIMESTAMP) -> TIMESTAMP", _shifted(_timestamp, "try_add")),
    examples=[
        example("TIMESTAMPADD(MINUTES, 90, FROM_UNIXTIME(1))", "1970-01-01T01:30:00.001"),
        example("TIMESTAMPADD(DAYS, 1, CAST(NULL AS TIMESTAMP))", None),
    ],
)

TIMESTAMPSUB = scalar(
    "TIMESTAMPSUB",
    "A timestamp some units earlier.",
    overload("(STRING, INTEGER, TIMESTAMP) -> TIMESTAMP", _shifted(_timestamp, "try_subtract")),
    examples=[example("TIMESTAMPSUB(MILLISECONDS, 1, FROM_UNIXTIME(0))", "1969-12-31T23:59:59.999")],
)

TIMESTAMPTOSTRING = scalar(
    "TIMESTAMPTOSTRING",
    "Milliseconds since 1970-01-01, such as ROWTIME, as text in a format and, if named, a time zone.",
    *_zoned("BIGINT", "STRING", _format(timestamp_sql("{0}"))),
    examples=[
        example("TIMESTAMPTOSTRING(1709210096789, 'yyyy-MM-dd HH:mm:ss.SSS')", "2024-02-29 12:34:56.789"),
        example("TIMESTAMPTOSTRING(0, 'HH:mm', 'Asia/Kolkata')", "05:30"),
        example("TIMESTAMPTOSTRING(1530000000000, 'HH:mm zzz', 'America/Los_Angeles')", "01:00 PDT"),
    ],
)

TIMESUB = scalar(
    "TIMESUB",
    "A time of day some units earlier; before midnight comes 23:59:59.999.",
    overload("(STRING, INTEGER, TIME) -> TIME", _shifted(_time, "try_subtract")),
    examples=[example("TIMESUB(MINUTES, 1, PARSE_TIME('00:00', 'HH:mm'))", "23:59:00.000")],
)

UNIX_DATE = scalar(
    "UNIX_DATE",
    "A date, or today, as days since 1970-01-01.",
    overload("() -> INTEGER", "unix_date(current_date())"),
    overload("(DATE) -> INTEGER", "unix_date({0})", duckdb="({0} - DATE '1970-01-01')"),
    examples=[example("UNIX_DATE(PARSE_DATE('2024-02-29', 'yyyy-MM-dd'))", 19782)],
)

UNIX_TIMESTAMP = scalar(
    "UNIX_TIMESTAMP",
    "A timestamp, or now, as milliseconds since 1970-01-01.",
    overload("() -> BIGINT", "unix_millis(current_timestamp())"),
    overload("(TIMESTAMP) -> BIGINT", "unix_millis({0})", duckdb="epoch_ms({0})"),
    examples=[example("UNIX_TIMESTAMP(FROM_UNIXTIME(1709210096789))", 1709210096789)],
)
