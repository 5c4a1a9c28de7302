"""Classes noted and archived for the next start. A shell script is Java here; tests/services has a real one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from orion.hub.java import Java
from orion.runtime import spark_classes
from orion.runtime.spark_classes import SparkClasses

# Writes what it is told and what is in the list into the archive.
_WRITES = r"""
for word; do
  case "$word" in
    -XX:SharedClassListFile=*) listed="${word#*=}" ;;
    -XX:SharedArchiveFile=*) written="${word#*=}" ;;
  esac
done
{ echo "$@"; cat "$listed"; } > "$written"
"""


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_classes, "_AFTER_S", 0.0)
    monkeypatch.setattr(spark_classes, "_LOOK_EVERY_S", 0.01)


def _classes(folder: Path, script: str = _WRITES) -> SparkClasses:
    java = folder / "java"
    java.write_text(f"#!/bin/sh\n{script}")
    java.chmod(0o755)
    noted = folder / "logs" / "spark-classes.txt"
    noted.parent.mkdir()
    noted.write_text("java/lang/Object\norg/apache/spark/Spark\norg/apache/spa")
    return SparkClasses(Java(None, java, 17), folder / "cache" / "spark-0.jsa", noted)


def _wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        threading.Event().wait(0.01)


def test_a_jvm_without_an_archive_notes_its_classes_and_one_with_it_maps_them(tmp_path: Path) -> None:
    classes = _classes(tmp_path)
    assert classes.options == (f"-XX:DumpLoadedClassList={classes.noted}",)
    classes.archive.parent.mkdir()
    classes.archive.write_text("")
    assert classes.options[-1] == f"-XX:SharedArchiveFile={classes.archive}"
    assert not any("DumpLoadedClassList" in option for option in classes.options)


def test_a_path_that_would_need_quotes_is_left_alone(tmp_path: Path) -> None:
    classes = _classes(tmp_path)
    odd = tmp_path / "it's odd"
    assert replace(classes, noted=odd / "noted").options == ()
    odd.mkdir()
    (odd / "spark-0.jsa").write_text("")
    assert replace(classes, archive=odd / "spark-0.jsa").options == ()


def test_what_was_noted_is_archived_once_there_is_time(tmp_path: Path) -> None:
    classes, calm = _classes(tmp_path), threading.Event()
    with classes.archiving("/a.jar:/b.jar", "1g", calm.is_set):
        assert not classes.archive.exists()
        calm.set()
        _wait_until(classes.archive.exists)
    told, *listed = classes.archive.read_text().splitlines()
    assert "-Xshare:dump" in told
    assert "-Xmx1g" in told
    assert told.endswith("-cp /a.jar:/b.jar")
    assert listed == ["java/lang/Object", "org/apache/spark/Spark"]  # not the line that was being written
    assert [path.name for path in classes.noted.parent.iterdir()] == [classes.noted.name]


def test_a_jvm_that_fails_leaves_no_archive(tmp_path: Path) -> None:
    tried = tmp_path / "tried"
    classes = _classes(tmp_path, f"{_WRITES}\ntouch {tried}\nexit 1")
    with classes.archiving("/a.jar", "1g", lambda: True):
        _wait_until(tried.exists)
    assert not classes.archive.exists()
    assert [path.name for path in classes.noted.parent.iterdir()] == [classes.noted.name]


def test_a_server_that_stops_doesnt_wait_for_its_archive(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    classes = _classes(tmp_path, f"{_WRITES}\ntouch {begun}\nexec sleep 600")
    with classes.archiving("/a.jar", "1g", lambda: True):
        _wait_until(begun.exists)
    assert not classes.archive.exists()


def test_nothing_is_tried_where_java_archives_nothing(tmp_path: Path) -> None:
    tried = tmp_path / "tried"
    classes = _classes(tmp_path, f"touch {tried}")
    with classes.archiving(f"/a.jar:{tmp_path}", "1g", lambda: True):
        assert not any(thread.name == "orion-classes" for thread in threading.enumerate())
    assert not tried.exists()
