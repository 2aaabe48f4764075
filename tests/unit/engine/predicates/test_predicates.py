from __future__ import annotations

import pytest

from seamark.connector.records import Header, SourceRecord
from seamark.engine.plugins import Plugins


@pytest.mark.parametrize(
    ("name", "config", "record", "matches"),
    [
        ("HasHeaderKey", {"name": "h"}, SourceRecord("t", headers=(Header("h", 1),)), True),
        ("HasHeaderKey", {"name": "h"}, SourceRecord("t", headers=(Header("H", 1),)), False),
        ("RecordIsTombstone", {}, SourceRecord("t"), True),
        ("RecordIsTombstone", {}, SourceRecord("t", ""), False),
        ("TopicNameMatches", {"pattern": "o.*s"}, SourceRecord("orders"), True),
        ("TopicNameMatches", {"pattern": "order"}, SourceRecord("orders"), False),
    ],
)
def test_predicates(name: str, config: dict[str, str], record: SourceRecord, matches: bool) -> None:
    for class_name in (name, f"org.apache.kafka.connect.transforms.predicates.{name}"):
        predicate = Plugins().predicate(class_name, config)
        assert predicate.test(record) is matches
        assert predicate.test(record) is matches  # and from memory
