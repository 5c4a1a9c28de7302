"""What can be said about a connector, and what is wrong with what is said: as forms are drawn from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orion.options import Definition, is_secret, shown
from orion.plan.connectors import Connectors, PluginInfo

Json = dict[str, Any]

COMMON, OWN, UNKNOWN = "Common", "Connector", "Unknown"

_NAME = Definition("name", "STRING", True, None, "Globally unique name of the connector.")
_CLASS = Definition("connector.class", "STRING", True, None, "What kind of connector it is.")
_TASKS = Definition("tasks.max", "INT", False, "1", "Without effect: a connector has a task for each of its topics.")
_TOPICS = Definition("topics", "LIST", True, None, "Topics to read, separated by commas.")
_TRANSFORMS = Definition("transforms", "LIST", False, "", "Names of transforms, in the order in which they apply.")
_PREDICATES = Definition("predicates", "LIST", False, "", "Names of predicates that transforms go by.")
_TOLERANCE = Definition("errors.tolerance", "STRING", False, "all", "How many dead letters it bears: all, none, or N.")


def common(plugin: PluginInfo) -> tuple[Definition, ...]:
    """What every connector of a kind has."""
    if plugin.kind == "sink":
        return (_NAME, _CLASS, _TASKS, _TOPICS, _TRANSFORMS, _PREDICATES, _TOLERANCE)
    return (_NAME, _CLASS, _TASKS, _TOLERANCE) if plugin.kind == "source" else ()


def definitions(connectors: Connectors, plugin: PluginInfo) -> list[Json]:
    return [_definition(option, group, order) for option, group, order in _options(connectors, plugin)]


def validation(connectors: Connectors, plugin: PluginInfo, config: Mapping[str, str]) -> Json:
    """Every option with its value and what is wrong with it. Options that there aren't are wrong by that alone."""
    mistakes = _mistakes(connectors, plugin, config)
    options = _options(connectors, plugin)
    known = {option.name for option, _, _ in options}
    strange = [name for name in mistakes if name not in known]
    options += [(Definition(n, "STRING", False, None, ""), UNKNOWN, i) for i, n in enumerate(strange, 1)]
    seen = shown(config)
    return {
        "name": plugin.class_name,
        "error_count": sum(map(len, mistakes.values())),
        "groups": list(dict.fromkeys(group for _, group, _ in options)),
        "configs": [
            {"definition": _definition(o, group, order), "value": _value(o, seen, mistakes.get(o.name, ()))}
            for o, group, order in options
        ],
    }


def _options(connectors: Connectors, plugin: PluginInfo) -> list[tuple[Definition, str, int]]:
    """All options, each with its group and its place in there. What a plug-in says about one counts."""
    own = connectors.definitions(plugin)
    taken = {option.name for option in own}
    shared = [option for option in common(plugin) if option.name not in taken]
    return [
        *((option, COMMON, order) for order, option in enumerate(shared, 1)),
        *((option, OWN, order) for order, option in enumerate(own, 1)),
    ]


def _mistakes(connectors: Connectors, plugin: PluginInfo, config: Mapping[str, str]) -> dict[str, list[str]]:
    missing = [option.name for option in common(plugin) if option.required and not config.get(option.name, "").strip()]
    told = {name: [f'Missing required configuration "{name}" which has no default value.'] for name in missing}
    for name, errors in connectors.mistakes(plugin, config).items():
        if errors and name not in told:
            told[name] = list(errors)
    return told


def _definition(option: Definition, group: str, order: int) -> Json:
    return {
        "name": option.name,
        "type": "PASSWORD" if option.type == "STRING" and is_secret(option.name) else option.type,
        "required": option.required,
        "default_value": option.default,
        "importance": "HIGH" if option.required else "MEDIUM",
        "documentation": option.doc,
        "group": group,
        "order_in_group": order,
        "width": "SHORT" if option.type in ("BOOLEAN", "INT", "LONG", "DOUBLE") else "MEDIUM",
        "display_name": option.name,
        "dependents": [],
    }


def _value(option: Definition, seen: Mapping[str, str], errors: Sequence[str]) -> Json:
    return {
        "name": option.name,
        "value": seen.get(option.name, option.default),
        "recommended_values": list(option.values),
        "errors": list(errors),
        "visible": True,
    }
