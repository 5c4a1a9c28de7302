"""Pieces of pages: what comes from outside stays text, addresses keep names, forms become options."""

from __future__ import annotations

import pytest

from orion.errors import UserError
from orion.hub.groups import Group, GroupDetail, Progress
from orion.options import Definition
from orion.plan.connectors import PluginInfo
from orion.web.console import highlighting, markup
from orion.web.console.icons import icon
from orion.web.console.page import address
from orion.web.console.pages import NAMES, pages, paths
from orion.web.console.questions import connectors, producing
from orion.web.console.questions.connectors import Plugin
from orion.web.console.questions.decoding import spread
from orion.web.console.questions.groups import LagHistory
from orion.web.console.questions.names import Place, fitting
from orion.web.console.questions.records import From
from orion.web.console.questions.schemas import Entry, difference
from orion.web.console.results import rows_html
from orion.web.console.tables import Column, rendered
from orion.web.console.view import tell_unexpected

EVIL = "<img src=x onerror=alert(1)>\"'"


def test_what_comes_from_outside_is_never_html() -> None:
    for made in (
        markup.link(EVIL, "topics", EVIL),
        markup.tag(EVIL, title=EVIL),
        markup.state(EVIL),
        markup.act("go", EVIL, EVIL),
        highlighting.json_line(EVIL),
        highlighting.json_text(f'{{"a": "{EVIL}"}}'),
        rendered((Column(EVIL, lambda row: markup.text(row)),), [EVIL]),
    ):
        assert "<img" not in made
        assert EVIL not in made


def test_what_comes_from_outside_can_be_sent_to_a_browser() -> None:
    """Half of a surrogate pair is no UTF-8: a page with one in it would stay empty."""
    for made in (
        markup.text("\ud800"),
        highlighting.json_text('{"a": "\ud800"}'),
        rows_html(("A", "B"), [("\ud800", {"c": ["\ud800"]})]),
        spread({"a": "\ud800"}),
    ):
        assert made.encode().count(rb"\ud800") >= 1


def test_an_error_outside_of_a_page_is_logged_and_no_error_itself() -> None:
    tell_unexpected(ValueError("of no page"))


def test_a_name_is_no_link_where_nothing_is_there() -> None:
    assert 'href="/topics/t"' in markup.link_known("t", {"t"}, "topics", "t")
    assert 'href="/topics/t"' in markup.link_known("t", None, "topics", "t")  # what there is isn't known
    gone = markup.link_known(EVIL, {"t"}, "topics", EVIL)
    assert "href" not in gone
    assert "<img" not in gone


def test_names_stay_names_in_addresses() -> None:
    assert address("topics", "a/b?c#d", from_="offset:5", partition=None) == "/topics/a%2Fb%3Fc%23d?from=offset:5"


def test_every_page_has_its_place_in_the_menu() -> None:
    assert [page.path for page in pages().values()] == list(paths())
    assert len({page.title for page in pages().values()}) == len(NAMES)
    for page in pages().values():
        assert "<path" in icon(page.icon) or "<circle" in icon(page.icon)
        assert all(route.startswith(page.path) for route in page.routes)


def test_places_are_found_by_words_and_the_nearest_come_first() -> None:
    all_places = [
        Place(n, k, "topics", "/") for n, k in (("my_plays", "topic"), ("plays", "topic"), ("PLAYS", "stream"))
    ]
    assert [p.name for p in fitting(all_places, "pla")] == ["PLAYS", "plays", "my_plays"]
    assert [p.kind for p in fitting(all_places, "plays stream")] == ["stream"]


def test_an_address_says_where_to_look() -> None:
    assert From.of({}) == From(None, "newest")
    assert From.of({"partition": "2", "from": "offset:17"}) == From(2, "offset:17")
    with pytest.raises(UserError, match="not a partition"):
        From.of({"partition": "x"})
    with pytest.raises(UserError, match="not a place"):
        From.of({"from": "somewhere"})


PLUGIN = Plugin(
    PluginInfo("JdbcSinkConnector", "sink", "1"),
    "jdbc",
    (
        Definition("connection.url", "STRING", True, None, ""),
        Definition("connection.password", "PASSWORD", False, None, ""),
        Definition("batch.size", "INT", False, "3000", ""),
    ),
)


def test_a_form_says_what_was_typed_and_no_defaults() -> None:
    typed = {"connection.url": " jdbc:x ", "connection.password": None, "batch.size": 3000.0, "flag": True}
    said = connectors.config(PLUGIN, typed)
    assert said == {"connector.class": "JdbcSinkConnector", "connection.url": "jdbc:x", "flag": "true"}


def test_secrets_are_typed_unseen() -> None:
    hidden = [d.name for d in PLUGIN.definitions if connectors.is_hidden(d)]
    assert hidden == ["connection.password"]
    assert [d.name for d in connectors.needed(PLUGIN)] == ["topics", "connection.url"]
    assert [d.name for d in connectors.optional(PLUGIN)] == ["connection.password", "batch.size"]


def test_a_source_has_to_say_its_topic() -> None:
    topic = Definition("topic", "STRING", False, "", "")
    source = Plugin(PluginInfo("DatagenSourceConnector", "source", "1"), "datagen", (topic,))
    assert [(d.name, d.required) for d in connectors.needed(source)] == [("topic", True)]
    assert connectors.optional(source) == ()


def test_headers_are_lines() -> None:
    assert producing.headers_of("a=1\n\n b = two \n") == (("a", b"1"), ("b", b"two"))
    with pytest.raises(UserError, match="not a header"):
        producing.headers_of("oops")


def test_lag_over_time_is_kept_by_topic() -> None:
    history = LagHistory()
    parts = (Progress("t", 0, 5, 9, None), Progress("t", 1, 9, 9, None), Progress("u", 0, None, 3, None))
    history.note(GroupDetail(Group("g", "empty", "classic"), (), parts), 1000)
    assert history.lines("g") == {"t": [(1000, 4)], "u": [(1000, None)]}
    assert history.lines("other") == {}


def test_schemas_are_compared_line_by_line() -> None:
    before = Entry("s", 1, 1, "AVRO", '{"a": 1}')
    after = Entry("s", 2, 2, "AVRO", '{"a": 1, "b": 2}')
    signs = [sign for sign, _ in difference(before, after)]
    assert signs.count("+") == 2
    assert signs.count("-") == 1
