"""s3 on SeaweedFS: Parquet in a bucket."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal as Exact
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from orion.plan.sources import Connector
from orion.schema import Decimal, Map, Scalar, SqlType
from orion.sinks.s3 import open_sink
from orion.sinks.store import Layout, Store
from tests.contracts.case import Feature, Mode
from tests.servers.process import free_ports
from tests.servers.seaweedfs import Bucket, SeaweedFS

# Objects aren't changed, so keys have no rows; and every row that Spark makes fits into one.
LACKS = (Feature.UPSERT, Feature.DELETE, Feature.REFUSAL)


def opened(request: pytest.FixtureRequest) -> S3Case:
    server: SeaweedFS = request.getfixturevalue("seaweedfs")
    stack = ExitStack()
    request.addfinalizer(stack.close)
    return S3Case(stack.enter_context(server.bucket()))


@dataclass
class S3Case:
    bucket: Bucket
    bad: tuple[SqlType, Any, Any] = (Scalar.STRING, "", "")

    def store(self, layout: Layout, mode: Mode) -> Store:
        asked = {"insert.mode": "upsert"} if mode is Mode.UPSERT else {}
        return self.with_options(layout, asked)

    def with_options(self, layout: Layout, asked: dict[str, str]) -> Store:
        server = self.bucket.server
        options = {
            "s3.bucket.name": self.bucket.name,
            "store.url": server.url,
            "s3.region": server.region,
            "aws.access.key.id": server.access_key,
            "aws.secret.access.key": server.secret,
            "flush.size": "3",
        }
        return open_sink(Connector("C", "s3", (), tuple((options | asked).items())), layout)

    def rows(self, layout: Layout) -> list[dict[str, Any]]:
        files, root = self.bucket.files, f"{self.bucket.name}/topics/plays"
        found = files.get_file_info(fs.FileSelector(root, recursive=True, allow_not_found=True))
        tables = [pq.read_table(files.open_input_file(f.path)) for f in found if f.type is fs.FileType.File]
        rows = [row for table in tables for row in table.to_pylist()]
        return [{name: row.get(name) for name in layout.names} for row in rows]

    def seen(self, type_: SqlType, value: Any) -> Any:
        match type_:
            case Decimal(_, scale):
                return Exact(f"{value:.{scale}f}")
            case Scalar.TIME:
                return (datetime.min + timedelta(milliseconds=value)).time()
            case Scalar.TIMESTAMP:
                return pa.scalar(value, pa.timestamp("us", "UTC")).as_py()
            case Map():
                return list(value.items())
            case _:
                return value

    def with_wrong_password(self, layout: Layout) -> Store:
        return self.with_options(layout, {"aws.secret.access.key": "wrong-password"})

    def with_nobody_there(self, layout: Layout) -> Store:
        return self.with_options(layout, {"store.url": f"http://127.0.0.1:{free_ports(1)[0]}"})

    def kill(self) -> None:
        self.bucket.server.kill()

    def start(self) -> None:
        self.bucket.server.start()
