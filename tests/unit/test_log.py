"""The log: off the threads that log, and without values that may be secret."""

from __future__ import annotations

import io
import logging
import threading
from collections.abc import Iterator

import pytest
import structlog
from pydantic import BaseModel, ValidationError

from orion import log
from orion.errors import UserError

PASSWORD = "hunter2"


class Slow(io.StringIO):
    """A stream that takes nothing until it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = threading.Event()
        self.writers: set[str] = set()

    def write(self, text: str) -> int:
        self.opened.wait(30)
        self.writers.add(threading.current_thread().name)
        return super().write(text)


@pytest.fixture
def stream() -> Iterator[Slow]:
    made, before = Slow(), structlog.get_config()
    log.configure_log(lambda: made)
    yield made
    made.opened.set()
    log.flush_log()
    structlog.configure(**before)


def told(stream: Slow) -> str:
    stream.opened.set()
    log.flush_log()
    return stream.getvalue()


def fail(password: str, depth: int = 0) -> None:
    if depth:
        fail(password, depth - 1)
    int(f"{password} in a body")


def test_who_logs_does_not_wait_for_the_stream(stream: Slow) -> None:
    """The stream takes nothing yet: this ends all the same."""
    for n in range(50):
        structlog.get_logger().warning("line", n=n)
    assert stream.getvalue() == ""
    lines = told(stream).splitlines()
    assert len(lines) == 50
    assert "n=49" in lines[-1]
    assert stream.writers == {"orion-log"}


def test_a_traceback_tells_places_and_no_values(stream: Slow) -> None:
    try:
        fail(PASSWORD)
    except ValueError:
        structlog.get_logger().exception("a request failed", path="/ksql")
    text = told(stream)
    assert PASSWORD not in text
    assert "a request failed" in text
    assert "test_log.py" in text
    assert "in fail" in text
    assert "ValueError: invalid literal for int() with base 10: '...'" in text


def test_an_error_may_be_given_by_itself_and_has_its_causes(stream: Slow) -> None:
    def failed() -> None:
        try:
            fail(PASSWORD)
        except ValueError as error:
            raise UserError("BAD", "It doesn't do.") from error

    with pytest.raises(UserError) as raised:
        failed()
    structlog.get_logger().error("failed", exc_info=raised.value)
    text = told(stream)
    assert text.index("ValueError") < text.index("which led to") < text.index("UserError: It doesn't do.")
    assert PASSWORD not in text


def test_a_deep_recursion_is_a_short_text() -> None:
    def deeper(password: str) -> None:
        deeper(password)

    with pytest.raises(RecursionError) as raised:
        deeper(PASSWORD)
    text = log.describe_error(raised.value)
    assert len(text.splitlines()) < 3 * log._FRAMES
    assert PASSWORD not in text


def test_what_pydantic_found_wrong_is_not_quoted() -> None:
    class Body(BaseModel):
        n: int

    with pytest.raises(ValidationError) as raised:
        Body.model_validate({"n": PASSWORD})
    assert PASSWORD not in log.describe_error(raised.value)


def test_libraries_log_the_same_way(stream: Slow) -> None:
    for name in ("asyncio", "nicegui"):
        try:
            fail(PASSWORD)
        except ValueError:
            logging.getLogger(name).exception("a task failed")
    assert stream.getvalue() == ""
    text = told(stream)
    assert text.count("a task failed") == 2
    assert "in fail" in text
    assert PASSWORD not in text


def test_lines_that_find_no_room_are_counted(stream: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "_writer", made := log._LogWriter())
    made._waiting.maxsize = 3
    for n in range(10):
        structlog.get_logger().warning("line", n=n)
    stream.opened.set()
    made.flush()
    structlog.get_logger().warning("after")
    made.flush()
    assert "lines of the log are left out" in stream.getvalue()
    assert "after" in stream.getvalue()


def test_a_program_without_a_log_of_its_own_gets_this_one() -> None:
    before = structlog.get_config()
    try:
        structlog.reset_defaults()
        log.configure_log_unless_told()
        assert structlog.get_config()["processors"][-1] is log._passed_on
        structlog.configure(processors=[structlog.processors.JSONRenderer()])
        log.configure_log_unless_told()
        assert len(structlog.get_config()["processors"]) == 1
    finally:
        structlog.configure(**before)
