"""MirrorSourceConnector: copies the topics of one Kafka cluster to another, as MirrorMaker 2 does.

The connector, in the worker, looks at both clusters: it creates and widens the copies, keeps their settings and ACLs
in step, and deals the partitions to tasks. `MirrorSourceTask` copies the records.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from seamark.config.configdef import ConfigDef, ConfigValue
from seamark.connector.offsets import Offsets
from seamark.connector.source import ExactlyOnceSupport, SourceConnector
from seamark.connector.versions import VERSION
from seamark.errors import KafkaError
from seamark.kafka.admin import Admin
from seamark.kafka.mirror_admin import MirrorAdmin
from seamark.kafka.topic_partitions import TopicPartition
from seamark.mirror.config import SourceSettings, source_config_def, uses_read_committed, validate_source
from seamark.mirror.internal_topics import create_compacted_topic
from seamark.mirror.offsets import check_source_offsets, source_partition
from seamark.mirror.positions import MirrorPositions
from seamark.mirror.scheduler import Scheduler
from seamark.mirror.source_task import MirrorSourceTask
from seamark.mirror.topic_identity import LOOK_S as LOOK_AT_IDS_S
from seamark.mirror.topic_identity import TopicIdentity, note_altered
from seamark.mirror.topic_sync import TopicSync, redeal

log = logging.getLogger(__name__)

LOOK_S = 5.0  # what a look for work, of which there are two a second, waits for the source at most


class MirrorSourceConnector(SourceConnector):
    """Plans which task copies which partitions of the source cluster."""

    version = VERSION
    task_class = MirrorSourceTask

    def __init__(self) -> None:
        self._settings: SourceSettings | None = None
        self._scheduler: Scheduler | None = None
        self._topics: TopicSync | None = None
        self._identity: TopicIdentity | None = None
        self._source: MirrorAdmin | None = None
        self._target: MirrorAdmin | None = None
        self._looker: Admin | None = None
        self._look = threading.Lock()
        self._shares: list[list[TopicPartition]] = []
        self._seen: tuple[dict[TopicPartition, int], dict[TopicPartition, int]] | None = None

    @classmethod
    def config_def(cls) -> ConfigDef:
        return source_config_def()

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        return validate_source(config)

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED if uses_read_committed(config) else ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(self, config: Mapping[str, str], offsets: Offsets) -> bool:
        check_source_offsets(offsets)
        if hasattr(self, "context"):  # set by the runtime, but not by everybody who asks only this
            note_altered(self.context.memory, offsets)
        return True

    def positions(self, config: Mapping[str, str]) -> MirrorPositions:
        return MirrorPositions(config)

    def start(self, config: Mapping[str, str]) -> None:
        self._settings = settings = SourceSettings.of(config)
        if not settings.enabled:
            return
        self._source = MirrorAdmin(settings.client("source", "admin", "replication-source-admin"))
        self._target = MirrorAdmin(settings.client("target", "admin", "replication-target-admin"))
        self._topics = topics = TopicSync(settings, self._source, self._target, raise_error=self.context.raise_error)
        self._scheduler = scheduler = Scheduler(type(self).__name__, settings.admin_timeout_s)
        if settings.emit_offset_syncs:
            scheduler.execute(self._create_offset_syncs_topic, "creating upstream offset-syncs topic")
        scheduler.execute(topics.load, "loading initial set of topic-partitions")
        self._identity = TopicIdentity(settings, self._source, self.context.memory)
        self._identity.check(topics.source_partitions)
        scheduler.execute(topics.create_missing, "creating downstream topic-partitions")
        scheduler.execute(topics.refresh_target, "refreshing known target topics")
        scheduler.repeat(topics.sync_topic_acls, settings.sync_topic_acls_interval_s, "syncing topic ACLs")
        scheduler.repeat(topics.sync_topic_configs, settings.sync_topic_configs_interval_s, "syncing topic configs")
        scheduler.repeat(self._refresh, settings.refresh_topics_interval_s, "refreshing topics", is_delayed=True)
        # Not later than the topics themselves are looked at, if somebody wants that often.
        refresh_s = settings.refresh_topics_interval_s
        interval_s = min(refresh_s, LOOK_AT_IDS_S) if refresh_s is not None and refresh_s > 0 else LOOK_AT_IDS_S
        scheduler.repeat(self._look_at_ids, interval_s, "comparing topics' ids", is_delayed=True)

    def stop(self) -> None:
        if self._scheduler is not None:
            self._scheduler.stop()
        if self._topics is not None:
            self._topics.close()
        for admin in (self._source, self._target):
            if admin is not None:
                admin.close()
        with self._look:
            if self._looker is not None:
                self._looker.close()
                self._looker = None

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        if self._settings is None or self._topics is None:
            return []
        self._shares = redeal(self._shares, self._topics.source_partitions, max_tasks)
        return [self._task_config(share, index) for index, share in enumerate(self._shares)]

    def _task_config(self, share: list[TopicPartition], index: int) -> dict[str, str]:
        if self._settings is None or self._identity is None:
            return {}
        return self._settings.task_config(share, index, self._identity.of(share), self._identity.lost(share))

    def has_work(self, config: Mapping[str, str], offsets: Offsets) -> bool | None:
        if self._settings is None or self._topics is None:
            return None
        alias = self._settings.source_alias
        next_offsets: dict[TopicPartition, int] = {}
        for where in self._topics.source_partitions:
            offset = offsets.get(source_partition(alias, where.topic, where.partition))
            if offset is None:
                return True  # where it begins is the task's to find out
            last = offset.get("offset")
            next_offsets[where] = last + 1 if isinstance(last, int) else 0
        try:
            with self._look:
                if self._looker is None:
                    self._looker = Admin(self._settings.client("source", "admin", "replication-source-admin"))
                ends = self._looker.list_offsets(
                    dict.fromkeys(next_offsets, "latest"), is_committed=uses_read_committed(config), timeout_s=LOOK_S
                )
        except KafkaError as error:
            log.warning("[%s] the ends of its source partitions cannot be read: %s", self.context.name, error)
            return True
        # Behind the last record there may be markers of transactions, which nobody reads: ends that an epoch has found
        # nothing before are no work.
        seen, self._seen = self._seen, (next_offsets, ends)
        return self._seen != seen and ends != next_offsets

    def _create_offset_syncs_topic(self) -> None:
        settings = self._settings
        if settings is None:
            return
        admin = self._source if settings.offset_syncs_location == "source" else self._target
        if admin is not None:
            create_compacted_topic(
                admin,
                settings.offset_syncs_topic,
                settings.offset_syncs_topic_replication_factor,
                settings.admin_timeout_s,
            )

    def _refresh(self) -> None:
        if self._topics is not None and self._topics.refresh():
            self.context.request_task_reconfiguration()

    def _look_at_ids(self) -> None:
        if self._topics is not None and self._identity is not None:
            if self._identity.has_changed(self._topics.source_partitions):
                self.context.request_restart()
