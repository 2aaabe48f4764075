"""From records to CloudEvents over HTTP, as CloudEvents' bindings for Kafka and HTTP have it.

A record is an event already if it has the headers `ce_id`, `ce_source`, `ce_type` and `ce_specversion`, or a content
type of ``application/cloudevents+json``. Every other record becomes one: its place in Kafka is the id, its topic the
source.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

from seamark.connector.records import SinkRecord

BINARY, STRUCTURED = "binary", "structured"
DEFAULT_TYPE: Final = "dev.seamark.kafka.record"
_REQUIRED: Final = ("specversion", "id", "source", "type")
_STRUCTURED_TYPE: Final = "application/cloudevents"
_CONTENT_TYPE: Final = "content-type"
_SAFE: Final = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"%')


@dataclass(frozen=True, slots=True)
class Event:
    """A CloudEvent; `data` is None if it has none."""

    attributes: Mapping[str, str]
    data: bytes | None
    content_type: str | None


@dataclass(frozen=True, slots=True)
class Post:
    """What is sent."""

    headers: Mapping[str, str]
    body: bytes


def event_of(record: SinkRecord, data: bytes | None, content_type: str | None, kind: str, source: str | None) -> Event:
    """The event that a record is.

    Args:
        record: as the sink got it.
        data: its value.
        content_type: of the value, if the record does not say it.
        kind: the type of events made of records that are none.
        source: their source; by default their topic.
    """
    named = {each.key.lower(): _text(each.value) for each in record.headers if each.value is not None}
    given = {key[3:]: value for key, value in named.items() if key.startswith("ce_")}
    content_type = named.get(_CONTENT_TYPE, content_type if data is not None else None)
    if all(given.get(name) for name in _REQUIRED):
        return Event(given, data, content_type)
    topic = record.original_topic or record.topic
    partition, offset = record.original_kafka_partition, record.original_kafka_offset
    attributes = {
        "specversion": "1.0",
        "id": f"{partition}:{offset}",
        "source": source or f"/kafka/{quote(topic)}",
        "type": kind,
        "subject": f"partition:{partition}#{offset}",
        **given,
    }
    if record.timestamp is not None and record.timestamp >= 0:
        attributes.setdefault("time", _time(record.timestamp))
    if isinstance(record.key, (str, bytes)) and record.key:
        attributes.setdefault("partitionkey", _text(record.key))
    return Event(attributes, data, content_type)


def is_structured(record: SinkRecord) -> bool:
    """Whether the value is a whole event already."""
    return any(
        each.key.lower() == _CONTENT_TYPE and _text(each.value).startswith(_STRUCTURED_TYPE) for each in record.headers
    )


def passed_on(record: SinkRecord, data: bytes | None) -> Post:
    """A record whose value is a whole event."""
    kind = next(_text(each.value) for each in record.headers if each.key.lower() == _CONTENT_TYPE)
    return Post({"Content-Type": kind}, data or b"")


def binary(event: Event) -> Post:
    """Attributes in headers, the data as the body."""
    headers = {f"ce-{name}": _header(value) for name, value in event.attributes.items()}
    if event.data is not None and event.content_type:
        headers["Content-Type"] = event.content_type
    return Post(headers, event.data or b"")


def structured(event: Event) -> Post:
    """Everything in one JSON object."""
    content: dict[str, Any] = dict(event.attributes)
    if event.data is not None:
        if event.content_type:
            content["datacontenttype"] = event.content_type
        content |= _data_member(event)
    body = json.dumps(content, ensure_ascii=False).encode()
    return Post({"Content-Type": "application/cloudevents+json; charset=utf-8"}, body)


def _data_member(event: Event) -> dict[str, Any]:
    data, kind = event.data or b"", (event.content_type or "").partition(";")[0].strip()
    try:
        if kind == "application/json" or kind.endswith("+json"):
            return {"data": json.loads(data)}
        if kind.startswith("text/"):
            return {"data": data.decode()}
    except ValueError:  # it is not what it says
        pass
    return {"data_base64": base64.b64encode(data).decode()}


def _header(value: str) -> str:
    return quote(value, safe=_SAFE)


def _text(value: Any) -> str:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode("utf-8", "replace")
    return str(value)


def _time(timestamp_ms: int) -> str:
    try:
        moment = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        moment = datetime(9999, 12, 31, tzinfo=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
