"""What stands around every page, and what everybody else gets at the same addresses."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Page, expect

from orion.web.console.pages import pages

HTML = {"accept": "text/html"}


def test_a_browser_gets_the_console_and_programs_what_they_had(url: str) -> None:
    told = httpx.get(f"{url}/", headers=HTML, timeout=60)
    assert (told.status_code, "Orion</title>" in told.text) == (200, True)
    assert "kafka_cluster_id" in httpx.get(f"{url}/", timeout=60).json()
    assert "ct_orders" in httpx.get(f"{url}/topics", timeout=60).json()
    assert httpx.get(f"{url}/connectors", timeout=60).json() == []


def test_everything_comes_from_this_server(url: str) -> None:
    told = httpx.get(f"{url}/", headers=HTML, timeout=60).text
    assert re.findall(r"""(?:src|href)=["'](?:https?:)?//[^"']+""", told) == []


def test_other_sites_are_refused(url: str) -> None:
    assert httpx.get(f"{url}/", headers={**HTML, "origin": "https://elsewhere.example"}).status_code == 403
    assert httpx.get(f"{url}/", headers={**HTML, "host": "elsewhere.example"}).status_code == 403


@pytest.mark.parametrize("name", list(pages()))
def test_every_page_opens_from_the_menu_and_by_its_address(page: Page, name: str) -> None:
    found = pages()[name]
    page.goto(found.path)
    expect(page.locator("h1")).to_have_text(found.title)
    expect(page.locator(".o-menu .is-here")).to_have_text(found.title)
    expect(page.locator("main .o-loading")).to_have_count(0)
    expect(page.locator("main .o-error")).to_have_count(0)


def test_the_menu_leads_on_without_loading_anew(page: Page) -> None:
    page.goto("/")
    expect(page.locator("h1")).to_have_text("Overview")
    page.evaluate("window.stays = true")
    page.locator(".o-menu").get_by_text("Topics", exact=True).click()
    expect(page.locator("h1")).to_have_text("Topics")
    expect(page).to_have_url(re.compile(r"/topics$"))
    page.go_back()
    expect(page.locator("h1")).to_have_text("Overview")
    assert page.evaluate("window.stays") is True


def test_going_somewhere_by_its_name(page: Page) -> None:
    page.goto("/")
    expect(page.locator("h1")).to_have_text("Overview")
    page.keyboard.press("Control+k")
    box = page.get_by_label("Go to")
    expect(box).to_be_focused()
    box.fill("ct_orders topic")
    expect(page.locator(".o-jump__row.is-at")).to_contain_text("ct_orders")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("ct_orders")


def test_light_and_dark_are_kept(page: Page) -> None:
    page.goto("/")
    expect(page.locator("body")).to_have_class(re.compile("body--light"))
    page.get_by_label("Light or dark").click()
    expect(page.locator("body")).to_have_class(re.compile("body--dark"))
    page.reload()
    expect(page.locator("body")).to_have_class(re.compile("body--dark"))


@pytest.mark.parametrize("address", ["/nosuch", "/nosuch/deeper?x=1", "/queries/a/b/c"])
def test_an_unknown_address_is_a_page_that_says_so(page: Page, url: str, address: str) -> None:
    page.goto(address)
    expect(page.locator("h1")).to_have_text("There is no such page")
    expect(page.locator(".o-empty").get_by_role("link", name="Topics")).to_be_visible()


def test_an_unknown_address_is_not_found_for_everybody(url: str) -> None:
    assert httpx.get(f"{url}/nosuch", headers=HTML, timeout=60).status_code == 404
    assert httpx.get(f"{url}/nosuch", timeout=60).headers["content-type"].startswith("application/json")


def test_a_server_that_is_gone_is_told_in_the_middle_and_nothing_can_be_pressed(page: Page) -> None:
    page.goto("/topics")
    expect(page.locator("h1")).to_have_text("Topics")
    page.evaluate("window.socket.disconnect()")
    expect(page.locator("#popup")).to_be_visible()
    assert page.evaluate("document.querySelector('.o-main').inert") is True
    page.evaluate("window.socket.connect()")
    expect(page.locator("#popup")).to_be_hidden()
    assert page.evaluate("document.querySelector('.o-main').inert") is False


def test_what_isn_t_there_is_told_as_an_error(page: Page) -> None:
    page.goto("/topics/no_such_topic")
    expect(page.locator(".o-error")).to_contain_text("TOPIC_NOT_FOUND")
    page.goto("/queries/nobody")
    expect(page.locator(".o-error")).to_contain_text("There is no query nobody.")
