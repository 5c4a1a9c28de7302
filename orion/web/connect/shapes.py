"""Connectors, tasks and offsets in the shapes and words of Kafka Connect's API."""

from __future__ import annotations

from typing import Any

from orion.plan.connectors import Described, Offset, PluginInfo, Task
from orion.plan.sources import Wanted

# The version of Kafka Connect's API that is spoken: clients go by it to know what they may ask for.
API_VERSION = "4.3.1"

RUNNING, PAUSED, STOPPED, FAILED = "RUNNING", "PAUSED", "STOPPED", "FAILED"
UNASSIGNED, RESTARTING = "UNASSIGNED", "RESTARTING"

# Orion's states. One that waits for another system moves no rows, so it isn't shown as running; but it goes on by
# itself, so it isn't shown as failed either: tools start failed ones again, which wouldn't help. One that fails again
# and again is: somebody should look at it, and that is the word that tools tell somebody of.
_STATES = {
    "STARTING": UNASSIGNED,
    "RUNNING": RUNNING,
    "PAUSED": PAUSED,
    "STOPPED": STOPPED,
    "PAUSING": RUNNING,
    "RESTARTING": RESTARTING,
    "FAILING": FAILED,
    "WAITING": RESTARTING,
    "ERROR": FAILED,
}

Json = dict[str, Any]


def server(version: str, cluster: str) -> Json:
    return {"version": API_VERSION, "commit": f"orion-{version}", "kafka_cluster_id": cluster}


def info(one: Described) -> Json:
    return {
        "name": one.name,
        "config": config(one),
        "tasks": [{"connector": one.name, "task": task.id} for task in _tasks(one)],
        "type": one.direction.lower(),
    }


def config(one: Described) -> dict[str, str]:
    return {**one.config, "name": one.name}


def status(one: Described, worker: str) -> Json:
    return {
        "name": one.name,
        "connector": {"state": state(one), "worker_id": worker, **_trace(_reason(one))},
        "tasks": [task_status(task, worker) for task in _tasks(one)],
        "type": one.direction.lower(),
    }


def task_status(task: Task, worker: str) -> Json:
    return {"id": task.id, "state": task_state(task), "worker_id": worker, **_trace(task.trace)}


def task_state(task: Task) -> str:
    return _STATES.get(task.state, UNASSIGNED)


def tasks(one: Described) -> list[Json]:
    return [
        {
            "id": {"connector": one.name, "task": task.id},
            "config": config(one) | ({"topics": task.topic} if task.topic else {}),
        }
        for task in _tasks(one)
    ]


def offsets(found: list[Offset]) -> Json:
    return {
        "offsets": [{"partition": dict(o.partition), "offset": None if o.at is None else dict(o.at)} for o in found]
    }


def plugin(found: PluginInfo) -> Json:
    return {"class": found.class_name, "type": found.kind, "version": found.version}


def state(one: Described) -> str:
    """How a connector as a whole is: as somebody wants it, failed with its last task, not there before its first."""
    if one.wanted is not Wanted.RUNNING:
        return {Wanted.PAUSED: PAUSED, Wanted.STOPPED: STOPPED}[one.wanted]
    states = {task_state(task) for task in one.tasks}
    if states == {FAILED} or (not states and one.trace):
        return FAILED
    return UNASSIGNED if states <= {UNASSIGNED} else RUNNING


def _tasks(one: Described) -> tuple[Task, ...]:
    """A connector that is stopped has none."""
    return () if one.wanted is Wanted.STOPPED else one.tasks


def _reason(one: Described) -> str | None:
    return one.trace or (next((t.trace for t in one.tasks if t.trace), None) if state(one) == FAILED else None)


def _trace(reason: str | None) -> Json:
    """Only there if there is one: clients take its presence for a failure's."""
    return {"trace": reason} if reason else {}
