from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass

import pytest

from seamark.connector.records import Header, SinkRecord, SourceRecord, TimestampType
from seamark.connector.schema import STRING_SCHEMA
from seamark.connector.transform import Record
from seamark.engine.transforms.copies import with_headers, with_key, with_part, with_topic, with_value

SOURCE = SourceRecord("t", "v", "k", STRING_SCHEMA, STRING_SCHEMA, 3, 5, (Header("h", 1),), {"p": 1}, {"o": 2})
SINK = SinkRecord(
    "t", "v", "k", STRING_SCHEMA, STRING_SCHEMA, 3, 5, (Header("h", 1),), 42, TimestampType.CREATE_TIME, "o", 1, 2
)


@dataclass(frozen=True, slots=True)
class Marked(SourceRecord):
    mark: str = ""


@pytest.mark.parametrize("record", [SOURCE, SINK, Marked("t", "v", mark="m")])
def test_copies_differ_in_what_was_asked_for_only(record: Record) -> None:
    assert with_value(record, None, 1) == record.with_(value_schema=None, value=1)
    assert with_key(record, None, 1) == record.with_(key_schema=None, key=1)
    assert with_topic(record, "other") == record.with_(topic="other")
    assert with_headers(record, ()) == record.with_(headers=())
    assert with_part(record, True, None, 1, ()) == record.with_(key_schema=None, key=1, headers=())
    assert with_part(record, False, None, 1) == record.with_(value_schema=None, value=1)
    assert type(with_value(record, None, 1)) is type(record)


def test_copies_are_frozen() -> None:
    copy = with_topic(SOURCE, "other")
    with pytest.raises(FrozenInstanceError):
        copy.topic = "again"  # type: ignore[misc]
