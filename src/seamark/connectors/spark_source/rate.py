"""`format=rate`: rows made up at a steady rate, for demonstrations and measurements.

Source partition ``{"rate": "rows"}``, source offset ``{"value": <rows so far>, "since_ms": <when the first was due>}``.
Row *n* has the columns ``value`` (*n*, from 0) and ``timestamp`` (when it was due): a range always has the same rows.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from seamark.config.configdef import ConfigDef, Importance, Range, Type
from seamark.connector.frame import ReadLimit
from seamark.connector.offsets import Offsets, SourceOffset, SourcePartition
from seamark.connectors.spark_source.reader import Reader, Rows, Settings, only_fields, whole_number
from seamark.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITION: Final = SourcePartition(rate="rows")


class RateReader(Reader):
    """Makes rows up."""

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef().define(
            "rows.per.second",
            Type.LONG,
            1,
            validator=Range.at_least(1),
            importance=Importance.MEDIUM,
            group="Rate",
            doc="How many rows there are per second. After a pause the rows that became due meanwhile follow at once.",
        )

    @classmethod
    def problems(cls, settings: Settings) -> dict[str, str]:
        return {} if settings["topic"] else {"topic": "format=rate needs the topic to write to"}

    def latest(self, spark: SparkSession, start: Offsets, limit: ReadLimit) -> Offsets:
        now_ms = time.time_ns() // 1_000_000
        committed = start.get(PARTITION) or {"value": 0, "since_ms": now_ms}
        since_ms, value = int(committed.get("since_ms", now_ms)), int(committed["value"])
        if "since_ms" not in committed:  # someone has set the value alone: from now on, beginning there
            since_ms = now_ms - value * 1000 // self._per_second
        due = (now_ms - since_ms) * self._per_second // 1000 + 1
        end = min(due, value + (limit.records or due))
        return Offsets([(PARTITION, {"value": end, "since_ms": since_ms})]) if end > value else start

    def read(self, spark: SparkSession, start: Offsets, end: Offsets) -> Rows:
        from pyspark.sql import functions as F

        target = end[PARTITION] or {}
        first = int((start.get(PARTITION) or {"value": 0})["value"])
        due_ms = F.lit(target["since_ms"]) + F.floor(F.col("id") * 1000 / self._per_second)
        numbers = spark.range(first, target["value"], 1, self.settings["tasks.max"])
        columns = [F.timestamp_millis(due_ms.cast("long")).alias("timestamp"), F.col("id").alias("value")]
        return Rows(numbers.select(*columns), self.settings["topic"])

    def check(self, spark: SparkSession, partition: SourcePartition, offset: SourceOffset) -> None:
        if partition != PARTITION:
            raise DataError(f"The source partition {dict(partition)} is not {dict(PARTITION)}.")
        only_fields(offset, "value", "since_ms")
        whole_number(offset, "value")
        if "since_ms" in offset:
            whole_number(offset, "since_ms")

    @property
    def _per_second(self) -> int:
        return int(self.settings["rows.per.second"])
