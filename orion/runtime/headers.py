"""What records of the fast lane carry in their headers, and what readers make of it.

Spark's Kafka sink can't set a record's timestamp, and after a failure it writes again what it wrote since its last
checkpoint. So a record tells by itself:

- `orion.rowtime`: its ROWTIME, in milliseconds
- `orion.id`: QUERY/TOPIC/PARTITION/OFFSET/N of the record it was made of; N counts the rows made of that one
- `orion.seen`: only on records that may be repeats, how far their input partition was written when the run started,
  as PARTITION:OFFSET.N for each partition of the output

A partition of the output gets the rows of an input partition in their order, and a row goes to the same partition each
time. So a record is a repeat exactly if its id is not behind what `orion.seen` says for the partition it stands in. A
reader needs no memory for that: it holds over its own restarts and the writer's, and in real-time mode, which has no
state.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from orion.hub.records import Record
from orion.moments import timestamp_sql
from orion.plan.sources import ROWOFFSET, ROWPARTITION
from orion.runtime import rows
from orion.schema import literal, quote

ID, TIME, SEEN = "orion.id", "orion.rowtime", "orion.seen"

Place = tuple[int, int]  # an offset, and which of the rows made of its record
# How far each input partition (topic, number) was written into each partition of the output.
Seen = Mapping[tuple[str, int], Mapping[int, Place]]

_OWN = "__own"


@dataclass(frozen=True)
class Own:
    """The headers that a query gives its records.

    `placed`: rows without a key go to a partition by their id; elsewhere they go anywhere, and none is called a repeat.
    """

    query: str
    seen: Seen = field(default_factory=dict)
    placed: bool = True

    @property
    def column(self) -> str:
        """The Spark SQL of what is told by the row itself, which carries rows.META."""
        nth = f"if(length({rows.ORDER}) > 24, CAST(conv(hex(substring({rows.ORDER}, 25, 4)), 16, 10) AS INT), 0)"
        parts = (literal(self.query), rows.TOPIC, ROWPARTITION, ROWOFFSET, nth)
        told = _entry(ID, f"concat_ws('/', {', '.join(f'CAST({part} AS STRING)' for part in parts)})")
        if not self.seen:
            return f"array({told}) AS {_OWN}"
        return f"filter(array({told}, {_entry(SEEN, _seen(self.seen))}), h -> h.value IS NOT NULL) AS {_OWN}"

    def added(self, records: DataFrame) -> DataFrame:
        """Outgoing records that carry the column, with all of it among their headers."""
        time = _entry(TIME, "CAST(timestamp AS STRING)")
        own = _OWN if self.placed else f"filter({_OWN}, h -> key IS NOT NULL OR h.key <> '{SEEN}')"
        headers = f"concat(coalesce(headers, array()), {own}, array({time}))"
        return records.selectExpr("topic", "key", "value", "timestamp", f"{headers} AS headers", "origin", "letter")


def _seen(seen: Seen) -> str:
    """What `orion.seen` says of a row: nothing for one that lies behind all that was written."""
    cases = []
    for (topic, partition), places in sorted(seen.items()):
        last = max(offset for offset, _ in places.values())
        text = ",".join(f"{at}:{offset}.{nth}" for at, (offset, nth) in sorted(places.items()))
        where = f"{rows.TOPIC} = {literal(topic)} AND {ROWPARTITION} = {partition} AND {ROWOFFSET} <= {last}L"
        cases.append(f"WHEN {rows.BAD} IS NULL AND {where} THEN {literal(text)}")
    return f"CASE {' '.join(cases)} END"


def _entry(name: str, text: str) -> str:
    return f"named_struct('key', '{name}', 'value', CAST({text} AS BINARY))"


def honoured(raw: DataFrame) -> DataFrame:
    """Records as Spark's Kafka source gives them: without repeats, each at the time that its header says."""
    others = [quote(c) for c in raw.columns if c not in ("headers", "timestamp")]
    time = f"coalesce({timestamp_sql(f'try_cast({_text(TIME)} AS BIGINT)')}, timestamp)"
    rest = f"filter(headers, h -> h.key NOT IN ('{ID}', '{TIME}', '{SEEN}'))"
    fresh = raw.where(f"NOT coalesce({_is_repeat()}, FALSE)")
    return fresh.selectExpr(*others, f"{time} AS timestamp", f"{rest} AS headers")


def partition(count: int) -> str:
    """The Spark SQL of the partition of an outgoing record: of one without a key by its id, else Kafka's choice."""
    return f"CASE WHEN key IS NULL THEN pmod(hash({_text(ID)}), {count}) END"


def _text(name: str) -> str:
    return f"CAST(try_element_at(filter(headers, h -> h.key = '{name}'), -1).value AS STRING)"


def _is_repeat() -> str:
    """Almost no record has `orion.seen`; only for one that has is its id looked at."""
    seen = f"try_element_at(str_to_map({_text(SEEN)}, ',', ':'), CAST(partition AS STRING))"
    id_ = f"split({_text(ID)}, '/')"
    mine = f"struct(CAST({id_}[3] AS BIGINT), CAST({id_}[4] AS INT))"
    last = f"struct(CAST(split_part({seen}, '.', 1) AS BIGINT), CAST(split_part({seen}, '.', 2) AS INT))"
    return f"exists(headers, h -> h.key = '{SEEN}') AND {seen} IS NOT NULL AND {mine} <= {last}"


def seen_in(records: Iterable[Record], query: str) -> Seen:
    """How far a query has written, by what is in its output."""
    found: dict[tuple[str, int], dict[int, Place]] = defaultdict(dict)
    for record in records:
        told = dict(record.headers).get(ID)
        parts = told.decode(errors="replace").split("/") if told else []
        if len(parts) != 5 or parts[0] != query or not all(part.isdecimal() for part in parts[2:]):
            continue
        _, topic, partition, offset, nth = parts
        places = found[topic, int(partition)]
        places[record.partition] = max(places.get(record.partition, (-1, 0)), (int(offset), int(nth)))
    return dict(found)
