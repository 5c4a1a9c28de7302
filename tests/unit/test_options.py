"""Options of connectors: by name, with secrets out of sight."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from pydantic import Field, SecretStr

from orion.errors import ConfigError
from orion.options import HIDDEN, Options, definitions, masked, mistakes, shown, understood
from orion.security.secret_places import SecretPlaces


class Door(Options):
    url: str = Field(alias="connection.url", description="where the door is")
    password: SecretStr | None = Field(default=None, alias="connection.password", description="its key")
    mode: Literal["open", "shut"] = Field(default="open", alias="door.mode", description="how it stands")
    names: tuple[str, ...] = Field(default=(), alias="door.names", description="who may pass")
    wide: bool = Field(default=False, alias="door.wide", description="whether carts pass")
    most: int = Field(default=3, alias="door.most", description="how many pass at a time")


def test_options_are_understood_by_the_names_that_users_know() -> None:
    made = understood(Door, {"connection.url": "here", "door.mode": "shut", "door.most": "7"}, "C")
    assert (made.url, made.mode, made.most, made.wide) == ("here", "shut", 7, False)


def test_what_only_kafka_connect_needs_is_taken_without_effect() -> None:
    written = {
        "connection.url": "here",
        "name": "c",
        "tasks.max": "4",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "errors.deadletterqueue.topic.name": "x",
    }
    assert understood(Door, written, "C").url == "here"


@pytest.mark.parametrize(
    ("written", "code", "message", "hint"),
    [
        ({}, "INVALID_CONNECTOR", "Connector C: 'connection.url' is missing.", "It is where the door is."),
        (
            {"connection.url": "x", "door.modee": "shut"},
            "UNKNOWN_OPTION",
            "Connector C: there is no option 'door.modee'.",
            "Did you mean door.mode?",
        ),
        (
            {"connection.url": "x", "door.most": "many"},
            "INVALID_CONNECTOR",
            "Connector C: 'door.most': Input should be a valid integer, unable to parse string as an integer.",
            "It is how many pass at a time.",
        ),
    ],
)
def test_what_does_not_do_is_refused_by_name(written: dict[str, str], code: str, message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as refused:
        understood(Door, written, "C")
    assert (refused.value.code, refused.value.message, refused.value.hint) == (code, message, hint)


def test_no_value_is_told_when_one_is_wrong() -> None:
    with pytest.raises(ConfigError) as refused:
        understood(Door, {"connection.url": "x", "connection.password": "s3cret", "door.most": "s3cret"}, "C")
    assert "s3cret" not in str(refused.value.as_dict())
    assert "s3cret" not in repr(understood(Door, {"connection.url": "x", "connection.password": "s3cret"}, "C"))


def test_what_is_wrong_is_told_of_references_too(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("s3cret\n", encoding="utf-8")
    places = SecretPlaces((tmp_path,))
    assert mistakes(Door, {"connection.url": "x", "connection.password": "${file:key}"}, places) == {}
    told = mistakes(Door, {"connection.url": "${file:/etc/passwd}", "door.most": "many"}, places)
    assert list(told) == ["connection.url", "door.most"]
    assert "may not read" in told["connection.url"]


def test_what_is_shown_has_no_secrets() -> None:
    assert shown(
        {
            "connection.password": "s3cret",
            "aws.secret.access.key": "s3cret",
            "ssl.keystore.password": "${env:KEY}",
            "connection.url": "jdbc:postgresql://me:s3cret@here:5432/db?password=s3cret&ssl=true",
            "table.name.format": "t_${topic}",
        }
    ) == {
        "connection.password": HIDDEN,
        "aws.secret.access.key": HIDDEN,
        "ssl.keystore.password": "${env:KEY}",
        "connection.url": f"jdbc:postgresql://{HIDDEN}@here:5432/db?password={HIDDEN}&ssl=true",
        "table.name.format": "t_${topic}",
    }


def test_a_statement_is_kept_without_its_secrets() -> None:
    text = (
        "CREATE SINK CONNECTOR c WITH ('topics' = 't', 'connection.password'='it''s', \"x.token\" = 'abc', 'batch'='3')"
    )
    assert masked(text) == (
        f"CREATE SINK CONNECTOR c WITH ('topics' = 't', 'connection.password'='{HIDDEN}', "
        f"\"x.token\" = '{HIDDEN}', 'batch'='3')"
    )
    assert masked("SINK CONNECTOR c WITH ('x.password'='abc") == f"SINK CONNECTOR c WITH ('x.password'='{HIDDEN}"
    assert masked("CONNECTOR c WITH ('x.password'='it''s") == f"CONNECTOR c WITH ('x.password'='{HIDDEN}"
    assert masked("SELECT * FROM t WHERE password = 'abc';") == "SELECT * FROM t WHERE password = 'abc';"


def test_definitions_tell_what_forms_need() -> None:
    told = {d.name: (d.type, d.required, d.default, d.values) for d in definitions(Door)}
    assert told == {
        "connection.url": ("STRING", True, None, ()),
        "connection.password": ("PASSWORD", False, None, ()),
        "door.mode": ("STRING", False, "open", ("open", "shut")),
        "door.names": ("LIST", False, "", ()),
        "door.wide": ("BOOLEAN", False, "false", ()),
        "door.most": ("INT", False, "3", ()),
    }
