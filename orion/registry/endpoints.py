"""What the registry answers under each path, with the names, numbers and quirks of Confluent's API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from orion import __version__
from orion.registry import contracts
from orion.registry.compatibility import levels
from orion.registry.errors import schema_not_found
from orion.registry.records import Version, mode
from orion.registry.requests import Call
from orion.registry.schemas import Schema, formatted
from orion.registry.state import DEFAULT_CONTEXT, context_of, qualified, split, target
from orion.registry.store import Registry

_ANY_CONTEXT = ":*:"


@dataclass(frozen=True, slots=True)
class Endpoint:
    method: str
    path: str
    answer: Callable[[Registry, Call], Any]


@dataclass(frozen=True, slots=True)
class Text:
    """An answer that is a schema and nothing around it."""

    text: str


# -- subjects


def _subjects(registry: Registry, call: Call) -> Any:
    only = call.flag("deletedOnly", "deleted_only")
    selected = _selecting(call, _ANY_CONTEXT)
    return call.page(
        [one for one in registry.subjects(deleted=call.flag("deleted"), deleted_only=only) if selected(one)]
    )


def _selecting(call: Call, default: str) -> Callable[[str], bool]:
    """Whether a subject begins as asked for: a bare prefix is one in the context, `:*:` means any context."""
    prefix = call.query.get("subjectPrefix", default)
    if prefix.startswith(_ANY_CONTEXT):
        prefix = prefix.removeprefix(_ANY_CONTEXT)
        if call.context == DEFAULT_CONTEXT:
            return lambda subject: split(subject)[1].startswith(prefix)
    context, name = split(call.qualified(prefix))
    return lambda subject: context_of(subject) == context and split(subject)[1].startswith(name)


def _versions(registry: Registry, call: Call) -> Any:
    only = call.flag("deletedOnly", "deleted_only")
    return call.page(registry.versions(call.subject, deleted=call.flag("deleted"), deleted_only=only))


def _version(registry: Registry, call: Call) -> Any:
    found = registry.version(call.subject, call.version, deleted=call.flag("deleted"))
    return _shown_version(registry, found, call)


def _version_text(registry: Registry, call: Call) -> Any:
    found = registry.version(call.subject, call.version, deleted=call.flag("deleted"))
    return Text(_text(registry, found.schema, found.subject, call))


def _register(registry: Registry, call: Call) -> Any:
    version = registry.register(call.subject, call.wanted(), normalize=call.flag("normalize"))
    return _shown_version(registry, version, call) if call.query.get("format") else {"id": version.id}


def _lookup(registry: Registry, call: Call) -> Any:
    found = registry.lookup(
        call.subject, call.wanted().schema, deleted=call.flag("deleted"), normalize=call.flag("normalize")
    )
    return _shown_version(registry, found, call)


def _delete_subject(registry: Registry, call: Call) -> Any:
    return registry.delete_subject(call.subject, permanent=call.flag("permanent"))


def _delete_version(registry: Registry, call: Call) -> Any:
    return registry.delete_version(call.subject, call.version, permanent=call.flag("permanent"))


def _referenced_by(registry: Registry, call: Call) -> Any:
    return call.page(registry.referenced_by(call.subject, call.version))


def _with_metadata(registry: Registry, call: Call) -> Any:
    """The newest version whose metadata has all the given pairs."""
    pairs = list(zip(call.every("key"), call.every("value"), strict=False))
    deleted = call.flag("deleted")
    for number in reversed(registry.versions(call.subject, deleted=deleted)):
        found = registry.version(call.subject, number, deleted=deleted)
        properties = contracts.properties(found.schema)
        if all(properties.get(key) == value for key, value in pairs):
            return _shown_version(registry, found, call)
    raise schema_not_found()


# -- schemas


def _schema(registry: Registry, call: Call) -> Any:
    subject = call.asked_subject
    shown = _shown_schema(registry, registry.schema(call.id, subject), subject, call)
    return {**shown, "maxId": registry.highest_id(subject)} if call.flag("fetchMaxId") else shown


def _schema_text(registry: Registry, call: Call) -> Any:
    return Text(_text(registry, registry.schema(call.id, call.asked_subject), call.asked_subject, call))


def _uses(registry: Registry, call: Call) -> list[Version]:
    return registry.uses(call.id, call.asked_subject, deleted=call.flag("deleted"))


def _schema_subjects(registry: Registry, call: Call) -> Any:
    return call.page(list(dict.fromkeys(one.subject for one in _uses(registry, call))))


def _schema_versions(registry: Registry, call: Call) -> Any:
    return call.page([{"subject": one.subject, "version": one.version} for one in _uses(registry, call)])


def _schemas(registry: Registry, call: Call) -> Any:
    selected, rule_type = _selecting(call, ""), call.query.get("ruleType")
    found = registry.all_versions(deleted=call.flag("deleted"), latest_only=call.flag("latestOnly"))
    found = [
        one
        for one in found
        if selected(one.subject) and (not rule_type or rule_type in contracts.rule_types(one.schema))
    ]
    shown = [_shown_version(registry, one, call) for one in call.page(found)]
    if call.flag("aliases"):
        shown = [{**one, "aliases": registry.settings.aliases(one["subject"])} for one in shown]
    return shown


def _by_guid(registry: Registry, call: Call) -> Any:
    context, number = registry.by_guid(call.path["guid"])[0]
    subject = qualified(context, "")
    schema = registry.schema(number, subject)
    return {**_shown_schema(registry, schema, subject, call), "guid": schema.guid}


def _ids_of_guid(registry: Registry, call: Call) -> Any:
    return [{"context": context, "id": number} for context, number in registry.by_guid(call.path["guid"])]


# -- compatibility


def _compatible(registry: Registry, call: Call) -> Any:
    number = call.version if "version" in call.path else None
    found = registry.check(call.subject, call.wanted().schema, number, normalize=call.flag("normalize"))
    answer: dict[str, Any] = {"is_compatible": found is None}
    if call.flag("verbose"):
        answer["messages"] = [] if found is None else found.messages()
    return answer


# -- settings


def _scope(call: Call) -> str | None:
    """A subject, a context as a whole, or everything."""
    if "subject" in call.path:
        return call.subject or None
    return qualified(call.context, "") or None


def _inherited(call: Call) -> bool:
    return call.flag("defaultToGlobal") or "subject" not in call.path


def _config(registry: Registry, call: Call) -> Any:
    return dict(registry.settings.config(_scope(call), inherited=_inherited(call)))


def _set_config(registry: Registry, call: Call) -> Any:
    given = call.settings()
    changes = {"compatibilityLevel" if name == "compatibility" else name: value for name, value in given.items()}
    if len(given) == ("compatibility" in given) or given.get("compatibility") is not None:
        changes["compatibilityLevel"] = given["compatibility"] = levels.level(given.get("compatibility"))
    registry.settings.set_config(_scope(call), changes)
    return {name: value for name, value in given.items() if value is not None}


def _remove_config(registry: Registry, call: Call) -> Any:
    return dict(registry.settings.remove_config(_scope(call)))


def _mode(registry: Registry, call: Call) -> Any:
    scope = _scope(call)
    own = scope is not None and not _inherited(call)
    return {"mode": registry.settings.own_mode(scope) if scope is not None and own else registry.settings.mode(scope)}


def _set_mode(registry: Registry, call: Call) -> Any:
    wanted = mode(call.body().get("mode"))
    return {"mode": registry.settings.set_mode(_scope(call), wanted, force=call.flag("force"))}


def _remove_mode(registry: Registry, call: Call) -> Any:
    return {"mode": registry.settings.remove_mode(_scope(call), recursive=call.flag("recursive"))}


# -- the rest


def _contexts(registry: Registry, call: Call) -> Any:
    prefix = call.query.get("contextPrefix", "")
    return call.page([context for context in registry.contexts() if context.startswith(prefix)])


def _delete_context(registry: Registry, call: Call) -> Any:
    registry.delete_context(call.context)
    return {}


# -- schemas as they are shown


def _shown_version(registry: Registry, version: Version, call: Call) -> dict[str, Any]:
    shown = {"subject": version.subject, "version": version.version, "id": version.id, "guid": version.schema.guid}
    shown |= _shown_schema(registry, version.schema, version.subject, call)
    return {**shown, "deleted": True} if version.deleted else shown


def _shown_schema(registry: Registry, schema: Schema, subject: str, call: Call) -> dict[str, Any]:
    shown = {**schema.as_dict(), "schema": _text(registry, schema, subject, call)}
    if schema.references and call.query.get("referenceFormat") == "qualified":
        shown["references"] = [{**one.as_dict(), "subject": target(one, subject)} for one in schema.references]
    return shown


def _text(registry: Registry, schema: Schema, subject: str, call: Call) -> str:
    """The schema's text, in the format that is asked for."""
    wanted = call.query.get("format", "")
    return formatted(schema, wanted, lambda: registry.parsed(schema, subject)) if wanted else schema.text


def _nothing(*_: object) -> Mapping[str, Any]:
    return {}


ENDPOINTS = (
    Endpoint("GET", "/", _nothing),
    Endpoint("POST", "/", _nothing),
    Endpoint("GET", "/subjects", _subjects),
    Endpoint("POST", "/subjects/{subject}", _lookup),
    Endpoint("DELETE", "/subjects/{subject}", _delete_subject),
    Endpoint("GET", "/subjects/{subject}/metadata", _with_metadata),
    Endpoint("GET", "/subjects/{subject}/versions", _versions),
    Endpoint("POST", "/subjects/{subject}/versions", _register),
    Endpoint("GET", "/subjects/{subject}/versions/{version}", _version),
    Endpoint("DELETE", "/subjects/{subject}/versions/{version}", _delete_version),
    Endpoint("GET", "/subjects/{subject}/versions/{version}/schema", _version_text),
    Endpoint("GET", "/subjects/{subject}/versions/{version}/referencedby", _referenced_by),
    Endpoint("GET", "/schemas", _schemas),
    Endpoint("GET", "/schemas/types", lambda *_: ["JSON", "PROTOBUF", "AVRO"]),
    Endpoint("GET", "/schemas/ids/{id}", _schema),
    Endpoint("GET", "/schemas/ids/{id}/schema", _schema_text),
    Endpoint("GET", "/schemas/ids/{id}/subjects", _schema_subjects),
    Endpoint("GET", "/schemas/ids/{id}/versions", _schema_versions),
    Endpoint("GET", "/schemas/guids/{guid}", _by_guid),
    Endpoint("GET", "/schemas/guids/{guid}/ids", _ids_of_guid),
    Endpoint("POST", "/compatibility/subjects/{subject}/versions", _compatible),
    Endpoint("POST", "/compatibility/subjects/{subject}/versions/{version}", _compatible),
    Endpoint("GET", "/config", _config),
    Endpoint("PUT", "/config", _set_config),
    Endpoint("DELETE", "/config", _remove_config),
    Endpoint("GET", "/config/{subject}", _config),
    Endpoint("PUT", "/config/{subject}", _set_config),
    Endpoint("DELETE", "/config/{subject}", _remove_config),
    Endpoint("GET", "/mode", _mode),
    Endpoint("PUT", "/mode", _set_mode),
    Endpoint("DELETE", "/mode", _remove_mode),
    Endpoint("GET", "/mode/{subject}", _mode),
    Endpoint("PUT", "/mode/{subject}", _set_mode),
    Endpoint("DELETE", "/mode/{subject}", _remove_mode),
    Endpoint("GET", "/contexts", _contexts),
    Endpoint("DELETE", "/contexts/{context}", _delete_context),
    Endpoint("GET", "/v1/metadata/id", lambda *_: {"scope": {"path": [], "clusters": {}}, "id": ""}),
    Endpoint("GET", "/v1/metadata/version", lambda *_: {"version": __version__, "commitId": ""}),
)
