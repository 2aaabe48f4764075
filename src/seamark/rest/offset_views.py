"""Views of offsets, for those who choose a position by looking: additions to Kafka Connect's API."""

from __future__ import annotations

import re
from typing import Final

from seamark.errors import BadRequestError
from seamark.rest import offset_view_schemas as model
from seamark.rest import schemas
from seamark.rest.answers import Answer, Call, json_answer
from seamark.rest.endpoints import Endpoint, Parameter
from seamark.runtime.herder import RestError
from seamark.runtime.offset_views import OffsetViews

OFFSETS = "/connectors/{connector}/offsets"
MOST_POINTS: Final = 500
MOST_RECORDS: Final = 100
MOST_BYTES: Final = 2**20
MOST_IN_ALL: Final = 8 * 2**20
_MOST_OFFSET: Final = 2**63 - 1
_MOST_PARTITION: Final = 2**31 - 1
_NUMBER: Final = re.compile(r"[0-9]{1,19}")
_INTEGER: Final = {"type": "integer"}
_TEXT: Final = {"type": "string"}


def _table(call: Call) -> Answer:
    limit = None if call.parameter("limit") is None else _number(call, "limit", None, 1, _MOST_PARTITION)
    return json_answer(
        _views_of(call).table(
            call.connector,
            with_times=call.flag("with_times", True),
            topic=call.parameter("topic") or None,
            first=_number(call, "offset", 0, 0, _MOST_PARTITION),
            limit=limit,
        )
    )


def _timeline(call: Call) -> Answer:
    points = _number(call, "points", 60, 1, MOST_POINTS)
    return json_answer(_views_of(call).timeline(call.connector, call.parameter("topic") or None, points))


def _records(call: Call) -> Answer:
    topic = call.parameter("topic")
    if not topic:
        raise BadRequestError("The parameter topic is missing: the name of a topic that the connector reads.")
    partition = _number(call, "partition", None, 0, _MOST_PARTITION)
    offset = _number(call, "offset", None, 0, _MOST_OFFSET)
    before, after = _number(call, "before", 5, 0, MOST_RECORDS), _number(call, "after", 5, 0, MOST_RECORDS)
    max_bytes = _number(call, "max_bytes", 2000, 1, MOST_BYTES)
    count = before + after + 1
    if count * max_bytes > MOST_IN_ALL:
        raise BadRequestError(
            f"{count} records of {max_bytes} bytes are more than can be shown at once. "
            f"Valid: at most {MOST_IN_ALL} bytes in all, so max_bytes up to {MOST_IN_ALL // count}, or fewer records."
        )
    found = _views_of(call).records(
        call.connector, (topic, partition), offset, before=before, after=after, max_bytes=max_bytes
    )
    return json_answer(found)


def _views_of(call: Call) -> OffsetViews:
    found = call.herder.offset_views
    if not isinstance(found, OffsetViews):
        raise RestError(501, "This worker has no views of offsets.")
    return found


def _number(call: Call, name: str, default: int | None, least: int, most: int) -> int:
    text = call.parameter(name)
    valid = f"a number from {least}" + ("" if most > _MOST_PARTITION else f" to {most}")
    if not text:
        if default is None:
            raise BadRequestError(f"The parameter {name} is missing: {valid}.")
        return default
    number = int(text) if _NUMBER.fullmatch(text) else -1
    if not least <= number <= most:
        raise BadRequestError(f"The parameter {name} should be {valid}, not {text[:100]!r}.")
    return number


def endpoints() -> list[Endpoint]:
    """All endpoints of this module."""
    error = schemas.ErrorMessage
    tag = "operations"
    topic = Parameter("topic", _TEXT, "One of the topics that it reads")
    return [
        Endpoint(
            "GET",
            f"{OFFSETS}/table",
            _table,
            "Position, begin and end of the log, lag and time of each partition",
            {200: model.OffsetTable, 404: error},
            parameters=(
                Parameter("with_times", _TEXT, "`false` to read no record for the time at each position"),
                topic,
                Parameter("offset", _INTEGER, "The first row to show, from 0"),
                Parameter("limit", _INTEGER, "How many rows to show; by default all"),
            ),
            tag=tag,
        ),
        Endpoint(
            "GET",
            f"{OFFSETS}/timeline",
            _timeline,
            "How many records of a topic are of which time, and where the connector is",
            {200: model.OffsetTimeline, 404: error, 503: error},
            parameters=(
                topic,
                Parameter("points", _INTEGER, f"How many whiles to count; 60 by default, {MOST_POINTS} at most"),
            ),
            tag=tag,
        ),
        Endpoint(
            "GET",
            f"{OFFSETS}/records",
            _records,
            "The records around an offset",
            {200: model.OffsetRecords, 403: error, 404: error, 503: error},
            parameters=(
                topic,
                Parameter("partition", _INTEGER, "Its number"),
                Parameter("offset", _INTEGER, "The place to look at"),
                Parameter("before", _INTEGER, f"How many records before it; 5 by default, {MOST_RECORDS} at most"),
                Parameter("after", _INTEGER, f"How many records behind it; 5 by default, {MOST_RECORDS} at most"),
                Parameter("max_bytes", _INTEGER, "Longer keys, values and headers are cut; 2000 by default"),
            ),
            tag=tag,
        ),
    ]
