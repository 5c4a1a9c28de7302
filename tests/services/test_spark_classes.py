"""An archive of classes made by Java itself, and what Java makes of one that doesn't fit."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

import pytest

from orion.hub import java
from orion.hub.jars import spark_jars
from orion.runtime import spark_classes
from orion.runtime.spark_classes import SparkClasses

_LISTED = "java/lang/Object\njava/lang/String\norg/apache/spark/SparkThatIsNot\norg/apache/commons/pool2/ObjectPool\n"


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    (found,) = (path for path in spark_jars() if path.name.startswith("commons-pool2"))
    return Path(shutil.copy2(found, tmp_path))


@pytest.fixture
def classes(tmp_path: Path, jar: Path, monkeypatch: pytest.MonkeyPatch) -> SparkClasses:
    monkeypatch.setattr(spark_classes, "_AFTER_S", 0.0)
    made = SparkClasses(java.find(), tmp_path / "cache" / "spark-0.jsa", tmp_path / "noted.txt")
    made.noted.write_text(_LISTED)
    with made.archiving(str(jar), "256m", lambda: True):
        end = time.monotonic() + 120
        while not made.archive.exists():
            assert time.monotonic() < end, "no archive was made"
            threading.Event().wait(0.05)
    return made


def run_java(classes: SparkClasses, jar: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [str(classes.java.executable), *classes.options, *options, "-Xmx256m", "-cp", str(jar), "-version"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_the_next_jvm_maps_what_the_first_has_noted(classes: SparkClasses, jar: Path) -> None:
    done = run_java(classes, jar, "-Xshare:on")  # which is an error where the archive can't be used
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize("damage", ["a jar of another time", "cut off", "no archive at all"])
def test_an_archive_that_doesnt_fit_is_passed_over_without_a_word(
    classes: SparkClasses, jar: Path, damage: str
) -> None:
    if damage == "a jar of another time":
        os.utime(jar, (1, 1))
    else:
        classes.archive.chmod(0o644)
        classes.archive.write_bytes(classes.archive.read_bytes()[:5000] if damage == "cut off" else b"nothing")
    assert run_java(classes, jar, "-Xshare:on").returncode != 0
    done = run_java(classes, jar)
    assert (done.returncode, done.stdout) == (0, "")
    assert "warning" not in done.stderr.lower()
