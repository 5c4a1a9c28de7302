"""What the registry's benchmarks look things up in: a thousand subjects with five versions each, in `_schemas`."""

from __future__ import annotations

import json
from collections.abc import Iterator

from fastapi import FastAPI
from fastapi.responses import Response
from starlette.routing import Route

from benchmarks.stage import Stage
from orion.hub.records import Outgoing
from orion.hub.writer import send_all
from orion.registry.api import MEDIA_TYPE
from orion.registry.log import TOPIC
from orion.registry.records import PutVersion, Version, encode
from orion.registry.schemas import Schema

SUBJECTS = 1_000
VERSIONS = 5
IDS = SUBJECTS * VERSIONS
_FIELDS = 8


def fill(stage: Stage) -> None:
    """Write the topic, unless another benchmark has."""
    if all(topic.name != TOPIC for topic in stage.kafka.topics()):
        stage.say(f"writing {TOPIC}")
        stage.kafka.create_topic(TOPIC, 1, config={"cleanup.policy": "compact"})
        records = (encode(PutVersion(version)) for version in _versions())
        send_all(stage.kafka, TOPIC, [Outgoing(value, key) for key, value in records])


def _versions() -> Iterator[Version]:
    for number in range(IDS):
        yield Version(f"subject-{number // VERSIONS}-value", number % VERSIONS + 1, number + 1, schema(number + 1))


def schema(number: int) -> Schema:
    """The schema of an id: a record that has a field more with every version."""
    subject, version = divmod(number - 1, VERSIONS)
    fields = [{"name": f"f{n}", "type": ["null", "long"], "default": None} for n in range(_FIELDS + version)]
    return Schema(json.dumps({"type": "record", "name": f"Row{subject}", "fields": fields}, separators=(",", ":")))


def answer(number: int) -> bytes:
    """What the registry must say to the question for an id."""
    return json.dumps({"schema": schema(number).text}, separators=(",", ":")).encode()


def bare() -> FastAPI:
    """A server of the same kind that says the same to everyone: the most that the registry could do."""
    body = answer(1)

    async def say(_: object) -> Response:
        return Response(body, media_type=MEDIA_TYPE)

    return FastAPI(docs_url=None, redoc_url=None, openapi_url=None, routes=[Route("/schemas/ids/{id}", say)])
