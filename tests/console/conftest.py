"""The console in a real browser: one platform over the run's broker and Spark session, one Chromium, a page a test."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from orion.app import Orion
from orion.config import load
from orion.hub.kafka import Kafka
from orion.registry.access import Local
from orion.registry.log import KafkaLog
from orion.registry.store import Registry
from orion.runtime.engine import Engine
from orion.runtime.session import Spark
from orion.web.server import Server
from orion.web.sockets import bound
from tests.required import refuse

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
DEADLINE_MS = 90_000
# A browser tells of it by itself when a page is left while it asks for something.
HARMLESS = re.compile(r"favicon|net::ERR_ABORTED")

ORDERS = """
CREATE STREAM ct_orders (id STRING KEY, zip STRING, total DOUBLE)
  WITH (KAFKA_TOPIC = 'ct_orders', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM ct_large AS SELECT id, zip, total FROM ct_orders WHERE total > 10 EMIT CHANGES;
CREATE STREAM ct_paid (id BIGINT KEY, amount DOUBLE)
  WITH (KAFKA_TOPIC = 'ct_paid', VALUE_FORMAT = 'AVRO', PARTITIONS = 1);
CREATE TABLE ct_zips AS SELECT zip, COUNT(*) AS n FROM ct_orders GROUP BY zip EMIT CHANGES;
"""


@pytest.fixture(scope="session")
def orion(kafka: Kafka, spark: Spark, scratch: Path) -> Iterator[Orion]:
    flags = {
        "data": scratch / "console",
        "hub.bootstrap": kafka.bootstrap,
        "engine.trigger_ms": 50,
        "service_id": "console",
    }
    with ExitStack() as stack:
        registry = Registry(KafkaLog(Kafka(kafka.bootstrap)))
        stack.callback(registry.close)
        engine = Engine(load(flags=flags), kafka, spark, Local(registry))
        made = stack.enter_context(Orion.over(engine, registry))
        made.execute(ORDERS)
        _send(kafka)
        assert made.drain(180.0)  # the first batches take long, where the machine is busy
        yield made


def _send(kafka: Kafka) -> None:
    """Forty orders, of which one isn't what the stream declares."""
    producer = kafka.producer()
    for number in range(40):
        total = '"a lot"' if number == 13 else str(number)
        value = f'{{"id": "o-{number}", "zip": "{10115 + number % 3}", "total": {total}}}'
        headers: list[tuple[str, str | bytes | None]] = [("source", b"shop" if number % 2 else b"app")]
        producer.produce("ct_orders", key=f"o-{number}", value=value, partition=number % 2, headers=headers)
    assert producer.flush(30) == 0


@pytest.fixture(scope="session")
def url(orion: Orion) -> Iterator[str]:
    sock = bound("127.0.0.1", 0)
    server = Server.start(orion, sock)
    yield server.url
    server.stop()
    sock.close()


@pytest.fixture(scope="package")  # its event loop runs in this thread, where no other test expects one
def browser() -> Iterator[Browser]:
    if not Path(CHROMIUM).exists():
        refuse("needs Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def page(browser: Browser, url: str) -> Iterator[Page]:
    """A tab at the console's address. What its scripts complain of fails the test."""
    context = browser.new_context(base_url=url, viewport={"width": 1440, "height": 900})
    context.set_default_timeout(DEADLINE_MS)
    expect.set_options(timeout=DEADLINE_MS)
    tab = context.new_page()
    wrong: list[tuple[str, str]] = []  # what, and the address that it is about
    pages: set[str] = set()  # a page that isn't there is the test's to judge
    tab.on("pageerror", lambda error: wrong.append((str(error), "")))
    tab.on("console", lambda told: wrong.append((told.text, told.location["url"])) if told.type == "error" else None)
    tab.on("request", lambda request: pages.add(request.url) if request.is_navigation_request() else None)
    yield tab
    context.close()
    assert [what for what, where in wrong if where not in pages and not HARMLESS.search(what)] == []
