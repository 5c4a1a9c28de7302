"""Where archives of classes lie, and which of them are kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orion.hub.class_archive import ARCHIVES_KEPT, class_archive, keep_archive
from orion.hub.java import Java


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Java:
    monkeypatch.setenv("ORION_CACHE", str(tmp_path / "cache"))
    executable = tmp_path / "java"
    executable.write_text("")
    return Java(None, executable, 17)


def test_an_archive_stands_for_one_java_and_its_very_jars(tmp_path: Path, java: Java) -> None:
    jar = tmp_path / "a.jar"
    jar.write_text("one")
    first = class_archive("spark", java, [jar])
    assert first == class_archive("spark", java, [jar])
    assert first != class_archive("kafka", java, [jar])
    jar.write_text("other")
    second = class_archive("spark", java, [jar])
    os.utime(jar, (1, 1))
    third = class_archive("spark", java, [jar])
    java.executable.write_text("a newer one")
    assert len({first, second, third, class_archive("spark", java, [jar])}) == 4


def test_the_oldest_of_a_program_go(tmp_path: Path, java: Java) -> None:
    folder = tmp_path / "cache" / "classes"
    other = folder / "kafka-0.jsa"
    for number in range(ARCHIVES_KEPT + 2):
        written = tmp_path / "written"
        written.write_text(str(number))
        keep_archive(written, folder / f"spark-{number}.jsa")
        os.utime(folder / f"spark-{number}.jsa", (1000 + number, 1000 + number))
        assert not written.exists()
        if number == 0:
            other.write_text("")
            os.utime(other, (1, 1))
    kept = sorted(path.name for path in folder.iterdir())
    assert kept == ["kafka-0.jsa", "spark-2.jsa", "spark-3.jsa", "spark-4.jsa"]
    assert (folder / "spark-4.jsa").read_text() == "4"
