"""What an index is called: by the topic or where a transform sends a row, and by the record's time.

A pattern of time is written as strftime has it (`plays-%Y.%m.%d`), or as `${timestamp}` with a pattern of Java's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from orion.sinks.documents.rows import Row
from orion.sinks.documents.values import Unfit

TOPIC, TIMESTAMP = "${topic}", "${timestamp}"
_CODES = frozenset("YymdHMSjGVu%")
_CODE = re.compile(r"%(.?)")
_JAVA = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")
_LETTERS = {
    "yyyy": "%Y",
    "uuuu": "%Y",
    "yy": "%y",
    "YYYY": "%G",
    "xxxx": "%G",
    "ww": "%V",
    "MM": "%m",
    "dd": "%d",
    "DDD": "%j",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
}
_ILLEGAL = re.compile(r'[\\/*?"<>| ,#:\x00-\x1f]')
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Naming:
    pattern: str  # with ${topic}, and codes of strftime
    topic: str  # or what its rows go by instead

    @property
    def by_time(self) -> bool:
        return "%" in self.pattern

    @property
    def fixed(self) -> str | None:
        """The name, if rows don't change it; one that is routed may still go elsewhere."""
        return None if self.by_time else legal(self.pattern.replace(TOPIC, self.topic))

    def of(self, row: Row) -> str:
        named = self.pattern
        if self.by_time:
            time = _EPOCH + timedelta(milliseconds=row.time)
            named = TOPIC.join(time.strftime(part) for part in named.split(TOPIC))
        found = legal(named.replace(TOPIC, row.route or self.topic))
        if not found:
            raise Unfit("where it is sent is no name of an index")
        return found


def pattern_of(written: str, java: str) -> str:
    """A pattern with codes of strftime only. Raises ValueError, which says what is wrong."""
    for code in _CODE.findall(written):
        if code not in _CODES or not code:
            raise ValueError(f"there is no %{code} in names of indices; times are %Y %m %d %H %M %S %j %G %V")
    return written.replace(TIMESTAMP, _strftime(java))


def legal(name: str) -> str:
    """A name as servers take it: lower-case, without what they keep for themselves. Empty: there is none."""
    name = _ILLEGAL.sub("_", name.lower()).lstrip("-_+")
    if name.strip(".") == "":
        return ""
    return name.encode()[:255].decode(errors="ignore")


def _strftime(java: str) -> str:
    parts, at = [], 0
    for found in _JAVA.finditer(java):
        if found.start() != at:
            break
        at = found.end()
        text = found[0]
        if text.startswith("'"):
            parts.append((found[1].replace("''", "'") or "'").replace("%", "%%"))
        elif found[2]:
            if text not in _LETTERS:
                raise ValueError(f"there is no '{text}' in a pattern of time; there are {', '.join(_LETTERS)}")
            parts.append(_LETTERS[text])
        else:
            parts.append(text.replace("%", "%%"))
    if at != len(java):
        raise ValueError("a quote in it isn't closed")
    return "".join(parts)
