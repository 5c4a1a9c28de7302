"""Dates and timestamps over the whole range that all engines share, also where Python's own end.

A DATE is days and a TIMESTAMP microseconds since 1970, in UTC. Spark and DuckDB count days in 32 bits and microseconds
in 64, the years -290308 to 294247. A record that holds more can't be read, and an expression that gives more is NULL;
so is one that makes a timestamp of a date beyond them, or counts in timestamps on its way to a date.
Python's datetime ends at the years 1 and 9999; outside of them a value is its text there, as ISO 8601 and Java write
it: +10000-01-01, -0044-03-15.
"""

from __future__ import annotations

import datetime as dt
import re

DAY_MS = 86_400_000
_DAY_US = DAY_MS * 1000
_MOST_DAYS = 2**63 // _DAY_US
DAYS = (1 - 2**31, 2**31 - 1)  # the first and the last
TABLE_DAYS = (DAYS[0] + 1, DAYS[1] - 1)  # of tables that answer: DuckDB takes the outermost for infinite
MILLIS = (-_MOST_DAYS * DAY_MS, 2**63 // 1000)
ROW_MILLIS = (0, 8_640_000_000_000_000)  # of ROWTIME: JavaScript's, so that there is room for windows beside it

_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_DAY = _EPOCH.toordinal()
_CYCLE_DAYS, _CYCLE_YEARS = 146_097, 400  # after which the calendar is the same again
_TEXT = re.compile(
    r"([+-]?)(\d{4,7})-(\d\d)-(\d\d)( \(BC\))?(?:[T ](\d\d):(\d\d):(\d\d)(?:[.](\d{1,6}))?)?( \(BC\))?", re.ASCII
)


def timestamp_sql(millis: str) -> str:
    """Spark SQL of the timestamp at so many milliseconds: NULL where Spark's own function would stop the query."""
    return f"timestamp_micros(try_multiply({millis}, 1000L))"


def midnight_sql(date: str) -> str:
    """Spark SQL of the timestamp at which a date begins, or NULL likewise."""
    return f"timestamp_micros(try_multiply(CAST(unix_date({date}) AS BIGINT), {_DAY_US}L))"


class FarMoment(str):
    """The text of a date or timestamp that Python has no value for."""

    __slots__ = ()


def zoned_sql(function: str, moment: str, zone: str) -> str:
    """Spark SQL of a timestamp moved into a time zone or out of it. NULL for a zone that there isn't, and within two
    days of the range's ends."""
    known = f"try_to_timestamp(concat('1970-01-01 ', {zone}), 'yyyy-MM-dd VV') IS NOT NULL"
    least, most = (f"timestamp_millis({end}L)" for end in (MILLIS[0] + 2 * DAY_MS, MILLIS[1] - 2 * DAY_MS))
    return f"if({moment} BETWEEN {least} AND {most} AND {known}, {function}({moment}, {zone}), NULL)"


def date_sql(days: str) -> str:
    """Spark SQL of the date at so many days, or NULL likewise."""
    return f"CAST(timestamp_micros(try_multiply(CAST({days} AS BIGINT), {_DAY_US}L)) AS DATE)"


def date_of(days: int) -> dt.date | FarMoment:
    at = days + _EPOCH_DAY
    return dt.date.fromordinal(at) if 1 <= at <= dt.date.max.toordinal() else FarMoment(date_text(days))


def timestamp_of(micros: int) -> dt.datetime | FarMoment:
    """In UTC, without a zone."""
    try:
        return _EPOCH + dt.timedelta(microseconds=micros)
    except OverflowError:
        return FarMoment(timestamp_text(micros))


def date_text(days: int) -> str:
    cycles, within = divmod(days + _EPOCH_DAY - 1, _CYCLE_DAYS)
    day = dt.date.fromordinal(within + 1)
    year = day.year + cycles * _CYCLE_YEARS
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{day.month:02}-{day.day:02}"


def timestamp_text(micros: int) -> str:
    """With milliseconds, which is all that SQL's timestamps have."""
    days, rest = divmod(micros, _DAY_US)
    clock = (_EPOCH + dt.timedelta(microseconds=rest)).time()
    return f"{date_text(days)}T{clock.isoformat(timespec='milliseconds')}"


def days_of(text: str) -> int:
    """The days of a date's text, as it is written here or by DuckDB."""
    return micros_of(text) // _DAY_US


def micros_of(text: str) -> int:
    """The microseconds of a timestamp's or a date's text. Raises ValueError where it is neither."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text} is no date")
    sign, digits, month, day, before, hour, minute, second, fraction, behind = found.groups()
    year = int(digits) * (-1 if sign == "-" else 1)
    if before or behind:
        year = 1 - year  # 1 BC is the year 0
    cycles, within = divmod(year - 1, _CYCLE_YEARS)
    days = dt.date(within + 1, int(month), int(day)).toordinal() + cycles * _CYCLE_DAYS - _EPOCH_DAY
    seconds = (int(hour or 0) * 60 + int(minute or 0)) * 60 + int(second or 0)
    return days * _DAY_US + seconds * 1_000_000 + int((fraction or "").ljust(6, "0") or 0)
