"""Topics: found, browsed, filtered, followed, written, made and deleted."""

from __future__ import annotations

import csv
import json
import re

import pytest
from playwright.sync_api import Page, expect

from orion.app import Orion
from orion.web.console.questions import searching


def rows(page: Page) -> int:
    return page.locator(".o-records tbody tr").count()


def test_the_list_is_filtered_by_the_server(page: Page) -> None:
    page.goto("/topics")
    expect(page.locator(".o-table tbody tr").first).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("ct_orders")  # it needn't be on the first page
    expect(page.get_by_role("link", name="ct_orders", exact=True)).to_be_visible()
    page.locator(".o-search input").fill("ct_paid")
    expect(page.locator(".o-table tbody tr")).to_have_count(1)
    page.locator(".o-search input").fill("nothing like it")
    expect(page.locator(".o-empty")).to_contain_text("Nothing fits")


def test_records_from_a_place_that_the_address_says(page: Page) -> None:
    page.goto("/topics/ct_orders?partition=0&from=offset:3")
    expect(page.locator(".o-records tbody tr")).to_have_count(17)
    first = page.locator(".o-records tbody tr").first
    expect(first).to_contain_text("o-6")
    first.get_by_role("button").click()
    expect(page.locator(".o-whole")).to_contain_text("source = app")


def test_an_expression_and_a_header_filter(page: Page) -> None:
    page.goto("/topics/ct_orders")
    where = page.get_by_placeholder("WHERE")
    where.fill("total BETWEEN 35 AND 39")
    where.press("Enter")
    expect(page).to_have_url(re.compile("where="))
    expect(page.locator(".o-records tbody tr")).to_have_count(5)
    page.get_by_placeholder("header=value").fill("source=app")
    page.get_by_role("button", name="Look").click()
    expect(page.locator(".o-records tbody tr")).to_have_count(2)


def test_a_wrong_expression_is_pointed_at(page: Page) -> None:
    page.goto("/topics/ct_orders")
    expect(page.locator(".o-records tbody tr").first).to_be_visible()
    where = page.get_by_placeholder("WHERE")
    where.fill("total >=")
    where.press("Enter")
    expect(page.locator(".o-error")).to_contain_text("SYNTAX")


def test_a_search_that_ran_out_says_how_far_it_looked_and_goes_on(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "_MOST_SCANNED", 10)
    monkeypatch.setattr(searching, "_BATCH", 5)
    page.goto("/topics/ct_orders?where=total = 38")  # behind 19 others in its partition
    expect(page.locator(".o-empty")).to_contain_text("Nothing found so far")
    expect(page.locator(".o-empty")).to_contain_text(re.compile(r"\d+ of \d+ offsets were looked through"))
    page.get_by_text("Where it has looked").click()
    expect(page.locator(".o-looked")).to_contain_text("partition 1")
    further = page.get_by_role("button", name="Look further")
    for _ in range(8):
        if rows(page):
            break
        before = page.locator(".o-panel__head").inner_text()
        further.click()
        expect(page.locator(".o-panel__head")).not_to_have_text(before)
        expect(page.get_by_text("looking …")).to_have_count(0)
    expect(page.locator(".o-records tbody tr")).to_have_count(1)
    expect(page.locator(".o-records tbody tr")).to_contain_text("o-38")


def test_a_search_that_saw_everything_says_so(page: Page) -> None:
    page.goto("/topics/ct_orders?where=total = -1")
    expect(page.locator(".o-empty")).to_contain_text(re.compile(r"All \d+ offsets were looked through"))
    expect(page.get_by_role("button", name="Look further")).to_have_count(0)


def test_what_is_produced_comes_live(page: Page) -> None:
    page.goto("/topics/ct_paid?live=1")
    expect(page.locator(".o-empty")).to_contain_text("Waiting for records")
    page.get_by_role("button", name="Produce").click()
    value = page.get_by_label("Value", exact=True)
    value.fill('{"ID": 7, "AMOUNT": "many"}')
    page.locator(".o-dialog").get_by_role("button", name="Produce").click()
    expect(page.locator(".o-dialog .o-error")).to_contain_text("AMOUNT")
    value.fill('{"ID": 7, "AMOUNT": 12.5}')
    page.locator(".o-dialog").get_by_role("button", name="Produce").click()
    row = page.locator(".o-records tbody tr").first
    expect(row).to_contain_text("12.5")
    expect(row).to_contain_text("7")


def test_partitions_consumers_and_settings(page: Page) -> None:
    page.goto("/topics/ct_orders?tab=partitions")
    expect(page.locator(".o-table tbody tr")).to_have_count(2)
    page.get_by_role("link", name="Consumers").click()
    expect(page.locator(".o-table")).to_contain_text("console.CSAS_CT_LARGE")
    page.get_by_role("link", name="Settings").click()
    expect(page.locator(".o-table")).to_contain_text("cleanup.policy")


def test_a_topic_is_made_and_deleted_only_by_who_writes_its_name(page: Page, orion: Orion) -> None:
    page.goto("/topics")
    page.get_by_role("button", name="Create topic").click()
    page.get_by_label("Name").fill("ct_made")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.locator("h1")).to_have_text("ct_made")
    page.get_by_role("button", name="Delete").click()
    sure = page.get_by_role("alertdialog")
    expect(sure).to_contain_text("0 records")
    sure.get_by_role("button", name="Delete topic").click()
    expect(sure).to_contain_text("That is another name.")
    sure.locator("input").fill("ct_made")
    sure.get_by_role("button", name="Delete topic").click()
    expect(page.locator("h1")).to_have_text("Topics")
    assert "ct_made" not in {topic.name for topic in orion.kafka.outlines()}


def test_a_setting_is_changed_and_given_back(page: Page, orion: Orion) -> None:
    orion.kafka.create_topic("ct_changed", 1)

    def change(value: str, action: str) -> None:
        page.get_by_role("button", name="Change a setting").click()
        page.get_by_label("Setting", exact=True).fill("retention.ms")
        page.get_by_role("option", name="retention.ms", exact=True).click()
        page.get_by_label("Value", exact=True).fill(value)
        page.locator(".o-dialog").get_by_role("button", name=action, exact=True).click()

    page.goto("/topics/ct_changed?tab=settings")
    change("for ever", "Set")
    expect(page.locator(".o-dialog .o-error")).to_contain_text("retention.ms")
    page.keyboard.press("Escape")
    expect(page.locator(".o-dialog")).to_have_count(0)
    change("86400000", "Set")
    own = page.locator(".o-table tbody tr", has_text="this topic")
    expect(own).to_contain_text("86400000")
    change("", "Use the default")
    expect(own).to_have_count(0)
    assert "retention.ms" not in orion.kafka.describe_topic("ct_changed").config


def test_partitions_are_added(page: Page, orion: Orion) -> None:
    orion.kafka.create_topic("ct_grown", 1)
    page.goto("/topics/ct_grown?tab=partitions")
    page.get_by_role("button", name="Add partitions").click()
    page.get_by_label("Partitions", exact=True).fill("3")
    page.locator(".o-dialog").get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".o-table tbody tr")).to_have_count(3)


def test_a_record_is_sent_again_as_it_was_or_edited(page: Page, orion: Orion) -> None:
    before = sum(orion.kafka.ends_of(["ct_orders"])["ct_orders"].values())
    page.goto("/topics/ct_orders?partition=0&from=offset:3")
    page.locator(".o-records tbody tr").first.get_by_role("button").click()
    page.get_by_role("button", name="Send again or edit").click()
    dialog = page.locator(".o-dialog")
    expect(dialog.locator("h2")).to_contain_text("Send 0:3 to ct_orders again")
    dialog.get_by_role("button", name="Send again").click()
    expect(page.locator(".o-toast")).to_contain_text("Written to partition")
    assert sum(orion.kafka.ends_of(["ct_orders"])["ct_orders"].values()) == before + 1


def test_a_record_to_edit_is_written_as_the_way_that_is_chosen_wants_it(page: Page) -> None:
    page.goto("/topics/ct_orders?partition=0&from=offset:3")
    page.locator(".o-records tbody tr").first.get_by_role("button").click()
    page.get_by_role("button", name="Send again or edit").click()
    dialog = page.locator(".o-dialog")
    dialog.locator(".q-select").click()
    page.get_by_role("option", name="As typed").click()
    expect(dialog.get_by_label("Key", exact=True)).to_have_value(re.compile("o-"))
    expect(dialog.get_by_label("Value", exact=True)).not_to_have_value("")
    dialog.get_by_role("button", name="Cancel").click()


def test_records_are_exported(page: Page) -> None:
    page.goto("/topics/ct_orders?partition=0&from=offset:4&find=o-8")
    expect(page.locator(".o-records tbody tr")).to_have_count(1)
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    head, row = csv.reader(download.value.path().read_text().splitlines())
    assert head == ["PARTITION", "OFFSET", "TIMESTAMP", "KEY", "VALUE", "HEADERS"]
    assert (row[0], row[1], row[3], json.loads(row[4])["zip"]) == ("0", "4", "o-8", "10117")
    assert download.value.suggested_filename == "ct_orders.csv"


def test_the_list_has_rates(page: Page) -> None:
    page.goto("/topics")
    page.locator(".o-search input").fill("ct_orders")
    row = page.locator("tr", has_text="ct_orders").first
    expect(row).to_contain_text("/s")  # known at the second look
