"""How long a registry takes to start over 1,000 subjects of 5 versions; the goal is 5 s.

By hand: the topic read to its end by the same reader, every key and value taken from JSON and kept by its id. Orion
also keeps subjects, equal schemas and references, and makes sure that it has what others wrote.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace

from benchmarks.contest import written
from benchmarks.registry_shelf import IDS, SUBJECTS, VERSIONS, fill
from benchmarks.stage import Measured, Stage
from orion.registry.log import TOPIC, KafkaLog
from orion.registry.store import Registry


def measure(stage: Stage) -> Measured:
    fill(stage)
    found = stage.take_turns(
        "registry_load",
        lambda _: IDS / _orion(stage),
        lambda _: IDS / _by_hand(stage),
        "schemas/s",
        f"registry: start over {SUBJECTS:,} subjects of {VERSIONS} versions",
    )
    return replace(found, what=f"{found.what}, in {IDS / found.orion:.2f} s")


def _orion(stage: Stage) -> float:
    start = time.perf_counter()
    registry = Registry(KafkaLog(stage.kafka))
    taken = time.perf_counter() - start
    try:
        if len(registry.all_versions()) != IDS:
            raise RuntimeError("the registry doesn't know everything")
    finally:
        registry.close()
    return taken


def _by_hand(stage: Stage) -> float:
    start = time.perf_counter()
    kept = {}
    for record in written(stage.kafka, TOPIC):
        if json.loads(record.key or b"")["keytype"] == "SCHEMA" and record.value is not None:
            body = json.loads(record.value)
            kept[body["id"]] = body
    taken = time.perf_counter() - start
    if len(kept) != IDS:
        raise RuntimeError("not everything was read")
    return taken
