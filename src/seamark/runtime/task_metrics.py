"""The metrics of connectors and tasks, as families that Prometheus reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric

from seamark.runtime.task_totals import ConnectorView, StateTimes, Totals

STATES: Final = ("unassigned", "running", "paused", "failed", "restarting", "stopped")
Key = tuple[str, int]
"""Connector and task."""

_ERRORS: Final = {
    "total_record_failures": "Operations on records that failed.",
    "total_record_errors": "Records that could not be processed.",
    "total_records_skipped": "Records that were skipped because of errors.",
    "total_retries": "Operations that were tried again.",
    "total_errors_logged": "Errors that were logged.",
    "deadletterqueue_produce_requests": "Records sent to the dead-letter topic.",
    "deadletterqueue_produce_failures": "Records that could not be sent to the dead-letter topic.",
    "last_error_timestamp": "When the last error was, in milliseconds since 1970.",
}
_TASK: Final = ["connector", "task"]
_GENERAL: Final = {
    "offset_commit_avg_time_ms": "Average time of commits.",
    "offset_commit_max_time_ms": "Longest time of a commit.",
    "batch_size_avg": "Average number of records per commit.",
    "batch_size_max": "Largest number of records per commit.",
}
_SOURCE: Final = {
    "source_record_poll_rate": "Records that the task produces, per second.",
    "source_record_write_rate": "Records that are written to Kafka, per second.",
    "poll_batch_avg_time_ms": "Average time of a poll.",
    "poll_batch_max_time_ms": "Longest time of a poll.",
    "transaction_size_avg": "Average number of records per transaction.",
    "transaction_size_max": "Largest number of records per transaction.",
    "transaction_size_min": "Smallest number of records per transaction.",
}
_SINK: Final = {
    "sink_record_read_rate": "Records that are read from Kafka, per second.",
    "sink_record_send_rate": "Records that are given to the task, per second.",
    "put_batch_avg_time_ms": "Average time of a put.",
    "put_batch_max_time_ms": "Longest time of a put.",
    "partition_count": "Partitions that the task has read from.",
    "offset_commit_seq_no": "Commits since the task started.",
    "offset_commit_completion_rate": "Commits of offsets, per second.",
}
_COUNTED: Final = {
    "source": {
        "source_record_poll": "Records that the task has produced.",
        "source_record_write": "Records that were written to Kafka.",
    },
    "sink": {
        "sink_record_read": "Records that were read from Kafka.",
        "sink_record_send": "Records that were given to the task.",
        "offset_commit_completion": "Commits of offsets.",
    },
}


def connector_families(views: Sequence[ConnectorView]) -> Iterator[Metric]:
    """What connectors are, and how many tasks they have in which state."""
    prefix = "kafka_connect_connector"
    info = InfoMetricFamily(prefix, "Class, type and version of a connector.", labels=["connector"])
    status = GaugeMetricFamily(f"{prefix}_status", "1 for the state it is in.", labels=["connector", "status"])
    total = GaugeMetricFamily(
        "kafka_connect_worker_connector_total_task_count", "Tasks of a connector.", labels=["connector"]
    )
    counts = {
        state: GaugeMetricFamily(
            f"kafka_connect_worker_connector_{state}_task_count", f"Tasks that are {state}.", labels=["connector"]
        )
        for state in (*STATES, "destroyed")
        if state != "stopped"
    }
    for view in views:
        name = view.status.name
        described = {"class": view.class_name, "type": view.type, "version": view.version or "undefined"}
        info.add_metric([name], described)
        for state in STATES:
            status.add_metric([name, state], view.status.state.value.lower() == state)
        total.add_metric([name], len(view.status.tasks))
        for state, family in counts.items():
            family.add_metric([name], sum(task.state.value.lower() == state for task in view.status.tasks))
    yield from (info, status, total, *counts.values())


def task_families(
    views: Sequence[ConnectorView], totals: Mapping[Key, Totals], times: Mapping[Key, StateTimes], now: float
) -> Iterator[Metric]:
    """What tasks are and have done."""
    prefix = "kafka_connect_connector_task"
    status = GaugeMetricFamily(f"{prefix}_status", "1 for the state it is in.", labels=[*_TASK, "status"])
    running = GaugeMetricFamily(f"{prefix}_running_ratio", "Part of the time that it ran.", labels=_TASK)
    paused = GaugeMetricFamily(f"{prefix}_pause_ratio", "Part of the time that it was paused.", labels=_TASK)
    commits = CounterMetricFamily("seamark_task_offset_commits", "Commits of offsets.", labels=_TASK)
    written = CounterMetricFamily("seamark_task_bytes", "Bytes of record values, read or written.", labels=_TASK)
    gauges = {
        **_gauges(prefix, _GENERAL),
        **_gauges("kafka_connect_source_task", _SOURCE),
        **_gauges("kafka_connect_sink_task", _SINK),
    }
    counters = {
        name: CounterMetricFamily(f"kafka_connect_{kind}_task_{name}", text, labels=_TASK)
        for kind, texts in _COUNTED.items()
        for name, text in texts.items()
    }
    for view in views:
        connector = view.status.name
        for task in view.status.tasks:
            at = [connector, str(task.id)]
            for state in STATES:
                status.add_metric([*at, state], task.state.value.lower() == state)
            known = times.get((connector, task.id))
            if known is not None:
                ratios = known.ratios(now)
                running.add_metric(at, ratios[0])
                paused.add_metric(at, ratios[1])
        for progress in view.progress:
            at, done = [connector, str(progress.task)], totals[connector, progress.task]
            commits.add_metric(at, done.commits)
            written.add_metric(at, done.bytes)
            figures, counts = _figures(view, done)
            for name, value in figures.items():
                gauges[name].add_metric(at, value)
            for name, value in counts.items():
                counters[name].add_metric(at, value)
    yield from (status, running, paused, commits, written, *gauges.values(), *counters.values())


def _gauges(prefix: str, texts: Mapping[str, str]) -> dict[str, GaugeMetricFamily]:
    return {name: GaugeMetricFamily(f"{prefix}_{name}", text, labels=_TASK) for name, text in texts.items()}


def _figures(view: ConnectorView, done: Totals) -> tuple[dict[str, float], dict[str, float]]:
    """Gauges and counters of one task, by what their names end with."""
    gauges: dict[str, float] = {}
    if done.commits:
        gauges |= {
            "offset_commit_avg_time_ms": done.commit_ms / done.commits,
            "offset_commit_max_time_ms": done.commit_max_ms,
            "batch_size_avg": done.records / done.commits,
            "batch_size_max": done.largest_batch,
        }
    is_source = view.type == "source"
    if done.batches:
        verb = "poll" if is_source else "put"
        gauges |= {
            f"{verb}_batch_avg_time_ms": done.batch_ms / done.batches,
            f"{verb}_batch_max_time_ms": done.batch_max_ms,
        }
    rate, skipping = done.record_rate.value, done.skip_rate.value
    if is_source:
        gauges |= {"source_record_poll_rate": rate + skipping, "source_record_write_rate": rate}
        if view.is_transactional and done.smallest_batch is not None:
            gauges |= {
                "transaction_size_avg": done.records / done.commits,
                "transaction_size_max": done.largest_batch,
                "transaction_size_min": done.smallest_batch,
            }
        return gauges, {"source_record_poll": done.records + done.skipped, "source_record_write": done.records}
    gauges |= {
        "sink_record_read_rate": rate,
        "sink_record_send_rate": max(0.0, rate - skipping),
        "partition_count": done.partitions,
        "offset_commit_seq_no": done.last.commits,
        "offset_commit_completion_rate": done.commit_rate.value,
    }
    return gauges, {
        "sink_record_read": done.records,
        "sink_record_send": max(0, done.records - done.skipped),
        "offset_commit_completion": done.commits,
    }


def error_families(totals: Mapping[Key, Totals]) -> Iterator[Metric]:
    """Errors, by Connect's names; that most have no `_total` at the end is why they are no counters to Prometheus."""
    for name, text in _ERRORS.items():
        family = GaugeMetricFamily(f"kafka_connect_task_error_{name}", text, labels=_TASK)
        for (connector, task), done in totals.items():
            family.add_metric([connector, str(task)], done.errors.get(name, 0))
        yield family
