"""MirrorHeartbeatConnector: a record every interval, which shows at the other end of a flow that it flows."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from seamark.config.configdef import ConfigDef, ConfigValue
from seamark.connector.offsets import Offsets
from seamark.connector.records import SourceRecord
from seamark.connector.schema import BYTES_SCHEMA
from seamark.connector.source import SourceConnector, SourceTask
from seamark.connector.versions import VERSION
from seamark.kafka.mirror_admin import MirrorAdmin
from seamark.mirror.config import HeartbeatSettings, heartbeat_config_def, validate_heartbeat
from seamark.mirror.internal_topics import create_compacted_topic
from seamark.mirror.offsets import check_heartbeat_offsets, heartbeat_partition, source_offset
from seamark.mirror.scheduler import Scheduler
from seamark.mirror.wire import Heartbeat

IDLE_POLL_S: Final = 0.5  # the longest that a poll waits: the engine commits and renews its lease between polls


class MirrorHeartbeatTask(SourceTask):
    """Writes heartbeats."""

    def start(self, config: Mapping[str, str], offsets: Offsets) -> None:
        self._settings = settings = HeartbeatSettings.of(config)
        self._topic = settings.heartbeats_topic
        self._interval_s = max(0.0, settings.emit_heartbeats_interval_s or 0.0)
        self._partition = heartbeat_partition(settings.source_alias, settings.target_alias)
        self._due_s = time.monotonic() + self._interval_s

    def poll(self) -> list[SourceRecord] | None:
        wait_s = self._due_s - time.monotonic()
        if wait_s > 0:
            time.sleep(min(wait_s, IDLE_POLL_S))
            if wait_s > IDLE_POLL_S:
                return None
        # At a fixed rate while that can be kept; heartbeats that were missed are not made up for.
        self._due_s = max(self._due_s + self._interval_s, time.monotonic())
        heartbeat = Heartbeat(self._settings.source_alias, self._settings.target_alias, time.time_ns() // 1_000_000)
        return [
            SourceRecord(
                self._topic,
                heartbeat.value(),
                heartbeat.key(),
                value_schema=BYTES_SCHEMA,
                key_schema=BYTES_SCHEMA,
                kafka_partition=0,
                timestamp=heartbeat.timestamp_ms,
                source_partition=self._partition,
                source_offset=source_offset(0),
            )
        ]


class MirrorHeartbeatConnector(SourceConnector):
    """Writes heartbeats to the target, in one task however many are allowed."""

    version = VERSION
    task_class = MirrorHeartbeatTask

    def __init__(self) -> None:
        self._settings: HeartbeatSettings | None = None
        self._scheduler: Scheduler | None = None

    @classmethod
    def config_def(cls) -> ConfigDef:
        return heartbeat_config_def()

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        return validate_heartbeat(config)

    def start(self, config: Mapping[str, str]) -> None:
        self._settings = settings = HeartbeatSettings.of(config)
        self._target = target = MirrorAdmin(settings.client("target", "admin", "heartbeats-target-admin"))
        self._scheduler = Scheduler(f"MirrorHeartbeatConnector: {settings.label}", settings.admin_timeout_s)
        self._scheduler.execute(
            lambda: create_compacted_topic(
                target,
                settings.heartbeats_topic,
                settings.heartbeats_topic_replication_factor,
                settings.admin_timeout_s,
            ),
            "creating internal topics",
        )

    def stop(self) -> None:
        if self._scheduler is None:
            return
        self._scheduler.cancel()
        self._target.close()
        self._scheduler.stop()

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        settings = self._settings
        if settings is None or settings.emit_heartbeats_interval_s is None or settings.emit_heartbeats_interval_s < 0:
            return []
        return [dict(settings.config)]

    def alter_offsets(self, config: Mapping[str, str], offsets: Offsets) -> bool:
        check_heartbeat_offsets(offsets)
        return True  # they mean nothing: there is nothing to go on from
