"""Names of changelog topics: what they say, and that a topic can have them."""

from __future__ import annotations

import re

import pytest

from orion.hub.changelog import ChangelogName, changelog_name, name_edition, parse_changelog_name


@pytest.mark.parametrize("query", ["CTAS_COUNTS_5", "CSAS_a-b-0_17", "MINE"])
@pytest.mark.parametrize("service", ["orion", "team-a"])
def test_a_name_says_whose_changelog_it_is(service: str, query: str) -> None:
    name = changelog_name(service, query, "ee5312bd362e4bf2", 1)
    assert parse_changelog_name(service, name) == ChangelogName(name, query, 1)
    name = changelog_name(service, query, "ee5312bd362e4bf2", 1, "0badcafe")
    assert parse_changelog_name(service, name) == ChangelogName(name, query, 1, "0badcafe")


@pytest.mark.parametrize("query", ["CTAS_my täble_5", "CTAS_" + "x" * 500 + "_5"])
def test_any_query_has_a_name_that_kafka_takes(query: str) -> None:
    name = changelog_name("orion", query, "ee5312bd362e4bf2", 0)
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,249}", name)
    told = parse_changelog_name("orion", name)
    assert told is not None
    assert told.operator == 0


def test_no_edition_is_called_like_another() -> None:
    assert len({name_edition() for _ in range(1000)}) == 1000


@pytest.mark.parametrize(
    "name",
    [
        "COUNTS",
        "_orion_batches",
        "orion-CTAS_A_1-ab-0-changelog",
        "_orion-CTAS_A_1-ab-changelog",
        "_other-CTAS_A_1-ab-0-changelog",
    ],
)
def test_other_topics_are_no_changelogs(name: str) -> None:
    assert parse_changelog_name("orion", name) is None
