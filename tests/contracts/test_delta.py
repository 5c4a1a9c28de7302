"""delta on real tables: what is asked of stores holds for it too, by Spark's own means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from orion.errors import ConfigError
from orion.plan.sources import ROWTIME, Connector, Kind
from orion.schema import Field, Scalar, Struct
from orion.sinks.delta import DeltaSink, open_sink
from orion.sinks.lakehouse.table import Table
from orion.sinks.lakehouse.upkeep import Schedule, Upkeep
from orion.sinks.store import DELETED, Layout, Nested, StoreAway
from tests.contracts.rows import SAMPLES, TIME_MS, Row, batch, layout
from tests.servers.process import free_ports

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.servers.seaweedfs import Bucket, SeaweedFS

NAMED = layout(("NAME", Scalar.STRING))
WIDER = layout(("NAME", Scalar.STRING), ("STARS", Scalar.INTEGER))
A, B, C = {"ID": 1, "NAME": "a"}, {"ID": 2, "NAME": "b"}, {"ID": 3, "NAME": "c"}
QUIET = {"optimize.interval.ms": "0", "vacuum.interval.ms": "0"}


def sink(path: Path | str, of: Layout = NAMED, /, **options: str) -> DeltaSink:
    written = QUIET | {"path": str(path)} | {name.replace("_", "."): value for name, value in options.items()}
    return open_sink(Connector("LAKE", "delta", (), tuple(written.items())), of)


def ready(path: Path | str, of: Layout = NAMED, /, **options: str) -> DeltaSink:
    made = sink(path, of, **options)
    made.prepare()
    return made


def frame(spark: SparkSession, of: Layout, rows: Sequence[Row]) -> DataFrame:
    return spark.createDataFrame(pa.Table.from_batches([batch(of, rows, Nested.ARROW)]))


def put(spark: SparkSession, to: DeltaSink, rows: Sequence[Row], epoch: int) -> int:
    return to.write(frame(spark, to.layout, rows), epoch)


def found(spark: SparkSession, path: Path | str, of: Layout = NAMED) -> list[dict[str, Any]]:
    table = spark.read.format("delta").load(str(path)).select(*of.names)
    return sorted(table.toArrow().to_pylist(), key=lambda row: (row["ID"], str(row)))


def versions(spark: SparkSession, path: Path | str) -> list[str]:
    """What was done to a table, in order."""
    history = spark.sql(f"DESCRIBE HISTORY delta.`{path}`").orderBy("version").collect()
    return [row.operation for row in history]


def test_every_type_arrives(spark: SparkSession, tmp_path: Path) -> None:
    of = layout(*((f"V{at}", type_) for at, type_ in enumerate(SAMPLES)))
    longest = max(map(len, SAMPLES.values()))
    values = [[*v, *[None] * (longest - len(v))] for v in SAMPLES.values()]
    rows = [{"ID": n, **{f"V{at}": v[n] for at, v in enumerate(values)}} for n in range(longest)]
    assert put(spark, ready(tmp_path, of, write_mode="append"), rows, 1) == longest
    expected = batch(of, rows, Nested.ARROW).select(of.names).to_pylist()
    # NaN is nothing's equal, itself included: the values' own words are.
    assert [str(row) for row in found(spark, tmp_path, of)] == [str(row) for row in expected]


def test_a_streams_batches_are_appended_once(spark: SparkSession, tmp_path: Path) -> None:
    to = ready(tmp_path, Layout("plays", Kind.STREAM, NAMED.columns), partition_by="name")
    assert put(spark, to, [A, B, A, {"ID": 9, DELETED: True}], 1) == 3
    assert put(spark, to, [C], 2) == 1
    put(spark, to, [C], 2)
    put(spark, to, [A, B, A], 1)
    assert put(spark, to, [{"ID": 9, DELETED: True}], 3) == 0
    assert found(spark, tmp_path) == [A, A, B, C]
    assert {folder.name for folder in tmp_path.glob("NAME=*")} == {"NAME=a", "NAME=b", "NAME=c"}
    times = spark.read.format("delta").load(str(tmp_path)).selectExpr(f"unix_millis({ROWTIME})").distinct().collect()
    assert [row[0] for row in times] == [TIME_MS]
    assert versions(spark, tmp_path) == ["WRITE", "WRITE", "WRITE"]


def test_a_tables_changes_are_merged_once(spark: SparkSession, tmp_path: Path) -> None:
    to = ready(tmp_path)
    assert put(spark, to, [A, B, {"ID": 1, "NAME": "later"}, C, {"ID": 1, "NAME": "last"}], 1) == 5
    assert found(spark, tmp_path) == [{"ID": 1, "NAME": "last"}, B, C]
    gone, back = {"ID": 1, DELETED: True}, {"ID": 2, "NAME": "back"}
    changes: list[Row] = [
        gone,
        {"ID": 2, DELETED: True},
        back,
        {"ID": 3, "NAME": "x"},
        {"ID": 3, DELETED: True},
        {"ID": None},
    ]
    put(spark, to, changes, 2)
    nothing = {"ID": None, "NAME": None}
    expected = [back, nothing]
    table = spark.read.format("delta").load(str(tmp_path)).select("ID", "NAME").orderBy("ID", ascending=False)
    assert table.toArrow().to_pylist() == expected
    put(spark, to, changes, 2)
    put(spark, to, [A, B], 1)
    assert table.toArrow().to_pylist() == expected
    # Settings of the merge end with it.
    assert spark.conf.get("spark.databricks.delta.write.txnVersion", None) is None
    # Another connector has batches of its own.
    other = open_sink(Connector("LAKE", "delta", (), (("path", str(tmp_path)), *QUIET.items()), number=1), NAMED)
    put(spark, other, [{"ID": None, DELETED: True}, A], 2)
    assert found(spark, tmp_path) == [A, back]


def test_a_table_grows_columns_and_fields(spark: SparkSession, tmp_path: Path) -> None:
    def of(*fields: str) -> Layout:
        struct = Struct(tuple(Field(name, Scalar.INTEGER) for name in fields))
        return layout(("NAME", Scalar.STRING), ("INFO", struct), ("odd name", Scalar.STRING))

    put(spark, ready(tmp_path / "odd", of("X")), [{"ID": 1, "NAME": "a", "INFO": {"X": 1}, "odd name": "o"}], 1)
    put(spark, ready(tmp_path / "odd", of("X", "Y")), [{"ID": 2, "NAME": "b", "INFO": {"X": 1, "Y": 2}}], 2)
    first, second = found(spark, tmp_path / "odd", of("X", "Y"))
    assert first == {"ID": 1, "NAME": "a", "INFO": {"X": 1, "Y": None}, "odd name": "o"}
    assert second["INFO"] == {"X": 1, "Y": 2}

    put(spark, ready(tmp_path / "t", NAMED, write_mode="append"), [A], 1)
    put(spark, ready(tmp_path / "t", WIDER, write_mode="append"), [{**B, "STARS": 5}], 2)
    put(spark, ready(tmp_path / "t", NAMED, write_mode="append"), [C], 3)
    assert [row["STARS"] for row in found(spark, tmp_path / "t", WIDER)] == [None, 5, None]


def test_what_doesnt_fit_is_refused_at_the_statement(spark: SparkSession, tmp_path: Path) -> None:
    ready(tmp_path / "t", NAMED, partition_by="NAME")
    with pytest.raises(ConfigError) as told:
        ready(tmp_path / "t", layout(("NAME", Scalar.INTEGER)))
    assert told.value.code == "TABLE_UNFIT"
    assert "'NAME'" in told.value.message
    with pytest.raises(ConfigError, match="is partitioned by NAME"):
        ready(tmp_path / "t", NAMED, partition_by="ID")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError) as told:
        ready(tmp_path / "file" / "below")
    assert told.value.code == "PATH_NOT_WRITABLE"


def test_other_columns_can_be_the_key(spark: SparkSession, tmp_path: Path) -> None:
    to = ready(tmp_path, WIDER, merge_keys="name")
    put(
        spark, to, [{"ID": 1, "NAME": "a", "STARS": 1}, {"ID": 2, "NAME": "a", "STARS": 2}, {"ID": 1, DELETED: True}], 1
    )
    assert found(spark, tmp_path, WIDER) == [{"ID": 2, "NAME": "a", "STARS": 2}]


def test_files_are_put_together_and_old_ones_removed(spark: SparkSession, tmp_path: Path) -> None:
    for epoch, row in enumerate([A, B]):
        put(spark, ready(tmp_path, NAMED, write_mode="append"), [row], epoch)
    every = {"optimize_interval_ms": "1", "optimize_min_files": "3", "vacuum_interval_ms": "1"}
    to = ready(tmp_path, NAMED, write_mode="append", vacuum_retention_hours="0", **every)
    put(spark, to, [C], 2)
    assert len(list(tmp_path.glob("*.parquet"))) == 1
    assert found(spark, tmp_path) == [A, B, C]
    done = ["OPTIMIZE", "VACUUM START", "VACUUM END"]
    assert versions(spark, tmp_path)[-3:] == done
    # It stands in the table when this was done: another run waits for its time.
    again = Upkeep(to.table, Schedule(10**9, 2, 10**6, 10**9, 0))
    again.after_batch(spark)
    assert versions(spark, tmp_path)[-3:] == done
    assert len(set(again.done_ms.values())) == 2


def test_upkeep_that_fails_holds_nothing_up(spark: SparkSession, tmp_path: Path) -> None:
    nowhere = Upkeep(Table(str(tmp_path / "nonesuch")), Schedule(1, 2, 10**6, 1, 168))
    nowhere.after_batch(spark)


def test_the_past_can_be_read(spark: SparkSession, tmp_path: Path) -> None:
    to = ready(tmp_path)
    put(spark, to, [A], 1)
    put(spark, to, [{"ID": 1, "NAME": "now"}], 2)
    history = spark.sql(f"DESCRIBE HISTORY delta.`{tmp_path}`").orderBy("version").collect()
    assert [row.operation for row in history] == ["WRITE", "MERGE", "MERGE"]
    reader = spark.read.format("delta")
    assert reader.option("versionAsOf", 1).load(str(tmp_path)).collect()[0].NAME == "a"
    at = str(history[1].timestamp)
    assert spark.read.format("delta").option("timestampAsOf", at).load(str(tmp_path)).collect()[0].NAME == "a"
    (past,) = spark.sql(f"SELECT NAME FROM delta.`{tmp_path}` VERSION AS OF 1").collect()
    assert past.NAME == "a"
    assert found(spark, tmp_path) == [{"ID": 1, "NAME": "now"}]


# ---- S3 ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def bucket(seaweedfs: SeaweedFS) -> Iterator[Bucket]:
    with seaweedfs.bucket() as made:
        yield made


def login(bucket: Bucket) -> dict[str, str]:
    server = bucket.server
    keys = {"aws_access_key_id": server.access_key, "aws_secret_access_key": server.secret}
    return {"s3_endpoint": server.url, "s3_region": server.region, **keys}


def test_a_table_in_a_bucket(spark: SparkSession, bucket: Bucket) -> None:
    path = f"{bucket.url}/lake/plays"
    to = ready(path, **login(bucket))
    put(spark, to, [A, B], 1)
    put(spark, to, [A, B], 1)
    bucket.server.kill()
    try:
        with pytest.raises(StoreAway):
            put(spark, to, [{"ID": 1, DELETED: True}, C], 2)
    finally:
        bucket.server.start()
    put(spark, to, [{"ID": 1, DELETED: True}, C], 2)
    assert found(spark, path) == [B, C]
    assert bucket.server.secret not in repr(to)


def test_a_bucket_that_cant_be_written(bucket: Bucket) -> None:
    path, keys = f"{bucket.url}/lake/plays", login(bucket)
    with pytest.raises(ConfigError) as told:
        ready(path, **keys | {"aws_secret_access_key": "wrong-password"})
    assert told.value.code == "STORE_REFUSES"
    assert "wrong-password" not in str(told.value.as_dict())
    with pytest.raises(ConfigError) as told:
        ready("s3a://nonesuch/lake", **keys)
    assert told.value.code == "BUCKET_MISSING"
    with pytest.raises(StoreAway):
        ready(path, **keys | {"s3_endpoint": f"http://127.0.0.1:{free_ports(1)[0]}"})
