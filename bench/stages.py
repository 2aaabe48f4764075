"""Where the time of JSON records goes: processor time per record of converter, transforms and put, each by itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import confluent_kafka

from bench.setup import STRING, Bench
from seamark.config.worker import WorkerConfig
from seamark.connector.records import RecordBatch, ValueBatch
from seamark.connector.schema import STRING_SCHEMA
from seamark.connectors.file_sink import FileStreamSinkTask
from seamark.engine.converters.batches import batch_reader, batch_writer
from seamark.engine.pipeline import BATCH, Converters, SinkPipeline, SourcePipeline
from seamark.engine.plugins import Plugins
from seamark.engine.transform_chain import TransformChain
from seamark.kafka.consumer import consumed

JSON = {
    "key.converter": STRING,
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
PACKAGE = "org.apache.kafka.connect.transforms"
SINK_CHAIN = {
    "transforms": "add,drop,cast",
    "transforms.add.type": f"{PACKAGE}.InsertField$Value",
    "transforms.add.static.field": "origin",
    "transforms.add.static.value": "bench",
    "transforms.drop.type": f"{PACKAGE}.ReplaceField$Value",
    "transforms.drop.exclude": "note",
    "transforms.drop.renames": "name:customer",
    "transforms.cast.type": f"{PACKAGE}.Cast$Value",
    "transforms.cast.spec": "amount:string",
}
SOURCE_CHAIN = {
    "transforms": "hoist,add,cast",
    "transforms.hoist.type": f"{PACKAGE}.HoistField$Value",
    "transforms.hoist.field": "line",
    "transforms.add.type": f"{PACKAGE}.InsertField$Value",
    "transforms.add.static.field": "origin",
    "transforms.add.static.value": "bench",
    "transforms.cast.type": f"{PACKAGE}.ReplaceField$Value",
    "transforms.cast.renames": "line:text",
}

_PLUGINS, _WORKER = Plugins(), WorkerConfig({"bootstrap.servers": "none:9092"})


def run(bench: Bench, values: list[bytes]) -> None:
    _sink(bench, "json sink", {}, values)
    _sink(bench, "json sink, 3 transforms", SINK_CHAIN, values)
    _source(bench, "json source, 3 transforms", [f"{number:010d} ".ljust(99, "x") for number in range(len(values))])


def _sink(bench: Bench, label: str, chain: Mapping[str, str], values: list[bytes]) -> None:
    config, task = {"name": label, **JSON, **chain}, _Unwritten()
    converters = Converters.of(_PLUGINS, config, _WORKER)
    transforms = TransformChain.of(_PLUGINS, config)
    pipeline = SinkPipeline(converters, transforms)
    read = batch_reader(converters.value)
    assert read is not None
    messages = [
        confluent_kafka.Message("t", 0, number, None, value, None, None, (1, 0)) for number, value in enumerate(values)
    ]
    converter, given = _each_us(lambda: list(map(read, _parts(values))), len(values))
    change, batches = _each_us(lambda: list(map(transforms.change_batch, given)), len(values))
    put, _ = _each_us(lambda: task.put_batches(batches), len(values))
    whole, _ = _each_us(lambda: task.put_batches(pipeline.convert_values(messages)), len(values))
    single, _ = _each_us(lambda: task.put([_one(pipeline, message) for message in messages]), len(values))
    _tell(bench, label, {"converter": converter, "transforms": change, "put": put}, whole, single)


def _one(pipeline: SinkPipeline, message: Any) -> Any:
    return pipeline.convert(consumed(message))


def _source(bench: Bench, label: str, lines: list[str]) -> None:
    config = {"name": label, **JSON, **SOURCE_CHAIN}
    chain = TransformChain.of(_PLUGINS, config)
    converters = Converters.of(_PLUGINS, config, _WORKER)
    pipeline = SourcePipeline(converters, chain)
    write = batch_writer(converters.value)
    assert write is not None
    batch = RecordBatch("t", lines, STRING_SCHEMA, timestamps=0)
    parts = [ValueBatch(STRING_SCHEMA, part) for part in _parts(lines)]
    change, changed = _each_us(lambda: list(map(chain.change_batch, parts)), len(lines))
    converter, _ = _each_us(lambda: [write("t", part) for part in changed], len(lines))
    whole, _ = _each_us(lambda: pipeline.convert_batch(batch), len(lines))
    single, _ = _each_us(lambda: [pipeline.convert(record) for record in batch.records()], len(lines))
    _tell(bench, label, {"transforms": change, "converter": converter}, whole, single)


class _Unwritten(FileStreamSinkTask):
    """Makes the lines, and leaves it at that."""

    def _append(self, lines: Any) -> None:
        assert lines


def _parts(values: Sequence[Any]) -> list[Sequence[Any]]:
    return [values[start : start + BATCH] for start in range(0, len(values), BATCH)]


def _each_us(work: Callable[[], Any], count: int) -> tuple[float, Any]:
    """Processor time per record in microseconds, the least of five times, and the result."""
    best, result = float("inf"), None
    for _ in range(5):
        began = time.process_time()
        result = work()
        best = min(best, time.process_time() - began)
    return best / count * 1e6, result


def _tell(bench: Bench, label: str, stages: Mapping[str, float], whole: float, single: float) -> None:
    found = {**stages, "all of it": whole, "all of it one by one": single}
    print(f"   {label}: " + ", ".join(f"{stage} {each_us:.2f} us" for stage, each_us in found.items()))
    for stage, each_us in found.items():
        bench.results[f"{label}: us in {stage}"] = round(each_us, 2)
