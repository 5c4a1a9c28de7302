"""Queries with state get another number of tasks: their state is re-spread between two batches, whoever ends it then.

What comes out is compared to what the records come to, reckoned here.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.query import StreamingQuery

from orion.app import Orion
from orion.hub.changelog import ChangelogWriter
from orion.hub.kafka import Kafka
from orion.hub.membership import Membership
from orion.hub.records import Outgoing
from orion.hub.writer import send_all
from orion.runtime.lanes.exact import ExactLane
from orion.runtime.query_state import QueryState
from orion.runtime.respreading import Respreading
from tests.scenarios.conftest import Await, everything
from tests.scenarios.test_state import find_checkpoint, find_status, has_counted, read_counts, send_plays

COUNTS = "TABLE {name}_counts AS SELECT song, COUNT(*) AS plays FROM {name} GROUP BY song EMIT CHANGES;"
DEADLINE_S = 90.0


def count_tasks(kafka: Kafka, query: str) -> list[int]:
    """How many tasks each changelog of a query is for."""
    return [topic.partitions for topic in kafka.topics() if f"-{query}-" in topic.name]


def set_tasks(orion: Orion, statement: str, tasks: int) -> None:
    orion.execute(f"CREATE OR REPLACE {statement}", {"orion.tasks": str(tasks)})


# ---- more tasks and fewer, while records flow ------------------------------------------------------------------------

GROUPED = {
    "counts": "TABLE many_counts AS SELECT k, COUNT(*) AS n FROM many GROUP BY k EMIT CHANGES;",
    "windows": "TABLE many_windows AS SELECT k, COUNT(*) AS n, SUM(v) AS s FROM many "
    "WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS, GRACE PERIOD 1 DAY) GROUP BY k EMIT CHANGES;",
    # Two operators, and one slot for both: what a row was and is, and the group.
    "groups": "TABLE many_groups AS SELECT n, COUNT(*) AS keys FROM many_counts GROUP BY n EMIT CHANGES;",
    "pairs": "STREAM many_pairs AS SELECT a.k AS k, a.v AS v, b.w AS w FROM many a JOIN many_other b "
    "WITHIN 1 HOUR GRACE PERIOD 1 DAY ON a.k = b.k EMIT CHANGES;",
}
KEYS, START_MS = 40, 1_700_000_000_000


def send_many(kafka: Kafka, numbers: range) -> None:
    """Records of both streams, a second apart."""
    for topic, column, every in (("many", "V", 1), ("many_other", "W", 4)):
        chosen = [number for number in numbers if number % every == 0]
        values = (json.dumps({column: number}).encode() for number in chosen)
        send_all(
            kafka,
            topic,
            [
                Outgoing(value, f"k{number // every % KEYS}".encode(), timestamp=START_MS + number * 1000)
                for number, value in zip(chosen, values, strict=True)
            ],
        )


def read_rows(kafka: Kafka, topic: str) -> dict[bytes, Any]:
    """A table's rows: the last record of each key."""
    rows: dict[bytes, Any] = {}
    for record in everything(kafka, topic):
        rows[record.key or b""] = None if record.value is None else json.loads(record.value)
    return {key: row for key, row in rows.items() if row is not None}


def reckon(count: int) -> dict[str, Any]:
    """What the first records come to."""
    counts = Counter(number % KEYS for number in range(count))
    windows: dict[tuple[int, int], list[int]] = {}
    for number in range(count):
        at = START_MS + number * 1000
        for start in (at // 5000 * 5000, at // 5000 * 5000 - 5000):
            window = windows.setdefault((number % KEYS, start), [0, 0])
            window[0] += 1
            window[1] += number
    others = [(number // 4 % KEYS, number) for number in range(0, count, 4)]
    return {
        "counts": sorted(counts.values()),
        "groups": sorted(Counter(counts.values()).items()),
        "windows": sorted(map(tuple, windows.values())),
        "pairs": sorted((v, w) for v in range(count) for key, w in others if v % KEYS == key),
    }


def read_results(kafka: Kafka) -> dict[str, Any]:
    groups = {int.from_bytes(key, "big"): row["KEYS"] for key, row in read_rows(kafka, "MANY_GROUPS").items()}
    pairs = [json.loads(record.value or b"{}") for record in everything(kafka, "MANY_PAIRS")]
    return {
        "counts": sorted(row["N"] for row in read_rows(kafka, "MANY_COUNTS").values()),
        "groups": sorted((n, keys) for n, keys in groups.items() if keys),  # one that all keys have left is there
        "windows": sorted((row["N"], row["S"]) for row in read_rows(kafka, "MANY_WINDOWS").values()),
        "pairs": sorted((pair["V"], pair["W"]) for pair in pairs),
    }


def await_results(kafka: Kafka, until: Await, sent: int) -> None:
    wanted, found = reckon(sent), read_results(kafka)

    def look() -> bool:
        found.update(read_results(kafka))
        return found == wanted

    with suppress(pytest.fail.Exception):
        until(look, DEADLINE_S / 2)
    for name, rows in wanted.items():
        assert found[name] == rows, name


def test_results_go_on_over_more_tasks_and_over_fewer(orion: Orion, kafka: Kafka, until: Await) -> None:
    orion.execute("""
        CREATE STREAM many (k STRING KEY, v INT) WITH (kafka_topic='many', value_format='JSON', partitions=1);
        CREATE STREAM many_other (k STRING KEY, w INT)
          WITH (kafka_topic='many_other', value_format='JSON', partitions=1);
    """)
    orion.execute("".join(f"CREATE {statement}" for statement in GROUPED.values()))
    queries = {name: find_status(orion, f"MANY_{name}".upper()).id for name in GROUPED}
    assert [count_tasks(kafka, query) for query in queries.values()] == [[1], [1], [1, 1], [1]]
    send_many(kafka, range(150))
    await_results(kafka, until, 150)
    sent = 150
    for tasks in (3, 2):
        send_many(kafka, range(sent, sent + 50))  # they may be under way when the number changes
        for statement in GROUPED.values():
            set_tasks(orion, statement, tasks)
        send_many(kafka, range(sent + 50, sent + 100))
        sent += 100
        await_results(kafka, until, sent)
        until(lambda: {s.state for s in orion.queries() if s.id in queries.values()} == {"RUNNING"}, DEADLINE_S)
        found = [count_tasks(kafka, query) for query in queries.values()]
        assert found == [[tasks], [tasks], [tasks, tasks], [tasks]]
        assert {find_status(orion, f"MANY_{name}".upper()).id for name in GROUPED} == set(queries.values())
    for query in queries.values():
        orion.execute(f"TERMINATE {query};")
    until(lambda: not [t for query in queries.values() for t in count_tasks(kafka, query)], 30.0)


# ---- ended on the way ------------------------------------------------------------------------------------------------


class Killed(BaseException):
    """The server ends here."""


def at_making(patch: pytest.MonkeyPatch) -> None:
    create = QueryState.create_edition

    def create_and_end(self: QueryState, name: str, tasks: int) -> None:
        create(self, name, tasks)
        raise Killed("killed when the new changelogs were made")

    patch.setattr(QueryState, "create_edition", create_and_end)


def at_filling(patch: pytest.MonkeyPatch) -> None:
    write = ChangelogWriter.write

    def write_and_end(self: ChangelogWriter, records: Any) -> None:
        write(self, list(records)[:3])
        assert self.flush(30.0)
        raise Killed("killed when some records were in the new changelog")

    patch.setattr(ChangelogWriter, "write", write_and_end)


def at_noting(patch: pytest.MonkeyPatch) -> None:
    leave_notes = Membership.leave_notes

    def leave_some(self: Membership, notes: Any) -> None:
        if 0 in notes:
            raise Killed("killed when all slots but one were noted")
        leave_notes(self, notes)

    patch.setattr(Membership, "leave_notes", leave_some)


def at_switching(patch: pytest.MonkeyPatch) -> None:
    leave_notes = Membership.leave_notes

    def leave_and_end(self: Membership, notes: Any) -> None:
        leave_notes(self, notes)
        if 0 in notes:
            raise Killed("killed when the new changelogs counted, and the old ones were there")

    patch.setattr(Membership, "leave_notes", leave_and_end)


def at_finishing(patch: pytest.MonkeyPatch) -> None:
    respread = Respreading.respread

    def respread_and_end(self: Respreading) -> None:
        respread(self)
        raise Killed("killed when all was done")

    patch.setattr(Respreading, "respread", respread_and_end)


Moment = Callable[[pytest.MonkeyPatch], None]
BEFORE: list[Moment] = [at_making, at_filling, at_noting]
AFTER: list[Moment] = [at_switching, at_finishing]


def begin_and_end(orion: Orion, kafka: Kafka, until: Await, name: str, moment: Moment) -> str:
    """A query of two tasks that is to have three, and is ended on the way; paused, with records to come."""
    orion.execute(f"""
        CREATE STREAM {name} (song STRING KEY, n INT) WITH (kafka_topic='{name}', value_format='JSON', partitions=2);
        CREATE STREAM {name}_copy AS SELECT * FROM {name} EMIT CHANGES;
        CREATE {COUNTS.format(name=name)}
    """)
    send_plays(kafka, name, range(100))
    until(has_counted(kafka, name, 100), DEADLINE_S)
    query = find_status(orion, f"{name}_COUNTS").id
    with pytest.MonkeyPatch.context() as patch:
        moment(patch)
        send_plays(kafka, name, range(100, 150))
        set_tasks(orion, COUNTS.format(name=name), 3)
        until(lambda: any("killed when" in f.error for f in find_status(orion, f"{name}_COUNTS").failures), DEADLINE_S)
        orion.execute(f"PAUSE {query};")
    send_plays(kafka, name, range(150, 200))
    return query


def check_counts(kafka: Kafka, name: str) -> None:
    for told in read_counts(kafka, f"{name}_COUNTS").values():
        assert told == sorted(set(told)), "a count was told twice, or a smaller one after a larger"


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("moment", [*BEFORE, *AFTER])
def test_a_query_that_was_ended_on_the_way_goes_on_with_what_is_wanted(
    orion: Orion, kafka: Kafka, until: Await, scratch: Path, moment: Moment, lost: bool
) -> None:
    name = f"ENDED_{moment.__name__.upper()}_{lost}".upper()
    query = begin_and_end(orion, kafka, until, name, moment)
    if lost:
        shutil.rmtree(find_checkpoint(scratch, query))
    orion.execute(f"RESUME {query};")
    until(has_counted(kafka, name, 200), DEADLINE_S)
    check_counts(kafka, name)
    until(lambda: count_tasks(kafka, query) == [3], DEADLINE_S)
    for sink in ("COPY", "COUNTS"):
        orion.execute(f"TERMINATE {find_status(orion, f'{name}_{sink}').id};")


@pytest.mark.parametrize("moment", [at_noting, at_switching])
def test_it_may_go_back_to_the_tasks_that_it_had(orion: Orion, kafka: Kafka, until: Await, moment: Moment) -> None:
    name = f"BACK_{moment.__name__.upper()}"
    query = begin_and_end(orion, kafka, until, name, moment)
    before = {topic.name for topic in kafka.topics() if f"-{query}-" in topic.name}
    assert len(before) == 2
    set_tasks(orion, COUNTS.format(name=name), 2)
    until(has_counted(kafka, name, 200), DEADLINE_S)
    check_counts(kafka, name)
    until(lambda: count_tasks(kafka, query) == [2], DEADLINE_S)
    (after,) = (topic.name for topic in kafka.topics() if f"-{query}-" in topic.name)
    assert (after in before) == (moment in BEFORE), "before the switch the old changelog is gone on with"
    for sink in ("COPY", "COUNTS"):
        orion.execute(f"TERMINATE {find_status(orion, f'{name}_{sink}').id};")


def test_a_batch_that_is_not_done_is_done_first(
    orion: Orion, kafka: Kafka, until: Await, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "UNDONE"
    orion.execute(f"""
        CREATE STREAM {name} (song STRING KEY, n INT) WITH (kafka_topic='{name}', value_format='JSON', partitions=2);
        CREATE STREAM {name}_copy AS SELECT * FROM {name} EMIT CHANGES;
        CREATE {COUNTS.format(name=name)}
    """)
    send_plays(kafka, name, range(100))
    until(has_counted(kafka, name, 100), DEADLINE_S)
    query = find_status(orion, f"{name}_COUNTS").id
    orion.execute(f"PAUSE {query};")
    commits = find_checkpoint(scratch, query) / "commits"
    last = max(int(entry.name) for entry in commits.iterdir() if entry.name.isdecimal())
    for entry in (commits / str(last), commits / f".{last}.crc"):
        entry.unlink(missing_ok=True)
    send_plays(kafka, name, range(100, 200))
    finished: list[int] = []
    finish = ExactLane.finish

    def count_and_finish(self: ExactLane, *given: Any) -> StreamingQuery:
        finished.append(len(self.permit.changelogs))
        return finish(self, *given)

    monkeypatch.setattr(ExactLane, "finish", count_and_finish)
    set_tasks(orion, COUNTS.format(name=name), 3)
    until(has_counted(kafka, name, 200), DEADLINE_S)
    check_counts(kafka, name)
    until(lambda: count_tasks(kafka, query) == [3], DEADLINE_S)
    assert finished == [1]
    assert (commits / str(last)).exists()
    for sink in ("COPY", "COUNTS"):
        orion.execute(f"TERMINATE {find_status(orion, f'{name}_{sink}').id};")


def test_a_query_that_has_read_nothing_yet_gets_other_tasks(orion: Orion, kafka: Kafka, until: Await) -> None:
    name = "UNREAD"
    orion.execute(f"""
        CREATE STREAM {name} (song STRING KEY, n INT) WITH (kafka_topic='{name}', value_format='JSON', partitions=2);
        CREATE STREAM {name}_copy AS SELECT * FROM {name} EMIT CHANGES;
        CREATE {COUNTS.format(name=name)}
    """)
    query = find_status(orion, f"{name}_COUNTS").id
    set_tasks(orion, COUNTS.format(name=name), 3)
    until(lambda: count_tasks(kafka, query) == [3], DEADLINE_S)
    send_plays(kafka, name, range(100))
    until(has_counted(kafka, name, 100), DEADLINE_S)
    for sink in ("COPY", "COUNTS"):
        orion.execute(f"TERMINATE {find_status(orion, f'{name}_{sink}').id};")
