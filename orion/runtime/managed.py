"""The port of connectors over the engine: what HTTP's doors ask, done by the road that SQL takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from orion import __version__, feeds, ksql, sinks
from orion.errors import ConfigError, NotFound, hint_nearest
from orion.options import Definition, Options, definitions, mistakes, shown
from orion.plan.connectors import Described, Offset, PluginInfo, Task, named, restored
from orion.plan.plugins import class_name, plugin_of
from orion.plan.sources import Connector, Direction, Wanted
from orion.plan.steps import CreateConnector, DropConnector, Plan, SteerConnector
from orion.plan.tolerance import PROPERTY as TOLERANCE
from orion.runtime.engine import Engine
from orion.sinks.transforms import NAMES as TRANSFORMS

_SHARED = ("connector.class", "topics", "topics.regex", "topic", "kafka.topic", TOLERANCE)


class ManagedConnectors:
    """An implementation of `orion.plan.connectors.Connectors`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def cluster_id(self) -> str:
        return self._engine.kafka.cluster_id()

    def names(self) -> list[str]:
        return sorted(self._engine.catalog.connectors)

    def get(self, name: str) -> Described:
        connector = self._get(name)
        tasks = tuple(
            Task(t.number, t.status.state, t.topic, t.status.error)
            for t in self._engine.connectors.tasks(connector.name)
        )
        return Described(connector.name, connector.direction, shown(_config(connector)), connector.wanted, tasks)

    def create(
        self, name: str, config: Mapping[str, str], wanted: Wanted | None = None, *, replace: bool = False
    ) -> Described:
        before = self._engine.catalog.connectors.get(name) if replace else None
        meant = restored(config, _config(before) if before else {})
        plugin = self.plugin(meant.get("connector.class", ""), meant)
        statement = _statement(name, "SINK" if plugin.kind == "sink" else "SOURCE", meant)
        if before is None:
            self._perform(statement, wanted)
        else:
            self._replace(before, statement, wanted or before.wanted)
        return self.get(name)

    def check(self, name: str, config: Mapping[str, str]) -> None:
        plugin = self.plugin(config.get("connector.class", ""), config)
        for step in self._planned(_statement(name, "SINK" if plugin.kind == "sink" else "SOURCE", config)).steps:
            if isinstance(step, CreateConnector):
                self._engine.connectors.check(step.connector)

    def _planned(self, statement: str) -> Plan:
        engine = self._engine
        return ksql.compile(statement, engine.catalog, None, None, engine.schemas, engine.defaults)

    def _perform(self, statement: str, wanted: Wanted | None) -> None:
        engine, plan = self._engine, self._planned(statement)
        if wanted is not None:
            plan = _wanting(plan, wanted)
        engine.perform(plan)

    def _replace(self, before: Connector, statement: str, wanted: Wanted) -> None:
        """The new one takes over where the old one is; one that can't be made leaves the old one running."""
        engine = self._engine
        without = engine.catalog.drop(Connector, before.name)
        plan = ksql.compile(statement, without, None, None, engine.schemas, engine.defaults)
        engine.perform(_wanting(plan, wanted, replaces=True))

    def drop(self, name: str) -> None:
        self._engine.perform(Plan("", (DropConnector(self._get(name).name),)))

    def set_wanted(self, name: str, wanted: Wanted) -> None:
        connector = self._get(name)
        if connector.wanted is not wanted:
            self._engine.perform(Plan("", (SteerConnector(connector.name, wanted),)))

    def restart(self, name: str, *, tasks: bool = False, only_failed: bool = False) -> None:
        """A connector of Orion's is its tasks: nothing else could be started again."""
        self._engine.connectors.restart(self._get(name).name, only_failed=only_failed or not tasks)

    def restart_task(self, name: str, number: int) -> None:
        found = self.get(name)
        if number not in [task.id for task in found.tasks]:
            raise NotFound("TASK_NOT_FOUND", f"Connector {found.name} has no task {number}.")
        self._engine.connectors.restart(found.name, task=number)

    def topics(self, name: str) -> list[str]:
        return self._engine.connectors.topics(self._get(name).name)

    def reset_topics(self, name: str) -> None:
        """Which topics a connector uses is what it was told: there is nothing to forget."""
        self._get(name)

    def offsets(self, name: str) -> list[Offset]:
        return list(self._engine.connectors.offsets(self._get(name).name))

    def alter_offsets(self, name: str, offsets: Sequence[Offset] | None) -> None:
        self._engine.connectors.move(self._get(name).name, offsets)

    # ---- plug-ins ----------------------------------------------------------------------------------------------

    def plugins(self) -> list[PluginInfo]:
        found = [PluginInfo(class_name(name, Direction.SINK), "sink", __version__) for name in sinks.NAMES]
        found += [PluginInfo(class_name(name, Direction.SOURCE), "source", __version__) for name in feeds.NAMES]
        return found + [PluginInfo(name, "transformation", __version__) for name in TRANSFORMS]

    def plugin(self, class_name: str, config: Mapping[str, str] | None = None) -> PluginInfo:
        if not class_name:
            raise ConfigError(
                "INVALID_CONNECTOR", "'connector.class' is missing.", hint="For example 'connector.class'='delta'."
            )
        wanted = _direction(class_name, config or {})
        for direction in wanted:
            known = {p.class_name: p for p in self.plugins() if p.kind == direction.lower()}
            found = known.get(_class_of(class_name, direction))
            if found is not None:
                return found
        names = [*sinks.NAMES, *feeds.NAMES]
        hint = hint_nearest(class_name, names) or f"There are {', '.join(dict.fromkeys(names))}."
        raise NotFound("UNKNOWN_CONNECTOR", f"There is no connector '{class_name}'.", hint=hint)

    def definitions(self, plugin: PluginInfo) -> Sequence[Definition]:
        model = _model(plugin)
        return () if model is None else definitions(model)

    def mistakes(self, plugin: PluginInfo, config: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
        model = _model(plugin)
        if model is None:
            return {}
        own = {n: v for n, v in config.items() if n not in _SHARED and not n.startswith(("transforms", "predicates"))}
        return {name: [told] for name, told in mistakes(model, own, self._engine.secrets).items()}

    def _get(self, name: str) -> Connector:
        catalog = self._engine.catalog
        return catalog.connectors[named(name, catalog.connectors)]


def _config(connector: Connector) -> dict[str, str]:
    """All that was said of a connector, as it was said: tools compare it with what they want."""
    return {**dict(connector.written), "name": connector.name}


def _statement(name: str, direction: str, config: Mapping[str, str]) -> str:
    options = ",\n  ".join(f"{_text(n)} = {_text(v)}" for n, v in config.items() if n != "name")
    return f"CREATE {direction} CONNECTOR {_text(name)} WITH (\n  {options}\n)"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _wanting(plan: Plan, wanted: Wanted, *, replaces: bool = False) -> Plan:
    """The plan, for a connector that is to be so from the start, or to take another's place."""
    steps = tuple(
        CreateConnector(replace(s.connector, wanted=wanted), replaces) if isinstance(s, CreateConnector) else s
        for s in plan.steps
    )
    return replace(plan, steps=steps)


def _direction(written: str, config: Mapping[str, str]) -> tuple[Direction, ...]:
    """Which way a class name may mean, the likelier first: a sink names topics."""
    if written.endswith("SinkConnector"):
        return (Direction.SINK,)
    if written.endswith("SourceConnector") or written.startswith("io.debezium."):
        return (Direction.SOURCE,)
    sink_first = "topics" in config or "topics.regex" in config or not config
    return (Direction.SINK, Direction.SOURCE) if sink_first else (Direction.SOURCE, Direction.SINK)


def _class_of(written: str, direction: Direction) -> str:
    return class_name(plugin_of(written, direction)[0], direction)


def _model(plugin: PluginInfo) -> type[Options] | None:
    direction = {"sink": Direction.SINK, "source": Direction.SOURCE}.get(plugin.kind)
    if direction is None:
        return None
    name = plugin_of(plugin.class_name, direction)[0]
    return sinks.plugin(name).OPTIONS if direction is Direction.SINK else feeds.plugin(name).OPTIONS
