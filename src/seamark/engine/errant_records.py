"""What a sink task calls for a record that it could not deliver."""

from __future__ import annotations

from collections.abc import Sequence

from seamark.connector.records import SinkRecord
from seamark.connector.sink import SinkTask
from seamark.engine.pipeline import Converters
from seamark.engine.tolerance import Failure, Step, Tolerance
from seamark.kafka.consumer import ConsumedRecord


class ErrantRecords:
    """Hands records that a task reports to the connector's error handling, as they were read from Kafka."""

    def __init__(self, tolerance: Tolerance, converters: Converters) -> None:
        self._tolerance, self._converters = tolerance, converters
        self._batch: dict[tuple[str, int, int], ConsumedRecord] = {}

    def remember(self, batch: Sequence[ConsumedRecord]) -> None:
        """These records are about to be put."""
        self._batch = {(each.topic, each.partition, each.offset): each for each in batch}

    def report(self, record: SinkRecord, error: BaseException) -> None:
        """Take note of a record that could not be delivered.

        Raises:
            ToleranceExceededError: `errors.tolerance` is none.
        """
        where = (record.original_topic, record.original_kafka_partition, record.original_kafka_offset)
        original = self._batch.get(where) or self._encoded(record)  # type: ignore[arg-type]
        name = f"{SinkTask.__module__}.{SinkTask.__qualname__}"
        self._tolerance.failed(Failure(Step.TASK_PUT, name, error, original))

    def _encoded(self, record: SinkRecord) -> ConsumedRecord:
        """A record of an earlier batch, or one that the task made: its bytes are made anew."""
        topic, converters = record.topic, self._converters
        headers = tuple(
            (each.key, converters.header.from_connect_header(topic, each.key, each.schema, each.value))
            for each in record.headers
        )
        return ConsumedRecord(
            record.original_topic or topic,
            record.original_kafka_partition or record.kafka_partition or 0,
            record.kafka_offset if record.original_kafka_offset is None else record.original_kafka_offset,
            converters.key.from_connect_data(topic, record.key_schema, record.key),
            converters.value.from_connect_data(topic, record.value_schema, record.value),
            record.timestamp,
            record.timestamp_type.value,
            headers,
        )
