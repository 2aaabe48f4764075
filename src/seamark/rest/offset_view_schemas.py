"""Models of the views of offsets, for the OpenAPI document only."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

_MS = "in ms since 1970"


class OffsetTableRow(BaseModel):
    """A partition; what only logs can tell is null where the connector reads none, or they did not answer."""

    partition: dict[str, Any] = Field(description="The connector's own.")
    topic: str | None
    number: int | None
    position: int | None = Field(description="The next offset to read; null if it has none yet.")
    start: int | None = Field(description="The first offset that is still there.")
    end: int | None = Field(description="Behind the last record.")
    lag: int | None
    time: int | None = Field(
        description=f"Of the record at the position, {_MS}; null at the end or if not read in time."
    )
    offset: dict[str, Any] | None = Field(description="The connector's own.")
    problem: str | None = Field(description="Why it cannot go on from its position as if nothing had happened.")


class OffsetTotals(BaseModel):
    """All partitions together, whatever page was asked for."""

    partitions: int
    lag: int | None


class OffsetTable(BaseModel):
    """Where a connector is in each partition."""

    kind: str = Field(description="`sink`, `mirror` or `source`.")
    can_move: bool = Field(description="Whether it can be moved by positions, such as times.")
    why_not: str | None
    can_peek: bool = Field(description="Whether its records may be looked at.")
    topics: list[str] = Field(description="All topics, whatever page was asked for.")
    partitions: list[OffsetTableRow]
    total: OffsetTotals
    error: str | None = Field(description="What could not be learnt, and why.")


class TimelineBucket(BaseModel):
    """How many records there are of a while."""

    from_: int = Field(alias="from", description=_MS)
    to: int
    records: int


class TimelinePosition(BaseModel):
    """Where a partition is on the time line."""

    partition: int
    position: int | None
    time: int | None = Field(description=f"Of the record at the position, {_MS}; null at the end or if not known.")


class OffsetTimeline(BaseModel):
    """The records of a topic over time, and where the connector is."""

    topic: str
    from_: int | None = Field(alias="from", description=f"Of the first record, {_MS}; null if there is none.")
    to: int | None = Field(description="Of the last record.")
    buckets: list[TimelineBucket]
    is_estimate: bool = Field(description="Of very many partitions only some are counted, and stand for the others.")
    partitions: int
    positions: list[TimelinePosition]


class PeekedRecord(BaseModel):
    """A record, perhaps shortened."""

    offset: int
    timestamp: int | None
    key: str | None
    value: str | None
    headers: list[tuple[str, str | None]]
    key_encoding: str | None = Field(description="`utf8` or `base64`; null if there is no key.")
    value_encoding: str | None
    header_encodings: list[str | None]
    value_bytes: int = Field(description="Of the whole value.")
    is_truncated: bool = Field(description="Whether key, value or a header is longer than what is shown.")


class OffsetRecords(BaseModel):
    """The records around a place."""

    topic: str
    partition: int
    records: list[PeekedRecord]
    start: int
    end: int
    is_complete: bool = Field(description="False if not all could be read in time.")
