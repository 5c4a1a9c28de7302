"""A source connector as a job that the supervisor runs: rows of another system, on their way into a topic.

A batch is one slot and so one transaction: its rows, the dead letters of what can't be read, and where the feed stands
by then, where it keeps that in Kafka. A feed reads no topics; it is the one member of its group all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame

from orion.errors import ConfigError
from orion.feeds import Feed, FeedAway, frames, open_feed
from orion.feeds.files import FilesFeed
from orion.feeds.reading.batches import FILE
from orion.hub.positions import Standpoint, offsets_of, offsets_topic, set_offsets
from orion.plan.sources import ROWOFFSET, ROWPARTITION, ROWTIME, Kind, Source
from orion.plan.tolerance import Tolerance
from orion.runtime import emit, rows
from orion.runtime.checkpoint import Checkpoint
from orion.runtime.checkpoint_planting import BatchPlan, Notes, Reached
from orion.runtime.connector_job import ConnectorJob
from orion.runtime.file_log import read_file_log
from orion.runtime.jobs import is_back
from orion.runtime.lanes.exact import ExactLane
from orion.runtime.runs import Run
from orion.schema import literal, quote


@dataclass(frozen=True)
class FeedJob(ConnectorJob):
    @property
    def id(self) -> str:
        return self.connector.name

    @property
    def source(self) -> Source:
        """What its records look like, and where they go."""
        if not self.connector.sources:
            message = f"Connector {self.connector.name}: nothing says which topic it writes."
            raise ConfigError("INVALID_CONNECTOR", message, hint="Name one by 'topic', and declare a stream over it.")
        return self.connector.sources[0]

    @property
    def sink(self) -> str:
        return self.source.name

    @property
    def identity(self) -> str:
        return self.connector.identity

    @property
    def topics(self) -> tuple[str, ...]:
        return ()

    def opened(self) -> Feed:
        """The other side, with all that was said about it checked as far as that goes without asking it."""
        return open_feed(self.resolved_connector)

    def check(self) -> None:
        """Raises what the other side refuses at once; nothing is made there."""
        self.opened().prepare()

    def start(self, on_written: Callable[[Counter[str]], None], *, new: bool, accept: bool) -> Run:
        feed = self.opened()
        feed.prepare()
        around, standing, target = self.around, self.standing, self.around.schemas.written(self.source)
        run = around.begin(standing, new=new, accept=accept)
        run.tolerance = Tolerance.parse(self.connector.tolerance)
        try:
            permit = around.permit(run, self.dead_letters, target.topic)
            permit = replace(permit, checkpoint=self.checkpoint)
            if isinstance(feed, FilesFeed):
                self._note_files(feed, run.checkpoint)
            # By now nobody else writes for it, and what an earlier run had open has ended: this is where it stands, for
            # a stream that has planned no batch yet.
            frame = feed.stream(around.source.spark, target, self.position(feed)).coalesce(1)
            lane = ExactLane(permit, max(around.trigger_ms, feed.trigger_ms))
            stream = lane.start(self._outgoing(frame, target), self.id, self.checkpoint)
            return around.started(run, standing, stream)
        except BaseException:
            run.close()
            raise

    def replan(self, notes: Notes, reached: Reached, scans: Sequence[str]) -> BatchPlan | None:
        """By the offsets in Kafka where it keeps any there, else by what its last batch has noted."""
        feed = self.opened()
        if self.position(feed) is not None:
            return None
        last = max(notes.values(), key=lambda note: note.batch, default=None)
        if isinstance(feed, FilesFeed):
            files = feed.seen_log(self.around.source.spark, self._standpoints())
            if not files:
                raise LookupError("no file was noted")
            return BatchPlan(0 if last is None else last.batch, (), is_done=True, feed={"logOffset": 0}, files=files)
        if last is None or last.feed is None:
            raise LookupError("no batch has noted how far it read")
        return BatchPlan(last.batch, (), is_done=True, feed=last.feed)

    def position(self, feed: Feed) -> Mapping[str, Any] | None:
        """Where it stands by the offsets in Kafka; None: nowhere, or it keeps none there."""
        wanted = feed.partition
        if wanted is None:
            return None
        return next((one.offset for one in self._standpoints() if dict(one.partition) == dict(wanted)), None)

    def _standpoints(self) -> list[Standpoint]:
        grounds = self.around.grounds
        return offsets_of(grounds.kafka, grounds.service, self.connector.name)

    def _note_files(self, feed: FilesFeed, checkpoint: Checkpoint) -> None:
        """Files that an earlier version has read stand in the checkpoint alone: note them in Kafka as well."""
        known = {one.partition.get(FILE) for one in self._standpoints()}
        done = checkpoint.last_committed
        if done is None:
            return
        read = (feed.standpoint(address, modified) for address, modified in read_file_log(checkpoint.path, done))
        if missing := [one for one in read if one.partition[FILE] not in known]:
            grounds = self.around.grounds
            set_offsets(grounds.kafka, grounds.service, self.connector.name, missing)

    def _outgoing(self, frame: DataFrame, target: Source) -> DataFrame:
        """The feed's rows with what a writer asks of a record that was read, as records."""
        columns = frames.wanted(target)
        row = ", ".join(f"{literal(c.name)}, {quote(c.name)}" for c in columns)
        notes = literal(offsets_topic(self.around.grounds.service))
        told = {
            ROWTIME: ROWTIME,
            rows.DELETED: "FALSE",
            rows.BAD: _bad(target),
            rows.RAW_KEY: frames.RAW_KEY,
            rows.RAW_VALUE: f"coalesce({frames.RAW_VALUE}, CAST(to_json(named_struct({row})) AS BINARY))",
            rows.TOPIC: f"if({frames.BAD} = {literal(frames.NOTE)}, {notes}, {frames.PLACE})",
            rows.STAMP: ROWTIME,
            ROWPARTITION: "CAST(NULL AS INT)",
            ROWOFFSET: frames.NUMBER,
        }
        made = (f"{spark} AS {name}" for name, spark in told.items())
        return emit.routed(frame.selectExpr(*(quote(c.name) for c in columns), *made), target, self.dead_letters)

    def learn(self, error: str) -> bool:
        """What was away is asked whether it is back; raises ExternalError while it isn't."""
        if FeedAway.MARK not in error:
            return self.around.schemas.learn(error)
        return is_back(lambda: self.opened().prepare())


def _bad(target: Source) -> str:
    """A compacted topic takes no record without a key: one would keep its whole batch from being written."""
    if target.kind is not Kind.TABLE:
        return frames.BAD
    missing = " AND ".join(f"{quote(c.name)} IS NULL" for c in target.schema.key)
    return f"CASE WHEN {frames.BAD} IS NOT NULL THEN {frames.BAD} WHEN {missing} THEN 'KEY_MISSING: no key' END"
