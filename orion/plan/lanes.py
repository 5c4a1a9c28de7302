"""The two ways of a query's results into their topic, and which of them a query may take."""

from __future__ import annotations

from orion.plan.codec import dumps
from orion.plan.definitions import python_calls
from orion.plan.relations import Guarantee, Query, Relation, is_stateful, scans
from orion.plan.sources import Kind, Source
from orion.plan.tolerance import ALL
from orion.schema import Role

# What the formats are called that Python reads and writes.
_IN_PYTHON = ("PROTOBUF", "PROTOBUF_NOSR")


def why_not_fast(relation: Relation, sink: Source, tolerance: str = ALL) -> str | None:
    """What keeps a query out of the fast lane; None: it can go there.

    The lane is Spark's real-time mode, which has no state and no Python, and reads a topic once.
    """
    if is_stateful(relation):
        return "it keeps state"
    if tolerance != ALL:
        return "it bears only so many dead letters, and what is written at once can't be held back"
    if sink.kind is Kind.TABLE:
        return "it writes a table, whose topic is compacted"
    called = python_calls(dumps(relation))
    if called:
        return f"it calls {', '.join(called)}, in Python"
    read = scans(relation)
    for source in (*read, sink):
        written = find_python_format(source)
        if written is not None:
            return f"{written} of {source.name} is read and written in Python"
    topics = [source.topic for source in read]
    twice = next((topic for topic in topics if topics.count(topic) > 1), None)
    return None if twice is None else f"it reads the topic {twice} twice"


def find_python_format(source: Source) -> str | None:
    """The format of a source's key or value that Python reads and writes, if one of them has such."""
    formats = (source.serde(role).format for role in (Role.KEY, Role.VALUE) if source.columns(role))
    return next((name for name in formats if name in _IN_PYTHON), None)


def told(query: Query) -> str:
    """The query's lane, what it costs, and whether there is another for it."""
    if query.guarantee is Guarantee.FAST:
        return (
            "lane fast: a row takes milliseconds and each partition read a task slot; after a failure rows come again, "
            "which Orion's readers drop and others can by the header orion.id"
        )
    why = why_not_fast(query.relation, query.sink, query.tolerance)
    if why is None and query.sink.query_id != query.id and not query.sink.headed:
        why = f"the readers of {query.sink.name} look for no headers"
    other = "fast is possible" if why is None else f"not fast: {why}"
    return f"lane exact: a row waits for its micro-batch, a batch is a transaction for each partition; {other}"
