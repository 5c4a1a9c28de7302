"""A query as a job: where its checkpoint lies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from orion.plan.relations import Query, Scan
from orion.plan.sources import Kind, Serde, Source
from orion.runtime.jobs import QueryJob, Surroundings
from orion.schema import Column, Scalar, Schema

SOURCE = Source("S", Kind.STREAM, Schema((Column("A", Scalar.INTEGER),)), "s", Serde("KAFKA"), Serde("JSON"))
QUERY = Query("CSAS_O_1", "5f3c", Scan(SOURCE), replace(SOURCE, name="O"), ("S",))


def test_a_checkpoint_lies_under_the_name_that_the_query_was_given_whatever_it_means(tmp_path: Path) -> None:
    around = cast(Surroundings, SimpleNamespace(checkpoints=tmp_path))
    other = replace(QUERY, sink=replace(QUERY.sink, topic="other"), tasks=3, paused=True)
    assert QueryJob(QUERY, around).checkpoint == QueryJob(other, around).checkpoint == tmp_path / "CSAS_O_1-5f3c"
