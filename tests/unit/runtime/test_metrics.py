"""Metrics: what Prometheus reads, with the names that dashboards for Kafka Connect know."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from seamark.engine.stage import TaskProgress
from seamark.errors import KafkaError
from seamark.runtime import metrics as metrics_module
from seamark.runtime.herder import PartitionProgress
from seamark.runtime.metrics import ConnectorView, Metrics
from seamark.runtime.states import ConnectorStatus, State, TaskStatus

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "metrics.md"


def view(
    name: str = "c", kind: str = "source", state: State = State.RUNNING, progress: TaskProgress | None = None
) -> ConnectorView:
    tasks = (TaskStatus(0, state),) if progress is None else (TaskStatus(progress.task, state),)
    status = ConnectorStatus(name, state, tasks=tasks)
    return ConnectorView(status, kind, "some.Class", "1.0", () if progress is None else (progress,))


def samples(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """Name and label values, in the order of the labels' names, to value."""
    found = {}
    for family in text_string_to_metric_families(metrics.render().decode()):
        for sample in family.samples:
            if not sample.name.endswith(("_created", "_bucket")):
                found[(sample.name, *(text for _, text in sorted(sample.labels.items())))] = sample.value
    return found


def test_states_of_connectors_and_tasks() -> None:
    views = [view("a"), view("b", state=State.FAILED), view("c", state=State.PAUSED)]
    found = samples(Metrics(lambda: views))
    assert found["kafka_connect_worker_connector_count",] == 3
    assert found["kafka_connect_worker_task_count",] == 3
    assert found["kafka_connect_connector_status", "a", "running"] == 1
    assert found["kafka_connect_connector_status", "a", "failed"] == 0
    assert found["kafka_connect_connector_status", "b", "failed"] == 1
    assert found["kafka_connect_connector_task_status", "c", "paused", "0"] == 1
    assert found["kafka_connect_worker_connector_failed_task_count", "b"] == 1
    assert found["kafka_connect_worker_connector_running_task_count", "b"] == 0
    assert found["kafka_connect_connector_info", "some.Class", "a", "source", "1.0"] == 1


def test_what_a_source_task_did() -> None:
    progress = TaskProgress(
        0,
        records=90,
        bytes=900,
        commits=3,
        commit_ms=20.0,
        batches=2,
        batch_ms=50.0,
        batch_max_ms=40.0,
        errors={"total_records_skipped": 10, "total_record_failures": 12, "last_error_timestamp": 77},
    )
    found = samples(Metrics(lambda: [view(progress=progress)]))
    assert found["kafka_connect_source_task_source_record_poll_total", "c", "0"] == 100
    assert found["kafka_connect_source_task_source_record_write_total", "c", "0"] == 90
    assert found["seamark_task_bytes_total", "c", "0"] == 900
    assert found["seamark_task_offset_commits_total", "c", "0"] == 3
    assert found["kafka_connect_connector_task_offset_commit_avg_time_ms", "c", "0"] == 20
    assert found["kafka_connect_connector_task_batch_size_avg", "c", "0"] == 30
    assert found["kafka_connect_source_task_poll_batch_avg_time_ms", "c", "0"] == 25
    assert found["kafka_connect_source_task_poll_batch_max_time_ms", "c", "0"] == 40
    assert found["kafka_connect_task_error_total_record_failures", "c", "0"] == 12
    assert found["kafka_connect_task_error_last_error_timestamp", "c", "0"] == 77
    assert not [name for name, *_ in found if "sink_task" in name]


def test_what_a_sink_task_did() -> None:
    progress = TaskProgress(1, records=50, batches=1, batch_ms=5.0, errors={"total_records_skipped": 5})
    found = samples(Metrics(lambda: [view(kind="sink", progress=progress)]))
    assert found["kafka_connect_sink_task_sink_record_read_total", "c", "1"] == 50
    assert found["kafka_connect_sink_task_sink_record_send_total", "c", "1"] == 45
    assert found["kafka_connect_sink_task_put_batch_avg_time_ms", "c", "1"] == 5


def test_counters_go_on_when_a_task_starts_anew() -> None:
    progress = TaskProgress(0)
    metrics = Metrics(lambda: [view(progress=progress)])
    errors = "kafka_connect_task_error_total_record_errors"
    for records, commits, commit_ms, failed in ((10, 1, 5.0, 1), (30, 2, 15.0, 2), (4, 1, 10.0, 1), (4, 1, 10.0, 1)):
        progress.records, progress.commits, progress.commit_ms = records, commits, commit_ms
        progress.errors = {"total_record_errors": failed}
        metrics.sample()
    found = samples(metrics)
    assert found["kafka_connect_source_task_source_record_write_total", "c", "0"] == 34
    assert found["seamark_task_offset_commits_total", "c", "0"] == 3
    assert found["kafka_connect_connector_task_offset_commit_avg_time_ms", "c", "0"] == 10
    assert found["kafka_connect_connector_task_offset_commit_max_time_ms", "c", "0"] == 15
    assert found["kafka_connect_connector_task_batch_size_max", "c", "0"] == 20
    assert found[errors, "c", "0"] == 3


def test_a_connector_that_is_gone_is_forgotten() -> None:
    views = [view(progress=TaskProgress(0, records=5))]
    metrics = Metrics(lambda: views)
    metrics.sample()
    views.clear()
    assert not [name for name, *labels in samples(metrics) if labels[:1] == ["c"]]
    views.append(view(progress=TaskProgress(0, records=2)))
    assert samples(metrics)["kafka_connect_source_task_source_record_write_total", "c", "0"] == 2


def test_lags_are_asked_for_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def lags(name: str) -> list[PartitionProgress]:
        asked.append(name)
        where = {"kafka_topic": "t", "kafka_partition": len(asked)}
        return [PartitionProgress(where, {}, {}, 7), PartitionProgress({"kafka_topic": "t", "kafka_partition": 9}, {})]

    metrics = Metrics(lambda: [view(kind="sink"), view("source")], lags)
    for _ in range(2):
        found = samples(metrics)
        assert found["seamark_sink_record_lag", "c", "1", "t"] == 7
        assert found["kafka_connect_sink_task_sink_record_lag_max", "c"] == 7
    assert asked == ["c"]
    monkeypatch.setattr(metrics_module, "LAG_REFRESH_S", 0.0)
    assert ("seamark_sink_record_lag", "c", "2", "t") in samples(metrics)


def test_metrics_come_without_lags_while_kafka_is_away() -> None:
    def lags(name: str) -> list[PartitionProgress]:
        raise KafkaError("away")

    found = samples(Metrics(lambda: [view(kind="sink")], lags))
    assert found["kafka_connect_worker_connector_count",] == 1
    assert not [name for name, *_ in found if name.endswith("_lag")]


def test_rebalances_and_starts() -> None:
    metrics = Metrics(list)
    assert not [name for name, *_ in samples(metrics) if name.endswith("time_since_last_rebalance_ms")]
    metrics.rebalance_started()
    assert samples(metrics)["kafka_connect_worker_rebalance_rebalancing",] == 1
    metrics.rebalance_completed(1.0, epoch=4)
    metrics.rebalance_completed(3.0)
    metrics.connector_started(ok=True)
    metrics.task_started(ok=False)
    found = samples(metrics)
    assert found["kafka_connect_worker_rebalance_rebalancing",] == 0
    assert found["kafka_connect_worker_rebalance_completed_rebalances_total",] == 2
    assert found["kafka_connect_worker_rebalance_epoch",] == 4
    assert found["kafka_connect_worker_rebalance_rebalance_avg_time_ms",] == 2000
    assert found["kafka_connect_worker_rebalance_rebalance_max_time_ms",] == 3000
    assert 0 <= found["kafka_connect_worker_rebalance_time_since_last_rebalance_ms",] < 60_000
    assert found["kafka_connect_worker_connector_startup_success_total",] == 1
    assert found["kafka_connect_worker_task_startup_failure_total",] == 1


def test_rest_requests_are_timed_by_route() -> None:
    metrics = Metrics(list)
    metrics.observe_request("GET", "/connectors/{name}", 200, 0.02)
    metrics.observe_request("GET", "/connectors/{name}", 200, 0.04)
    found = samples(metrics)
    assert found["seamark_rest_request_seconds_count", "GET", "/connectors/{name}", "200"] == 2
    assert found["seamark_rest_request_seconds_sum", "GET", "/connectors/{name}", "200"] == pytest.approx(0.06)


def test_two_workers_in_one_process_do_not_share_metrics() -> None:
    one, other = Metrics(list), Metrics(lambda: [view()])
    one.connector_started(ok=True)
    assert samples(other)["kafka_connect_worker_connector_startup_success_total",] == 0
    assert samples(one)["kafka_connect_worker_connector_count",] == 0


def test_every_metric_is_documented() -> None:
    progress = TaskProgress(0, records=1, commits=1, batches=1)
    lag = [PartitionProgress({"kafka_topic": "t", "kafka_partition": 0}, {}, {}, 1)]
    views = [view("a", progress=progress), view("b", kind="sink", progress=progress)]
    metrics = Metrics(lambda: views, lambda name: lag)
    metrics.rebalance_completed(1.0)
    metrics.observe_request("GET", "/", 200, 0.1)
    page = DOCS.read_text()
    families = {family.name for family in text_string_to_metric_families(metrics.render().decode())}
    assert len(families) > 40
    undocumented = {name for name in families if f"`{name}" not in page and not name.endswith("_created")}
    assert not undocumented


def test_rates_ratios_and_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(metrics_module.time, "monotonic", lambda: now[0])
    progress = TaskProgress(0)
    views = [ConnectorView(view(progress=progress).status, "source", "some.Class", "1.0", (progress,), True)]
    metrics = Metrics(lambda: views)
    for second in range(1, 301):
        now[0] = 100.0 + second
        progress.records, progress.commits = 50 * second, second
        metrics.sample()
    paused = view(state=State.PAUSED, progress=progress)
    found = samples(metrics)
    assert found["kafka_connect_source_task_source_record_write_rate", "c", "0"] == pytest.approx(50, rel=0.02)
    assert found["kafka_connect_source_task_transaction_size_avg", "c", "0"] == 50
    assert found["kafka_connect_source_task_transaction_size_min", "c", "0"] == 50
    assert found["kafka_connect_connector_task_running_ratio", "c", "0"] == pytest.approx(1)
    views[:] = [paused]
    metrics.sample()
    now[0] += 60
    found = samples(metrics)
    assert found["kafka_connect_connector_task_running_ratio", "c", "0"] == pytest.approx(0.37, abs=0.01)
    assert found["kafka_connect_connector_task_pause_ratio", "c", "0"] == pytest.approx(0.63, abs=0.01)
    assert found["kafka_connect_source_task_source_record_write_rate", "c", "0"] < 20


def test_commits_and_partitions_of_a_sink_task() -> None:
    positions = [{"topic": "t", "partition": number, "offset": 1} for number in range(3)]
    progress = TaskProgress(0, records=5, commits=2, positions=positions)
    found = samples(Metrics(lambda: [view(kind="sink", progress=progress)]))
    assert found["kafka_connect_sink_task_partition_count", "c", "0"] == 3
    assert found["kafka_connect_sink_task_offset_commit_seq_no", "c", "0"] == 2
    assert found["kafka_connect_sink_task_offset_commit_completion_total", "c", "0"] == 2


def test_parts_of_starts_that_failed() -> None:
    metrics = Metrics(list)
    for ok in (True, True, True, False):
        metrics.connector_started(ok=ok)
    found = samples(metrics)
    assert found["kafka_connect_worker_connector_startup_attempts_total",] == 4
    assert found["kafka_connect_worker_connector_startup_success_percentage",] == 0.75
    assert found["kafka_connect_worker_connector_startup_failure_percentage",] == 0.25
