"""s3 into folders: which objects rows become."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orion.errors import ConfigError, SchemaError
from orion.options import definitions
from orion.plan.sources import Connector, Kind
from orion.schema import Array, Column, Decimal, Field, Map, Role, Scalar, Struct
from orion.sinks.objects.transfer import Cut
from orion.sinks.s3 import FOREVER_MS, OPTIONS, Pace, S3Store, open_sink
from orion.sinks.store import DELETED, ROUTE, TIME, Layout, Nested, Refusal, Slot
from tests.contracts.rows import TIME_MS, batch, layout

INFO = Struct((Field("AT", Scalar.STRING), Field("WHO", Scalar.STRING)))
LAYOUT = layout(
    ("COUNTRY", Scalar.STRING),
    ("AMOUNT", Decimal(9, 2)),
    ("MADE", Scalar.TIMESTAMP),
    ("INFO", INFO),
    ("RAW", Scalar.BYTES),
)
SLOT = Slot("task", 3, 1)


def store(folder: Path | str, of: Layout | None = None, /, **options: str) -> S3Store:
    written = {"path": str(folder), **{name.replace("_", "."): value for name, value in options.items()}}
    made = open_sink(Connector("C", "s3", (), tuple(written.items())), of or LAYOUT)
    assert isinstance(made, S3Store)
    return made


def moved(to: S3Store, rows: Sequence[Mapping[str, Any]], slot: Slot = SLOT, parts: int = 1) -> list[Refusal]:
    """One batch, or several, of the same rows."""
    transfer = to.open().begin(slot)
    whole = batch(to.layout, rows, Nested.ARROW)
    times = pa.array([row.get(TIME, TIME_MS) for row in rows], pa.int64())
    whole = whole.set_column(whole.schema.get_field_index(TIME), TIME, times)
    step = -(-max(len(rows), 1) // parts)
    refused = [r for at in range(0, len(rows), step) for r in transfer.write(whole.slice(at, step))]
    refused += transfer.finish()
    transfer.commit()
    return refused


def names(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


def ids(file: Path) -> list[int]:
    return [row["ID"] for row in map(json.loads, file.read_text().splitlines())]


def rows(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"ID": number, **more} for number in range(count)]


def refusal(folder: Path, **options: str) -> ConfigError:
    with pytest.raises(ConfigError) as told:
        store(folder, **options)
    return told.value


# ---- names -------------------------------------------------------------------------------------------------------


def test_names_are_confluents(tmp_path: Path) -> None:
    moved(store(tmp_path, flush_size="3"), rows(7))
    folder = "topics/plays/partition=3/plays+3+"
    assert names(tmp_path) == [f"{folder}{at:010}.snappy.parquet" for at in (0, 3, 6)]
    assert pq.read_table(tmp_path / f"{folder}0000000003.snappy.parquet").column("ID").to_pylist() == [3, 4, 5]


@pytest.mark.parametrize(
    ("options", "ending"),
    [
        ({"format_class": "io.confluent.connect.s3.format.json.JsonFormat"}, ".json"),
        ({"format_class": "json", "s3_compression_type": "gzip"}, ".json.gz"),
        ({"format_class": "avro", "avro_codec": "snappy"}, ".avro"),
        ({"format_class": "parquet", "parquet_codec": "none"}, ".parquet"),
        ({"format_class": "parquet", "parquet_codec": "zstd"}, ".zstd.parquet"),
        ({"format_class": "parquet", "parquet_codec": "gzip"}, ".gz.parquet"),
    ],
)
def test_an_ending_says_format_and_codec(tmp_path: Path, options: dict[str, str], ending: str) -> None:
    moved(store(tmp_path, **options), rows(1))
    (name,) = names(tmp_path)
    assert name == f"topics/plays/partition=3/plays+3+0000000000{ending}"


def test_delimiters_and_the_folder_of_topics(tmp_path: Path) -> None:
    moved(store(tmp_path, topics_dir="", file_delim="-", directory_delim="_", format_class="json"), rows(1))
    assert names(tmp_path) == ["plays_partition=3_plays-3-0000000000.json"]


def test_a_route_stands_for_the_topic_and_leads_nowhere_else(tmp_path: Path) -> None:
    told: list[dict[str, Any]] = [
        {"ID": 1, ROUTE: "other"},
        {"ID": 2},
        {"ID": 3, ROUTE: "../../etc"},
        {"ID": 4, ROUTE: ".."},
    ]
    moved(store(tmp_path, format_class="json"), told)
    assert names(tmp_path) == [
        "topics/%2E%2E/partition=3/%2E%2E+3+0000000003.json",
        "topics/..%2F..%2Fetc/partition=3/..%2F..%2Fetc+3+0000000002.json",
        "topics/other/partition=3/other+3+0000000000.json",
        "topics/plays/partition=3/plays+3+0000000001.json",
    ]


# ---- folders -----------------------------------------------------------------------------------------------------


def folders(folder: Path) -> dict[str, list[int]]:
    """The rows of each folder of the topic."""
    found: dict[str, list[int]] = {}
    topic = folder / "topics" / "plays"
    for file in sorted(topic.rglob("*.json")):
        found.setdefault(str(file.parent.relative_to(topic)), []).extend(ids(file))
    return found


def test_folders_by_field(tmp_path: Path) -> None:
    to = store(tmp_path, partitioner_class="field", partition_field_name="country", format_class="json")
    countries = ["CH", None, "CH", "", "a/b=c", "..", "Zürich"]
    moved(to, [{"ID": at, "COUNTRY": country} for at, country in enumerate(countries)])
    nothing = "COUNTRY=__HIVE_DEFAULT_PARTITION__"
    expected = {"COUNTRY=CH": [0, 2], nothing: [1, 3], "COUNTRY=a%2Fb%3Dc": [4], "COUNTRY=Zürich": [6]}
    assert folders(tmp_path) == expected | {"COUNTRY=%2E%2E": [5]}


def test_folders_by_several_fields_of_all_kinds(tmp_path: Path) -> None:
    name = "io.confluent.connect.storage.partitioner.FieldPartitioner"
    to = store(tmp_path, partitioner_class=name, partition_field_name="ID,AMOUNT,MADE,INFO.who", format_class="json")
    made = datetime(2026, 1, 31, 23, 59, 59, 999_000, UTC)
    moved(to, [{"ID": 7, "AMOUNT": pa.scalar("1.50").cast(pa.decimal128(9, 2)).as_py(), "MADE": made,
                "INFO": {"AT": None, "WHO": "me"}}])  # fmt: skip
    time = "2026-01-31T23%3A59%3A59.999"
    assert list(folders(tmp_path)) == [f"ID=7/AMOUNT=1.50/MADE={time}/INFO.WHO=me"]


@pytest.mark.parametrize(
    ("partitioner", "zone", "folder"),
    [
        ("daily", "UTC", "year=2026/month=03/day=28"),
        ("hourly", "UTC", "year=2026/month=03/day=28/hour=23"),
        ("daily", "Europe/Zurich", "year=2026/month=03/day=29"),
        ("hourly", "Europe/Zurich", "year=2026/month=03/day=29/hour=00"),
        ("hourly", "Asia/Kathmandu", "year=2026/month=03/day=29/hour=05"),
    ],
)
def test_folders_by_time_are_of_a_zone(tmp_path: Path, partitioner: str, zone: str, folder: str) -> None:
    at = int(datetime(2026, 3, 28, 23, 30, tzinfo=UTC).timestamp() * 1000)
    moved(store(tmp_path, partitioner_class=partitioner, timezone=zone, format_class="json"), [{"ID": 1, TIME: at}])
    assert folders(tmp_path) == {folder: [1]}


def test_a_duration_rounds_times_down(tmp_path: Path) -> None:
    options = {"partition_duration_ms": "600000", "path_format": "HH-mm", "partitioner_class": "time"}
    base = int(datetime(2026, 3, 28, 12, 9, 59, tzinfo=UTC).timestamp() * 1000)
    told = [{"ID": 0, TIME: base}, {"ID": 1, TIME: base + 1000}, {"ID": 2, TIME: -1}]
    moved(store(tmp_path, format_class="json", **options), told)
    assert folders(tmp_path) == {"12-00": [0], "12-10": [1], "23-50": [2]}


def test_a_field_has_the_time_and_rows_without_one_are_refused(tmp_path: Path) -> None:
    at = {"timestamp_extractor": "RecordField", "timestamp_field": "info.at", "partitioner_class": "daily"}
    texts = ["2026-05-06T23:00:00Z", None, "2026-05-06T23:00:00-02:00", "yesterday", "2026-05-06"]
    told = [{"ID": n, "INFO": {"AT": text, "WHO": None}} for n, text in enumerate(texts)]
    refused = moved(store(tmp_path, format_class="json", **at), told)
    assert [r.offset for r in refused] == [1, 3]
    assert refused[0].reason == "INFO.AT has no time"
    day = "year=2026/month=05/day="
    assert folders(tmp_path) == {f"{day}06": [0, 4], f"{day}07": [2]}


def test_the_wall_clock_of_a_slot_is_that_of_its_first_try(tmp_path: Path) -> None:
    to = store(tmp_path, timestamp_extractor="Wallclock", partitioner_class="time", path_format="HHmmssSSS",
               partition_duration_ms="1", format_class="json")  # fmt: skip
    moved(to, rows(2))
    first = names(tmp_path)
    transfer = to.open().begin(SLOT)
    assert not transfer.note
    moved(to, rows(2))
    assert names(tmp_path) == first
    assert to.open().begin(Slot("task", 3, 2)).note
    assert to.open().begin(Slot("task", 4, 1)).note


# ---- what a slot is ----------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(count=st.integers(0, 40), parts=st.integers(1, 7), flush=st.integers(1, 12))
def test_however_rows_come_their_objects_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, count: int, parts: int, flush: int
) -> None:
    told = [{"ID": n, "COUNTRY": "ABC"[n % 3], TIME: TIME_MS + n * 700} for n in range(count)]
    options = {"partitioner_class": "field", "partition_field_name": "COUNTRY", "rotate_interval_ms": "5000"}
    seen = []
    for cut in (1, parts):
        folder = tmp_path_factory.mktemp("objects")
        moved(store(folder, format_class="avro", flush_size=str(flush), **options), told, parts=cut)
        seen.append({name: (folder / name).read_bytes() for name in names(folder)})
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("times", "ends"),
    [([0, 1, 2, 3], [3]), ([0, 9, 10, 11], [2]), ([0, 5, 3, 30, 31, 32, 33], [3, 6]), ([], []), ([0, 20, 40], [1, 2])],
)
def test_an_object_ends_by_rows_or_by_time(times: list[int], ends: list[int]) -> None:
    assert list(Cut(3, 10).ends(np.array(times, np.int64))) == ends


def test_deletes_are_passed_over_unless_told(tmp_path: Path) -> None:
    told: list[dict[str, Any]] = [{"ID": 1, "COUNTRY": "CH"}, {"ID": 2, DELETED: True}]
    assert moved(store(tmp_path / "a", format_class="json"), told) == []
    assert folders(tmp_path / "a") == {"partition=3": [1]}
    refused = moved(store(tmp_path / "b", format_class="json", behavior_on_null_values="fail"), told)
    assert [r.offset for r in refused] == [1]
    assert folders(tmp_path / "b") == {"partition=3": [1]}
    moved(store(tmp_path / "c", format_class="json", behavior_on_null_values="write"), told)
    assert folders(tmp_path / "c") == {"partition=3": [1], "tombstone": [2]}


def test_text_that_is_none_is_refused(tmp_path: Path) -> None:
    to = store(tmp_path, layout(("V", Scalar.STRING), ("W", Array(Scalar.STRING))), format_class="json")
    good = batch(to.layout, [{"ID": n, "V": "x", "W": ["y"]} for n in range(3)], Nested.ARROW)
    broken = pa.array([b"x", b"\xff", b"x"], pa.binary()).view(pa.string())
    transfer = to.open().begin(SLOT)
    refused = transfer.write(good.set_column(1, "V", broken))
    transfer.finish()
    transfer.commit()
    assert refused == [Refusal(1, "its text isn't UTF-8")]
    assert folders(tmp_path) == {"partition=3": [0, 2]}


def test_dates_beyond_pythons_are_written(tmp_path: Path) -> None:
    to = store(tmp_path, layout(("D", Scalar.DATE), ("T", Scalar.TIMESTAMP)), format_class="json")
    rows = batch(to.layout, [{"ID": 1}], Nested.ARROW)
    rows = rows.set_column(1, "D", pa.array([3_000_000], pa.int32()).cast(pa.date32()))
    rows = rows.set_column(2, "T", pa.array([-(10**17)], pa.int64()).cast(pa.timestamp("us", "UTC")))
    transfer = to.open().begin(SLOT)
    transfer.write(rows)
    transfer.finish()
    transfer.commit()
    (name,) = names(tmp_path)
    told = json.loads((tmp_path / name).read_text())
    assert told == {"ID": 1, "D": "10183-09-21", "T": "-1199-02-15T14:13:20.000Z"}


def test_snappy_is_avros(tmp_path: Path) -> None:
    """Of a block: rows, bytes, what is packed, a checksum, and the mark that the file's head ends with."""
    for codec in ("null", "snappy"):
        moved(
            store(tmp_path / codec, layout(("V", Scalar.STRING)), format_class="avro", avro_codec=codec), rows(3, V="x")
        )
    plain, packed = ((tmp_path / codec / names(tmp_path / codec)[0]).read_bytes() for codec in ("null", "snappy"))
    block = plain[plain.index(plain[-16:]) + 16 : -16]
    assert block[:1] == b"\x06"  # three rows
    squeezed = packed[packed.index(packed[-16:]) + 16 : -16]
    data = pa.Codec("snappy").decompress(squeezed[2:-4], len(block) - 2, asbytes=True)
    assert data == block[2:]
    assert squeezed[-4:] == zlib.crc32(data).to_bytes(4, "big")


def test_a_slot_without_rows_makes_nothing(tmp_path: Path) -> None:
    assert moved(store(tmp_path), []) == []
    assert names(tmp_path) == []


# ---- options -----------------------------------------------------------------------------------------------------


def test_the_pace_is_that_of_rotation(tmp_path: Path) -> None:
    assert store(tmp_path).pace == Pace(10_000, 60_000)
    assert store(tmp_path, flush_size="5", rotate_interval_ms="1000").pace == Pace(5, 1000)
    assert store(tmp_path, rotate_schedule_interval_ms="-1").pace == Pace(10_000, FOREVER_MS)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"s3_bucket_name": "b"}, "either 's3.bucket.name' or 'path'"),
        ({"aws_access_key_id": "k"}, "go together"),
        ({"partitioner_class": "field"}, "'partition.field.name' is missing"),
        ({"partitioner_class": "field", "partition_field_name": "CONTRY"}, "names CONTRY, which plays doesn't have"),
        ({"partitioner_class": "field", "partition_field_name": "INFO.W"}, "INFO has no field W"),
        ({"partitioner_class": "field", "partition_field_name": "RAW"}, "RAW: BYTES has no name for a folder"),
        ({"partitioner_class": "time"}, "takes 'path.format' and 'partition.duration.ms'"),
        ({"path_format": "year=YYYY"}, "the letter r"),
        ({"path_format": "MMM", "locale": "de-CH"}, "in English only"),
        ({"timezone": "Mars/Olympus"}, "there is no zone Mars/Olympus"),
        ({"timestamp_extractor": "RecordField"}, "'timestamp.field' is missing"),
        ({"timestamp_extractor": "RecordField", "timestamp_field": "AMOUNT"}, r"DECIMAL\(9, 2\) has no time"),
        ({"store_url": "localhost:9000"}, "no address"),
        ({"flush_size": "0"}, "flush.size"),
        ({"format_class": "orc"}, "format.class"),
    ],
)
def test_options_that_are_refused(tmp_path: Path, options: dict[str, str], told: str) -> None:
    error = refusal(tmp_path, **options)
    assert re.search(told, error.message), error.message


def test_the_nearest_names_are_told(tmp_path: Path) -> None:
    assert refusal(tmp_path, partitioner_class="field", partition_field_name="CONTRY").hint == "Did you mean COUNTRY?"
    assert refusal(tmp_path, flush_sizes="3").hint == "Did you mean flush.size?"


def test_avro_has_no_maps_of_other_keys(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="STRING keys"):
        store(tmp_path, layout(("M", Map(Scalar.BIGINT, Scalar.STRING))), format_class="avro")


def test_a_folder_that_cant_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError) as told:
        store(tmp_path / "file" / "below").prepare()
    assert told.value.code == "PATH_NOT_WRITABLE"


def test_a_secret_is_shown_nowhere() -> None:
    options = {"s3.bucket.name": "b", "aws.access.key.id": "k", "aws.secret.access.key": "hush"}
    made = open_sink(Connector("C", "s3", (), tuple(options.items())), LAYOUT)
    assert "hush" not in repr(made)
    assert next(d for d in definitions(OPTIONS) if d.name == "aws.secret.access.key").type == "PASSWORD"


def test_a_stream_without_a_key_goes_in(tmp_path: Path) -> None:
    columns = (Column("V", Scalar.STRING, Role.VALUE),)
    to = store(tmp_path, Layout("plays", Kind.STREAM, columns), format_class="json")
    moved(to, [{"V": "a"}])
    (name,) = names(tmp_path)
    assert (tmp_path / name).read_text() == '{"V":"a"}\n'
