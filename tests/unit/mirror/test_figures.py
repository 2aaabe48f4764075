from __future__ import annotations

import time

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from seamark.connector.records import RecordMetadata
from seamark.mirror.checkpoint_task import MirrorCheckpointTask
from seamark.mirror.figures import PARTITIONS, PartitionFigures
from seamark.mirror.wire import Checkpoint
from seamark.runtime.mirror_checkpoint_metrics import CheckpointMetrics, checkpoint_rows
from seamark.runtime.mirror_task_metrics import MirrorTaskMetrics, rows_of


def test_a_batch_counts_by_its_first_and_last_record() -> None:
    figures = PartitionFigures("a.t", 3)
    figures.read(10, 500, 1000, 1900, 2000.0)
    figures.read(1, 20, 2900, 2900, 3000.0)
    figures.read(5, 50, -1, -1, 4000.0)  # without timestamps
    figures.delivered(1900, 2100.0)
    figures.delivered(None, 2100.0)
    assert figures.row() == {
        "topic": "a.t",
        "partition": 3,
        "records": 16,
        "bytes": 570,
        "record_age_ms": [100.0, 1000.0, 100.0, 400.0],
        "replication_latency_ms": [200.0, 200.0, 200.0, 200.0],
    }


def test_clocks_that_differ_give_no_negative_ages() -> None:
    figures = PartitionFigures("a.t", 0)
    figures.read(1, 1, 5000, 5000, 4000.0)
    assert figures.row()["record_age_ms"] == [0.0] * 4


@pytest.mark.parametrize("again", [70, 130])
def test_bytes_go_on_when_a_task_starts_anew(again: int) -> None:
    figures = PartitionFigures("a.t", 0)
    metrics = MirrorTaskMetrics(lambda: rows_of("m", "a", "b", [{PARTITIONS: [figures.row()]}, {}]), "p")

    def samples() -> dict[str, float]:
        registry = CollectorRegistry()
        registry.register(metrics)
        families = text_string_to_metric_families(generate_latest(registry).decode())
        found = [sample for family in families for sample in family.samples]
        labels = {"source": "a", "target": "b", "topic": "a.t", "partition": "0"}
        assert all(sample.labels == labels for sample in found)
        return {sample.name: sample.value for sample in found}

    figures.read(1, 100, 0, 0, 5.0)
    assert samples()["p_byte_count"] == 100
    figures = PartitionFigures("a.t", 0)
    figures.read(1, again, 0, 0, 5.0)
    found = samples()
    assert found["p_byte_count"] == (170 if again < 100 else 130)
    assert found["p_byte_rate"] > 0
    assert found["p_record_age_ms_max"] == 5.0
    assert found["p_replication_latency_ms_avg"] == 0


def test_checkpoints_tell_how_late_they_are() -> None:
    task = MirrorCheckpointTask()
    task._topic = "a.checkpoints.internal"
    now_ms = int(time.time() * 1000)
    for age_ms, is_written in ((5000, True), (1000, True), (99_000, False)):
        record = task._record(Checkpoint("g", "a.t", 3, 7, 7, ""), now_ms - age_ms)
        task.commit_record(record, RecordMetadata(task._topic, 0, 1, now_ms) if is_written else None)
    registry = CollectorRegistry()
    registry.register(CheckpointMetrics(lambda: checkpoint_rows("a", "b", [task.metrics(), {}])))
    families = text_string_to_metric_families(generate_latest(registry).decode())
    found = {sample.name: sample for family in families for sample in family.samples}
    prefix = "kafka_connect_mirror_mirrorcheckpointconnector_checkpoint_latency_ms"
    labels = {"source": "a", "target": "b", "group": "g", "topic": "a.t", "partition": "3"}
    assert all(sample.labels == labels for sample in found.values())
    values = [found[f"{prefix}{suffix}"].value for suffix in ("", "_max", "_min", "_avg")]
    assert values == pytest.approx([1000, 5000, 1000, 3000], abs=900)
