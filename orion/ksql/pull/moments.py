"""A point in time that stands in a statement as text, as a number: any part of it from the right may be missing."""

from __future__ import annotations

import datetime as dt
import re
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from orion.schema import Scalar

_EPOCH = dt.datetime(1970, 1, 1)
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_TIME = re.compile(r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:[.](\d{1,9}))?)?)?")
_ZONE = re.compile(r" ?(?:([+-])(\d{1,2}):?(\d\d)?|(Z)|([A-Za-z_/]+))")


def number_of(text: str, type_: Scalar) -> int | None:
    """Milliseconds of a TIMESTAMP, days of a DATE, milliseconds of the day of a TIME; None for what is none."""
    try:
        if type_ is Scalar.TIME:
            found = _TIME.fullmatch(text)
            return None if found is None else _of_day(found)
        date = _DATE.match(text)
        if date is None:
            return None
        day = dt.datetime(int(date[1]), int(date[2] or 1), int(date[3] or 1))
        rest = text[date.end() :]
        if type_ is Scalar.DATE:
            return None if rest else (day - _EPOCH).days
        return _timestamp(day, rest)
    except (ValueError, OverflowError, ZoneInfoNotFoundError):
        return None


def _timestamp(day: dt.datetime, rest: str) -> int | None:
    millis = 0
    if rest[:1] in ("T", " "):
        rest = rest[1:]
        found = _TIME.match(rest)
        if found is not None:
            millis, rest = _of_day(found), rest[found.end() :]
    moment = day + dt.timedelta(milliseconds=millis)
    shift = _shift(rest, moment)
    return None if shift is None else (moment - shift - _EPOCH) // dt.timedelta(milliseconds=1)


def _of_day(found: re.Match[str]) -> int:
    hour, minute, second = (int(found[at] or 0) for at in (1, 2, 3))
    if minute > 59 or second > 59 or hour > 24 or (hour == 24 and (minute or second)):
        raise ValueError(found[0])
    return ((hour * 60 + minute) * 60 + second) * 1000 + int((found[4] or "0").ljust(3, "0")[:3])


def _shift(zone: str, moment: dt.datetime) -> dt.timedelta | None:
    """How far the zone is ahead of UTC at that time."""
    if not zone:
        return dt.timedelta()
    found = _ZONE.fullmatch(zone)
    if found is None:
        return None
    sign, hours, minutes, utc, name = found.groups()
    if utc:
        return dt.timedelta()
    if name:
        return moment.replace(tzinfo=ZoneInfo(name)).utcoffset()
    return dt.timedelta(hours=int(hours), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
