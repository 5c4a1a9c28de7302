"""Statements, queries, streams and tables, the graph, connectors."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from orion.app import Orion


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
    page.wait_for_function("window.orionCompletes !== undefined")
    page.keyboard.type("SELECT tota", delay=20)
    expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text("TOTAL")


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


# ---- streams, the graph --------------------------------------------------------------------------------------------


def test_a_stream_has_columns_lineage_and_rows(page: Page) -> None:
    page.goto("/sources/CT_ORDERS")
    expect(page.locator(".o-table").first).to_contain_text("DOUBLE")
    expect(page.locator(".o-graph")).to_contain_text("CT_LARGE")
    expect(page.get_by_text("o-39", exact=True)).to_be_visible()
    page.get_by_role("button", name="Follow in SQL").click()
    expect(page.locator(".cm-content")).to_contain_text("SELECT * FROM CT_ORDERS EMIT CHANGES")


def test_the_graph_leads_to_what_it_shows(page: Page, orion: Orion) -> None:
    page.goto("/flow")
    page.locator(f'a.o-node[href="/queries/{query_of(orion)}"]').click()
    expect(page.locator("h1")).to_have_text(query_of(orion))


# ---- connectors ----------------------------------------------------------------------------------------------------


def test_a_form_points_at_what_is_missing_and_hides_secrets(page: Page) -> None:
    page.goto("/connectors/new?class=JdbcSinkConnector")
    page.get_by_role("button", name="Check").click()
    expect(page.locator(".o-form").first).to_contain_text("It is missing.")
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
    page.get_by_role("button", name="Create connector").click()
    expect(page.locator("h1")).to_have_text("ct_made_up", timeout=90_000)
    expect(page.locator(".o-toolbar .o-state")).to_contain_text("Running")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".o-toolbar .o-state")).to_contain_text("Paused")
    page.get_by_role("button", name="Drop").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Drop connector").click()
    expect(page).to_have_url(re.compile("/connectors$"))
    assert "ct_made_up" not in orion.engine.catalog.connectors
