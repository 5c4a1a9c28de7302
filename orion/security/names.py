"""Names that come from outside: checked before any client library or file system sees them.

librdkafka takes names as C strings. A NUL cuts one short, so that `orders\\0x` would delete `orders`; an empty group or
half of a surrogate pair, aborts the process; and a pattern that repeats repetitions is compiled until memory is gone.
Control characters have no place in any name and would play tricks on terminals and logs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from orion.errors import ConfigError, UserError

_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_NO_TEXT = re.compile(r"[\x00\ud800-\udfff]")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_LONGEST = 1_000
_LONGEST_PATTERN = 1_000
_MOST_REPEATS = 1_000
_DEEPEST = 20
_REFERS_BACK = re.compile(r"\\[1-9]")
_REPEATS = re.compile(r"\{(\d*),?(\d*)\}")
# Settings of Kafka's clients that are names; the others may be texts of several lines, such as certificates.
_NAMES = ("group.id", "group.instance.id", "client.id", "transactional.id", "client.rack")
_LARGEST_PARTITION, _LARGEST_OFFSET = 2**31 - 1, 2**63 - 1


def is_fit(name: str) -> bool:
    """Whether a name is text without control characters, and not empty."""
    return 0 < len(name) <= _LONGEST and _UNFIT.search(name) is None


def check_name(name: str, kind: str) -> None:
    """Refuse a name that no system can take; `kind` is what it names, such as `consumer group`."""
    if not is_fit(name):
        code = f"INVALID_{kind.upper().replace(' ', '_')}_NAME"
        raise UserError(code, f"{_shown(name)} can't be the name of a {kind}.", hint=_why(name))


def check_group(name: str) -> None:
    if not is_fit(name):
        raise UserError("INVALID_GROUP_NAME", f"{_shown(name)} can't be a consumer group's name.", hint=_why(name))


def check_topic(name: str) -> None:
    """Refuse what Kafka doesn't take as a topic's name."""
    if not _is_topic(name):
        hint = "Use at most 249 of: letters, digits, '.', '_' and '-'."
        raise UserError("INVALID_TOPIC_NAME", f"{_shown(name)} can't be a topic's name.", hint=hint)


def check_topics(names: Iterable[str]) -> None:
    for name in names:
        check_topic(name)


@lru_cache(maxsize=4096)
def _is_topic(name: str) -> bool:
    return _TOPIC.fullmatch(name) is not None and name not in (".", "..")


def check_place(place: tuple[str, int], offset: int = 0, note: object = None) -> None:
    """Refuse a partition, an offset or a note about it that Kafka's protocol has no room for."""
    check_topic(place[0])
    if not 0 <= place[1] <= _LARGEST_PARTITION:
        raise UserError("INVALID_PARTITION", f"{place[1]} can't be a partition's number.")
    if abs(offset) > _LARGEST_OFFSET:
        raise UserError("INVALID_OFFSET", f"{offset} can't be an offset.")
    if note is not None and (not isinstance(note, str) or _NO_TEXT.search(note)):
        raise UserError("INVALID_METADATA", "The metadata of an offset must be a text without NUL.")


def check_pattern(pattern: str) -> None:
    """Refuse a pattern of topics that would take the regular expressions' compiler more than a moment."""
    repeats = 1
    for least, most in _REPEATS.findall(pattern):
        repeats *= max(int(least[:9] or 1), int(most[:9] or 1), 1)
    depth = deepest = 0
    for character in pattern:
        depth += (character == "(") - (character == ")")
        deepest = max(deepest, depth)
    too_much = len(pattern) > _LONGEST_PATTERN or repeats > _MOST_REPEATS or deepest > _DEEPEST
    if not pattern or too_much or _UNFIT.search(pattern) or _REFERS_BACK.search(pattern):
        raise ConfigError(
            "INVALID_TOPIC_PATTERN",
            "The pattern can't be used.",
            hint=f"It has at most {_LONGEST_PATTERN} characters, {_DEEPEST} brackets in each other, repeats "
            f"{_MOST_REPEATS} times, and doesn't refer back.",
        )


def check_header(name: str) -> None:
    if _UNFIT.search(name):
        raise UserError("INVALID_HEADER_NAME", f"{_shown(name)} can't be a header's name.", hint=_why(name))


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse settings of clients or topics that a C string would cut short."""
    for name, value in settings.items():
        if not is_fit(name):
            raise ConfigError("INVALID_KAFKA_SETTING", f"{_shown(name)} is no setting.", hint=_why(name))
        if isinstance(value, str) and (not is_fit(value) if name in _NAMES else _NO_TEXT.search(value)):
            raise ConfigError("INVALID_KAFKA_SETTING", f"The value of {name} can't be used.", hint=_why(value))


def _why(name: str) -> str:
    if not name:
        return "It is empty."
    if len(name) > _LONGEST:
        return f"It has more than {_LONGEST} characters."
    return "It has a control character, or half of a surrogate pair, in it."


def _shown(name: str) -> str:
    shown = ascii(name[:60])
    return shown if len(name) <= 60 else f"{shown[:-1]}...'"
