"""Records as Java prints them, for messages."""

from __future__ import annotations

from seamark.connector.records import SinkRecord
from seamark.connector.transform import Record
from seamark.engine.converters.java_text import to_java_string
from seamark.errors import DataError


def record_text(record: Record) -> str:
    """``ConnectRecord.toString()``."""
    headers = ", ".join(
        f"ConnectHeader(key={header.key}, value={_text(header.value)}, schema={_text(header.schema)})"
        for header in record.headers
    )
    common = (
        f"ConnectRecord{{topic='{record.topic}', kafkaPartition={_text(record.kafka_partition)}, "
        f"key={_text(record.key)}, keySchema={_text(record.key_schema)}, value={_text(record.value)}, "
        f"valueSchema={_text(record.value_schema)}, timestamp={_text(record.timestamp)}, "
        f"headers=ConnectHeaders(headers={f'[{headers}]' if headers else ''})}}"
    )
    if isinstance(record, SinkRecord):
        return (
            f"SinkRecord{{kafkaOffset={record.kafka_offset}, timestampType={record.timestamp_type.value}, "
            f"originalTopic={_text(record.original_topic)}, "
            f"originalKafkaPartition={_text(record.original_kafka_partition)}, "
            f"originalKafkaOffset={_text(record.original_kafka_offset)}}} {common}"
        )
    return (
        f"SourceRecord{{sourcePartition={_text(record.source_partition)}, "
        f"sourceOffset={_text(record.source_offset)}}} {common}"
    )


def _text(value: object) -> str:
    try:
        return to_java_string(value)
    except DataError:  # bytes, of which Java prints an address
        return "[B"
