"""How a soak judges what it has seen."""

from __future__ import annotations

import os

from benchmarks.soak import Seen, family, judge, role_of, warm_up


def seen(**megabytes: int) -> list[Seen]:
    return [Seen(number, role, size << 20, 0.0) for number, (role, size) in enumerate(megabytes.items())]


def test_what_grows_after_the_warm_up_is_told_and_fails() -> None:
    flat = [seen(spark=500 + 300 * (n < 3), server=200) for n in range(12)]
    assert judge(flat, 3) == 0
    assert judge([seen(spark=500 + 10 * n, server=200) for n in range(12)], 3) == 1
    assert judge([seen(spark=500, server=200 + 5 * n) for n in range(12)], 3) == 1


def test_workers_are_judged_by_the_size_of_one() -> None:
    def workers(count: int, size: int) -> list[Seen]:
        return [Seen(n, "workers", size << 20, 0.0) for n in range(count)]

    assert judge([workers(2 + n, 100) for n in range(9)], 0) == 0
    assert judge([workers(2, 100 + 5 * n) for n in range(9)], 0) == 1


def test_a_short_run_warms_up_for_a_third() -> None:
    assert [warm_up(minutes) for minutes in (60, 30, 6)] == [10, 10, 2]


def test_roles_and_the_family_of_a_process() -> None:
    assert role_of("java -cp x kafka.Kafka server.properties", False) == "broker"
    assert role_of("python -m orion.hub.leash java kafka.Kafka", False) == "leash"
    assert role_of("java org.apache.spark.deploy.SparkSubmit", False) == "spark"
    assert role_of("python -m orion.runtime.worker_daemon pyspark.worker", False) == "workers"
    assert role_of("python -m orion up", True) == "server"
    (own,) = [one for one in family(os.getpid()) if one.pid == os.getpid()]
    assert (own.role, own.rss > 0, own.cpu_s > 0) == ("server", True, True)
