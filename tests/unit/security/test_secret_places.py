"""What references in options may read, and what they may not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orion import log
from orion.config import Config, Secrets
from orion.errors import ConfigError
from orion.security.secret_places import SecretPlaces


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "data" / "secrets"
    (made / "db").mkdir(parents=True)
    (made / "key").write_text("s3cret\n", encoding="utf-8")
    (made / "db" / "both.properties").write_text("user = me\nkey = other\n", encoding="utf-8")
    (tmp_path / "outside").write_text("not yours", encoding="utf-8")
    return made


def refused(places: SecretPlaces, reference: str) -> ConfigError:
    with pytest.raises(ConfigError) as told:
        places.resolve(reference, "connection.url")
    assert "not yours" not in str(told.value.as_dict())
    return told.value


def test_files_of_the_folder_by_name_and_by_path(folder: Path) -> None:
    places = SecretPlaces((folder,))
    assert places.resolve("${file:key}", "x") == "s3cret"
    assert places.resolve(f"a-${{file:{folder}/key}}-b", "x") == "a-s3cret-b"
    assert places.resolve("${file:db/both.properties:key}", "x") == "other"
    assert places.resolve("${file:db/../key}", "x") == "s3cret"
    assert places.resolve("t_${topic} $1 ${other}", "x") == "t_${topic} $1 ${other}"


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../outside",
        "../../outside",
        "db/../../outside",
        "~/.ssh/id_rsa",
        "~nobody/x",
        ".",
        "",
        "/",
        "\0",
    ],
)
def test_nothing_outside_of_the_folder(folder: Path, path: str) -> None:
    if not path:
        assert SecretPlaces((folder,)).resolve("${file:}", "x") == "${file:}"
        return
    error = refused(SecretPlaces((folder,)), f"${{file:{path}}}")
    assert error.code == "SECRET_NOT_ALLOWED"
    assert "secrets.folders" in (error.hint or "")


def test_no_link_leads_out(folder: Path) -> None:
    (folder / "link").symlink_to(folder.parent.parent / "outside")
    (folder / "linked").symlink_to(folder.parent.parent)
    places = SecretPlaces((folder,))
    assert refused(places, "${file:link}").code == "SECRET_NOT_ALLOWED"
    assert refused(places, "${file:linked/outside}").code == "SECRET_NOT_ALLOWED"
    (folder / "inner").symlink_to(folder / "key")
    assert places.resolve("${file:inner}", "x") == "s3cret"


def test_a_folder_that_begins_alike_is_another(folder: Path) -> None:
    other = folder.with_name("secrets-of-others")
    other.mkdir()
    (other / "key").write_text("not yours", encoding="utf-8")
    assert refused(SecretPlaces((folder,)), f"${{file:{other}/key}}").code == "SECRET_NOT_ALLOWED"


def test_a_refusal_does_not_tell_whether_there_is_such_a_file(folder: Path) -> None:
    places = SecretPlaces((folder,))
    there, missing = (refused(places, f"${{file:{folder.parent.parent}/{name}}}") for name in ("outside", "outsidf"))
    assert there.message.replace("outside", "outsidf") == missing.message
    assert (there.code, there.hint) == (missing.code, missing.hint)


def test_only_files_are_read_and_those_that_are_not_there_are_told(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "huge").write_bytes(b"x" * (2 << 20))
    (folder / "bytes").write_bytes(b"\xff\xfe")
    places = SecretPlaces((folder,))
    for name in ("pipe", "huge", "bytes", "db", "nothing", "key:nokey"):
        assert refused(places, f"${{file:{name}}}").code == "SECRET_MISSING"


def test_variables_that_are_listed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOOR_HOST", "there")
    monkeypatch.setenv("DOOR_OTHER", "not yours")
    places = SecretPlaces((folder,), frozenset({"DOOR_HOST", "DOOR_UNSET"}))
    assert places.resolve("on ${env:DOOR_HOST}", "x") == "on there"
    error = refused(places, "${env:DOOR_OTHER}")
    assert (error.code, "secrets.variables" in (error.hint or "")) == ("SECRET_NOT_ALLOWED", True)
    assert refused(places, "${env:DOOR_UNSET}").code == "SECRET_MISSING"
    assert refused(places, "${env:PATH}").code == "SECRET_NOT_ALLOWED"


def test_nothing_is_allowed_but_the_data_folder_s_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOOR_HOST", "not yours")
    places = SecretPlaces.of(Config(data=folder.parent))
    assert places.resolve("${file:key}", "x") == "s3cret"
    for reference in ("${env:DOOR_HOST}", f"${{file:{folder.parent.parent}/outside}}"):
        assert refused(places, reference).code == "SECRET_NOT_ALLOWED"
    assert refused(SecretPlaces(), "${file:key}").code == "SECRET_NOT_ALLOWED"


def test_the_settings_list_more(folder: Path) -> None:
    outer = folder.parent.parent
    (outer / "outside").write_text("yours", encoding="utf-8")
    places = SecretPlaces.of(Config(data=folder.parent, secrets=Secrets(folders=(outer,))))
    assert places.resolve("${file:outside}", "x") == "yours"
    assert places.resolve(f"${{file:{outer}/outside}}", "x") == "yours"
    assert places.resolve("${file:key}", "x") == "s3cret"


def test_what_was_read_never_stands_in_the_log(folder: Path) -> None:
    (folder / "pass").write_text("correct horse", encoding="utf-8")
    SecretPlaces((folder,)).resolve("${file:pass}", "x")
    told = log.render_event({"event": "can't log in with correct horse", "level": "error"}, colors=False)
    assert "correct horse" not in told
    assert log.HIDDEN in told
