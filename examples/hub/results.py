"""The three results, each read back by its own means, as the same rows by customer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from orion.app import Orion
    from tests.servers.postgres import Database

Rows = dict[int, tuple[str, str, int, str]]
INDEX = "activity"


def in_lake(orion: Orion, path: str) -> Rows:
    found = orion.spark.read.format("delta").load(path).collect()
    return {r["ID"]: (r["NAME"], r["CITY"], r["CLICKS"], r["LAST_PAGE"]) for r in found}


def in_database(database: Database) -> Rows:
    with database.connect() as connection:
        found = connection.execute("SELECT id, name, city, clicks, last_page FROM activity").fetchall()
    return {row[0]: (row[1], row[2], row[3], row[4]) for row in found}


def in_index(url: str) -> Rows:
    httpx.post(f"{url}/{INDEX}/_refresh", timeout=30).raise_for_status()
    asked = {"size": 10_000, "query": {"match_all": {}}}
    answer = httpx.post(f"{url}/{INDEX}/_search", json=asked, timeout=30).raise_for_status()
    documents: list[dict[str, Any]] = [hit["_source"] for hit in answer.json()["hits"]["hits"]]
    return {d["ID"]: (d["NAME"], d["CITY"], d["CLICKS"], d["LAST_PAGE"]) for d in documents}
