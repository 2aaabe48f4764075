"""Transforms of records over a DataFrame: a step that Spark's Python workers run, batch by batch.

What columns the result has is known only when all records were seen. So a step first packs its records, as Arrow
tables, into a DataFrame of two columns, which Spark keeps until the batch is done: each record is transformed once,
however often the result is read. The last row of each Spark partition reports what types there were and what went
wrong. Then the packs are unpacked into columns of the types that hold all of them.
"""

from __future__ import annotations

import base64
import contextlib
import json
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from seamark.connector.records import SinkRecord, SourceRecord
from seamark.connector.schema import Schema
from seamark.engine.arrow_records import map_in_arrow
from seamark.engine.frame_records import PipelineSpec, RowSinkPipeline, RowSourcePipeline
from seamark.engine.frame_rows import consumed_records, sink_rows, type_number
from seamark.engine.frame_types import (
    HEADERS,
    TIMESTAMP,
    merge,
    merged,
    settled,
    shape_for,
    spark_schema,
    type_of_schema,
    type_of_value,
)
from seamark.engine.tolerance import ErrorCounts, ToleranceExceededError
from seamark.kafka.consumer import ConsumedRecord

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PACKS: Final = "pack binary, report string"
_PARTS: Final = ("key", "value")
_SINK_COLUMNS: Final = (
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("offset", pa.int64()),
    ("timestamp", TIMESTAMP),
    ("timestampType", pa.int32()),
    ("headers", HEADERS),
)
_SOURCE_COLUMNS: Final = (
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("timestamp", TIMESTAMP),
    ("headers", HEADERS),
)
Encoded = tuple[bytes | None, bytes | None]


class FailedStepError(ToleranceExceededError):
    """A record could not be processed in a Spark task, and `errors.tolerance` does not allow that."""

    def __init__(self, message: str, task: int, errors: Mapping[str, int]) -> None:
        super().__init__(message)
        self.task, self.errors = task, dict(errors)


@dataclass(frozen=True, slots=True)
class StepSpec:
    """One step: which records it gets, and what becomes of them."""

    pipeline: PipelineSpec
    origin: str
    """``topics``: rows of Spark's Kafka source; ``query``: rows of a query over them; ``source``: of a frame source."""
    encodes: bool = False
    """Whether keys and values of the result are bytes, as the connector's converters write them."""

    @property
    def columns(self) -> Sequence[tuple[str, pa.DataType]]:
        """The columns of the result besides key and value."""
        return _SOURCE_COLUMNS if self.origin == "source" else _SINK_COLUMNS


@dataclass(slots=True)
class StepReport:
    """What a step has done."""

    records: int = 0
    bytes: int = 0
    errors: dict[int, dict[str, int]] = field(default_factory=dict)
    """Task -> counts; see `seamark.engine.tolerance.ErrorCounts`."""
    types: dict[str, pa.DataType] = field(default_factory=lambda: dict.fromkeys(_PARTS, pa.null()))


class Step:
    """The result of a step, kept by Spark until `release`."""

    def __init__(self, frame: DataFrame, spec: StepSpec) -> None:
        from pyspark import StorageLevel

        self._spec = spec
        self._packs = map_in_arrow(frame, partial(_pack_partition, spec), PACKS).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            self.report = self._reports()
        except BaseException:
            self.release()
            raise

    @property
    def has_values(self) -> bool:
        """Whether any record has a value: if not, what columns values have is not known."""
        return not pa.types.is_null(self.report.types["value"])

    def frame(self) -> DataFrame:
        """The records, with columns of the types that they have."""
        if self._spec.encodes:
            types = dict.fromkeys(_PARTS, pa.binary())
        else:
            types = {name: settled(kind) for name, kind in self.report.types.items()}
        fields = [*types.items(), *self._spec.columns]
        packs = self._packs.where("pack IS NOT NULL").select("pack")
        schema = pa.schema(fields).serialize().to_pybytes()
        return map_in_arrow(packs, partial(_unpack, schema), spark_schema(fields))

    def release(self) -> None:
        """Let Spark forget the records."""
        self._packs.unpersist()

    def _reports(self) -> StepReport:
        """Run the step.

        Raises:
            FailedStepError: a record could not be processed, and that is not tolerated.
        """
        rows = self._packs.where("report IS NOT NULL").select("report").collect()
        total = StepReport()
        for each in sorted((json.loads(row.report) for row in rows), key=lambda report: report["task"]):
            if each["failure"] is not None:
                raise FailedStepError(each["failure"], each["task"], each["errors"])
            total.records += each["records"]
            total.bytes += each["bytes"]
            total.errors[each["task"]] = each["errors"]
            types = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(each["types"])))
            total.types = {name: merge(total.types[name], types.field(name).type) for name in _PARTS}
        return total


def _pack_partition(spec: StepSpec, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    context = TaskContext.get()
    task = 0 if context is None else context.partitionId()
    counts, failure = ErrorCounts(), None
    with contextlib.ExitStack() as stack:
        work = (_SourceWork if spec.origin == "source" else _SinkWork)(spec, task, stack, counts)
        try:
            for batch in batches:
                packed = work.packed(batch) if batch.num_rows else None
                if packed is not None:
                    yield _row(packed, None)
        except ToleranceExceededError:
            # Told, not raised: Spark would only run the same records again, and report them again.
            failure = traceback.format_exc()
        work.flush()
    types = pa.schema(list(work.types.items())).serialize().to_pybytes()
    report = {
        "task": task,
        "records": work.records,
        "bytes": work.bytes,
        "errors": asdict(counts),
        "types": base64.b64encode(types).decode(),
        "failure": failure,
    }
    yield _row(None, json.dumps(report))


def _row(pack: bytes | None, report: str | None) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array([pack], pa.binary()), pa.array([report], pa.string())], names=["pack", "report"]
    )


def _unpack(schema: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    wanted = pa.ipc.read_schema(pa.py_buffer(schema))
    for batch in batches:
        for pack in batch.column(0):
            with pa.ipc.open_stream(pack.as_buffer()) as reader:
                for found in reader:
                    columns = [conformed(found.column(member.name), member.type) for member in wanted]
                    yield pa.RecordBatch.from_arrays(columns, schema=wanted)


def conformed(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column with a type that holds at least what its own does."""
    if column.type == kind:
        return column
    shape = shape_for(kind)
    return pa.array([shape(value) for value in column.to_pylist()], kind)


class _Work:
    """Packs the records of one Spark partition."""

    def __init__(self, spec: StepSpec) -> None:
        self.spec = spec
        self.records = self.bytes = 0
        self.types: dict[str, pa.DataType] = dict.fromkeys(_PARTS, pa.null())
        self._schema_types: dict[int, tuple[Schema, pa.DataType]] = {}

    def _pack(
        self, records: Sequence[SinkRecord | SourceRecord], encoded: Sequence[Encoded], rows: Mapping[str, list[Any]]
    ) -> bytes | None:
        if not records:
            return None
        columns = {}
        for at, name in enumerate(_PARTS):
            if self.spec.encodes:
                columns[name] = pa.array([pair[at] for pair in encoded], pa.binary())
            else:
                columns[name] = self._typed(records, name)
            self.types[name] = merge(self.types[name], columns[name].type)
        for name, kind in self.spec.columns:
            columns[name] = pa.array(rows[name], kind)
        batch = pa.RecordBatch.from_pydict(columns)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        return bytes(sink.getvalue())

    def _typed(self, records: Sequence[SinkRecord | SourceRecord], name: str) -> pa.Array:
        values = [getattr(record, name) for record in records]
        schemas = [getattr(record, f"{name}_schema") for record in records]
        kind = merged(map(self._type, schemas, values))
        shape = shape_for(kind)
        return pa.array([shape(value) for value in values], kind)

    def _type(self, schema: Schema | None, value: Any) -> pa.DataType:
        if schema is None:
            return type_of_value(value)
        known = self._schema_types.get(id(schema))
        if known is None or known[0] is not schema:  # converters give many records the same object
            known = self._schema_types[id(schema)] = (schema, type_of_schema(schema))
        return known[1]


class _SinkWork(_Work):
    """Records of topics, or rows of a query over them."""

    def __init__(self, spec: StepSpec, task: int, stack: contextlib.ExitStack, counts: ErrorCounts) -> None:
        super().__init__(spec)
        self._pipeline = RowSinkPipeline(spec.pipeline, task, stack, counts)

    def packed(self, batch: pa.RecordBatch) -> bytes | None:
        records: list[SinkRecord] = []
        encoded: list[Encoded] = []
        headers: list[list[dict[str, Any]]] = []
        for original in consumed_records(batch) if self.spec.origin == "topics" else sink_rows(batch):
            if isinstance(original, ConsumedRecord):
                self.bytes += len(original.key or b"") + len(original.value or b"")
                consumed, record = original, self._pipeline.convert(original)
            else:
                consumed, record = None, self._pipeline.transform(original)
            if record is None:
                continue
            if self.spec.encodes:
                pair = self._pipeline.encoded(record, consumed)
                if pair is None:
                    continue
                encoded.append(pair)
            records.append(record)
            headers.append(self._pipeline.header_rows(record))
        self.records += batch.num_rows
        return self._pack(
            records,
            encoded,
            {
                "topic": [record.topic or None for record in records],
                "partition": [record.kafka_partition for record in records],
                "offset": [record.kafka_offset if record.kafka_offset >= 0 else None for record in records],
                "timestamp": _microseconds(records),
                "timestampType": [type_number(record.timestamp_type) for record in records],
                "headers": headers,
            },
        )

    def flush(self) -> None:
        """Make reports of failures durable."""
        self._pipeline.tolerance.flush()


class _SourceWork(_Work):
    """Rows of a frame source, before a query."""

    def __init__(self, spec: StepSpec, task: int, stack: contextlib.ExitStack, counts: ErrorCounts) -> None:
        super().__init__(spec)
        self._pipeline = RowSourcePipeline(spec.pipeline, task, stack, counts)

    def packed(self, batch: pa.RecordBatch) -> bytes | None:
        records = self._pipeline.transform_rows(batch)
        self.records += batch.num_rows
        return self._pack(
            records,
            (),
            {
                "topic": [record.topic or None for record in records],
                "partition": [record.kafka_partition for record in records],
                "timestamp": _microseconds(records),
                "headers": [self._pipeline.header_rows(record) for record in records],
            },
        )

    def flush(self) -> None:
        """Nothing to wait for: a source has no dead-letter topic."""


def _microseconds(records: Sequence[SinkRecord | SourceRecord]) -> list[int | None]:
    return [None if record.timestamp is None else record.timestamp * 1000 for record in records]
