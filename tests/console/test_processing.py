"""Statements, queries, streams and tables, the graph, connectors."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Page, expect

from orion.app import Orion
from orion.runtime.failures import Cause, Failure
from orion.runtime.states import QueryStatus


def written(page: Page, text: str) -> None:
    """Replace what is in the editor."""
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def query_of(orion: Orion) -> str:
    return next(name for name in orion.engine.catalog.queries if "CT_LARGE" in name)


# ---- SQL -----------------------------------------------------------------------------------------------------------


def test_a_statement_is_answered_with_a_table(page: Page) -> None:
    page.goto("/sql")
    written(page, "SHOW STREAMS;")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".o-panel .o-table")).to_contain_text("CT_ORDERS")
    expect(page.locator(".o-past").first).to_have_text("SHOW STREAMS;")


def test_a_table_is_asked_for_a_row(page: Page) -> None:
    page.goto("/sources/CT_ZIPS")
    page.get_by_role("button", name="Ask the table").click()
    expect(page.locator(".cm-content")).to_contain_text("SELECT * FROM CT_ZIPS")
    written(page, "SELECT zip, n * 2 AS twice FROM ct_zips WHERE zip = '10115';")  # orders 0, 3 and so on
    page.keyboard.press("Control+Enter")
    expect(page.locator(".o-panel .o-table")).to_contain_text("TWICE")
    expect(page.locator(".o-panel .o-table")).to_contain_text("28")


def test_a_mistake_is_marked_where_it_is(page: Page) -> None:
    page.goto("/sql")
    written(page, "SHOW STREAMS;\nSELECT nosuch FROM ct_orders EMIT CHANGES;")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".o-mistake")).to_have_text("nosuch")
    expect(page.locator(".o-error")).to_contain_text("UNKNOWN_COLUMN")


def test_columns_are_completed(page: Page) -> None:
    page.goto("/sql")
    written(page, "")
    expect(page.locator(".cm-content")).to_be_focused()
    expect(page.locator(".o-schema")).to_contain_text("CT_ORDERS")
    page.keyboard.type("SELECT tota", delay=20)
    expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text("TOTAL")


def test_columns_of_the_source_that_is_named_come_first(page: Page) -> None:
    page.goto("/sql")
    expect(page.locator(".o-schema")).to_contain_text("CT_PAID")
    written(page, "SELECT  FROM ct_paid p EMIT CHANGES;")
    page.keyboard.press("Home")
    for _ in "SELECT ":
        page.keyboard.press("ArrowRight")
    page.keyboard.type("p.", delay=20)
    offered = page.locator(".cm-tooltip-autocomplete")
    expect(offered).to_contain_text("AMOUNT")
    expect(offered).not_to_contain_text("TOTAL")  # of another stream


def test_a_mistake_is_marked_while_somebody_writes(page: Page) -> None:
    page.goto("/sql")
    written(page, "SELECT nosuch FROM ct_orders EMIT CHANGES;")
    expect(page.locator(".o-mistake")).to_have_text("nosuch")
    expect(page.locator(".o-hint")).to_contain_text("There is no column NOSUCH")
    expect(page.locator(".o-error")).to_have_count(0)
    expect(page.locator(".o-keyword", has_text="EMIT")).to_be_visible()


def test_a_name_in_the_side_bar_is_written(page: Page) -> None:
    page.goto("/sql")
    written(page, "SELECT ")
    page.locator(".o-schema summary", has_text="CT_ORDERS").click()
    page.locator('.o-schema details[open] [data-arg="ZIP"]').click()
    expect(page.locator(".cm-content")).to_have_text("SELECT ZIP")


def test_statements_are_saved_opened_and_deleted(page: Page) -> None:
    page.goto("/sql")
    written(page, "SHOW TABLES;")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_label("Name").fill("my tables")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.locator(".o-saved")).to_contain_text("my tables")
    page.reload()
    page.locator(".o-saved .o-past", has_text="my tables").click()
    expect(page.locator(".cm-content")).to_have_text("SHOW TABLES;")
    page.get_by_role("button", name="Delete my tables").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".o-saved")).to_have_count(0)


def test_rows_are_exported(page: Page) -> None:
    page.goto("/sql")
    written(page, "SELECT zip, n FROM ct_zips ORDER BY zip;")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".o-panel .o-table")).to_contain_text("10115")
    with page.expect_download() as csv:
        page.get_by_role("button", name="CSV").click()
    assert csv.value.path().read_text().splitlines()[:2] == ["ZIP,N", "10115,14"]
    with page.expect_download() as parquet:
        page.get_by_role("button", name="Parquet").click()
    assert pq.read_table(parquet.value.path()).to_pylist()[0] == {"ZIP": "10115", "N": 14}


def test_rows_come_as_table_and_chart_until_stopped(page: Page) -> None:
    page.goto("/sql")
    written(page, "SELECT zip, total FROM ct_orders EMIT CHANGES;")
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".o-live tbody tr").first).to_be_visible(timeout=90_000)
    expect(page.locator(".o-live-head")).to_contain_text("and going on")
    page.get_by_role("button", name="Chart").click()
    expect(page.locator(".o-chart canvas")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()


def test_explain_says_what_would_run(page: Page) -> None:
    page.goto("/sql")
    written(page, "CREATE STREAM x AS SELECT * FROM ct_orders EMIT CHANGES;")
    page.get_by_role("button", name="Explain").click()
    expect(page.locator(".o-code")).to_contain_text("scan stream CT_ORDERS")
    expect(page.locator(".o-code")).not_to_contain_text("from the end of its topics")
    page.get_by_text("From the beginning").click()
    page.get_by_role("button", name="Explain").click()
    expect(page.locator(".o-code")).to_contain_text("from the end of its topics")
    written(page, "SELECT * FROM ct_orders EMIT CHANGES;")
    page.get_by_role("button", name="Explain").click()
    expect(page.locator(".o-code")).to_contain_text("push query from the end")
    page.get_by_text("From the beginning").click()
    page.get_by_role("button", name="Explain").click()
    expect(page.locator(".o-code")).to_contain_text("push query from the beginning")


# ---- queries -------------------------------------------------------------------------------------------------------


def test_a_query_is_paused_and_resumed(page: Page, orion: Orion) -> None:
    page.goto(f"/queries/{query_of(orion)}")
    expect(page.locator(".o-toolbar .o-state")).to_contain_text("Running")
    expect(page.locator(".o-code").nth(1)).to_contain_text("scan stream CT_ORDERS")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".o-toolbar .o-state")).to_contain_text("Paused")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".o-toolbar .o-state")).to_contain_text("Running")


def test_terminating_says_what_is_lost_and_can_be_left(page: Page, orion: Orion) -> None:
    page.goto("/queries")
    page.get_by_role("button", name="Terminate").first.click()
    sure = page.get_by_role("alertdialog")
    expect(sure).to_contain_text("its checkpoint is deleted")
    sure.get_by_role("button", name="Cancel").click()
    expect(sure).to_be_hidden()
    assert query_of(orion) in orion.engine.catalog.queries


def test_a_query_that_fails_again_and_again_is_told_everywhere(
    page: Page, orion: Orion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the engine tells of it is drawn: nothing green, no 0 that isn't known."""
    name = query_of(orion)
    monkeypatch.setattr(Orion, "queries", failing(name, Orion.queries))
    page.goto("/")
    expect(page.locator(".o-finding--bad")).to_contain_text(f"{name} fails again and again")
    expect(page.locator(".o-light")).to_contain_text("failing")
    row = page.locator(".o-table tbody tr", has_text=name)
    expect(row.locator(".o-state--bad")).to_have_text("Failing")
    expect(row.locator(".o-unknown").first).to_have_attribute("title", re.compile("It fails again and again"))
    tile = page.locator(".o-tile", has_text="Lag")
    expect(tile).to_contain_text("not known of 1")
    page.goto(f"/queries/{name}")
    expect(page.locator(".o-toolbar .o-state")).to_have_text("Failing")
    expect(page.locator("main .o-error")).to_contain_text("a Python worker didn't come up in time")
    failures = page.locator(".o-panel", has=page.get_by_role("heading", name="Failures"))
    expect(failures.locator("tbody tr")).to_have_count(3)
    expect(failures).to_contain_text("the machine has too little time")
    expect(failures).to_contain_text("started again at")
    expect(page.locator(".o-tile", has_text="Restarts")).to_contain_text("7")


def failing(name: str, told: Callable[[Orion], list[QueryStatus]]) -> Callable[[Orion], list[QueryStatus]]:
    """The statuses of all queries, one of which comes down again and again."""
    reason, now = "a Python worker didn't come up in time", time.time()
    failures = tuple(Failure(now - 60 * ago, reason, Cause.STARVED) for ago in (3, 2, 1))
    said = {"state": "FAILING", "lag": None, "rate": None, "error": reason, "failures": failures, "restarts": 7}

    def statuses(orion: Orion) -> list[QueryStatus]:
        more: dict[str, Any] = {**said, "restarted_at": (now - 90, now - 30), "next_try_at": now + 60}
        return [replace(status, **more) if status.id == name else status for status in told(orion)]

    return statuses


# ---- streams, the graph --------------------------------------------------------------------------------------------


def test_a_stream_has_columns_lineage_and_rows(page: Page) -> None:
    page.goto("/sources/CT_ORDERS")
    expect(page.locator(".o-table").first).to_contain_text("DOUBLE")
    expect(page.locator(".o-graph")).to_contain_text("CT_LARGE")
    expect(page.get_by_text("o-39", exact=True)).to_be_visible()
    page.get_by_role("button", name="Follow in SQL").click()
    expect(page.locator(".cm-content")).to_contain_text("SELECT * FROM CT_ORDERS EMIT CHANGES")


def test_what_is_in_use_is_not_offered_to_be_dropped(page: Page, orion: Orion) -> None:
    page.goto("/sources/CT_ORDERS")
    page.get_by_role("button", name="Drop").click()
    dialog = page.get_by_role("alertdialog")
    expect(dialog).to_contain_text("IN_USE")
    expect(dialog.get_by_role("button")).to_have_text(["Close"])
    dialog.get_by_role("link", name=query_of(orion)).click()
    expect(page.locator("h1")).to_have_text(query_of(orion))


def test_the_graph_leads_to_what_it_shows(page: Page, orion: Orion) -> None:
    page.goto("/flow")
    page.locator(f'a.o-node[href="/queries/{query_of(orion)}"]').click()
    expect(page.locator("h1")).to_have_text(query_of(orion))


# ---- connectors ----------------------------------------------------------------------------------------------------


def test_a_form_points_at_what_is_missing_and_hides_secrets(page: Page) -> None:
    page.goto("/connectors/new?class=JdbcSinkConnector")
    page.get_by_role("button", name="Check").click()
    expect(page.locator(".o-form").first).to_contain_text("It is missing.")
    # What Create would refuse isn't passed: a name, a topic that nothing is declared over, a server that isn't there.
    page.get_by_label("name *", exact=True).fill("ct_jdbc")
    page.get_by_label("topics *", exact=True).fill("ct_nowhere")
    page.get_by_label("connection.url *", exact=True).fill("jdbc:postgresql://127.0.0.1:1/none")
    page.get_by_role("button", name="Check").click()
    expect(page.locator(".o-panel .o-error")).to_contain_text(
        "No stream or table is declared over the topic ct_nowhere"
    )
    page.get_by_label("topics *", exact=True).fill("ct_orders")
    page.get_by_role("button", name="Check").click()
    expect(page.locator(".o-panel .o-error")).to_contain_text("127.0.0.1")
    page.get_by_text("more options").click()
    expect(page.get_by_label("connection.password")).to_have_attribute("type", "password")


def test_a_connector_is_made_by_a_form_paused_and_dropped(page: Page, orion: Orion) -> None:
    page.goto("/connectors/new")
    page.get_by_role("link", name="datagen").click()
    page.get_by_label("name *", exact=True).fill("ct_made_up")
    page.get_by_label("topic *", exact=True).fill("ct_made_up")
    page.get_by_text("more options").click()
    page.get_by_label("quickstart").click()
    page.get_by_role("option", name="pageviews").click()
    page.get_by_role("button", name="Check").click()
    expect(page.locator(".o-panel .o-tag--ok")).to_contain_text("right")
    assert "ct_made_up" not in orion.engine.catalog.connectors
    page.get_by_role("button", name="Create connector").click()
    expect(page.locator("h1")).to_have_text("ct_made_up", timeout=90_000)
    expect(page.locator(".o-toolbar .o-state")).to_contain_text("Running")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".o-toolbar .o-state")).to_contain_text("Paused")
    page.get_by_role("button", name="Drop").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Drop connector").click()
    expect(page).to_have_url(re.compile("/connectors$"))
    assert "ct_made_up" not in orion.engine.catalog.connectors
