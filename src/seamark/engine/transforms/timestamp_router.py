"""TimestampRouter: a topic made of the record's topic and its timestamp (in UTC)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamark.config.configdef import ConfigDef, Importance, Type
from seamark.connector.transform import Record
from seamark.engine.transforms.base import BuiltInTransformation
from seamark.engine.transforms.copies import with_topic
from seamark.engine.transforms.date_parsing import SimpleDateFormat
from seamark.engine.transforms.record_text import record_text
from seamark.errors import DataError


class TimestampRouter(BuiltInTransformation):
    """`org.apache.kafka.connect.transforms.TimestampRouter`."""

    @classmethod
    def config_def(cls) -> ConfigDef:
        return (
            ConfigDef()
            .define(
                "topic.format",
                Type.STRING,
                "${topic}-${timestamp}",
                importance=Importance.HIGH,
                doc="The new topic, with `${topic}` and `${timestamp}` for those of the record.",
            )
            .define(
                "timestamp.format",
                Type.STRING,
                "yyyyMMdd",
                importance=Importance.HIGH,
                doc="The form of the timestamp, as a pattern of Java's `SimpleDateFormat`.",
            )
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        values = self.config_def().parse(config)
        self._topic_format: str = values["topic.format"]
        self._timestamp_format: str = values["timestamp.format"]
        self._format: SimpleDateFormat | None = None

    def apply(self, record: Record) -> Record:
        if record.timestamp is None:
            raise DataError(f"Timestamp missing on record: {record_text(record)}")
        if self._format is None:  # as in Connect, a bad pattern fails the first record and not the connector's config
            self._format = SimpleDateFormat(self._timestamp_format)
        text = self._format.format(record.timestamp)
        topic = self._topic_format.replace("${topic}", record.topic).replace("${timestamp}", text)
        return with_topic(record, topic)
