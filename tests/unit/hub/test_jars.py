"""The cache of jars, with files of a few bytes and a fetch that makes them up."""

from __future__ import annotations

import hashlib
import os
import re
import struct
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from orion.errors import ConfigError, ExternalError, InternalError
from orion.hub import ivy, jars
from orion.hub.ivy import Jar, Progress


def jar(name: str) -> Jar:
    content = name.encode()
    return Jar("org.example", name, "1.0", hashlib.sha256(content).hexdigest(), len(content))


A, B = jar("a"), jar("b")


class Repository:
    """Fetches what is asked for; `broken` names artifacts that arrive wrong, once for each mention."""

    def __init__(self, *broken: str) -> None:
        self.broken = list(broken)
        self.asked: list[list[str]] = []

    def __call__(self, wanted: Sequence[Jar], staging: Path, progress: Progress) -> None:
        self.asked.append([jar.artifact for jar in wanted])
        staging.mkdir(parents=True, exist_ok=True)
        for jar in wanted:
            wrong = jar.artifact in self.broken
            if wrong:
                self.broken.remove(jar.artifact)
            (staging / jar.name).write_bytes(b"junk" if wrong else jar.artifact.encode())


def refuse(wanted: Sequence[Jar], staging: Path, progress: Progress) -> None:
    raise AssertionError("nothing should be fetched")


def test_missing_jars_are_fetched_once(tmp_path: Path) -> None:
    said: list[str] = []
    repository = Repository()
    paths = jars.complete([A, B], tmp_path, repository, said.append)
    assert [path.read_bytes() for path in paths] == [b"a", b"b"]
    assert said == ["fetching 2 jars (0.0 MB)"]
    assert not (tmp_path / "staging").exists()
    assert jars.complete([A, B], tmp_path, refuse, said.append) == paths


def test_a_verified_jar_isnt_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jars.complete([A, B], tmp_path, Repository(), jars.quiet)
    monkeypatch.setattr(jars, "sha256_of", lambda path: pytest.fail(f"{path} is read"))
    jars.complete([A, B], tmp_path, refuse, jars.quiet)


def test_a_jar_without_a_stamp_is_read_and_kept(tmp_path: Path) -> None:
    jars.complete([A], tmp_path, Repository(), jars.quiet)
    (tmp_path / jars.STAMP).write_text("not json")
    jars.complete([A], tmp_path, refuse, jars.quiet)
    os.utime(tmp_path / A.name, ns=(1, 1))
    jars.complete([A], tmp_path, refuse, jars.quiet)


def test_a_broken_jar_in_the_cache_is_fetched_again(tmp_path: Path) -> None:
    jars.complete([A, B], tmp_path, Repository(), jars.quiet)
    (tmp_path / A.name).write_bytes(b"x")
    repository = Repository()
    jars.complete([A, B], tmp_path, repository, jars.quiet)
    assert repository.asked == [["a"]]
    assert (tmp_path / A.name).read_bytes() == b"a"


def test_a_jar_that_arrives_broken_is_fetched_again(tmp_path: Path) -> None:
    repository = Repository("b")
    kept = tmp_path / "staging" / "ivy-cache" / "org.example" / "b"
    kept.mkdir(parents=True)
    jars.complete([A, B], tmp_path, repository, jars.quiet)
    assert repository.asked == [["a", "b"], ["b"]]
    assert not kept.exists()
    assert (tmp_path / B.name).read_bytes() == b"b"


def test_a_jar_that_stays_broken_is_never_used(tmp_path: Path) -> None:
    with pytest.raises(ExternalError, match=r"b-1\.0\.jar arrived broken twice") as caught:
        jars.complete([A, B], tmp_path, Repository("b", "b"), jars.quiet)
    assert caught.value.code == "JARS_BROKEN"
    assert not (tmp_path / B.name).exists()
    repository = Repository()
    jars.complete([A, B], tmp_path, repository, jars.quiet)
    assert repository.asked == [["b"]]


def test_an_interrupted_fetch_goes_on(tmp_path: Path) -> None:
    def interrupted(wanted: Sequence[Jar], staging: Path, progress: Progress) -> None:
        Repository()(wanted[:1], staging, progress)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        jars.complete([A, B], tmp_path, interrupted, jars.quiet)
    assert not (tmp_path / A.name).exists()
    jars.complete([A, B], tmp_path, Repository(), jars.quiet)
    assert (tmp_path / A.name).read_bytes() == b"a"


def test_a_cache_that_cant_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError) as caught:
        jars.complete([A], tmp_path / "file" / "jars", refuse, jars.quiet)
    assert caught.value.code == "CACHE_NOT_WRITABLE"


def test_the_list_names_every_jar_exactly() -> None:
    for set_name in (*jars.SETS, *jars.LATER):
        listed = jars.listed(set_name)
        assert len({jar.name for jar in listed}) == len(listed)
        assert all(re.fullmatch(r"[0-9a-f]{64}", jar.sha256) and jar.size > 0 for jar in listed)
    with pytest.raises(InternalError):
        jars.listed("flink")


def test_parse() -> None:
    assert list(jars.parse("# note\n\nkafka g:a:1 abc 5\n")) == [("kafka", Jar("g", "a", "1", "abc", 5))]
    ((_, archive),) = jars.parse("p g:a:1:tar.gz:plugin abc 5\n")
    assert (archive, archive.name) == (Jar("g", "a", "1", "abc", 5, "tar.gz", "plugin"), "a-1-plugin.tar.gz")
    for broken in ("kafka g:a abc 5", "kafka g:a:1:tar.gz:plugin:more abc 5"):
        with pytest.raises(InternalError, match=r"Line 1 of jars\.lock"):
            list(jars.parse(broken))


def test_ivy_is_told_which_artifact_is_wanted() -> None:
    told = ivy._module([A, Jar("g", "p", "1", "abc", 5, "tar.gz", "plugin")])
    assert 'name="a" rev="1.0" conf="default->master,default" transitive="false"></dependency>' in told
    assert '<artifact name="p" type="tar.gz" ext="tar.gz" e:classifier="plugin"/></dependency>' in told


def test_a_plug_in_is_unpacked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "p-1-plugin.tar.gz"
    inside = tmp_path / "p"
    inside.mkdir()
    (inside / "p.jar").write_bytes(b"jar")
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(inside, "p")
    asked: list[str] = []

    def ensure(set_name: str, _: Progress) -> list[Path]:
        asked.append(set_name)
        return [packed]

    monkeypatch.setenv("ORION_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(jars, "ensure", ensure)
    folder = jars.plugin_folder("debezium-postgres")
    assert folder.parent == tmp_path / "cache" / "plugins"
    assert [file.name for file in folder.iterdir()] == ["p.jar"]
    assert jars.plugin_folder("debezium-postgres") == folder
    assert asked == ["debezium-postgres"]
    assert [f.name for f in folder.parent.iterdir()] == [folder.name]
    jars._unpack(packed, folder)  # as another process that was too late


def test_pyspark_has_what_the_broker_takes_from_it() -> None:
    for pattern in jars.FROM_PYSPARK:
        assert jars._in_pyspark(pattern).is_file()
    with pytest.raises(ConfigError, match="nonesuch"):
        jars._in_pyspark("nonesuch-*.jar")


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        (
            ["\t:: g#a;1: not found", "\tServer access error at url x (java.net.UnknownHostException: repo)"],
            "UnknownHostException: repo",
        ),
        (["\t\t:: g#a;1: not found", "more"], "g#a;1: not found"),
        (["", "Error: Unable to access jarfile"], "Error: Unable to access jarfile"),
        ([], "Ivy ended without a word"),
    ],
)
def test_the_cause_of_a_failed_fetch(lines: list[str], cause: str) -> None:
    assert ivy._cause(lines) == cause


def test_a_key_store_has_the_layout_java_reads() -> None:
    store = ivy.key_store([b"first", b"second"])
    assert struct.unpack(">III", store[:12]) == (0xFEEDFEED, 2, 2)
    assert store[12:].startswith(b"\x00\x00\x00\x02\x00\x010")
    assert b"\x00\x05X.509\x00\x00\x00\x05first" in store
    assert len(store) == 12 + 2 * (4 + 3 + 8 + 7 + 4) + len(b"firstsecond") + 20
