"""Every fault there is, by name."""

from __future__ import annotations

from tests.faults.fault import Fault
from tests.faults.kinds.broker import AllBrokersKilled, BrokerFrozen, BrokerKilled
from tests.faults.kinds.changelog import ChangelogLeaderKilled
from tests.faults.kinds.checkpoint import CheckpointMissing, CheckpointTruncated, DataLost, DiskFull
from tests.faults.kinds.driver import (
    KilledAfterOffsets,
    KilledAfterTransaction,
    KilledBeforeOffsets,
    KilledInStateCommit,
    KilledWhileWriting,
)
from tests.faults.kinds.poison import FarFuture, HugePoison, PoisonBurst
from tests.faults.kinds.servers import SecondServerOnCopy, SecondServerOnFolder, ServerFrozen, ZombieServer
from tests.faults.kinds.sink import SinkDown
from tests.faults.kinds.store import StoreLost, StoreOfAnotherTime, StoreTruncated
from tests.faults.kinds.tasks import KilledWhileRespreading, TasksRespread
from tests.faults.kinds.transaction import InputTransactionHung
from tests.faults.kinds.worker import WorkerFrozen, WorkerKilled

FAULTS: dict[str, type[Fault]] = {
    kind.name: kind
    for kind in (
        KilledBeforeOffsets,
        KilledAfterOffsets,
        KilledWhileWriting,
        KilledAfterTransaction,
        KilledInStateCommit,
        BrokerKilled,
        AllBrokersKilled,
        BrokerFrozen,
        ChangelogLeaderKilled,
        WorkerKilled,
        WorkerFrozen,
        SecondServerOnFolder,
        SecondServerOnCopy,
        ZombieServer,
        ServerFrozen,
        SinkDown,
        PoisonBurst,
        HugePoison,
        FarFuture,
        CheckpointTruncated,
        CheckpointMissing,
        DataLost,
        StoreLost,
        StoreTruncated,
        StoreOfAnotherTime,
        DiskFull,
        InputTransactionHung,
        TasksRespread,
        KilledWhileRespreading,
    )
}
