"""The JVM of Spark's driver as a process; a shell script stands where Spark's own launcher is."""

from __future__ import annotations

from pathlib import Path

import pytest

from orion.config import Engine
from orion.errors import ExternalError
from orion.hub.java import Java
from orion.runtime.spark_classes import SparkClasses
from orion.runtime.spark_process import SparkProcess, _merged, _settings, choose_sockets

_CLASSES = SparkClasses(Java(None, Path("/java"), 17), Path("/cache/spark-0.jsa"), Path("/data/logs/classes.txt"))


def _launched(script: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> SparkProcess:
    (folder / "bin").mkdir()
    launcher = folder / "bin" / "spark-submit"
    launcher.write_text(f"#!/bin/sh\n{script}\n")
    launcher.chmod(0o755)
    monkeypatch.setenv("SPARK_HOME", str(folder))
    return SparkProcess({"spark.a": "b c"}, _CLASSES, folder / "logs" / "spark.log")


def test_it_tells_where_pyspark_finds_it_and_ends_with_its_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = r'printf "\000\000\000\007\000\000\000\003key" > "$_PYSPARK_DRIVER_CONN_INFO_PATH.new"'
    move = 'mv "$_PYSPARK_DRIVER_CONN_INFO_PATH.new" "$_PYSPARK_DRIVER_CONN_INFO_PATH"'
    process = _launched(f'echo "$@"\n{told}\n{move}\ncat > /dev/null', tmp_path, monkeypatch)
    assert process.connection() == (7, "key")
    process.end()
    process.end()
    assert process._process.wait(60) == 0
    assert (tmp_path / "logs" / "spark.log").read_text() == "--conf spark.a=b c pyspark-shell\n"


def test_one_that_ends_before_it_is_up_is_an_error_with_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = _launched("echo no memory >&2; exit 3", tmp_path, monkeypatch)
    with pytest.raises(ExternalError, match="exit code 3") as told:
        process.connection()
    assert str(tmp_path / "logs" / "spark.log") in (told.value.hint or "")
    process.end()


def test_jars_are_on_the_drivers_classpath_and_sent_to_executors_elsewhere(tmp_path: Path) -> None:
    packages = [Path("/jars/a.jar"), Path("/jars/b.jar")]
    here = _settings(Engine(), tmp_path, packages, _CLASSES)
    assert here["spark.driver.extraClassPath"] == "/jars/a.jar:/jars/b.jar"
    assert "spark.jars" not in here
    there = _settings(Engine(master="spark://host:7077"), tmp_path, packages, _CLASSES)
    assert there["spark.driver.extraClassPath"] == here["spark.driver.extraClassPath"]
    assert there["spark.jars"] == "/jars/a.jar,/jars/b.jar"


def test_what_the_user_gives_comes_behind_jars_and_options_and_else_in_their_place(tmp_path: Path) -> None:
    own = _settings(Engine(master="spark://host:7077"), tmp_path, [Path("/jars/a.jar")], _CLASSES)
    given = {
        "spark.jars": "/mine.jar",
        "spark.driver.extraClassPath": "/mine",
        "spark.driver.extraJavaOptions": "-Dx=y",
        "spark.driver.memory": "9g",
    }
    both = _merged(own, given)
    assert both["spark.jars"] == "/jars/a.jar,/mine.jar"
    assert both["spark.driver.extraClassPath"] == "/jars/a.jar:/mine"
    assert both["spark.driver.extraJavaOptions"].endswith(" -Dx=y")
    assert both["spark.driver.memory"] == "9g"
    assert _merged({}, {"spark.jars": "/mine.jar"}) == {"spark.jars": "/mine.jar"}


def test_workers_are_reached_by_sockets_in_a_folder_whose_paths_are_short_enough(tmp_path: Path) -> None:
    short, long = Path("/run/orion-spark-12345678"), tmp_path / ("x" * 60)
    settings = choose_sockets({"spark.master": "local[8]"}, short)
    assert settings == {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": str(short),
    }
    # By TCP, then: where a path would be too long, and where executors are on other machines.
    assert choose_sockets({"spark.master": "local[8]"}, long) == {}
    assert choose_sockets({"spark.master": "spark://elsewhere:7077"}, short) == {}
