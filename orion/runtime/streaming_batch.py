"""What Spark tells a task of a stream about the batch that it is of."""

from __future__ import annotations

from pyspark import TaskContext

# Under what name Spark tells it.
BATCH = "streaming.sql.batchId"


def batch_number(told: int | None = None) -> int:
    """The batch that this task is of, as told or as Spark tells. A task's second attempt is refused."""
    context = TaskContext.get()
    assert context is not None
    if context.attemptNumber() > 0:
        # An earlier attempt may still be at it somewhere. A new run shuts it out, a second attempt doesn't.
        raise RuntimeError("a slot is written once a run: the query starts again instead")
    number = told if told is not None else context.getLocalProperty(BATCH)
    if number is None:
        raise RuntimeError("Spark doesn't tell which batch this is: nothing is written")
    return int(number)
