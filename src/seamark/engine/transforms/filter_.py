"""Filter: drops every record; meant for use with a predicate."""

from __future__ import annotations

from seamark.connector.transform import Record
from seamark.engine.transforms.base import BuiltInTransformation


class Filter(BuiltInTransformation):
    """`org.apache.kafka.connect.transforms.Filter`."""

    def apply(self, record: Record) -> None:
        return None
