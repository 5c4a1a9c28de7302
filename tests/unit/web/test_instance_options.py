"""What a request may say of a new consumer instance."""

from __future__ import annotations

from typing import Any

import pytest

from orion.web.rest_proxy.instances import Options
from orion.web.rest_proxy.refusals import ProxyError
from orion.web.routes.rest_topics import embedded_format


def test_without_a_word_it_is_as_kafkas_own() -> None:
    made = Options.of({})
    assert made.name.startswith("rest-consumer-")
    assert (made.format, made.reset, made.auto_commit, made.least_bytes) == ("binary", "latest", True, None)


def test_what_is_said_counts() -> None:
    said = {
        "name": "n",
        "format": "AVRO",
        "auto.offset.reset": "earliest",
        "auto.commit.enable": "false",
        "fetch.min.bytes": "1",
        "consumer.request.timeout.ms": 10**9,
    }
    assert Options.of(said) == Options("n", "avro", "earliest", False, 1, 60_000)
    assert Options.of({"id": "i", "name": "n", "auto.commit.enable": False}).name == "i"


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ({"format": "xml"}, 422),
        ({"auto.offset.reset": "middle"}, 42204),
        ({"auto.commit.enable": "perhaps"}, 42204),
        ({"fetch.min.bytes": "many"}, 42204),
    ],
)
def test_what_cant_be_is_refused(said: dict[str, Any], number: int) -> None:
    with pytest.raises(ProxyError) as told:
        Options.of(said)
    assert told.value.number == number


@pytest.mark.parametrize(
    ("media", "format_"),
    [
        ("application/vnd.kafka.json.v2+json", "json"),
        ("application/vnd.kafka.jsonschema.v2+json; charset=utf-8", "jsonschema"),
        ("Application/vnd.kafka.Avro.v2+json", "avro"),
        ("application/vnd.kafka.v2+json", "binary"),
        ("application/json", None),
        ("", None),
    ],
)
def test_the_media_type_names_the_format(media: str, format_: str | None) -> None:
    assert embedded_format(media) == format_
