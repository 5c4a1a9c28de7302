"""s3 into a folder: Avro, by hour."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal as Exact
from pathlib import Path
from typing import Any, cast

import fastavro
import pytest

from orion.schema import Decimal, Scalar, SqlType
from tests.contracts.cases import s3_json

LACKS = s3_json.LACKS


def opened(request: pytest.FixtureRequest) -> AvroCase:
    return AvroCase(request.getfixturevalue("tmp_path"))


@dataclass
class AvroCase(s3_json.FolderCase):
    format: str = "avro"

    def read(self, file: Path) -> Iterator[dict[str, Any]]:
        with file.open("rb") as stream:
            yield from cast(Iterator[dict[str, Any]], fastavro.reader(stream))

    def seen(self, type_: SqlType, value: Any) -> Any:
        match type_:
            case Decimal(_, scale):
                return Exact(f"{value:.{scale}f}")
            case Scalar.TIME:
                return (datetime.min + timedelta(milliseconds=value)).time()
            case Scalar.TIMESTAMP:
                return value.replace(microsecond=value.microsecond // 1000 * 1000)
            case _:
                return value
