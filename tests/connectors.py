"""Connectors that are kept in memory: Orion's own port without an engine behind it, for the doors' tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

from fastapi import FastAPI
from pydantic import Field, SecretStr

from orion.errors import ConfigError, Conflict, NotFound
from orion.options import Definition, Options, definitions, shown
from orion.plan.connectors import Described, Offset, PluginInfo, Task, named, restored
from orion.plan.sources import Direction, Wanted
from orion.web.routes import connect
from orion.web.server import Server
from orion.web.sockets import bound

VERSION = "1.2.3"
SINK = PluginInfo("LakeSinkConnector", "sink", VERSION)
SOURCE = PluginInfo("FilesSourceConnector", "source", VERSION)
TRANSFORM = PluginInfo("ReplaceField", "transformation", VERSION)


class LakeOptions(Options):
    path: str = Field(description="folder of the table")
    mode: str = Field(default="append", description="how rows are written")
    secret: SecretStr | None = Field(default=None, alias="aws.secret.access.key", description="key of the store")


@dataclass(frozen=True)
class Kept:
    config: Mapping[str, str]
    wanted: Wanted
    tasks: tuple[Task, ...]
    offsets: tuple[Offset, ...] = ()


class Shelf:
    """An implementation of `orion.plan.connectors.Connectors`."""

    def __init__(self) -> None:
        self.kept: dict[str, Kept] = {}
        self.calls: list[tuple[object, ...]] = []

    def cluster_id(self) -> str:
        return "cluster-1"

    def names(self) -> list[str]:
        return sorted(self.kept)

    def get(self, name: str) -> Described:
        name = named(name, self.kept)
        one = self.kept[name]
        sink = self.plugin(one.config["connector.class"]).kind == "sink"
        return Described(name, Direction.SINK if sink else Direction.SOURCE, shown(one.config), one.wanted, one.tasks)

    def create(
        self, name: str, config: Mapping[str, str], wanted: Wanted | None = None, *, replace: bool = False
    ) -> Described:
        before = self.kept.get(name)
        if before is not None and not replace:
            raise Conflict("CONNECTOR_EXISTS", f"Connector {name} already exists", hint="DROP it first.")
        meant = restored(config, before.config if before else {})
        if "connector.class" not in meant:
            raise ConfigError("INVALID_CONNECTOR", f"Connector {name}: 'connector.class' is missing.")
        for option, told in self.mistakes(self.plugin(meant["connector.class"]), meant).items():
            raise ConfigError("INVALID_CONNECTOR", f"Connector {name}: '{option}' {told[0]}")
        wanted = wanted or (before.wanted if before else Wanted.RUNNING)
        topics = [t for t in meant.get("topics", "").split(",") if t]
        tasks = tuple(Task(i, str(wanted), topic) for i, topic in enumerate(topics))
        at = tuple(Offset({"kafka_topic": t, "kafka_partition": 0}, {"kafka_offset": 3}) for t in topics)
        self.kept[name] = Kept(meant, wanted, tasks, at)
        return self.get(name)

    def fail(self, name: str, number: int, reason: str, state: str = "ERROR") -> None:
        one = self.kept[name]
        broken = tuple(replace(t, state=state, trace=reason) if t.id == number else t for t in one.tasks)
        self.kept[name] = replace(one, tasks=broken)

    def drop(self, name: str) -> None:
        del self.kept[named(name, self.kept)]

    def set_wanted(self, name: str, wanted: Wanted) -> None:
        name = named(name, self.kept)
        tasks = tuple(replace(t, state=str(wanted)) for t in self.kept[name].tasks)
        self.kept[name] = replace(self.kept[name], wanted=wanted, tasks=tasks)

    def restart(self, name: str, *, tasks: bool = False, only_failed: bool = False) -> None:
        self.calls.append(("restart", named(name, self.kept), tasks, only_failed))

    def restart_task(self, name: str, number: int) -> None:
        name = named(name, self.kept)
        if number >= len(self.kept[name].tasks):
            raise NotFound("TASK_NOT_FOUND", f"Unknown task: {name}-{number}.")
        tasks = tuple(Task(t.id, "RUNNING", t.topic) if t.id == number else t for t in self.kept[name].tasks)
        self.kept[name] = replace(self.kept[name], tasks=tasks)

    def topics(self, name: str) -> list[str]:
        return [t.topic for t in self.kept[named(name, self.kept)].tasks if t.topic]

    def reset_topics(self, name: str) -> None:
        self.calls.append(("reset_topics", named(name, self.kept)))

    def offsets(self, name: str) -> list[Offset]:
        return list(self.kept[named(name, self.kept)].offsets)

    def alter_offsets(self, name: str, offsets: Sequence[Offset] | None) -> None:
        name = named(name, self.kept)
        if self.kept[name].wanted is not Wanted.STOPPED:
            raise Conflict("CONNECTOR_NOT_STOPPED", f"Connector {name} is not stopped.", hint="Stop it first.")
        self.kept[name] = replace(self.kept[name], offsets=tuple(offsets or ()))

    def plugins(self) -> list[PluginInfo]:
        return [SINK, SOURCE, TRANSFORM]

    def plugin(self, class_name: str, config: Mapping[str, str] | None = None) -> PluginInfo:
        for one in self.plugins():
            if class_name in (
                one.class_name,
                one.class_name.removesuffix("Connector"),
                f"org.example.{one.class_name}",
            ):
                return one
        if class_name == "lake":
            return SINK if config is None or "topics" in config else SOURCE
        raise NotFound("UNKNOWN_CONNECTOR", f"There is no connector '{class_name}'.")

    def definitions(self, plugin: PluginInfo) -> Sequence[Definition]:
        return definitions(LakeOptions) if plugin is SINK else ()

    def mistakes(self, plugin: PluginInfo, config: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
        own = {d.name for d in self.definitions(plugin)}
        shared = {"name", "connector.class", "topics", "tasks.max", "errors.tolerance", "transforms"}
        told = {name: ["is no option."] for name in config if plugin is SINK and name not in own | shared}
        return told | ({"path": ["is missing."]} if plugin is SINK and "path" not in config else {})


def application(shelf: Shelf) -> FastAPI:
    """Kafka Connect's API, and nothing else, over a shelf."""
    app = FastAPI()
    app.state.connectors = shelf
    app.include_router(connect.router)
    return app


@contextmanager
def serving(shelf: Shelf) -> Iterator[str]:
    """The same on a real port; gives its URL."""
    with closing(bound("127.0.0.1", 0)) as sock:
        server = Server.serve(application(shelf), sock)
        try:
            yield server.url
        finally:
            server.stop()
