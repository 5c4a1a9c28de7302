"""What every feed is told of the topic that it writes."""

from __future__ import annotations

from pydantic import Field

from orion.options import Options


class TargetOptions(Options):
    """The formats and partitions count for a topic that nobody has declared a stream or table over."""

    topic: str = Field(default="", description="the topic it writes")
    key_format: str = Field(default="KAFKA", alias="key.format", description="the format of keys")
    value_format: str = Field(default="JSON", alias="value.format", description="the format of values")
    partitions: int = Field(default=1, ge=1, description="how many partitions the topic gets")
