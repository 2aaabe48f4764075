"""Where each partition of a connector is, and how far behind: what `GET /connectors/{name}/progress` shows."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping, Sequence

from seamark.connector.sink import TopicPartition
from seamark.engine.stage import TaskProgress
from seamark.errors import KafkaError
from seamark.runtime.herder import ConnectorProgress, PartitionProgress
from seamark.runtime.worker import Worker

log = logging.getLogger(__name__)
ENDS_S = 5.0


def partition_progress(
    worker: Worker, name: str, config: Mapping[str, str | None], tasks: Sequence[TaskProgress]
) -> ConnectorProgress:
    """The progress of a connector that runs here: per task as reported, per partition with the end of its log."""
    shown = [dataclasses.asdict(task) for task in tasks]
    sinks: dict[TopicPartition, int] = {}
    partitions: list[PartitionProgress] = []
    for task in tasks:
        for entry in task.positions:
            if "topic" in entry:
                sinks[TopicPartition(entry["topic"], entry["partition"])] = entry["offset"]
            else:
                partitions.append(PartitionProgress(entry["partition"], entry["offset"]))
    ends = _ends(worker, name, config, sinks) if sinks else {}
    for where, offset in sorted(sinks.items()):
        end = ends.get(where)
        partitions.append(
            PartitionProgress(
                {"kafka_topic": where.topic, "kafka_partition": where.partition},
                {"kafka_offset": offset},
                None if end is None else {"kafka_offset": end},
                None if end is None else max(0, end - offset),
            )
        )
    return ConnectorProgress(name, shown, partitions)


def _ends(
    worker: Worker, name: str, config: Mapping[str, str | None], partitions: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    try:
        with worker.admin_of(name, worker.resolved(name, config)) as admin:
            return admin.list_offsets(dict.fromkeys(partitions, "latest"), is_committed=True, timeout_s=ENDS_S)
    except KafkaError as error:
        log.warning("[%s] the ends of its partitions cannot be read: %s", name, error)
        return {}
