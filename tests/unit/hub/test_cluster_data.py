"""The data folder of an embedded cluster, without a broker."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orion.errors import ConfigError, Conflict
from orion.hub import broker_settings, cluster_data
from orion.hub.jars import quiet
from orion.hub.running import Running


@pytest.fixture(autouse=True)
def own_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other test hears of the servers that are said to run here."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@contextmanager
def taken_port() -> Iterator[int]:
    with socket.socket() as server:
        server.bind((cluster_data.HOST, 0))
        server.listen(1)
        yield server.getsockname()[1]


def settle(data: Path, brokers: int = 1, port: int = 0) -> cluster_data.Cluster:
    return cluster_data.settle(data, brokers, port, quiet)[0]


def format_by_hand(data: Path, cluster_id: str, node: int = 1) -> None:
    file = data / f"broker-{node}" / "data" / "meta.properties"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#\n#Sun Nov 15 21:00:00 UTC 2026\ncluster.id={cluster_id}\nversion=1\nnode.id={node}\n")


def test_the_same_folder_is_the_same_cluster(tmp_path: Path) -> None:
    first = settle(tmp_path, brokers=3)
    format_by_hand(tmp_path, first.cluster_id)
    assert settle(tmp_path, brokers=3) == first
    assert len({port for pair in first.ports for port in pair}) == 6


def test_a_port_that_was_taken_meanwhile_is_replaced(tmp_path: Path) -> None:
    first = settle(tmp_path)
    with taken_port() as port:
        (tmp_path / "cluster.json").write_text(
            json.dumps({"cluster_id": first.cluster_id, "brokers": 1, "ports": [[port, first.ports[0][1]]]})
        )
        said: list[str] = []
        again, _ = cluster_data.settle(tmp_path, 1, 0, said.append)
    assert again.cluster_id == first.cluster_id
    assert again.ports[0][0] != port
    assert again.ports[0][1] == first.ports[0][1]
    assert str(port) in said[0]


def test_a_requested_port(tmp_path: Path) -> None:
    with taken_port() as port, pytest.raises(ConfigError, match=str(port)) as caught:
        settle(tmp_path, port=port)
    assert caught.value.code == "PORT_TAKEN"
    free = cluster_data.pick_port([])
    assert settle(tmp_path, port=free).ports[0][0] == free
    with pytest.raises(ConfigError) as caught:
        settle(tmp_path, port=65536)
    assert caught.value.code == "PORT_INVALID"


@pytest.mark.parametrize("case", ["other id", "other count", "other node", "no description", "plain Kafka", "not ours"])
def test_data_of_another_cluster(tmp_path: Path, case: str) -> None:
    known = settle(tmp_path)
    format_by_hand(tmp_path, known.cluster_id)
    description = tmp_path / "cluster.json"
    brokers = 1
    if case == "other id":
        format_by_hand(tmp_path, "another")
    elif case == "other count":
        brokers = 3
    elif case == "other node":
        (tmp_path / "broker-1/data/meta.properties").write_text(f"cluster.id={known.cluster_id}\nnode.id=7\n")
    elif case == "no description":
        description.unlink()
    elif case == "plain Kafka":
        description.unlink()
        shutil.move(tmp_path / "broker-1/data/meta.properties", tmp_path / "meta.properties")
    else:
        description.write_text("[]")
    with pytest.raises(ConfigError) as caught:
        settle(tmp_path, brokers)
    assert caught.value.code == "DATA_OF_ANOTHER_CLUSTER"
    assert "\n" not in caught.value.message


def test_a_folder_has_one_user(tmp_path: Path) -> None:
    with cluster_data.claim(tmp_path):
        with pytest.raises(Conflict, match=f"process {os.getpid()}") as caught:
            cluster_data.claim(tmp_path)
        assert caught.value.code == "DATA_IN_USE"
    cluster_data.claim(tmp_path).close()


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9, 1000))
    with pytest.raises(ConfigError) as caught:
        cluster_data.claim(tmp_path)
    assert caught.value.code == "DISK_FULL"


def test_a_write_that_finds_the_disk_full(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught, cluster_data.explained(tmp_path):
        raise OSError(28, "No space left on device")
    assert caught.value.code == "DISK_FULL"


def test_a_folder_that_cant_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError) as caught:
        cluster_data.claim(tmp_path / "file" / "data")
    assert caught.value.code == "DATA_NOT_WRITABLE"


@pytest.mark.parametrize(("brokers", "copies", "in_sync"), [(1, "1", "1"), (3, "3", "2")])
def test_internal_topics_fit_the_cluster(tmp_path: Path, brokers: int, copies: str, in_sync: str) -> None:
    _, nodes = cluster_data.settle(tmp_path, brokers, 0, quiet)
    lines = broker_settings.server_properties(nodes[0], nodes).splitlines()
    told = dict(line.split("=", 1) for line in lines)
    assert {told[name] for name in told if name.endswith("replication.factor")} == {copies}
    assert {told[name] for name in told if name.endswith((".min.isr", "min.insync.replicas"))} == {in_sync}
    assert all(listener.split("://")[1].startswith("127.0.0.1:") for listener in told["listeners"].split(","))


def free_ports(count: int) -> int:
    """The first of so many free ports in a row."""
    while True:
        first = cluster_data.pick_port()
        if all(cluster_data.is_free(first + number) for number in range(count)):
            return first


def test_a_new_cluster_gets_the_preferred_ports(tmp_path: Path) -> None:
    preferred = free_ports(3)
    made, _ = cluster_data.settle(tmp_path, 3, 0, quiet, preferred)
    assert [own for own, _ in made.ports] == [preferred, preferred + 1, preferred + 2]
    assert len({port for pair in made.ports for port in pair}) == 6


def test_a_preferred_port_gives_way_and_what_came_instead_is_kept(tmp_path: Path) -> None:
    said: list[str] = []
    with taken_port() as preferred:
        made, _ = cluster_data.settle(tmp_path, 1, 0, said.append, preferred)
    ((own, _),) = made.ports
    assert own != preferred
    assert f"port {preferred} is taken" in said[0]
    # Clients remember where the cluster is: it doesn't move though the port is free again.
    again, _ = cluster_data.settle(tmp_path, 1, 0, said.append, preferred)
    assert again == made
    assert len(said) == 1


def test_of_three_brokers_only_the_one_whose_port_is_taken_gives_way(tmp_path: Path) -> None:
    preferred = free_ports(3)
    with socket.socket() as server:
        server.bind((cluster_data.HOST, preferred + 1))
        server.listen(1)
        made, _ = cluster_data.settle(tmp_path, 3, 0, quiet, preferred)
    first, second, third = (own for own, _ in made.ports)
    assert (first, third) == (preferred, preferred + 2)
    assert second not in range(preferred, preferred + 3)


def test_looking_whether_a_folder_is_claimed_makes_nothing(tmp_path: Path) -> None:
    cluster_data.refuse_claimed(tmp_path / "new", "server.lock")
    assert not (tmp_path / "new").exists()
    with cluster_data.claim(tmp_path, "server.lock"):
        with pytest.raises(Conflict, match=f"process {os.getpid()}") as caught:
            cluster_data.refuse_claimed(tmp_path, "server.lock")
        assert caught.value.code == "DATA_IN_USE"
    cluster_data.refuse_claimed(tmp_path, "server.lock")
    cluster_data.claim(tmp_path, "server.lock").close()


def test_who_uses_a_folder_is_told_with_its_address(tmp_path: Path) -> None:
    Running(os.getpid(), "127.0.0.1:9092", "http://127.0.0.1:8088", "orion").write(tmp_path)
    with cluster_data.claim(tmp_path, "server.lock"), pytest.raises(Conflict) as caught:
        cluster_data.claim(tmp_path, "server.lock")
    assert "http://127.0.0.1:8088" in str(caught.value.hint)
