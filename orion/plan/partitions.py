"""What a query makes of its topics' partitions: whether it minds when a topic gets more of them.

Kafka gives a key's rows one order as long as they lie in one partition. When a topic gets partitions, new rows of a key
go to another one than its old rows, and there is no order between the two any more. Orion brings rows together by key,
not by partition, so no state is torn apart by that; what can go wrong hangs on the operators.
"""

from __future__ import annotations

from enum import IntEnum

from orion.plan.relations import Aggregate, Distinct, Join, JoinKind, Relation, Scan, Settle, inputs
from orion.plan.sources import Kind


class Bond(IntEnum):
    """How much a result hangs on which partition a key's rows lie in; a greater one takes in the smaller ones."""

    NONE = 0  # each row stands for itself
    KEY = 1  # rows are folded by key, in any order
    ORDER = 2  # rows are taken in their order of arrival: the last one counts, or a late one doesn't


def bonds(relation: Relation) -> dict[str, Bond]:
    """For each topic that a relation reads, the strongest bond that something in the relation has to it."""
    found: dict[str, Bond] = {}
    _collect(relation, Bond.NONE, found)
    return found


def _collect(relation: Relation, above: Bond, found: dict[str, Bond]) -> None:
    if isinstance(relation, Scan):
        source = relation.source
        # A table's row is the last record of its key, whoever reads it and whatever for.
        own = max(above, Bond.ORDER if source.kind is Kind.TABLE else Bond.NONE)
        found[source.topic] = max(own, found.get(source.topic, Bond.NONE))
        return
    for at, inner in enumerate(inputs(relation)):
        _collect(inner, _below(relation, at, above), found)


def _below(relation: Relation, at: int, above: Bond) -> Bond:
    """The bond of a relation and of all that stands above it to its input number `at`."""
    match relation:
        case Aggregate():
            return _folding(relation)  # what comes out is in the groups' own order
        case Join(kind=JoinKind.STREAM_TABLE):
            # A stream's row sees the table as it is when it arrives; among themselves the stream's rows don't matter.
            return max(above, Bond.KEY if at == 0 else Bond.ORDER)
        case Join() | Settle() | Distinct():
            # Tables; or rows within a time of each other, and one that comes too late finds no partner and no window.
            return max(above, Bond.ORDER)
        case _:
            return above


def _folding(relation: Aggregate) -> Bond:
    by_arrival = any(call.ordered for call in relation.calls)
    return Bond.ORDER if by_arrival or relation.window or relation.of_table else Bond.KEY
