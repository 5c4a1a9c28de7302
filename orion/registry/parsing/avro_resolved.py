"""An Avro schema that needs no other: each type it refers to is spelled out where it is first used."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

_NAMED = ("record", "error", "enum", "fixed")
_INSIDE = ("type", "items", "values", "fields")


def resolved(text: str, references: Iterable[str]) -> str:
    """The text of a schema that has been read, with those it refers to, as one."""
    inliner = _Inliner()
    for reference in references:
        inliner.learn(_value(reference), "")
    return json.dumps(inliner.spelled(_value(text), ""), ensure_ascii=False, separators=(",", ":"))


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # a bare word
        return text.strip()


class _Inliner:
    def __init__(self) -> None:
        self._definitions: dict[str, tuple[dict[str, Any], str]] = {}
        self._defined: set[str] = set()

    def learn(self, raw: Any, namespace: str) -> None:
        """Remember the definitions inside, each with the namespace around it."""
        if isinstance(raw, list):
            for one in raw:
                self.learn(one, namespace)
        elif isinstance(raw, dict):
            if raw.get("type") in _NAMED:
                full = _full(raw, namespace)
                self._definitions.setdefault(full, (raw, namespace))
                namespace = full.rpartition(".")[0]
            for key in _INSIDE:
                if key in raw:
                    self.learn(raw[key], namespace)

    def spelled(self, raw: Any, namespace: str) -> Any:
        if isinstance(raw, str):
            return self._word(raw, namespace)
        if isinstance(raw, list):
            return [self.spelled(one, namespace) for one in raw]
        if not isinstance(raw, dict):
            return raw
        if raw.get("type") in _NAMED:
            full = _full(raw, namespace)
            self._defined.add(full)
            namespace = full.rpartition(".")[0]
        shown = dict(raw)
        for key in ("type", "items", "values"):
            if key in raw:
                shown[key] = self.spelled(raw[key], namespace)
        if isinstance(raw.get("fields"), list):
            shown["fields"] = [
                {**one, "type": self.spelled(one["type"], namespace)} if isinstance(one, dict) else one
                for one in raw["fields"]
            ]
        return shown

    def _word(self, word: str, namespace: str) -> Any:
        near = word if "." in word or not namespace else f"{namespace}.{word}"
        for full in dict.fromkeys((near, word)):
            if full in self._defined:
                return word
            if full in self._definitions:
                raw, around = self._definitions[full]
                space = full.rpartition(".")[0]
                # Said in full: what is around it here isn't what was around it there.
                shown = self.spelled(raw, around)
                naming = {"type": raw["type"], "name": full.rpartition(".")[2], "namespace": space}
                return {**naming, **{key: value for key, value in shown.items() if key not in naming}}
        return word


def _full(raw: dict[str, Any], namespace: str) -> str:
    name = str(raw.get("name", ""))
    if "." in name:
        return name
    space = namespace if raw.get("namespace") is None else raw["namespace"]
    return f"{space}.{name}" if space else name
