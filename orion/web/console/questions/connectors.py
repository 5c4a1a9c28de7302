"""Connectors: how each is doing, what it was told, what it can be made of, and steering it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from orion.app import Orion
from orion.options import Definition, is_secret
from orion.plan.connectors import Described, Offset, PluginInfo
from orion.plan.plugins import plugin_of
from orion.plan.sources import Direction, Wanted
from orion.web.console.questions.pulse import Job, Reading, worst_state


@dataclass(frozen=True, slots=True)
class Row:
    """A connector in the list."""

    described: Described
    plugin: str
    jobs: tuple[Job, ...]

    @property
    def name(self) -> str:
        return self.described.name

    @property
    def state(self) -> str:
        """The worst of its tasks' states."""
        if not self.jobs and self.described.wanted is not Wanted.RUNNING:
            return self.described.wanted.value
        return worst_state([job.status.state for job in self.jobs])

    @property
    def error(self) -> str | None:
        told = next((job.status.error for job in self.jobs if job.status.error), None)
        return told or self.described.trace

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(task.topic for task in self.described.tasks if task.topic)


@dataclass(frozen=True, slots=True)
class Plugin:
    """What a connector can be made of, with the fields of its form."""

    info: PluginInfo
    name: str
    definitions: tuple[Definition, ...]

    @property
    def is_sink(self) -> bool:
        return self.info.kind == "sink"


def rows(orion: Orion, reading: Reading) -> list[Row]:
    port = orion.connectors
    return [_row(orion, port.get(name), reading) for name in port.names()]


def row(orion: Orion, name: str, reading: Reading) -> Row:
    return _row(orion, orion.connectors.get(name), reading)


def _row(orion: Orion, described: Described, reading: Reading) -> Row:
    jobs = tuple(job for job in reading.jobs.values() if job.connector == described.name)
    return Row(described, orion.engine.catalog.connectors[described.name].plugin, jobs)


def offsets(orion: Orion, name: str) -> list[Offset]:
    return orion.connectors.offsets(name)


def plugins(orion: Orion) -> list[Plugin]:
    """Sinks, then sources."""
    port = orion.connectors
    found = [p for p in port.plugins() if p.kind in ("sink", "source")]
    return [Plugin(p, _name(p), tuple(port.definitions(p))) for p in found]


def _name(info: PluginInfo) -> str:
    return plugin_of(info.class_name, Direction.SINK if info.kind == "sink" else Direction.SOURCE)[0]


def needed(plugin: Plugin) -> tuple[Definition, ...]:
    """What has to be said: the topics of a sink, the topic of a source that writes one, what the plug-in demands."""
    topics = (
        (Definition("topics", "LIST", True, None, "topics to read, with commas between"),) if plugin.is_sink else ()
    )
    own = (replace(d, required=True) for d in plugin.definitions if d.required or _is_topic(plugin, d))
    return (*topics, *own)


def optional(plugin: Plugin) -> tuple[Definition, ...]:
    return tuple(d for d in plugin.definitions if not d.required and not _is_topic(plugin, d))


def _is_topic(plugin: Plugin, definition: Definition) -> bool:
    """A source that captures several tables makes topics by itself, and has no such option."""
    return not plugin.is_sink and definition.name == "topic"


def is_hidden(definition: Definition) -> bool:
    """Whether what is typed must not be seen."""
    return definition.type == "PASSWORD" or is_secret(definition.name)


def config(plugin: Plugin, written: Mapping[str, object]) -> dict[str, str]:
    """What a form holds as options: what is empty isn't said, and neither is a default."""
    defaults = {definition.name: definition.default for definition in plugin.definitions}
    said = {name: _text(value) for name, value in written.items()}
    kept = {name: value for name, value in said.items() if value and value != defaults.get(name)}
    return {"connector.class": plugin.info.class_name, **kept}


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def check(orion: Orion, plugin: Plugin, name: str, options: Mapping[str, str]) -> dict[str, str]:
    """What is wrong with a form, by field. Raises what `create` would and what is no single field's fault."""
    found = mistakes(orion, plugin, options)
    if not name.strip():
        found["name"] = "It is missing."
    if not found:
        orion.connectors.check(name.strip(), dict(options))
    return found


def mistakes(orion: Orion, plugin: Plugin, options: Mapping[str, str]) -> dict[str, str]:
    told: Mapping[str, Sequence[str]] = orion.connectors.mistakes(plugin.info, options)
    found = {name: " ".join(why) for name, why in told.items()}
    for definition in needed(plugin):
        if not options.get(definition.name):
            found.setdefault(definition.name, "It is missing.")
    return found


def create(orion: Orion, name: str, options: Mapping[str, str]) -> Described:
    return orion.connectors.create(name.strip(), dict(options))


def steer(orion: Orion, what: str, name: str) -> str:
    """Pause, resume, restart or drop; what was done."""
    port = orion.connectors
    match what:
        case "pause":
            port.set_wanted(name, Wanted.PAUSED)
            return f"Paused {name}."
        case "resume":
            port.set_wanted(name, Wanted.RUNNING)
            return f"Resumed {name}."
        case "restart":
            port.restart(name, tasks=True)
            return f"Restarted {name}."
        case _:
            port.drop(name)
            return f"Dropped {name}."
