"""The state of a statement over a million keys, made anew from its changelog; the goal is 30 s.

The changelog is what the statement itself has written, in one partition: a task of its own reads it, so that nothing is
done side by side. The clock runs from the start of the statement, whose local store is gone, until it has committed a
batch. By hand: the topic read by a consumer with the same settings, and its records put into LMDB as they come, ten
thousand in a transaction, without a look at what they say. Orion also finds what falls due, drops what was replaced
and notes where it is; and its statement joins its group, asks for its notes and has Spark plan and run a batch.
"""

from __future__ import annotations

import shutil
import statistics
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import lmdb

from benchmarks.many_keys import ManyKeys, read_rows
from benchmarks.stage import Measured, Stage, seconds_until
from orion.hub.changelog import read_changelog

KEYS = 1_000_000
_LMDB_BYTES = 1 << 33


def measure(stage: Stage) -> Measured:
    contest = _Restores(ManyKeys(stage, KEYS))
    contest.keys.fill()
    found = stage.take_turns(
        "state_restore", contest.measure_orion, contest.measure_by_hand, "records/s", f"{KEYS:,} keys restored", KEYS
    )
    restoring = statistics.median(contest.restoring_s[-stage.rounds :])
    told = f"{KEYS / found.orion:.1f} s from the start to the first results, {restoring:.1f} s of them restoring"
    return replace(found, what=f"a statement's state of {KEYS:,} keys made anew from its changelog: {told}")


@dataclass(frozen=True)
class _Restores:
    keys: ManyKeys
    restoring_s: list[float] = field(default_factory=list)

    def measure_orion(self, _: int) -> float:
        keys = self.keys
        shutil.rmtree(keys.job.checkpoint / "tasks")
        keys.send(keys.choose(1))
        wanted = sum(keys.stage.kafka.end_offsets(keys.topic).values())
        start = time.perf_counter()
        with keys.running() as run:
            seconds_until(lambda: read_rows(run) >= wanted)
            taken = time.perf_counter() - start
            assert run.restore is not None
            run.restore.look()
            told = run.restore.status
        if told.state != "DONE" or told.records < KEYS:
            raise RuntimeError(f"the state was not restored: {told}")
        self.restoring_s.append(told.lasts_s)
        return KEYS / taken

    def measure_by_hand(self, number: int) -> float:
        stage, log = self.keys.stage, self.keys.changelog
        folder = stage.folder / f"by-hand-{number + 10}"
        end = stage.kafka.end_offsets(log.topic)[0]
        start = time.perf_counter()
        kept = _copy_by_hand(self.keys, folder, end)
        taken = time.perf_counter() - start
        shutil.rmtree(folder)
        if kept < KEYS:
            raise RuntimeError(f"only {kept:,} records were kept")
        return KEYS / taken


def _copy_by_hand(keys: ManyKeys, folder: Path, end: int) -> int:
    folder.mkdir()
    with lmdb.open(str(folder), map_size=_LMDB_BYTES, sync=False, metasync=False) as env:
        for _, records in read_changelog(keys.stage.kafka, keys.changelog.topic, 0, 0, end):
            with env.begin(write=True) as txn:
                for place, blob in records:
                    if blob is None:
                        txn.delete(place)
                    else:
                        txn.put(place, blob)
        return int(env.stat()["entries"])
