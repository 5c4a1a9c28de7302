"""The registry's HTTP API, with the paths, numbers and quirks of Confluent's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import structlog
from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from orion import __version__
from orion.errors import OrionError
from orion.registry import errors
from orion.registry.compatibility import levels
from orion.registry.errors import RegistryError
from orion.registry.parsing.protobuf import ProtobufSchema
from orion.registry.records import Version
from orion.registry.requests import Call
from orion.registry.schemas import Schema
from orion.registry.state import DEFAULT_CONTEXT, qualified
from orion.registry.store import Registry, mode

log = structlog.get_logger()

MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"
_LARGEST_BODY = 16_000_000
_SETTINGS = (
    "alias normalize compatibilityGroup compatibilityPolicy defaultMetadata overrideMetadata defaultRuleSet "
    "overrideRuleSet validateFields"
).split()
# Stands for a slash inside of a subject, which must not cut the path there.
_SLASH = "\ue000"


@dataclass(frozen=True, slots=True)
class Endpoint:
    method: str
    path: str
    answer: Callable[[Registry, Call], Any]


def application(registry: Registry) -> FastAPI:
    """The API over one registry: every path also under a context."""
    routes: dict[str, dict[str, Endpoint]] = {}
    for endpoint in ENDPOINTS:
        prefixes = ("", "/contexts/{context}") if endpoint.path != "/contexts" else ("",)
        for prefix in prefixes:
            routes.setdefault(prefix + endpoint.path, {})[endpoint.method] = endpoint
    app = FastAPI(
        title="Orion schema registry",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        routes=[
            Route(path, _handler(registry, by_method), methods=list(by_method)) for path, by_method in routes.items()
        ],
    )
    app.router.redirect_slashes = False
    app.add_middleware(_SlashesInSubjects)
    app.add_exception_handler(404, _missing)
    app.add_exception_handler(405, _missing)
    return app


def _handler(registry: Registry, by_method: dict[str, Endpoint]) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Response:
        endpoint = by_method["GET" if request.method == "HEAD" else request.method]
        path = {name: value.replace(_SLASH, "/") for name, value in request.path_params.items()}
        try:
            if endpoint.method == "GET":
                return _answer(endpoint.answer(registry, Call(path, request.query_params)))
            call = Call(path, request.query_params, await _content(request))
            # Whatever may write, or read a schema, has its own thread: others are answered meanwhile.
            return _answer(await asyncio.to_thread(endpoint.answer, registry, call))
        except RegistryError as error:
            return _answer(error.body(), error.status)
        except OrionError as error:
            return _answer({"error_code": errors.STORE_FAILED, "message": error.message}, 500)
        except Exception as error:
            log.exception("registry", path=request.url.path)
            text = f"Error in the backend data store: {type(error).__name__}"
            return _answer({"error_code": errors.STORE_FAILED, "message": text}, 500)

    return handle


async def _content(request: Request) -> bytes:
    parts = bytearray()
    async for part in request.stream():
        parts += part
        if len(parts) > _LARGEST_BODY:
            raise RegistryError(413, f"The request is larger than {_LARGEST_BODY} bytes")
    return bytes(parts)


def _answer(value: Any, status: int = 200) -> Response:
    if isinstance(value, Response):
        return value
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Response(text.encode("utf-8", "backslashreplace"), status, media_type=MEDIA_TYPE)


async def _missing(_: Request, error: Any) -> Response:
    return _answer(
        {"error_code": error.status_code, "message": f"HTTP {error.status_code} {error.detail}"}, error.status_code
    )


class _SlashesInSubjects:
    """Subjects may hold a slash, sent as %2F; servers decode paths before anyone can tell the two apart."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = scope.get("raw_path")
        if scope["type"] == "http" and raw and b"%2f" in raw.lower():
            path = raw.split(b"?")[0].decode("ascii", "replace")
            kept = path.replace("%2F", _SLASH).replace("%2f", _SLASH)
            scope = {**scope, "path": unquote(kept)}
        await self._app(scope, receive, send)


# -- subjects


def _subjects(registry: Registry, call: Call) -> Any:
    prefix = call.query.get("subjectPrefix", ":*:")
    if prefix.startswith(":*:"):
        anywhere = call.context == DEFAULT_CONTEXT and not prefix[3:]
        prefix = "" if anywhere else call.qualified(prefix[3:])
    else:
        prefix = call.qualified(prefix)
    found = registry.subjects(
        prefix, deleted=call.flag("deleted"), deleted_only=call.flag("deletedOnly", "deleted_only")
    )
    return call.page(found)


def _versions(registry: Registry, call: Call) -> Any:
    only = call.flag("deletedOnly", "deleted_only")
    return call.page(registry.versions(call.subject, deleted=call.flag("deleted"), deleted_only=only))


def _version(registry: Registry, call: Call) -> Any:
    found = registry.version(call.subject, call.version, deleted=call.flag("deleted"))
    return _shown_version(registry, found, call)


def _version_text(registry: Registry, call: Call) -> Any:
    found = registry.version(call.subject, call.version, deleted=call.flag("deleted"))
    return Response(_text(registry, found.schema, found.subject, call), media_type=MEDIA_TYPE)


def _register(registry: Registry, call: Call) -> Any:
    version = registry.register(call.subject, call.wanted(), normalize=call.flag("normalize"))
    return {"id": version.id}


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
    query: Any = call.query
    keys, values = (query.getlist(name) if hasattr(query, "getlist") else [] for name in ("key", "value"))
    deleted = call.flag("deleted")
    for number in reversed(registry.versions(call.subject, deleted=deleted)):
        found = registry.version(call.subject, number, deleted=deleted)
        properties = (found.schema.metadata or {}).get("properties") or {}
        if all(properties.get(key) == value for key, value in zip(keys, values, strict=False)):
            return _shown_version(registry, found, call)
    raise RegistryError(errors.SCHEMA_NOT_FOUND, "Schema not found")


# -- schemas


def _schema(registry: Registry, call: Call) -> Any:
    subject = call.qualified(call.query.get("subject", ""))
    schema = registry.schema(call.id, subject)
    shown = {**schema.as_dict(), "schema": _text(registry, schema, subject, call)}
    return {**shown, "maxId": registry.highest_id(subject)} if call.flag("fetchMaxId") else shown


def _schema_text(registry: Registry, call: Call) -> Any:
    subject = call.qualified(call.query.get("subject", ""))
    return Response(_text(registry, registry.schema(call.id, subject), subject, call), media_type=MEDIA_TYPE)


def _uses(registry: Registry, call: Call) -> list[Version]:
    return registry.uses(call.id, call.qualified(call.query.get("subject", "")), deleted=call.flag("deleted"))


def _schema_subjects(registry: Registry, call: Call) -> Any:
    return call.page(list(dict.fromkeys(one.subject for one in _uses(registry, call))))


def _schema_versions(registry: Registry, call: Call) -> Any:
    return call.page([{"subject": one.subject, "version": one.version} for one in _uses(registry, call)])


def _schemas(registry: Registry, call: Call) -> Any:
    prefix = call.query.get("subjectPrefix", "")
    prefix = call.qualified(prefix) if prefix or call.context != DEFAULT_CONTEXT else ""
    found = registry.all_versions(prefix, deleted=call.flag("deleted"), latest_only=call.flag("latestOnly"))
    return [_shown_version(registry, one, call) for one in call.page(found)]


def _by_guid(registry: Registry, call: Call) -> Any:
    context, number = registry.by_guid(call.path["guid"])
    schema = registry.schema(number, qualified(context, ""))
    return {**schema.as_dict(), "schema": _text(registry, schema, qualified(context, ""), call), "guid": schema.guid}


def _ids_of_guid(registry: Registry, call: Call) -> Any:
    context, number = registry.by_guid(call.path["guid"])
    return [{"context": context, "id": number}]


# -- compatibility


def _compatible(registry: Registry, call: Call) -> Any:
    number = call.version if "version" in call.path else None
    found = registry.check(call.subject, call.wanted().schema, number, normalize=call.flag("normalize"))
    answer: dict[str, Any] = {"is_compatible": not found}
    if call.flag("verbose"):
        answer["messages"] = [str(one) for one in found]
    return answer


# -- settings


def _scope(call: Call) -> str | None:
    """A subject, a context as a whole, or everything."""
    if "subject" in call.path:
        return call.subject
    return None if call.context == DEFAULT_CONTEXT else qualified(call.context, "")


def _config(registry: Registry, call: Call) -> Any:
    inherited = call.flag("defaultToGlobal") or "subject" not in call.path
    return dict(registry.config(_scope(call), inherited=inherited))


def _set_config(registry: Registry, call: Call) -> Any:
    body = call.body()
    changes = {name: body[name] for name in _SETTINGS if body.get(name) is not None}
    word = body.get("compatibility", body.get("compatibilityLevel"))
    if word is not None or not changes:
        changes["compatibilityLevel"] = levels.level(word)
    registry.set_config(_scope(call), changes)
    return {"compatibility" if name == "compatibilityLevel" else name: value for name, value in changes.items()}


def _remove_config(registry: Registry, call: Call) -> Any:
    return dict(registry.remove_config(_scope(call)))


def _mode(registry: Registry, call: Call) -> Any:
    inherited = call.flag("defaultToGlobal") or "subject" not in call.path
    return {"mode": registry.mode(_scope(call)) if inherited else registry.own_mode(call.subject)}


def _set_mode(registry: Registry, call: Call) -> Any:
    wanted = mode(call.body().get("mode"))
    return {"mode": registry.set_mode(_scope(call), wanted, force=call.flag("force"))}


def _remove_mode(registry: Registry, call: Call) -> Any:
    return {"mode": registry.remove_mode(_scope(call))}


# -- the rest


def _contexts(registry: Registry, call: Call) -> Any:
    prefix = call.query.get("contextPrefix", "")
    return call.page([context for context in registry.contexts() if context.startswith(prefix)])


def _shown_version(registry: Registry, version: Version, call: Call) -> dict[str, Any]:
    shown = {"subject": version.subject, "version": version.version, "id": version.id, "guid": version.schema.guid}
    shown |= version.schema.as_dict()
    shown["schema"] = _text(registry, version.schema, version.subject, call)
    return {**shown, "deleted": True} if version.deleted else shown


def _text(registry: Registry, schema: Schema, subject: str, call: Call) -> str:
    """The schema's text; of Protobuf the descriptor, where it is asked for."""
    if call.query.get("format") == "serialized" and schema.type == "PROTOBUF":
        parsed = registry.parsed(schema, subject)
        assert isinstance(parsed, ProtobufSchema)
        return parsed.serialized
    return schema.text


ENDPOINTS = (
    Endpoint("GET", "/", lambda *_: {}),
    Endpoint("POST", "/", lambda *_: {}),
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
    Endpoint("GET", "/v1/metadata/id", lambda *_: {"scope": {"path": [], "clusters": {}}, "id": ""}),
    Endpoint("GET", "/v1/metadata/version", lambda *_: {"version": __version__, "commitId": ""}),
)
