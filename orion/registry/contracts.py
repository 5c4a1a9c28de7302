"""What goes with a schema beyond its text: metadata, rules, and what a subject's settings add to both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orion.registry.schemas import Schema

_ADDING = ("defaultMetadata", "overrideMetadata", "defaultRuleSet", "overrideRuleSet")
_RESERVED = "confluent:reserved"


def adds(config: Mapping[str, Any]) -> bool:
    """Whether settings change what is registered."""
    return any(config.get(name) for name in _ADDING)


def completed(schema: Schema, before: Schema | None, config: Mapping[str, Any]) -> Schema:
    """A schema as it is kept: what it doesn't say itself is said by the version before it.

    Settings stand on both sides: defaults give way to what the schema says, overrides don't.
    """
    metadata = schema.metadata if schema.metadata is not None or before is None else before.metadata
    rules = schema.rule_set if schema.rule_set is not None or before is None else before.rule_set
    return replace(
        schema,
        metadata=_metadata(_metadata(config.get("defaultMetadata"), metadata), config.get("overrideMetadata")) or None,
        rule_set=_rules(_rules(config.get("defaultRuleSet"), rules), config.get("overrideRuleSet")) or None,
    )


def bare(schema: Schema) -> bool:
    """Whether only the text is given, as serializers do: then it is the same schema as one with metadata."""
    return not schema.metadata and not schema.rule_set


def properties(schema: Schema) -> Mapping[str, Any]:
    found = (schema.metadata or {}).get("properties")
    return found if isinstance(found, Mapping) else {}


def reserved(schema: Schema) -> frozenset[str]:
    """The fields that no version may have, by the schema's metadata."""
    return frozenset(filter(None, (name.strip() for name in str(properties(schema).get(_RESERVED, "")).split(","))))


def rule_types(schema: Schema) -> frozenset[str]:
    rules = (one for some in (schema.rule_set or {}).values() if isinstance(some, list) for one in some)
    return frozenset(str(one.get("type")) for one in rules if isinstance(one, Mapping))


def _metadata(outer: Mapping[str, Any] | None, inner: Mapping[str, Any] | None) -> dict[str, Any]:
    """Tags and properties by name, sensitive names as a set; the second has the last word."""
    merged = dict(outer or {})
    for part, value in (inner or {}).items():
        known = merged.get(part)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            merged[part] = {**known, **value}
        elif isinstance(known, list) and isinstance(value, list):
            merged[part] = list(dict.fromkeys((*known, *value)))
        else:
            merged[part] = value
    return merged


def _rules(outer: Mapping[str, Any] | None, inner: Mapping[str, Any] | None) -> dict[str, Any]:
    """Rules of one kind by their name; the second has the last word."""
    merged = dict(outer or {})
    for kind, rules in (inner or {}).items():
        known = merged.get(kind)
        if isinstance(known, list) and isinstance(rules, list):
            replaced = {_rule_name(one) for one in rules}
            merged[kind] = [*(one for one in known if _rule_name(one) not in replaced), *rules]
        else:
            merged[kind] = rules
    return merged


def _rule_name(rule: Any) -> str:
    return str(rule.get("name")) if isinstance(rule, Mapping) else repr(rule)
