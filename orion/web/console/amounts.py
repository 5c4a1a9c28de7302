"""Numbers, durations and times as people read them."""

from __future__ import annotations

import time
from datetime import UTC, datetime

NONE = "\N{EN DASH}"
_BYTES = ("B", "KB", "MB", "GB", "TB")
_THIN = "\N{NARROW NO-BREAK SPACE}"


def count(number: float | None) -> str:
    """All digits, in groups of three."""
    return NONE if number is None else f"{number:,.0f}".replace(",", _THIN)


def short(number: float | None) -> str:
    """Three digits or so: 950, 12.3k, 4.1M."""
    if number is None:
        return NONE
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(number) >= unit:
            scaled = number / (1e3 if name == "k" else unit)
            return f"{scaled:.0f}{name}" if scaled >= 100 else f"{scaled:.1f}{name}"
    return count(number)


def rate(number: float | None) -> str:
    """So many a second."""
    if number is None:
        return NONE
    return f"{number:.1f}/s" if 0 < number < 10 else f"{short(number)}/s"


def size(number: int | None) -> str:
    if number is None:
        return NONE
    scaled, unit = float(number), 0
    while scaled >= 1000 and unit < len(_BYTES) - 1:
        scaled, unit = scaled / 1000, unit + 1
    digits = 0 if unit == 0 or scaled >= 100 else 1
    return f"{scaled:.{digits}f}{_THIN}{_BYTES[unit]}"


def duration(ms: float | None) -> str:
    """The two largest units: 340 ms, 12.3 s, 4 m 10 s, 3 d 4 h."""
    if ms is None:
        return NONE
    if ms < 1000:
        return f"{ms:.0f} ms"
    if ms < 60_000:
        return f"{ms / 1000:.1f} s".replace(".0 s", " s")
    units = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000))
    told: list[str] = []
    left = int(ms)
    for name, worth in units:
        whole, left = divmod(left, worth)
        if whole or told:
            told.append(f"{whole} {name}")
    shown = [part for part in told[:2] if not part.startswith("0 ")]
    return " ".join(shown)


def moment(ms: int | None, *, date: bool = True) -> str:
    """A time in UTC to the millisecond; the bare number where no calendar reaches."""
    if ms is None:
        return NONE
    try:
        at = datetime.fromtimestamp(ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return str(ms)
    text = at.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")
    return text if date else text[11:]


def ago(ms: int | None, now: float | None = None) -> str:
    if ms is None:
        return NONE
    past = (time.time() if now is None else now) * 1000 - ms
    if past < 0:
        return f"in {duration(-past)}"
    return "just now" if past < 1500 else f"{duration(past - past % 1000).split(' ms')[0]} ago"
