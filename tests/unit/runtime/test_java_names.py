"""Names of Java's classes are asked for once; a client that notes what it is asked stands where the JVM is."""

from __future__ import annotations

import pytest
from py4j import protocol
from py4j.java_gateway import GatewayProperty, JavaClass, JavaPackage, JVMView
from py4j.protocol import Py4JError

from orion.runtime.java_names import remember_names


class Client:
    """Knows one class and the packages around it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.converters = None  # what a class hands on to its objects, as is the other
        self.gateway_property = GatewayProperty(None, None)

    def send_command(self, command: str) -> str:
        name = command.splitlines()[2]  # behind the command and what of it is asked
        self.asked.append(name)
        if name in ("org", "org.spark"):
            return str(protocol.SUCCESS_PACKAGE)
        if name in ("org.spark.Rows", "Rows"):
            return f"{protocol.SUCCESS_CLASS}org.spark.Rows"
        return f"{protocol.ERROR}xunknown"


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    for kind in (JVMView, JavaPackage):
        monkeypatch.setattr(kind, "__getattr__", kind.__getattr__)
    remember_names()
    remember_names()
    return Client()


def test_a_name_is_asked_for_once(client: Client) -> None:
    jvm = JVMView(client, "default", "j:1")
    for _ in range(3):
        for found in (jvm.org.spark.Rows, jvm.Rows, getattr(jvm, "org.spark.Rows")):
            assert isinstance(found, JavaClass)
            assert found._fqn == "org.spark.Rows"
    assert client.asked == ["org", "org.spark", "org.spark.Rows", "Rows", "org.spark.Rows"]
    other = JVMView(client, "default", "j:2")
    assert isinstance(other.org, JavaPackage)
    assert client.asked[-1] == "org"
    assert len(client.asked) == 6


def test_what_isnt_there_is_asked_for_again(client: Client) -> None:
    jvm = JVMView(client, "default", "j:1")
    for _ in range(2):
        with pytest.raises(Py4JError):
            _ = jvm.Later
    assert client.asked == ["Later", "Later"]
