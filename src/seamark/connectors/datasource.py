"""Any PySpark `DataSource` as a connector: with a stream reader a source, with a writer a sink.

The reader's offsets are the connector's: source partition ``{"datasource": <name>}``, source offset ``{"offset":
<JSON of its offset>}``. They are listed, altered and reset like any other, which a Spark checkpoint does not allow.
The first offset also keeps, as `since`, where the reader said to begin: a first batch that is replayed begins at the
same place, whatever `initialOffset` says by then.

A column named ``value`` makes the rows records (see `FrameSource`); otherwise each row as a whole is a value and goes
through the connector's converter.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from seamark.config.configdef import ConfigDef, Importance, NonEmptyString, Type, ValidString
from seamark.connector.connector import Connector
from seamark.connector.frame import FrameSink, FrameSource, ReadLimit, SinkBatch
from seamark.connector.offsets import Offsets
from seamark.engine.arrow_records import map_in_arrow
from seamark.errors import ConfigError, DataError, PluginError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import DataSource

OPTION: Final = "datasource.option."
_ROWS_PER_BATCH: Final = 10_000


def _config_def() -> ConfigDef:
    return ConfigDef().define(
        "datasource.class",
        Type.CLASS,
        validator=NonEmptyString(),
        importance=Importance.HIGH,
        group="DataSource",
        doc="The `DataSource` class as `module:Class`. Keys starting with `datasource.option.` are its options.",
    )


class _DataSourceConnector(Connector):
    """What both directions share."""

    def _data_source(self, config: Mapping[str, str]) -> DataSource:
        options = {key.removeprefix(OPTION): value for key, value in config.items() if key.startswith(OPTION)}
        return _load(config["datasource.class"])(options)


class DataSourceSourceConnector(_DataSourceConnector, FrameSource):
    """Reads from a `DataSource` that has a `streamReader` or a `simpleStreamReader`."""

    version = "0.1.0"

    @classmethod
    def config_def(cls) -> ConfigDef:
        group = "DataSource"
        return (
            _config_def()
            .define(
                "topic",
                Type.STRING,
                None,
                importance=Importance.HIGH,
                group=group,
                doc="Where rows go that have no `topic` column.",
            )
            .define(
                "datasource.key.column",
                Type.STRING,
                None,
                importance=Importance.MEDIUM,
                group=group,
                doc="The column that is the record's key, for rows without a `key` column.",
            )
        )

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        source = self._data_source(config)
        self._name = source.name()
        self._schema = _schema(source)
        self._reader = _reader(source, self._schema)
        self._committed: str | None = None

    @property
    def partition(self) -> dict[str, str]:
        """The connector's one source partition."""
        return {"datasource": self._name}

    def alter_offsets(self, config: Mapping[str, str], offsets: Offsets) -> bool:
        source = self._data_source(config)
        expected = {"datasource": source.name()}
        for partition, offset in offsets.items():
            if offset is None:
                continue
            if partition != expected:
                raise DataError(f"The source partition {dict(partition)} is not {expected}.")
            _check_readable(source, _parse(offset.get("offset")))
        return True

    def latest(self, start: Offsets, limit: ReadLimit) -> Offsets:
        committed = start.get(self.partition)
        if committed is None:
            begin = self._reader.initialOffset()
            offset = {"offset": _text(self._end(begin)), "since": _text(begin)}
            return start if offset["offset"] == offset["since"] else Offsets([(self.partition, offset)])
        text = committed["offset"]
        if text != self._committed:
            self._reader.commit(_parse(text))  # what Spark would tell it after a batch
            self._committed = text
        end = _text(self._end(_parse(text)))
        return start if end == text else Offsets([(self.partition, {"offset": end})])

    def read(self, spark: SparkSession, start: Offsets, end: Offsets) -> DataFrame:
        target, committed = end[self.partition] or {}, start.get(self.partition)
        begin = _parse(target["since"] if committed is None else committed["offset"])
        rows = self._rows(spark, begin, _parse(target["offset"]))
        return self._as_records(rows)

    def _end(self, begin: dict[str, Any]) -> dict[str, Any]:
        if hasattr(self._reader, "latestOffset"):
            return dict(self._reader.latestOffset())
        return dict(self._reader.read(begin)[1])

    def _rows(self, spark: SparkSession, begin: dict[str, Any], end: dict[str, Any]) -> DataFrame:
        from pyspark import cloudpickle

        is_simple = not hasattr(self._reader, "latestOffset")
        parts = [(begin, end)] if is_simple else list(self._reader.partitions(begin, end))
        # By value: the class may come from plugin.path, which executors do not have.
        payload = cloudpickle.dumps((self._reader, is_simple, parts, self._schema))
        numbers = spark.range(0, len(parts), 1, max(1, len(parts)))
        return map_in_arrow(numbers, partial(_read_parts, payload), self._schema)

    def _as_records(self, rows: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        key = self.config.get("datasource.key.column")
        if "value" in rows.columns:
            return rows if key is None or "key" in rows.columns else rows.withColumn("key", F.col(key))
        value = F.struct(*[F.col(name) for name in rows.columns]).alias("value")
        return rows.select(value) if key is None else rows.select(value, F.col(key).alias("key"))


class DataSourceSinkConnector(_DataSourceConnector, FrameSink):
    """Writes with a `DataSource` that has a `writer`; a batch may be written twice after a crash.

    The writer gets the options `seamark.batch.id` and `seamark.batch.replay`, by which it can recognise one that it
    has.
    """

    version = "0.1.0"

    @classmethod
    def config_def(cls) -> ConfigDef:
        return _config_def().define(
            "value.format",
            Type.STRING,
            "string",
            validator=ValidString.of("string", "binary"),
            importance=Importance.MEDIUM,
            group="DataSource",
            doc="Whether keys and values reach the writer as text or as bytes.",
        )

    def write(self, frame: DataFrame, batch: SinkBatch) -> None:
        from pyspark.sql import functions as F

        source = self._data_source(self.config)
        spark = frame.sparkSession
        spark.dataSource.register(type(source))
        if self.config.get("value.format", "string") == "string":
            for name in ("key", "value"):
                frame = frame.withColumn(name, F.col(name).cast("string"))
        options = {**dict(source.options), "seamark.batch.id": str(batch.id), "seamark.batch.replay": str(batch.replay)}
        frame.write.format(source.name()).mode("append").options(**options).save()


def _load(reference: str) -> type[Any]:
    from pyspark import cloudpickle
    from pyspark.sql.datasource import DataSource

    module_name, _, class_name = reference.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise PluginError(
            f"The DataSource {reference!r} cannot be loaded: {error}. Write it as module:Class; it must be installed, "
            "or on plugin.path."
        ) from error
    if not isinstance(found, type) or not issubclass(found, DataSource):
        raise ConfigError(f"{reference!r} is no DataSource.", key="datasource.class", value=reference)
    cloudpickle.register_pickle_by_value(sys.modules[found.__module__])
    return found


def _schema(source: DataSource) -> Any:
    from pyspark.errors import PySparkNotImplementedError
    from pyspark.sql.types import StructType, _parse_datatype_string

    try:
        schema = source.schema()
    except PySparkNotImplementedError as error:
        raise _no_source(source, "a schema") from error
    return schema if isinstance(schema, StructType) else _parse_datatype_string(schema)


def _reader(source: DataSource, schema: Any) -> Any:
    from pyspark.errors import PySparkNotImplementedError

    for make in (source.streamReader, source.simpleStreamReader):
        try:
            return make(schema)
        except PySparkNotImplementedError:
            continue
    raise _no_source(source, "a streamReader or a simpleStreamReader")


def _check_readable(source: DataSource, begin: dict[str, Any]) -> None:
    """Have the reader plan a batch from there, which reads nothing: only it knows what its offsets may be.

    Raises:
        DataError: it cannot.
    """
    from pyspark import SparkContext

    if SparkContext._active_spark_context is None:  # noqa: SLF001 - no public way to ask
        return  # without Spark there are no schemas either
    reader = _reader(source, _schema(source))
    if not hasattr(reader, "latestOffset"):
        return  # a simple reader has no plan, and would read
    try:
        reader.partitions(begin, dict(reader.latestOffset()))
    except Exception as error:
        raise DataError(
            f"The DataSource {source.name()!r} cannot go on from the offset {json.dumps(begin)}: "
            f"{type(error).__name__}: {error}"
        ) from error


def _no_source(source: DataSource, lacking: str) -> ConfigError:
    return ConfigError(
        f"The DataSource {source.name()!r} does not implement {lacking}, so it cannot be read.", key="datasource.class"
    )


def _read_parts(payload: bytes, numbers: Iterator[Any]) -> Iterator[Any]:
    """Runs in a Spark task: the rows of the partitions with these numbers, as Arrow batches."""
    from pyspark import cloudpickle
    from pyspark.sql.worker.plan_data_source_read import records_to_arrow_batches

    reader, is_simple, parts, schema = cloudpickle.loads(payload)
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            rows = reader.readBetweenOffsets(*parts[number]) if is_simple else reader.read(parts[number])
            yield from records_to_arrow_batches(iter(rows), _ROWS_PER_BATCH, schema, reader)


def _text(offset: Mapping[str, Any]) -> str:
    return json.dumps(offset, sort_keys=True)


def _parse(text: Any) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except (TypeError, ValueError):
        parsed = None
    if not isinstance(parsed, dict):
        raise DataError(f"The offset {text!r} is not the JSON text of a DataSource's offset, such as '{{\"row\": 7}}'.")
    return parsed
