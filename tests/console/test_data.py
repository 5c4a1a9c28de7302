"""Dead letters sent back, schemas that may follow or not, groups moved, and how all is doing."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from orion.app import Orion
from orion.hub.reader import Reader
from orion.hub.records import Position
from orion.web.console.questions import dead_letters

REPAIRED = '{"id": "o-13", "zip": "10116", "total": 1300}'


class Held:
    """A question of a page's that is only answered once it may be."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call
        self.begun, self.go, self.calls = threading.Event(), threading.Event(), 0

    def __call__(self, *arguments: Any) -> Any:
        self.calls += 1
        self.begun.set()
        assert self.go.wait(60)
        return self._call(*arguments)


def test_the_overview_tells_what_runs(page: Page, orion: Orion) -> None:
    page.goto("/")
    expect(page.locator(".o-tile").first).to_contain_text("Running")
    name = next(iter(orion.engine.catalog.queries))
    expect(page.locator(".o-table")).to_contain_text(name)
    expect(page.locator(".o-chart canvas")).to_have_count(2)


def test_a_dead_letter_goes_back_as_it_was_reviewed_and_once(
    page: Page, orion: Orion, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(dead_letters.replay)
    monkeypatch.setattr(dead_letters, "replay", held)
    page.goto("/dead-letters")
    page.get_by_role("link", name="CT_LARGE").click()
    expect(page.locator(".o-table").first).to_contain_text("VALUE_UNREADABLE")
    page.get_by_role("button", name="Repair").first.click()
    dialog, value = page.locator(".o-dialog"), page.get_by_label("Value", exact=True)
    expect(value).to_have_value(re.compile("a lot"))
    send = dialog.get_by_role("button", name="Send back", exact=True)
    expect(send).to_be_hidden()  # nothing goes that wasn't looked at
    # A value that the stream can't read either is told of.
    value.fill('{"id": "o-13", "zip": "10116", "total": "even more"}')
    dialog.get_by_role("button", name="Review").click()
    expect(dialog.locator(".o-error--warn")).to_contain_text('TOTAL is "even more", which is no DOUBLE')
    expect(dialog.get_by_role("button", name="Send back anyway")).to_be_visible()
    # Who changes it has to look again.
    value.fill(REPAIRED)
    expect(dialog).to_contain_text("review it again")
    expect(dialog.get_by_role("button", name="Send back anyway")).to_be_hidden()
    dialog.get_by_role("button", name="Review").click()
    expect(dialog).to_contain_text("1 goes to ct_orders")
    expect(dialog.locator("del").first).to_contain_text("a lot")
    expect(dialog.locator("ins").first).to_contain_text("1300")
    # While it is sent nothing can be typed that would be lost.
    send.click()
    assert held.begun.wait(60)
    value.focus()
    page.keyboard.type("lost")
    assert value.input_value() == REPAIRED
    page.keyboard.press("Escape")
    held.go.set()
    expect(page.locator(".o-tag--ok")).to_contain_text("sent back")
    assert held.calls == 1
    assert orion.drain(60.0)
    page.goto("/topics/CT_LARGE?where=total%20%3D%201300")
    expect(page.locator(".o-records tbody tr")).to_have_count(1)


def test_the_page_of_one_who_has_met_no_bad_record_says_so(page: Page, orion: Orion) -> None:
    orion.kafka.delete_topic("dlq.CT_ZIPS", missing_ok=True)
    page.goto("/dead-letters/CT_ZIPS")
    expect(page.locator(".o-about").last).to_contain_text("no record that it couldn't use")
    expect(page.locator("main .o-error")).to_have_count(0)


def test_letters_that_can_t_be_repaired_are_all_kept(page: Page) -> None:
    page.goto("/dead-letters/no_such_name")
    expect(page.locator(".o-error")).to_contain_text("DLQ_NOT_FOUND")


def test_a_schema_is_registered_checked_and_compared(page: Page) -> None:
    page.goto("/schemas")
    page.get_by_role("button", name="Register schema").click()
    page.get_by_label("Subject").fill("ct_shop-value")
    schema = page.get_by_label("Schema", exact=True)
    schema.fill('{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}')
    page.get_by_role("button", name="Register", exact=True).click()
    expect(page.locator("h1")).to_have_text("ct_shop-value")
    expect(page.locator(".o-about")).to_contain_text("compatibility")
    expect(page.locator(".o-about a")).to_have_count(0)  # there is no topic ct_shop
    page.get_by_role("button", name="New version").click()
    schema.fill('{"type": "record", "name": "R", "fields": [{"name": "a", "type": "string"}]}')
    page.get_by_role("button", name="Check compatibility").click()
    expect(page.locator(".o-dialog")).to_contain_text("not compatible")
    page.get_by_role("button", name="Register", exact=True).click()
    expect(page.locator(".o-dialog .o-error")).to_contain_text("REGISTRY_409")
    schema.fill('{"type": "record", "name": "R", "fields": [{"name": "a", "type": "long"}]}')
    page.get_by_role("button", name="Register", exact=True).click()
    expect(page.locator(".o-table tbody tr")).to_have_count(2)
    page.get_by_role("link", name="compare").click()
    expect(page.locator(".o-code ins")).to_contain_text("long")
    expect(page.locator(".o-code del")).to_contain_text("int")


def test_a_group_is_moved_when_nobody_reads_with_it(page: Page, orion: Orion) -> None:
    with Reader(orion.kafka, "ct_orders", Position("earliest"), group="ct_group", commit="sync") as reader:
        while not reader.at_end:
            reader.shown(reader.read(100, 0.5))
        reader.commit()
    page.goto("/groups/ct_group")
    expect(page.locator(".o-table").first).to_contain_text("ct_orders")
    page.get_by_role("button", name="Reset offsets").click()
    page.get_by_role("button", name="Preview").click()
    expect(page.locator(".o-dialog .o-table")).to_contain_text("20")
    page.locator(".o-dialog").get_by_role("button", name="Move").click()
    expect(page.locator(".o-dialog")).to_be_hidden()
    expect(page.locator(".o-toolbar")).to_contain_text(re.compile(r"4\d records behind"))


def test_a_group_with_members_stays_where_it_is(page: Page, orion: Orion) -> None:
    name = next(name for name in orion.engine.catalog.queries if "CT_LARGE" in name)
    page.goto(f"/groups/console.{name}")
    expect(page.locator(".o-about")).to_contain_text(name)
    for what, action in (("Reset offsets", "Move"), ("Delete group", "Delete group")):
        page.get_by_role("button", name=what).click()
        expect(page.get_by_role("alertdialog")).to_contain_text(f"It is the group of {name}")
        expect(page.locator(".o-dialog").get_by_role("button", name=action)).to_have_count(0)
        page.get_by_role("alertdialog").get_by_role("button", name="Close").click()
        expect(page.get_by_role("alertdialog")).to_have_count(0)
