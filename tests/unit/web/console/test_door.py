"""Which requests are a browser's, and which of these are refused."""

from __future__ import annotations

from typing import Any

import pytest

from orion.web.console import door

HTML = "text/html,application/xhtml+xml,*/*;q=0.8"


def scope(path: str, *, method: str = "GET", kind: str = "http", server: str = "127.0.0.1", **headers: str) -> Any:
    told = {"host": "127.0.0.1:8088", **headers}
    return {
        "type": kind,
        "method": method,
        "path": path,
        "server": (server, 8088),
        "headers": [(name.encode(), value.encode()) for name, value in told.items()],
    }


@pytest.mark.parametrize("path", ["/", "/topics", "/topics/orders", "/connectors/new", "/dead-letters/X", "/sql"])
def test_a_browser_gets_pages(path: str) -> None:
    assert door.is_for_console(scope(path, accept=HTML))


@pytest.mark.parametrize("accept", ["*/*", "application/json", "application/vnd.ksql.v1+json", ""])
@pytest.mark.parametrize("path", ["/", "/topics", "/connectors"])
def test_programs_get_the_api_under_the_same_address(path: str, accept: str) -> None:
    assert not door.is_for_console(scope(path, accept=accept))


@pytest.mark.parametrize("path", ["/info", "/healthcheck", "/ksql", "/v3/clusters", "/connect/connectors"])
def test_what_is_no_page_stays_the_api_s(path: str) -> None:
    assert not door.is_for_console(scope(path, accept=HTML))


def test_who_sends_something_means_the_api() -> None:
    assert not door.is_for_console(scope("/connectors", method="POST", accept=HTML))


def test_what_pages_are_made_of_is_the_console_s() -> None:
    assert door.is_for_console(scope("/_nicegui_ws/socket.io/", kind="websocket"))
    assert door.is_for_console(scope("/_console/x/console.css", accept="text/css"))
