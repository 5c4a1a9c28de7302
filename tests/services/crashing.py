"""Programs that are killed in the middle of their work: `python -m tests.services.crashing WHAT BOOTSTRAP TOPIC ...`"""

from __future__ import annotations

import os
import signal
import sys

import orion


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def reading(bootstrap: str, topic: str) -> None:
    """Three readers, each gone after its third record, with commits in different places around the work."""
    for plan in ("auto", "after", "before"):
        consumer = orion.Consumer(
            topic,
            bootstrap=bootstrap,
            group=f"{topic}-{plan}",
            commit="auto" if plan == "auto" else "sync",
            # An hour: the crash comes before the background commit. A fixed name, so that the next one needn't wait.
            settings={"auto.commit.interval.ms": 3_600_000, "group.instance.id": plan},
            timeout=90.0,
        )
        for done, _ in enumerate(consumer):
            if plan == "before":
                consumer.commit()
            if done == 2:  # here is the work; of the third record it never ends
                break
            if plan == "after":
                consumer.commit()
    die()


def copying(bootstrap: str, source: str, target: str) -> None:
    """Two records copied in a transaction, two more in one that is never committed."""
    consumer = orion.Consumer(
        source, bootstrap=bootstrap, group=source, commit="sync", settings={"group.instance.id": "copy"}
    )
    producer = orion.Producer(bootstrap, transactional_id=source)
    with producer.transaction() as transaction:
        for record in consumer.read(2, 30.0):
            producer.send(target, record.value)
        transaction.offsets(consumer)
    with producer.transaction() as transaction:
        for record in consumer.read(2, 30.0):
            producer.send_sync(target, record.value)
        transaction.offsets(consumer)
        die()


if __name__ == "__main__":
    what, *given = sys.argv[1:]
    if what == "reading":
        reading(*given)
    else:
        copying(*given)
