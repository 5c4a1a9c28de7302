"""The one oracle: what was acknowledged is in every output exactly once, and nothing else is.

Only Kafka itself may take a record twice: an idempotent producer that loses all brokers at once can't know whether its
last batch is in the log, and may send it again under a new id. What the log has twice, every output has to have twice.

Outputs are read as anybody would: by a consumer of committed records, and Delta by its log and Arrow.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow.parquet as pq

from orion.hub.records import Record
from tests.faults.feed import Fed, Poison

WINDOW_MS = 60_000

Row = tuple[str, int]  # a key, and the number within it


@dataclass(frozen=True)
class Names:
    """What the statements of one world are called; their topics are called the same."""

    world: str

    def __getattr__(self, name: str) -> str:
        return f"{self.world}_{name}".upper()

    @property
    def input(self) -> str:
        return f"{self.world}_events"

    @property
    def outputs(self) -> list[str]:
        letters = [f"dlq.{self.clean}", f"dlq.{self.minutes}"]
        strangers = [f"dlq.{name}" for name in (self.even, self.odd, self.counts, self.heavy, self.lake)]
        return [self.clean, *self.shared, self.counts, self.heavy, self.minutes, *letters, *strangers]

    @property
    def shared(self) -> list[str]:
        """Those that run as one stream."""
        return [self.even, self.odd]


class Acknowledged(Protocol):
    """What a feeder knows to be in its topic."""

    @property
    def acked(self) -> Sequence[Fed]: ...
    @property
    def poison(self) -> Sequence[Poison]: ...


class Oracle:
    """Keeps both sides, what was fed and what came out, and compares them whenever it is asked."""

    def __init__(self, names: Names, feed: Acknowledged, lake: Path) -> None:
        self.names, self._feed, self._lake = names, feed, _Lake(lake)
        self._taken = 0
        # What must be.
        self._clean: Counter[Row] = Counter()
        self._halves: dict[str, Counter[Row]] = {name: Counter() for name in names.shared}
        self._sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        self._windows: Counter[tuple[str, int]] = Counter()
        self._repeated: Counter[Row] = Counter()  # beyond the first
        self._repeated_poison: set[tuple[int, int]] = set()
        # What is.
        self.wrong: list[str] = []  # what no waiting can mend
        self._seen: dict[str, Counter[Row]] = {name: Counter() for name in (names.clean, *names.shared)}
        self._last_of_key: dict[tuple[str, str], int] = {}
        self._tables: dict[str, dict[bytes, dict[str, int]]] = defaultdict(dict)
        self._letters: dict[str, Counter[tuple[int, int]]] = defaultdict(Counter)
        self._takers: dict[str, Callable[[Record], None]] = {
            **dict.fromkeys((names.clean, *names.shared), self._take_event),
            names.counts: self._take_row,
            names.heavy: self._take_row,
            names.minutes: self._take_row,
        }

    def look(self, arrived: Iterable[Record]) -> str:
        """Take what is new on both sides; in what they differ yet, or nothing. Only while the feed is at rest."""
        self._take_fed()
        for record in arrived:
            self._takers.get(record.topic, self._take_letter)(record)
        return next((said for said in self._differences() if said), "")

    # ---- what must be ------------------------------------------------------------------------------------------

    def _take_fed(self) -> None:
        acked = self._feed.acked
        for fed in acked[self._taken :]:
            self._must(fed)
        self._taken = len(acked)

    def _must(self, fed: Fed) -> None:
        self._windows[fed.key, fed.time - fed.time % WINDOW_MS] += 1
        if fed.value >= 0:
            self._clean[fed.key, fed.seq] += 1
            self._halves[self.names.shared[fed.value % 2]][fed.key, fed.seq] += 1
            total = self._sums[fed.key]
            total[0] += 1
            total[1] += fed.value

    def take_log(self, log: Iterable[Record]) -> int:
        """See which records the input has more than once, by its whole log; how many there are. At rest, as `look`."""
        acked = {(fed.key, fed.seq): fed for fed in self._feed.acked}
        known = {(poison.partition, poison.offset) for poison in self._feed.poison}
        found: Counter[Row] = Counter()
        for record in log:
            row = _good(record)
            if row is None:
                self._repeated_poison |= {(record.partition, record.offset)} - known
            elif row in acked:  # others are of transactions that were aborted
                found[row] += 1
        if lost := acked.keys() - found.keys():
            self.wrong.append(f"the input has lost {len(lost)} acknowledged records, such as {sorted(lost)[:3]}")
        for row, times in found.items():
            for _ in range(times - 1 - self._repeated[row]):
                self._repeated[row] += 1
                self._must(acked[row])
        return self._repeated.total() + len(self._repeated_poison)

    # ---- what is -----------------------------------------------------------------------------------------------

    def _take_event(self, record: Record) -> None:
        key, told = (record.key or b"").decode(), json.loads(record.value or b"{}")
        seq = int(told["SEQ"])
        self._seen[record.topic][key, seq] += 1
        last = self._last_of_key.get((record.topic, key), -1)
        if seq <= last and not self._repeated[key, seq]:
            self.wrong.append(f"{record.topic}: {key} {seq} comes after {last}")
        self._last_of_key[record.topic, key] = max(seq, last)

    def _take_row(self, record: Record) -> None:
        """A table's change. Each batch tells a group at most once and counts only grow, so one told twice shows."""
        rows, told = self._tables[record.topic], json.loads(record.value or b"{}")
        before = rows.get(record.key or b"", {"N": 0})
        if not told or told["N"] <= before["N"]:
            self.wrong.append(f"{record.topic}: {record.key!r} goes from {before} to {told}")
        rows[record.key or b""] = told

    def _take_letter(self, record: Record) -> None:
        headers = {name: (value or b"").decode() for name, value in record.headers}
        place = int(headers["orion.source.partition"]), int(headers["orion.source.offset"])
        self._letters[record.topic][place] += 1
        if self._letters[record.topic][place] > 1:
            self.wrong.append(f"{record.topic}: the letter of {place} comes again")

    # ---- compared ----------------------------------------------------------------------------------------------

    def _differences(self) -> list[str]:
        names = self.names
        sums = {k.encode(): {"N": n, "S": s} for k, (n, s) in self._sums.items()}
        heavy = {k.encode(): {"N": n} for k, (n, _) in self._sums.items() if n > 5}
        windows = {k.encode() + w.to_bytes(8): {"N": n} for (k, w), n in self._windows.items()}
        return [
            _rows(names.clean, self._clean, self._seen[names.clean], self.wrong),
            *(_rows(name, must, self._seen[name], self.wrong) for name, must in self._halves.items()),
            _rows("the lake", self._clean, self._lake.rows(), self.wrong),
            _table(names.counts, sums, self._tables[names.counts]),
            _table(names.heavy, heavy, self._tables[names.heavy]),
            _table(names.minutes, windows, self._tables[names.minutes]),
            *(self._letters_of(name) for name in (names.clean, names.minutes)),
            *(
                f"dead letters of {n}"
                for n in (*names.shared, names.counts, names.heavy, names.lake)
                if self._letters[f"dlq.{n}"]
            ),
        ]

    def _letters_of(self, name: str) -> str:
        """Dead letters are the poison, each once."""
        letters = self._letters[f"dlq.{name}"]
        must = {(p.partition, p.offset) for p in self._feed.poison} | self._repeated_poison
        if made_up := set(letters) - must:
            self.wrong.append(f"dlq.{name}: letters of good records at {sorted(made_up)[:5]}")
        missing = must - set(letters)
        return f"dlq.{name}: {len(missing)} of {len(must)} letters missing, at {sorted(missing)[:5]}" if missing else ""


def _good(record: Record) -> Row | None:
    """Which good record of the feed this is; None: poison."""
    try:
        seq = json.loads(record.value or b"")["seq"]
    except ValueError:
        return None
    return ((record.key or b"").decode(), seq) if isinstance(seq, int) and seq >= 0 else None


class _Lake:
    """The rows of a Delta table, by its log and its files: Orion's own Spark is not asked."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: set[str] = set()
        self._files: dict[str, Counter[Row]] = {}
        self._found: Counter[Row] = Counter()

    def rows(self) -> Counter[Row]:
        for entry in sorted((self._folder / "_delta_log").glob("*.json")):
            if entry.name in self._known:
                continue
            for line in entry.read_text().splitlines():
                self._take(json.loads(line))
            self._known.add(entry.name)
        return self._found

    def _take(self, action: dict[str, Any]) -> None:
        """An action of the log. The sink puts small files together from time to time: the rows have to be the same."""
        if "add" in action:
            path = action["add"]["path"]
            self._files[path] = self._read(self._folder / path)
            self._found.update(self._files[path])
        elif "remove" in action:
            assert not action["remove"]["dataChange"], f"{action} takes away what was there"
            self._found.subtract(self._files.pop(action["remove"]["path"]))

    def _read(self, file: Path) -> Counter[Row]:
        table = pq.read_table(file, columns=["K", "SEQ"])
        return Counter(zip(table.column("K").to_pylist(), table.column("SEQ").to_pylist(), strict=True))


def _rows(name: str, must: Counter[Row], found: Counter[Row], wrong: list[str]) -> str:
    if surplus := found - must:
        made_up = [row for row in surplus if row not in must]
        wrong.append(f"{name}: {len(surplus)} too often, such as {list(surplus)[:3]}; never fed: {made_up[:3]}")
    missing = must - found
    return f"{name}: {missing.total()} of {must.total()} missing, such as {list(missing)[:3]}" if missing else ""


def _table(name: str, must: dict[bytes, dict[str, int]], found: dict[bytes, dict[str, int]]) -> str:
    keys = [key for key in must.keys() | found.keys() if must.get(key) != found.get(key)]
    shown = [f"{key!r} is {found.get(key)} and should be {must.get(key)}" for key in sorted(keys)[:3]]
    return f"{name}: {len(keys)} of {len(must)} rows differ: {'; '.join(shown)}" if keys else ""
