"""What a statement asks for beside its rows: lane, profile, strict order. WITH beats SET, which beats the server."""

from __future__ import annotations

from orion import profiles
from orion.errors import BindError, hint_nearest
from orion.ksql.context import Context
from orion.ksql.properties import With
from orion.plan.lanes import why_not_fast
from orion.plan.relations import Guarantee, Relation
from orion.plan.sources import Source
from orion.profiles import Profile


def guarantee(written: With, context: Context, relation: Relation, sink: Source) -> Guarantee:
    """The lane of a query. One that asks for fast by itself gets it or an error; a default is only a wish."""
    asked = written.text("GUARANTEE")
    wished = _default(written, context) if asked is None else _named(asked, written)
    if wished is Guarantee.EXACT:
        return wished
    why = _compacted(written) or why_not_fast(relation, sink, written.tolerance())
    if why is None:
        return wished
    if asked is None:
        return Guarantee.EXACT
    raise BindError(
        "NOT_FAST",
        f"{sink.name} can't have guarantee='fast': {why}.",
        span=written.span,
        hint="Leave it out, or write guarantee='exact': each row once, a batch at a time.",
    )


def insert_guarantee(written: With, context: Context, relation: Relation, sink: Source) -> Guarantee:
    """The lane of INSERT INTO: its stream's readers must expect the fast lane's headers."""
    if sink.headed:
        return guarantee(written, context, relation, sink)
    asked = written.text("GUARANTEE")
    if asked is not None and _named(asked, written) is Guarantee.FAST:
        raise BindError(
            "NOT_FAST",
            f"INSERT INTO {sink.name} can't have guarantee='fast': the readers of {sink.name} look for no headers.",
            span=written.span,
            hint="A stream that was created WITH (guarantee='fast') AS SELECT takes it.",
        )
    return Guarantee.EXACT


def _named(text: str, written: With) -> Guarantee:
    if text.lower() not in tuple(Guarantee):
        raise BindError("INVALID_PROPERTY", f"GUARANTEE is {' or '.join(Guarantee)}.", span=written.span)
    return Guarantee(text.lower())


def _default(written: With, context: Context) -> Guarantee:
    """What the session, the profile or the server wishes.

    Kafka Streams' at_least_once is no wish: it allows repeats, and the exact lane makes none.
    """
    said = context.properties.get("orion.guarantee")
    if said is None and context.properties.get("processing.guarantee", "").startswith("exactly_once"):
        said = Guarantee.EXACT
    chosen = profile(written, context)
    if said is None and chosen is not None:
        said = chosen.statement_settings().get("guarantee")
    return Guarantee(said or context.defaults.get("orion.guarantee", Guarantee.EXACT))


def _compacted(written: With) -> str | None:
    """Compaction keeps a key's last record, which may be the repeat that readers drop."""
    return "its topic is compacted" if "compact" in (written.text("CLEANUP_POLICY") or "").lower() else None


def profile(written: With, context: Context) -> Profile | None:
    asked = written.text("PROFILE")
    if asked is None:
        asked = context.properties.get("orion.profile", context.defaults.get("orion.profile"))
    if asked is None:
        return None
    if asked.lower() not in profiles.NAMES:
        hint = hint_nearest(asked, list(profiles.NAMES)) or f"Profiles are {', '.join(profiles.NAMES)}."
        raise BindError("INVALID_PROPERTY", f"There is no profile {asked}.", span=written.span, hint=hint)
    return profiles.of(asked)


def partitions(written: With, default: int | None = None) -> int | None:
    """How many the topic gets; strict order is one partition's."""
    asked = written.number("PARTITIONS")
    if not _ordered(written):
        return default if asked is None else asked
    if asked is not None and asked > 1:
        raise BindError(
            "INVALID_PROPERTY",
            f"A topic with ORDERED='true' has one partition, not {asked}: order holds within a partition alone.",
            span=written.span,
            hint="Leave PARTITIONS out, or ORDERED.",
        )
    return 1


def _ordered(written: With) -> bool:
    asked = (written.text("ORDERED") or "false").lower()
    if asked not in ("true", "false"):
        raise BindError("INVALID_PROPERTY", "ORDERED is true or false.", span=written.span)
    return asked == "true"
