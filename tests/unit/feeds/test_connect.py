"""Kafka Connect's worker and its answers, as far as they can be had without one."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from orion.errors import ConfigError
from orion.feeds.connect import catalogs
from orion.feeds.connect.checking import FAMILIES, _refuse_unknown
from orion.feeds.connect.client import State, Status, Task, cause
from orion.feeds.connect.debezium import KINDS
from orion.feeds.connect.secrets import Secrets
from orion.feeds.connect.worker_settings import Surroundings, as_properties, worker_properties


def test_the_settings_of_a_worker(tmp_path: Path) -> None:
    around = Surroundings("b:9092", tmp_path, "svc", client={"security.protocol": "SSL"})
    settings = worker_properties(around, 1234, brokers=5)
    assert settings["offset.storage.topic"] == "_svc_connect_offsets"
    assert settings["config.storage.topic"] == "_svc_connect_configs"
    assert settings["status.storage.topic"] == "_svc_connect_status"
    assert settings["offset.storage.replication.factor"] == "3"
    assert worker_properties(around, 1, brokers=1)["status.storage.replication.factor"] == "1"
    assert settings["listeners"] == "http://127.0.0.1:1234"
    assert settings["producer.security.protocol"] == settings["security.protocol"] == "SSL"


def test_a_settings_file_takes_any_text() -> None:
    assert as_properties({"a b=c": "x\\y\nz ü\U0001f600"}) == "a\\u0020b\\=c=x\\\\y\\nz\\u0020\\u00fc\\ud83d\\ude00\n"


def test_secrets_are_files_of_this_user_alone(tmp_path: Path) -> None:
    secrets = Secrets(tmp_path / "secrets")
    shown = secrets.hide("../c", {"database.password": "hush", "a": "b", "x.password": "${file:/f:k}"})
    assert shown["a"] == "b"
    assert shown["x.password"] == "${file:/f:k}"
    (file,) = (f for f in tmp_path.rglob("*") if f.is_file())
    assert file.parent.parent == tmp_path / "secrets"
    assert shown["database.password"] == f"${{directory:{file.parent}:database.password}}"
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("hush", 0o600)
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    secrets.hide("../c", {"database.password": "other"})
    assert file.read_text() == "other"
    with secrets.lent({"database.password": "only lent"}) as lent:
        assert "only lent" not in str(lent)
        assert len([f for f in tmp_path.rglob("*") if f.is_file()]) == 2
    secrets.forget("../c")
    assert [f for f in tmp_path.rglob("*") if f.is_file()] == []


def test_no_statement_reads_another_connector_s_secrets(tmp_path: Path) -> None:
    secrets = Secrets(tmp_path / "secrets")
    shown = secrets.hide("c", {"database.password": "hush"})
    with pytest.raises(ConfigError) as refused:
        secrets.hide("d", {"database.user": shown["database.password"]})
    assert refused.value.code == "SECRET_NOT_ALLOWED"


def test_a_folder_that_connect_cannot_be_told_of(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        Secrets(tmp_path / "a:b").hide("c", {"database.password": "hush"})
    assert caught.value.code == "DATA_PATH_UNFIT"


def test_an_unknown_option_is_refused_with_the_nearest() -> None:
    known = {"snapshot.mode", "transforms.unwrap.type"}
    config = {"converters": "iso", "post.processors": ""}
    fine = ["snapshot.mode", "offset.mismatch.strategy", "driver.x", "iso.type", "transforms.unwrap.type"]
    _refuse_unknown([*fine, *(f"{family}x" for family in FAMILIES)], known, config)
    for option, hint in (("snapshot.mod", "snapshot.mode?"), ("connect.uri", "connect.url?"), ("zzz", "documents")):
        with pytest.raises(ConfigError) as caught:
            _refuse_unknown([option], known, config)
        assert caught.value.code == "UNKNOWN_OPTION"
        assert hint in str(caught.value.hint)


def test_the_cause_of_a_failure() -> None:
    trace = (
        "org.apache.kafka.connect.errors.ConnectException: outer\n\tat a.B.c(B.java:1)\n"
        "Caused by: io.debezium.DebeziumException: Creation of slot failed\n\tat d.E.f(E.java:2)\n"
        "Caused by: org.postgresql.util.PSQLException: FATAL: too many slots.\n\t... 3 more\n"
    )
    assert cause(trace) == "FATAL: too many slots"
    assert cause("java.lang.NullPointerException\n\tat a.B.c(B.java:1)\n") == "java.lang.NullPointerException"
    assert cause(f"a.B: at Context [{'x' * 100}], gone.") == "at Context [...], gone"


def test_how_a_connector_is() -> None:
    running = Status("c", State.RUNNING, tasks=(Task(0, State.RUNNING),))
    assert (running.running, running.failed, running.reason) == (True, False, None)
    failed = Status("c", State.RUNNING, tasks=(Task(0, State.FAILED, "a.B: why\n"),))
    assert (failed.running, failed.failed, failed.reason) == (False, True, "why")
    assert not Status("c", State.RUNNING).running


@pytest.mark.parametrize(
    ("option", "value", "taken"),
    [
        ("table.include.list", "public.users, public\\.o.*", ["public.orders", "public.users"]),
        ("table.include.list", "PUBLIC.USERS", ["public.users"]),
        ("table.exclude.list", "public.users", ["public.orders", "s.users"]),
        ("schema.include.list", "s", ["s.users"]),
        ("schema.exclude.list", "s", ["public.orders", "public.users"]),
    ],
)
def test_which_tables_are_taken(option: str, value: str, taken: list[str]) -> None:
    names = ["public.orders", "public.users", "s.users"]
    assert [n for n in names if catalogs._is_taken(n, KINDS["postgresql"], {option: value})] == taken
