"""What Orion asks of a Kafka Connect cluster, its own worker or somebody else's, over Connect's REST API.

Raises only Orion's errors: ExternalError where the cluster can't be reached or fails, NotFound for a connector that
isn't there, ConfigError for settings that it refuses.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import quote

import httpx

from orion.errors import ConfigError, Conflict, ExternalError, NotFound, OrionError

TIMEOUT = 60.0  # a validation connects to the database, which may take its time to refuse
PATIENCE = 30.0  # seconds that a request is repeated while the cluster shares out its connectors anew
RETRY_AFTER = 5.0
_LOGIN = re.compile(r"^([a-z][a-z0-9+.-]*://)?[^/@]*@", re.IGNORECASE)


class State(StrEnum):
    """Of a connector or of one of its tasks."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    FAILED = "FAILED"
    UNASSIGNED = "UNASSIGNED"
    RESTARTING = "RESTARTING"
    DESTROYED = "DESTROYED"


@dataclass(frozen=True, slots=True)
class Task:
    id: int
    state: State
    trace: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """How a connector is; `trace` is a stack of Java's, where it has failed."""

    name: str
    state: State
    trace: str = ""
    tasks: tuple[Task, ...] = ()

    @property
    def failed(self) -> bool:
        return State.FAILED in (self.state, *(task.state for task in self.tasks))

    @property
    def running(self) -> bool:
        """Whether the connector and at least one task of it run, and all of them."""
        return bool(self.tasks) and all(s is State.RUNNING for s in (self.state, *(t.state for t in self.tasks)))

    @property
    def reason(self) -> str | None:
        """Why it has failed, in one sentence: the innermost cause."""
        for trace in (self.trace, *(task.trace for task in self.tasks)):
            if trace:
                return cause(trace)
        return None


@dataclass(frozen=True, slots=True)
class Definition:
    """An option that a plug-in knows."""

    name: str
    type: str
    required: bool
    default: str | None
    values: tuple[str, ...]
    errors: tuple[str, ...]  # what is wrong with the value that was given


@dataclass(frozen=True, slots=True)
class Position:
    """How far a connector is in one part of its source."""

    partition: Mapping[str, Any]
    offset: Mapping[str, Any]


class ConnectClient:
    """A Connect cluster by its address. An address may hold a name and a password; they are never shown."""

    def __init__(self, url: str) -> None:
        self.url = _LOGIN.sub(lambda found: found[1] or "", url.rstrip("/"))
        try:
            self._http = httpx.Client(base_url=url.rstrip("/"), timeout=TIMEOUT, trust_env=False)
        except (httpx.InvalidURL, ValueError) as error:
            raise ConfigError("CONNECT_URL_INVALID", f"{self.url} is no address: {error}.") from None

    def close(self) -> None:
        self._http.close()

    def is_ready(self) -> bool:
        """Whether the worker has read its topics and takes requests."""
        try:
            return self._http.get("/health", timeout=5.0).status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False

    def version(self) -> str:
        return str(self._asked("GET", "/")["version"])

    def plugins(self) -> list[str]:
        """The classes of connectors that the cluster has."""
        return [str(plugin["class"]) for plugin in self._asked("GET", "/connector-plugins")]

    def validate(self, connector_class: str, config: Mapping[str, str]) -> list[Definition]:
        """Every option that the class, its converters and transforms know, and what is wrong with those given."""
        path = f"/connector-plugins/{quote(connector_class, safe='')}/config/validate"
        answer = self._asked("PUT", path, dict(config), subject=f"the class {connector_class}")
        return [_definition(entry) for entry in answer["configs"] if entry["definition"]]

    def names(self) -> list[str]:
        return sorted(str(name) for name in self._asked("GET", "/connectors"))

    def put(self, name: str, config: Mapping[str, str]) -> None:
        """Make a connector, or give one that is there another configuration."""
        self._asked("PUT", _path(name, "config"), dict(config), subject=name)

    def config(self, name: str) -> dict[str, str]:
        return {str(k): str(v) for k, v in self._asked("GET", _path(name, "config"), subject=name).items()}

    def status(self, name: str) -> Status:
        try:
            told = self._asked("GET", _path(name, "status"), subject=name)
        except NotFound:
            if name not in self.names():
                raise
            return Status(name, State.UNASSIGNED)  # so new that no worker has said anything of it
        tasks = (Task(int(t["id"]), State(t["state"]), str(t.get("trace", ""))) for t in told["tasks"])
        own = told["connector"]
        return Status(name, State(own["state"]), str(own.get("trace", "")), tuple(tasks))

    def pause(self, name: str) -> None:
        """Its tasks stay and do nothing."""
        self._asked("PUT", _path(name, "pause"), subject=name)

    def stop(self, name: str) -> None:
        """Its tasks end; it is kept with its offsets."""
        self._asked("PUT", _path(name, "stop"), subject=name)

    def resume(self, name: str) -> None:
        self._asked("PUT", _path(name, "resume"), subject=name)

    def restart(self, name: str) -> None:
        """The connector and all its tasks, whatever their state."""
        self._asked("POST", _path(name, "restart") + "?includeTasks=true", subject=name)

    def offsets(self, name: str) -> list[Position]:
        """How far it is; nothing for one that has never committed a record."""
        told = self._asked("GET", _path(name, "offsets"), subject=name)["offsets"]
        return [Position(entry["partition"], entry["offset"] or {}) for entry in told]

    def reset_offsets(self, name: str) -> None:
        """Forget how far it is. It must be stopped."""
        self._asked("DELETE", _path(name, "offsets"), subject=name)

    def topics(self, name: str) -> list[str]:
        """The topics that it has written to."""
        return sorted(self._asked("GET", _path(name, "topics"), subject=name)[name]["topics"])

    def delete(self, name: str) -> None:
        """Delete the connector. Its offsets stay, unless they are reset before."""
        self._asked("DELETE", _path(name), subject=name)

    def _asked(self, method: str, path: str, body: Any = None, *, subject: str = "") -> Any:
        """The answer to a request, which is repeated while the cluster is busy with itself."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                answer = self._http.request(method, path, json=body)
            except httpx.HTTPError as error:
                raise self._unreachable(error) from error
            if answer.status_code != httpx.codes.CONFLICT or time.monotonic() > deadline:
                break
            time.sleep(0.2)
        if answer.is_success:
            return answer.json() if answer.content else None
        raise self._refused(answer, subject)

    def _unreachable(self, error: httpx.HTTPError) -> ExternalError:
        return ExternalError(
            "CONNECT_UNREACHABLE",
            f"Kafka Connect at {self.url} doesn't answer: {str(error) or type(error).__name__}.",
            hint="Check that it runs there and that 'connect.url' is its address.",
            retry_after=RETRY_AFTER,
        )

    def _refused(self, answer: httpx.Response, subject: str) -> OrionError:
        message = _message(answer)
        match answer.status_code:
            case httpx.codes.NOT_FOUND:
                return NotFound(
                    "CONNECTOR_NOT_FOUND", f"Kafka Connect at {self.url} doesn't know {subject}: {message}."
                )
            case httpx.codes.CONFLICT:
                return Conflict("CONNECT_BUSY", f"{subject}: {message}.", hint="Try again in a moment.")
            case httpx.codes.BAD_REQUEST | httpx.codes.UNPROCESSABLE_ENTITY:
                return ConfigError("CONNECT_REFUSED", f"Kafka Connect refuses {subject}: {message}.")
            case httpx.codes.UNAUTHORIZED | httpx.codes.FORBIDDEN:
                return ConfigError("CONNECT_FORBIDDEN", f"Kafka Connect at {self.url} doesn't let us in: {message}.")
            case _:
                return ExternalError(
                    "CONNECT_FAILED",
                    f"Kafka Connect at {self.url} failed: {message}.",
                    hint="Its log says more.",
                    retry_after=RETRY_AFTER,
                )


def cause(trace: str) -> str:
    """The innermost cause of a stack of Java's, without the names of its classes and the insides of its objects."""
    lines = [line for line in trace.splitlines() if line and not line.startswith(("\t", " "))]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")] or lines[:1]
    told = [re.sub(r"^(?:[\w$]+\.)+[\w$]+(?:: |$)", "", line).strip() for line in causes]
    text = next((text for text in reversed(told) if text), causes[-1] if causes else trace)
    return re.sub(r"\[.{80,}\]", "[...]", text).rstrip(".")


def _path(name: str, *more: str) -> str:
    return "/".join(("/connectors", quote(name, safe=""), *more))


def _definition(entry: Any) -> Definition:
    definition, value = entry["definition"], entry["value"] or {}
    return Definition(
        name=str(definition["name"]),
        type=str(definition["type"]),
        required=bool(definition["required"]),
        default=definition["default_value"],
        values=tuple(str(v) for v in value.get("recommended_values") or ()),
        errors=tuple(str(e) for e in value.get("errors") or ()),
    )


def _message(answer: httpx.Response) -> str:
    """What the cluster says of its refusal."""
    try:
        told = answer.json()
        message = str(told.get("message") or told) if isinstance(told, dict) else str(told)
    except ValueError:
        message = answer.text
    return (message.strip() or f"HTTP {answer.status_code}").rstrip(".")
