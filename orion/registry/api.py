"""The registry's HTTP API: requests to endpoints, and what they give or raise to answers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import structlog
from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from orion import __version__
from orion.errors import BodyLate, OrionError, TooLarge
from orion.registry import errors
from orion.registry.endpoints import ENDPOINTS, Endpoint, Text
from orion.registry.errors import RegistryError
from orion.registry.requests import Call
from orion.registry.store import Registry

log = structlog.get_logger()

MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"
_MEDIA_TYPES = (MEDIA_TYPE, "application/vnd.schemaregistry+json", "application/json")
_TAKEN = (*_MEDIA_TYPES, "application/octet-stream")  # what bodies may be called
_QUALITY = re.compile(r"[01](\.[0-9]{0,3})?")
# Stands for a slash inside of a subject, which must not cut the path there.
_SLASH = "\ue000"


def application(registry: Registry) -> FastAPI:
    """The API over one registry: every path also under a context."""
    routes: dict[str, dict[str, Endpoint]] = {}
    for endpoint in ENDPOINTS:
        prefixes = ("", "/contexts/{context}") if not endpoint.path.startswith("/contexts") else ("",)
        for prefix in prefixes:
            routes.setdefault((prefix + endpoint.path).rstrip("/") or "/", {})[endpoint.method] = endpoint
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
    app.add_middleware(_Paths)
    app.add_exception_handler(404, _missing)
    app.add_exception_handler(405, _missing)
    return app


def _handler(registry: Registry, by_method: dict[str, Endpoint]) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Response:
        endpoint = by_method["GET" if request.method == "HEAD" else request.method]
        path = {name: value.replace(_SLASH, "/") for name, value in request.path_params.items()}
        try:
            if _acceptable(request.headers.get("accept", "")) is None:
                raise RegistryError(406, "HTTP 406 Not Acceptable")
            if endpoint.method == "GET":
                return _answer(request, endpoint.answer(registry, Call(path, request.query_params)))
            call = Call(path, request.query_params, await _content(request))
            # Whatever may write, or read a schema, has its own thread: others are answered meanwhile.
            return _answer(request, await asyncio.to_thread(endpoint.answer, registry, call))
        except RegistryError as error:
            return _answer(request, error.body(), error.status)
        except (TooLarge, BodyLate) as error:
            return _answer(request, {"error_code": error.http_status, "message": error.message}, error.http_status)
        except OrionError as error:
            number = errors.STORE_LATE if error.code in ("REGISTRY_LATE", "REGISTRY_BUSY") else errors.STORE_FAILED
            return _answer(request, {"error_code": number, "message": error.message}, 500)
        except Exception as error:
            log.exception("registry", path=request.url.path)
            text = f"Error in the backend data store: {type(error).__name__}"
            return _answer(request, {"error_code": errors.STORE_FAILED, "message": text}, 500)

    return handle


async def _content(request: Request) -> bytes:
    content = await request.body()
    kind = request.headers.get("content-type", MEDIA_TYPE).partition(";")[0].strip().lower()
    if content and kind not in _TAKEN:
        raise RegistryError(415, "HTTP 415 Unsupported Media Type")
    return content


def _answer(request: Request, value: Any, status: int = 200) -> Response:
    text = value.text if isinstance(value, Text) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    kind = _media_type(request.headers.get("accept", ""))
    return Response(text.encode("utf-8", "backslashreplace"), status, media_type=kind)


def _media_type(accept: str) -> str:
    """The type of an answer; one that is refused has the first of them, like every answer to who names none."""
    return _acceptable(accept) or MEDIA_TYPE


def _acceptable(accept: str) -> str | None:
    """The best of our types that a client accepts, the first of equals; None where it accepts only others."""
    wanted = [_range(word) for word in accept.lower().split(",") if word.strip()]
    if not wanted:
        return MEDIA_TYPE
    qualities = [max((q for pattern, q in wanted if pattern in _patterns(kind)), default=0.0) for kind in _MEDIA_TYPES]
    best = max(qualities)
    return _MEDIA_TYPES[qualities.index(best)] if best > 0 else None


def _patterns(kind: str) -> tuple[str, ...]:
    return kind, f"{kind.partition('/')[0]}/*", "*/*"


def _range(word: str) -> tuple[str, float]:
    """A media range and how much it is wanted."""
    kind, *parameters = (part.strip() for part in word.split(";"))
    quality = next((part[2:] for part in parameters if part.startswith("q=")), "1")
    return kind, float(quality) if _QUALITY.fullmatch(quality) else 0.0


async def _missing(request: Request, error: Any) -> Response:
    text = f"HTTP {error.status_code} {error.detail}"
    return _answer(request, {"error_code": error.status_code, "message": text}, error.status_code)


class _Paths:
    """Paths as Confluent's server reads them: `%2F` is part of a subject, and a slash at the end says nothing.

    Servers decode paths before anyone can tell the two kinds of slash apart.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path, raw = scope["path"], scope.get("raw_path")
            if raw and b"%2f" in raw.lower():
                kept = raw.split(b"?")[0].decode("ascii", "replace")
                path = unquote(kept.replace("%2F", _SLASH).replace("%2f", _SLASH))
            scope = {**scope, "path": path.rstrip("/") or "/"}
        await self._app(scope, receive, send)
