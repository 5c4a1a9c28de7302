"""s3 into a folder: JSON, by hour."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal as Exact
from pathlib import Path
from typing import Any, NoReturn

import pytest

from orion.plan.sources import Connector
from orion.schema import Decimal, Map, Scalar, SqlType
from orion.sinks.s3 import open_sink
from orion.sinks.store import Layout, Store
from tests.contracts.case import Feature, Mode

LACKS = (Feature.UPSERT, Feature.DELETE, Feature.REFUSAL, Feature.SERVER, Feature.LOGIN)


def opened(request: pytest.FixtureRequest) -> FolderCase:
    return FolderCase(request.getfixturevalue("tmp_path"))


@dataclass
class FolderCase:
    folder: Path
    bad: tuple[SqlType, Any, Any] = (Scalar.STRING, "", "")
    format: str = "json"

    def store(self, layout: Layout, mode: Mode) -> Store:
        options = {
            "path": self.folder.as_uri(),
            "format.class": self.format,
            "partitioner.class": "hourly",
            **({"insert.mode": "upsert"} if mode is Mode.UPSERT else {}),
        }
        return open_sink(Connector("C", "s3", (), tuple(options.items())), layout)

    def rows(self, layout: Layout) -> list[dict[str, Any]]:
        files = sorted((self.folder / "topics").rglob(f"*.{self.format}"))
        assert all(file.parent.name.startswith("hour=") for file in files)
        return [{name: row.get(name) for name in layout.names} for file in files for row in self.read(file)]

    def read(self, file: Path) -> Iterator[dict[str, Any]]:
        """Numbers with all their digits."""
        return (json.loads(line, parse_float=Exact) for line in file.read_bytes().splitlines())

    def seen(self, type_: SqlType, value: Any) -> Any:
        match type_:
            case Scalar.DOUBLE:
                return Exact(repr(value)) if value - value == 0 else None
            case Map(_, Scalar.DOUBLE):
                return {k: None if v is None else Exact(repr(v)) for k, v in value.items()}
            case Scalar.BYTES:
                return base64.b64encode(value).decode()
            case Decimal(_, scale):
                return Exact(f"{value:.{scale}f}") if scale else int(value)
            case Scalar.DATE:
                return value.isoformat()
            case Scalar.TIME:
                return (datetime.min + timedelta(milliseconds=value)).time().isoformat("milliseconds")
            case Scalar.TIMESTAMP:
                return value.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
            case _:
                return value

    def with_wrong_password(self, layout: Layout) -> NoReturn:
        raise AssertionError(Feature.LOGIN)

    def with_nobody_there(self, layout: Layout) -> NoReturn:
        raise AssertionError(Feature.SERVER)

    def kill(self) -> NoReturn:
        raise AssertionError(Feature.SERVER)

    def start(self) -> NoReturn:
        raise AssertionError(Feature.SERVER)
