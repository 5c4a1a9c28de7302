"""Kafka Connect's API: every path as it is there, and again under /connect, which is a base URL of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from orion import __version__
from orion.errors import Conflict, NotFound, UserError
from orion.plan.connectors import Connectors, Described, named
from orion.plan.sources import Wanted
from orion.web.connect import forms, requests, shapes
from orion.web.connect.requests import Content, Port
from orion.web.connect.route import ConnectRoute

PREFIX = "/connect"
T = TypeVar("T")

api = APIRouter(route_class=ConnectRoute)
router = APIRouter(route_class=ConnectRoute)

Expansions = Annotated[list[str] | None, Query()]


# ---- the server ----------------------------------------------------------------------------------------------------


@router.get("/", include_in_schema=False)
def root(request: Request) -> Response:
    """Who wants a page, or ksqlDB's JSON, is led to /info, as ksqlDB does it; others are Kafka Connect's clients."""
    accepted = request.headers.get("accept", "")
    if "text/html" in accepted or "vnd.ksql" in accepted:
        return RedirectResponse("/info", 307)
    return JSONResponse(shapes.server(__version__, requests.connectors_of(request).cluster_id()))


@router.get(PREFIX)
def worker(connectors: Port) -> Any:
    return shapes.server(__version__, connectors.cluster_id())


@api.get("/health")
def health(connectors: Port) -> Any:
    connectors.names()
    return {"status": "healthy", "message": "Worker has completed startup and is ready to handle requests."}


# ---- connectors ----------------------------------------------------------------------------------------------------


@api.get("/connectors")
def names(request: Request, connectors: Port, expand: Expansions = None) -> Any:
    if not expand:
        return connectors.names()
    found = {}
    for name in connectors.names():
        try:
            found[name] = _expanded(connectors.get(name), expand, _worker(request))
        except NotFound:  # dropped while we look
            continue
    return found


def _expanded(one: Described, wanted: list[str], worker: str) -> dict[str, Any]:
    told = {"status": lambda: shapes.status(one, worker), "info": lambda: shapes.info(one)}
    return {what: told[what]() for what in wanted if what in told}


@api.post("/connectors")
def create(request: Request, content: Content, connectors: Port) -> Response:
    asked = requests.creation(content)
    made = _making(lambda: connectors.create(asked.name, asked.config, asked.wanted))
    return _created(request, made)


@api.get("/connectors/{name}")
def show(name: str, connectors: Port) -> Any:
    return shapes.info(connectors.get(name))


@api.delete("/connectors/{name}")
def drop(name: str, connectors: Port) -> Response:
    connectors.drop(name)
    return Response(status_code=204)


@api.get("/connectors/{name}/config")
def config(name: str, connectors: Port) -> Any:
    return shapes.config(connectors.get(name))


@api.put("/connectors/{name}/config")
def configure(name: str, request: Request, content: Content, connectors: Port) -> Response:
    there = _there(connectors, name)
    asked = requests.under(requests.config(content), there or name, name)
    made = _making(lambda: connectors.create(there or name, asked, replace=there is not None))
    return JSONResponse(shapes.info(made)) if there else _created(request, made)


@api.patch("/connectors/{name}/config")
def reconfigure(name: str, content: Content, connectors: Port) -> Any:
    """Some options are set and some taken away; the secrets among the others come back as they are shown."""
    before = connectors.get(name)
    merged = shapes.config(before) | requests.changes(content)
    asked = requests.under({n: v for n, v in merged.items() if v is not None}, before.name, name)
    return shapes.info(_making(lambda: connectors.create(before.name, asked, replace=True)))


def _making(make: Callable[[], T]) -> T:
    """What isn't there while a connector is made is one of the things it names: 404 would mean the connector itself."""
    try:
        return make()
    except NotFound as error:
        raise UserError(error.code, error.message, hint=error.hint) from error


def _there(connectors: Connectors, name: str) -> str | None:
    try:
        return named(name, connectors.names())
    except NotFound:
        return None


def _created(request: Request, made: Described) -> Response:
    prefix = PREFIX if request.url.path.startswith(f"{PREFIX}/") else ""
    where = f"{prefix}/connectors/{quote(made.name, safe='')}"
    return JSONResponse(shapes.info(made), 201, {"Location": where})


# ---- how they are doing --------------------------------------------------------------------------------------------


@api.get("/connectors/{name}/status")
def status(name: str, request: Request, connectors: Port) -> Any:
    return shapes.status(connectors.get(name), _worker(request))


@api.put("/connectors/{name}/pause")
def pause(name: str, connectors: Port) -> Response:
    connectors.set_wanted(name, Wanted.PAUSED)
    return Response(status_code=202)


@api.put("/connectors/{name}/resume")
def resume(name: str, connectors: Port) -> Response:
    connectors.set_wanted(name, Wanted.RUNNING)
    return Response(status_code=202)


@api.put("/connectors/{name}/stop")
def stop(name: str, connectors: Port) -> Response:
    connectors.set_wanted(name, Wanted.STOPPED)
    return Response(status_code=202)


@api.post("/connectors/{name}/restart")
def restart(
    name: str,
    request: Request,
    connectors: Port,
    include_tasks: Annotated[str | None, Query(alias="includeTasks")] = None,
    only_failed: Annotated[str | None, Query(alias="onlyFailed")] = None,
) -> Response:
    tasks, failed = requests.flag(include_tasks), requests.flag(only_failed)
    connectors.restart(name, tasks=tasks, only_failed=failed)
    if not tasks and not failed:
        return Response(status_code=204)
    return JSONResponse(shapes.status(connectors.get(name), _worker(request)), 202)


@api.get("/connectors/{name}/tasks")
def tasks(name: str, connectors: Port) -> Any:
    return shapes.tasks(connectors.get(name))


@api.get("/connectors/{name}/tasks/{number}/status")
def task_status(name: str, number: int, request: Request, connectors: Port) -> Any:
    for task in shapes.status(connectors.get(name), _worker(request))["tasks"]:
        if task["id"] == number:
            return task
    raise NotFound("TASK_NOT_FOUND", f"No status found for task {name}-{number}.")


@api.post("/connectors/{name}/tasks/{number}/restart")
def restart_task(name: str, number: int, connectors: Port) -> Response:
    connectors.restart_task(name, number)
    return Response(status_code=204)


def _worker(request: Request) -> str:
    """Who runs it, by address: there is one server."""
    server = request.scope.get("server")
    return f"{server[0]}:{server[1]}" if server else "orion"


# ---- topics and offsets --------------------------------------------------------------------------------------------


@api.get("/connectors/{name}/topics")
def topics(name: str, connectors: Port) -> Any:
    one = connectors.get(name).name
    return {one: {"topics": connectors.topics(one)}}


@api.put("/connectors/{name}/topics/reset")
def reset_topics(name: str, connectors: Port) -> Response:
    connectors.reset_topics(name)
    return Response(status_code=202)


@api.get("/connectors/{name}/offsets")
def offsets(name: str, connectors: Port) -> Any:
    return shapes.offsets(connectors.offsets(name))


@api.patch("/connectors/{name}/offsets")
def alter_offsets(name: str, content: Content, connectors: Port) -> Any:
    wanted = requests.offsets(content)
    _while_stopped(lambda: connectors.alter_offsets(name, wanted))
    return {"message": "The offsets for this connector have been altered successfully"}


@api.delete("/connectors/{name}/offsets")
def reset_offsets(name: str, connectors: Port) -> Any:
    _while_stopped(lambda: connectors.alter_offsets(name, None))
    return {"message": "The offsets for this connector have been reset successfully"}


def _while_stopped(change: Callable[[], None]) -> None:
    """Kafka Connect answers with 400 where it isn't stopped: clients take a 409 for a moment's, and ask again."""
    try:
        change()
    except Conflict as error:
        raise UserError(error.code, error.message, hint=error.hint) from error


# ---- plug-ins ------------------------------------------------------------------------------------------------------


@api.get("/connector-plugins")
def plugins(connectors: Port, connectors_only: Annotated[str, Query(alias="connectorsOnly")] = "true") -> Any:
    found = connectors.plugins()
    if requests.flag(connectors_only):
        found = [plugin for plugin in found if plugin.kind in ("sink", "source")]
    return [shapes.plugin(plugin) for plugin in found]


@api.get("/connector-plugins/{name}/config")
def definitions(name: str, connectors: Port) -> Any:
    return forms.definitions(connectors, connectors.plugin(name))


@api.put("/connector-plugins/{name}/config/validate")
def validate(name: str, content: Content, connectors: Port) -> Any:
    asked = requests.config(content)
    plugin, told = connectors.plugin(name, asked), asked.get("connector.class", name)
    if _making(lambda: connectors.plugin(told, asked)) != plugin:
        raise UserError("BAD_REQUEST", f"Included connector type {told} does not match request type {name}.")
    return forms.validation(connectors, plugin, asked)


router.include_router(api)
router.include_router(api, prefix=PREFIX)
