"""WITH (LATE_ROWS='keep'): rows that come too late for their window become dead letters, and are not only counted."""

from __future__ import annotations

from orion.errors import BindError, Span
from orion.ksql.context import Context
from orion.plan.relations import Aggregate, Distinct, Filter, Project, Relation, inputs

PROPERTY = "orion.late.rows"


def are_late_rows_kept(relation: Relation, written: str | None, context: Context, span: Span) -> bool:
    """Whether the clause, or the session, wants the relation's late rows kept; refused where none can be."""
    if (written or context.properties.get(PROPERTY, "count")) != "keep":
        return False
    if _is_kept(relation):
        return True
    if written is None:  # the session speaks of whatever has a window
        return False
    nested = _has_window(relation)
    raise BindError(
        "INVALID_PROPERTY",
        "LATE_ROWS='keep' needs the window in the statement's own GROUP BY or DISTINCT."
        if nested
        else "LATE_ROWS is for windows: no row comes too late for this query.",
        span=span,
        hint="Make the inner query a statement of its own." if nested else None,
    )


def _is_kept(relation: Relation) -> bool:
    """Whether the outermost operator has the window, and no other has one."""
    match relation:
        case Project(inner) | Filter(inner, of_table=False):
            return _is_kept(inner)
        case Aggregate(window=window):
            return window is not None and not _has_window(relation.input)
        case Distinct():
            return not _has_window(relation.input)
        case _:
            return False


def _has_window(relation: Relation) -> bool:
    own = isinstance(relation, Distinct) or (isinstance(relation, Aggregate) and relation.window is not None)
    return own or any(map(_has_window, inputs(relation)))


_DAY_MS = 86_400_000


def default_grace_ms(length_ms: int) -> int:
    """How long late rows are taken where the statement doesn't say: a day, counted from a window's beginning."""
    return max(0, _DAY_MS - length_ms)
