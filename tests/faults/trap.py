"""A process that waits for one moment and kills at once: `python -m tests.faults.trap '{...}'`.

It runs by itself because the moment is short: no other thread may keep it from striking. Three kinds of moment:

- a file of some name appears in one of some folders (told by the kernel, inotify)
- one of some local stores of state has changes pending of a batch of a checkpoint that has begun and isn't done
- a record arrives in a topic, committed or not, while a batch of a checkpoint has begun and isn't done

It says `ready` when it lies in wait and what it saw when it has struck.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import select
import signal
import struct
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

IN_MODIFY, IN_OPEN, IN_MOVED_TO, IN_CREATE = 0x2, 0x20, 0x80, 0x100
_EVENT = struct.Struct("iIII")


@dataclass(frozen=True)
class Order:
    """`pass_over`: let so many such moments go by first. `delay_ms`: strike so long after the moment."""

    kill: list[int]
    folders: list[str] = field(default_factory=list)
    name: str = ""
    stores: list[str] = field(default_factory=list)
    checkpoint: str = ""
    bootstrap: str = ""
    topic: str = ""
    committed: bool = False
    pass_over: int = 0
    delay_ms: float = 0.0

    def written(self) -> str:
        return json.dumps(asdict(self))


def main() -> None:
    order = Order(**json.loads(sys.argv[1]))
    saw = in_folders(order) if order.folders else in_stores(order) if order.stores else in_topic(order)
    time.sleep(order.delay_ms / 1000)
    for pid in order.kill:
        os.kill(pid, signal.SIGKILL)
    print(saw, flush=True)


def in_folders(order: Order) -> str:
    watch, wanted, left = Watch(order.folders, IN_CREATE | IN_MOVED_TO), re.compile(order.name), order.pass_over
    print("ready", flush=True)
    while True:
        for _, name in watch.told():
            if wanted.fullmatch(name):
                if left == 0:
                    return name
                left -= 1


def in_stores(order: Order) -> str:
    from tests.faults.checkpoints import Checkpoint, pending_batch

    watch = Watch(order.stores, IN_MODIFY)
    checkpoint, passed = Checkpoint(Path(order.checkpoint)), set[tuple[str, int]]()
    print("ready", flush=True)
    while True:
        for folder, name in watch.told():
            if name != "data.mdb" or (batch := checkpoint.cut_off()) is None or pending_batch(Path(folder)) != batch:
                continue
            passed.add((folder, batch))
            if len(passed) > order.pass_over:
                return f"changes of batch {batch} pending in {Path(folder).relative_to(checkpoint.folder)}"


class Watch:
    """What the kernel tells of files in some folders."""

    def __init__(self, folders: list[str], events: int) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = libc.inotify_init()
        self._folders: dict[int, str] = {}
        for folder in folders:
            number = libc.inotify_add_watch(self._descriptor, os.fsencode(folder), events)
            if number < 0:
                raise OSError(ctypes.get_errno(), folder)
            self._folders[number] = folder

    def told(self, deadline_s: float | None = None) -> list[tuple[str, str]]:
        """What has happened, as soon as anything has: in which folder, and the file's name."""
        if not select.select([self._descriptor], [], [], deadline_s)[0]:
            return []
        told, at = os.read(self._descriptor, 65_536), 0
        found = []
        while at < len(told):
            number, _, _, length = _EVENT.unpack_from(told, at)
            at += _EVENT.size
            name = told[at : at + length].rstrip(b"\0").decode(errors="replace")
            at += length
            found.append((self._folders.get(number, ""), name))
        return found

    def close(self) -> None:
        os.close(self._descriptor)


def in_topic(order: Order) -> str:
    from confluent_kafka import OFFSET_END, Consumer, TopicPartition

    from tests.faults.checkpoints import Checkpoint

    consumer = Consumer(
        {
            "bootstrap.servers": order.bootstrap,
            "group.id": "trap",
            "enable.auto.commit": False,
            "isolation.level": "read_committed" if order.committed else "read_uncommitted",
            "fetch.wait.max.ms": 10,
            "fetch.queue.backoff.ms": 1,
            "log_level": 0,
        }
    )
    parts = consumer.list_topics(order.topic, 10).topics[order.topic].partitions
    consumer.assign([TopicPartition(order.topic, p, OFFSET_END) for p in parts])
    consumer.poll(0.2)
    print("ready", flush=True)
    checkpoint, passed = Checkpoint(Path(order.checkpoint)), set[int]()
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error() is not None:
            continue
        batch = checkpoint.cut_off()
        if batch is None:
            continue
        passed.add(batch)
        if len(passed) > order.pass_over:
            return f"offset {message.offset()} of partition {message.partition()} in batch {batch}"


if __name__ == "__main__":
    main()
