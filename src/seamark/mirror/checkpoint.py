"""MirrorCheckpointConnector: finds the consumer groups of the source, and deals them to tasks."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from seamark.config.configdef import ConfigDef, ConfigValue
from seamark.connector.offsets import Offsets
from seamark.connector.source import SourceConnector
from seamark.connector.versions import VERSION
from seamark.errors import RetriableError
from seamark.kafka.mirror_admin import MirrorAdmin
from seamark.mirror.checkpoint_task import MirrorCheckpointTask
from seamark.mirror.checkpoints import CheckpointRules
from seamark.mirror.config import CheckpointSettings, checkpoint_config_def, validate_checkpoint
from seamark.mirror.internal_topics import create_compacted_topic
from seamark.mirror.offsets import check_checkpoint_offsets
from seamark.mirror.scheduler import Scheduler

log = logging.getLogger(__name__)

_LOADING: Final = "loading initial consumer groups"
_RETRY_S: Final = 5.0


class MirrorCheckpointConnector(SourceConnector):
    """Translates the offsets of consumer groups from one cluster to another."""

    version = VERSION
    task_class = MirrorCheckpointTask

    def __init__(self) -> None:
        self._settings: CheckpointSettings | None = None
        self._scheduler: Scheduler | None = None
        self._groups: frozenset[str] | None = None

    @classmethod
    def config_def(cls) -> ConfigDef:
        return checkpoint_config_def()

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        return validate_checkpoint(config)

    def start(self, config: Mapping[str, str]) -> None:
        self._settings = settings = CheckpointSettings.of(config)
        if not settings.enabled:
            return
        self._topic_filter, self._group_filter = settings.topic_filter(), settings.group_filter()
        self._rules = CheckpointRules(
            settings.policy, settings.source_alias, settings.target_alias, self._topic_filter.should_replicate_topic
        )
        self._source = MirrorAdmin(settings.client("source", "admin", "checkpoint-source-admin"))
        self._target = MirrorAdmin(settings.client("target", "admin", "checkpoint-target-admin"))
        self._scheduler = scheduler = Scheduler(
            f"MirrorCheckpointConnector: {settings.label}", settings.admin_timeout_s
        )
        scheduler.execute(self._create_topic, "creating internal topics")
        scheduler.execute(self._load, _LOADING)
        scheduler.repeat(
            self._refresh, settings.refresh_groups_interval_s, "refreshing consumer groups", is_delayed=True
        )

    def stop(self) -> None:
        if self._scheduler is None:
            return
        self._scheduler.cancel()  # what a step is just waiting for is closed under it
        self._source.close()
        self._target.close()
        self._scheduler.stop()
        self._topic_filter.close()
        self._group_filter.close()

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        settings, groups = self._settings, self._groups
        if settings is None or not settings.enabled:
            return []
        if groups is None:
            raise RetriableError("Timeout while loading consumer groups.")
        interval_s = settings.emit_checkpoints_interval_s
        if interval_s is None or interval_s < 0:
            return []
        return [settings.task_config(some, index) for index, some in enumerate(chunks(sorted(groups), max_tasks))]

    def alter_offsets(self, config: Mapping[str, str], offsets: Offsets) -> bool:
        check_checkpoint_offsets(offsets)
        return True  # tasks do not use them: the checkpoints topic says where they are

    def find_groups(self) -> frozenset[str]:
        """The groups of the source that pass the group filter and have read a topic that passes the topic filter.

        Raises:
            KafkaError: the source cluster refused, or did not answer.
        """
        timeout_s = self._rules_timeout_s()
        listed = [
            group
            for group in self._source.list_groups(timeout_s=timeout_s)
            if self._group_filter.should_replicate_group(group)
        ]
        committed, failed = self._source.committed(listed, timeout_s=timeout_s)
        for group, error in failed.items():
            log.error("Consumer group %s is left out. %s", group, error)
        return frozenset(group for group, offsets in committed.items() if self._rules.concerns(offsets))

    # --- on the scheduler ---------------------------------------------------------------------------------------------

    def _rules_timeout_s(self) -> float:
        return self._settings.admin_timeout_s if self._settings is not None else 0.0

    def _create_topic(self) -> None:
        settings = self._settings
        if settings is not None:
            create_compacted_topic(
                self._target,
                settings.checkpoints_topic,
                settings.checkpoints_topic_replication_factor,
                settings.admin_timeout_s,
            )

    def _load(self) -> None:
        try:
            self._groups = self.find_groups()
        except Exception:
            # Without it there are no tasks; the next refresh may be ten minutes away, or switched off.
            if self._scheduler is not None:
                self._scheduler.execute_async(self._load_late, _LOADING, delay_s=_RETRY_S)
            raise
        log.info("Started with %s consumer groups.", len(self._groups))

    def _load_late(self) -> None:
        if self._groups is None:
            self._load()
            self.context.request_task_reconfiguration()

    def _refresh(self) -> None:
        known = self._groups or frozenset()
        found = self.find_groups()
        if found != known or self._groups is None:
            log.info(
                "Found %s consumer groups. %s are new. %s were removed. Previously had %s.",
                len(found),
                len(found - known),
                len(known - found),
                len(known),
            )
            self._groups = found
            self.context.request_task_reconfiguration()


def chunks(groups: list[str], max_tasks: int) -> list[list[str]]:
    """The groups in as many runs of neighbours as there are tasks, the first ones longer by one where needed."""
    count = min(max_tasks, len(groups))
    made: list[list[str]] = []
    start = 0
    for index in range(count):
        size = len(groups) // count + (index < len(groups) % count)
        made.append(groups[start : start + size])
        start += size
    return made
