"""Dead letters sent back, schemas that may follow or not, groups moved, and how all is doing."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from orion.app import Orion
from orion.hub.reader import Reader
from orion.hub.records import Position


def test_the_overview_tells_what_runs(page: Page, orion: Orion) -> None:
    page.goto("/")
    expect(page.locator(".o-tile").first).to_contain_text("Running")
    name = next(iter(orion.engine.catalog.queries))
    expect(page.locator(".o-table")).to_contain_text(name)
    expect(page.locator(".o-chart canvas")).to_have_count(2)


def test_a_dead_letter_is_repaired_and_goes_back_once(page: Page, orion: Orion) -> None:
    page.goto("/dead-letters")
    page.get_by_role("link", name="CT_LARGE").click()
    expect(page.locator(".o-table").first).to_contain_text("VALUE_UNREADABLE")
    page.get_by_role("button", name="Repair").first.click()
    value = page.get_by_label("Value", exact=True)
    expect(value).to_have_value(re.compile("a lot"))
    value.fill('{"id": "o-13", "zip": "10116", "total": 1300}')
    page.get_by_role("button", name="Preview").click()
    expect(page.locator(".o-dialog")).to_contain_text("1 go to ct_orders")
    page.locator(".o-dialog").get_by_role("button", name="Send back").click()
    expect(page.locator(".o-tag--ok")).to_contain_text("sent back")
    assert orion.drain(60.0)
    page.goto("/topics/CT_LARGE?where=total%20%3D%201300")
    expect(page.locator(".o-records tbody tr")).to_have_count(1)


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
    page.get_by_role("button", name="Reset offsets").click()
    page.locator(".o-dialog").get_by_role("button", name="Move").click()
    expect(page.locator(".o-dialog .o-error")).to_contain_text("GROUP_ACTIVE")
