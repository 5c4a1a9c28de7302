"""A start with several statements: the door opens before they are back, and Ctrl-C ends it in order at any moment."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from orion.hub.cluster_data import pick_port
from tests.required import longest
from tests.scenarios.test_crash import Server, children_of, sql, wait

STATEMENTS = 6  # enough that the door is open before they are all back
SCRIPT = "CREATE STREAM st (k STRING KEY, v INT) WITH (kafka_topic='st', value_format='JSON', partitions=1);" + "".join(
    f"CREATE STREAM st_{n} AS SELECT k, v + {n} AS v FROM st EMIT CHANGES;" for n in range(STATEMENTS)
)
LONG_S = 240.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path / "data")
    yield made
    if made.process is not None and made.process.poll() is None:
        made.kill()


def health(port: int) -> tuple[int, dict[str, Any]] | None:
    try:
        answer = httpx.get(f"http://127.0.0.1:{port}/healthcheck", timeout=60)
    except httpx.TransportError:
        return None
    return answer.status_code, answer.json()


def interrupt(server: Server) -> str:
    """Ctrl-C; what was said. It ends as an interrupted command does, with nothing left."""
    assert server.process is not None
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(LONG_S) == 130
    wait(lambda: not children_of(server.data), "something is left", LONG_S)
    said = (server.data.parent / "up.log").read_text()
    assert "Traceback" not in said
    return said


@longest
@pytest.mark.timeout(1200)
def test_a_start_with_several_statements(server: Server, tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text(SCRIPT)
    running = server.start("--file", str(script))
    wait(lambda: len(sql(running.url, "SHOW QUERIES;")[0]["queries"]) == STATEMENTS, "the script didn't run", LONG_S)
    assert server.stop() == 0

    port = pick_port()
    server.launch("--port", str(port))
    seen: list[str] = []

    def look(wanted: str) -> bool:
        found = health(port)
        if found is None:
            return False
        status, told = found
        seen.append(told.get("message") or told["serverState"])
        assert (status == 200) == told["isHealthy"]
        assert told["isHealthy"] <= (told["serverState"] == "READY")
        return wanted in seen[-1]

    wait(lambda: look(f"of {STATEMENTS}"), "no statement was on its way back", LONG_S)
    assert any("Spark" in one for one in seen), seen  # it answered before there was an engine
    assert seen[-1] != f"starting, {STATEMENTS} of {STATEMENTS}"  # and the engine answers before all are back
    assert len(sql(f"http://127.0.0.1:{port}", "SHOW QUERIES;")[0]["queries"]) == STATEMENTS
    wait(lambda: look("READY"), "it isn't ready", LONG_S)
    queries = sql(f"http://127.0.0.1:{port}", "SHOW QUERIES;")[0]["queries"]
    assert [(q["state"], q["error"]) for q in queries] == [("RUNNING", None)] * STATEMENTS
    assert server.stop() == 0

    seen.clear()
    server.launch("--port", str(port))
    wait(lambda: look(f"of {STATEMENTS}"), "no statement was on its way back", LONG_S)
    assert "stopped before it was up" in interrupt(server)

    server.launch("--port", str(port))
    wait(lambda: look(""), "the door doesn't open", LONG_S)  # while the broker starts
    interrupt(server)
