"""What goes with a schema beyond its text: metadata, rules, and what a subject's settings add to both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orion.registry.schemas import Schema

_ADDING = ("defaultMetadata", "overrideMetadata", "defaultRuleSet", "overrideRuleSet")
_RESERVED = "confluent:reserved"
_KINDS_OF_RULES = ("domainRules", "migrationRules", "encodingRules")
_RULE_WORDS = ("name", "doc", "kind", "mode", "type", "expr", "onSuccess", "onFailure")


def metadata_of(given: Any) -> dict[str, Any] | None:
    """Metadata as a client or a record gives it, numbers as text; raises ValueError for another shape."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise ValueError("metadata is an object")
    found = dict(given)
    if found.get("tags") is not None:
        tags = _object(found["tags"], "tags of metadata are")
        found["tags"] = {name: _words(some, f"the tags of {name} are") for name, some in tags.items()}
    if found.get("properties") is not None:
        properties = _object(found["properties"], "properties of metadata are")
        found["properties"] = {name: _word(one, f"the property {name} is") for name, one in properties.items()}
    if found.get("sensitive") is not None:
        found["sensitive"] = _words(found["sensitive"], "sensitive names of metadata are")
    return found or None


def rule_set_of(given: Any) -> dict[str, Any] | None:
    """A rule set as a client or a record gives it; raises ValueError for another shape."""
    if given is None:
        return None
    found = _object(given, "a rule set is")
    for kind in _KINDS_OF_RULES:
        if found.get(kind) is not None:
            if not isinstance(found[kind], list):
                raise ValueError(f"{kind} of a rule set are a list of rules")
            found[kind] = [_rule(one) for one in found[kind]]
    return found or None


def _rule(given: Any) -> dict[str, Any]:
    rule = _object(given, "a rule is")
    for name in _RULE_WORDS:
        if rule.get(name) is not None:
            rule[name] = _word(rule[name], f"the {name} of a rule is")
    if rule.get("tags") is not None:
        rule["tags"] = _words(rule["tags"], "the tags of a rule are")
    if rule.get("params") is not None:
        params = _object(rule["params"], "the params of a rule are")
        rule["params"] = {name: _word(one, f"the param {name} of a rule is") for name, one in params.items()}
    if not isinstance(rule.get("disabled"), bool | None):
        raise ValueError("disabled of a rule is true or false")
    return rule


def _object(given: Any, what: str) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise ValueError(f"{what} an object")
    return dict(given)


def _words(given: Any, what: str) -> list[str]:
    if not isinstance(given, list):
        raise ValueError(f"{what} a list of texts")
    return [str(_word(one, f"{what} a list, and one of them is")) for one in given]


def _word(given: Any, what: str) -> str | None:
    """A text; of a number or truth value its text, as Confluent's registry takes them."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, bool):
        return str(given).lower()
    if isinstance(given, int | float):
        return str(given)
    raise ValueError(f"{what} no text")


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
