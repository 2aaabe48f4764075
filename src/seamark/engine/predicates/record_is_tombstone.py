"""RecordIsTombstone: true for records whose value is null."""

from __future__ import annotations

from typing import ClassVar

from seamark.connector.transform import Predicate, Record
from seamark.engine.transforms.base import VERSION


class RecordIsTombstone(Predicate):
    """`org.apache.kafka.connect.transforms.predicates.RecordIsTombstone`."""

    version: ClassVar[str] = VERSION

    def test(self, record: Record) -> bool:
        return record.value is None
