"""Takes docs/images/console-*.png: the console over the music example, with live data.

    python -m scripts.screenshots [URL]

Without a URL it starts a platform of its own and plays music for a while first. Needs the system's Chromium.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

IMAGES = Path(__file__).parents[1] / "docs" / "images"
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
DEADLINE_MS = 120_000
RATE = 60.0
QUESTION = "SELECT country, COUNT(*) AS plays FROM clean_plays GROUP BY country EMIT CHANGES;"


@dataclass(frozen=True)
class Shot:
    """A picture: of which page, in which light, and what must be seen before it is taken."""

    name: str
    path: str
    seen: str
    dark: bool = False
    watched_s: float = 4.0
    height: int = 900


SHOTS = (
    Shot("overview", "/", ".o-table tbody tr", dark=True, watched_s=90.0),
    Shot("flow", "/flow", ".o-way.is-going", watched_s=15.0, height=520),
    Shot("records", "/topics/plays?where=seconds > 100", ".o-records tbody tr"),
    Shot("sql", f"/sql?text={QUESTION}", ".cm-content"),
    Shot("letters", "/dead-letters/CLEAN_PLAYS", ".o-table tbody tr", dark=True),
    Shot("connector", "/connectors/new?class=JdbcSinkConnector", ".o-form"),
)


@contextmanager
def music() -> Iterator[str]:
    """The music example on a platform of its own, playing; gives the console's address."""
    from examples.music.__main__ import pipeline
    from examples.music.feed import MusicFeed
    from orion.config import load
    from orion.web.platform import running

    with tempfile.TemporaryDirectory(prefix="orion-screenshots-") as folder:
        config = load(flags={"data": Path(folder), "web.port": 0, "registry.port": 0, "engine.trigger_ms": 1000})
        with running(config, print) as platform:
            feed = MusicFeed(platform.orion.kafka, RATE)
            feed.load()
            platform.orion.execute(pipeline(f"{folder}/lake/plays"))
            feed.start()
            try:
                yield platform.url
            finally:
                feed.stop()


def take(browser: Browser, url: str, shot: Shot) -> None:
    context = browser.new_context(
        base_url=url, viewport={"width": 1440, "height": shot.height}, color_scheme="dark" if shot.dark else "light"
    )
    context.set_default_timeout(DEADLINE_MS)
    page = context.new_page()
    page.goto(shot.path)
    expect(page.locator(shot.seen).first).to_be_visible(timeout=DEADLINE_MS)
    prepare(page, shot)
    page.wait_for_timeout(shot.watched_s * 1000)
    page.screenshot(path=IMAGES / f"console-{shot.name}.png")
    context.close()
    print(f"console-{shot.name}.png")


def prepare(page: Page, shot: Shot) -> None:
    """What somebody would press before they look."""
    if shot.name == "records":
        page.locator(".o-records .o-plain").first.click()
    elif shot.name == "sql":
        page.get_by_role("button", name="Run").click()
        expect(page.locator(".o-live tbody tr").first).to_be_visible(timeout=DEADLINE_MS)
        page.get_by_role("button", name="Chart").click()


def photograph(url: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for shot in SHOTS:
            take(browser, url, shot)
        browser.close()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        photograph(sys.argv[1])
    else:
        with music() as found:
            photograph(found)
