"""Checks of a mirror-maker file: its clusters, the workers of its flows, and what they copy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack

from seamark.config.worker import WorkerConfig
from seamark.doctor.checks import Check, unchecked
from seamark.doctor.cluster_checks import ClusterChecks
from seamark.doctor.findings import Finding, Severity, error, ok
from seamark.doctor.internal_topics import CHECK as TOPICS
from seamark.doctor.internal_topics import WantedTopic
from seamark.doctor.mirror_file import CHECK, FLOW, FlowFacts, judge_connectors, judge_flow, judge_keys
from seamark.doctor.references import resolved
from seamark.doctor.worker_checks import WorkerChecks
from seamark.errors import ConfigError
from seamark.kafka.topic_partitions import TopicSpec
from seamark.mirror.config import (
    CheckpointSettings,
    HeartbeatSettings,
    SourceSettings,
    validate_checkpoint,
    validate_heartbeat,
    validate_source,
)
from seamark.mirror.maker_config import CONNECTORS, MirrorMakerConfig, SourceAndTarget

_SOURCE, _HEARTBEAT, _CHECKPOINT = CONNECTORS
_VALIDATORS = {_SOURCE: validate_source, _HEARTBEAT: validate_heartbeat, _CHECKPOINT: validate_checkpoint}
_SHARED = ("spark.", "seamark.")


class MirrorChecks:
    """Of all flows of a file."""

    def __init__(self, properties: Mapping[str, str], timeout_s: float, closing: ExitStack) -> None:
        self._properties, self._timeout_s, self._closing = dict(properties), timeout_s, closing
        self._maker: MirrorMakerConfig | None = None
        self._flows: list[SourceAndTarget] = []
        self._clusters: dict[str, ClusterChecks] = {}

    def checks(self, *, writes: bool) -> Iterator[Check]:
        """All of them; with `writes` also those that write a record."""
        yield Check(CHECK, "reading the flows", self._read, self._timeout_s)
        if self._maker is None:
            return
        for alias in dict.fromkeys(name for flow in self._flows for name in (flow.source, flow.target)):
            cluster = ClusterChecks(self._maker.client_config(alias), self._timeout_s, alias)
            self._closing.callback(cluster.close)
            self._clusters[alias] = cluster
            yield from cluster.checks()
        for flow in self._flows:
            yield from self._flow_checks(self._maker, flow, writes)

    def worker_config(self) -> WorkerConfig | None:
        """Of the first flow, whose Spark all share; None if the file makes no sense."""
        return None if self._maker is None or not self._flows else self._worker(self._maker, self._flows[0])

    def _read(self) -> list[Finding]:
        try:
            maker = MirrorMakerConfig(self._properties)
            flows = maker.flows()
            reports = {
                f"{name} of {flow}": list(_VALIDATORS[name](self._connector(maker, flow, name)))
                for flow in flows
                for name in CONNECTORS
            }
            for flow in flows:
                self._worker(maker, flow)
        except ConfigError as problem:
            return [error(CHECK, problem.message, f"Correct `{problem.key}`." if problem.key else "Correct the file.")]
        self._maker, self._flows = maker, flows
        found = [*judge_keys(self._properties, maker.clusters), *judge_connectors(reports)]
        if all(each.severity is Severity.OK for each in found):
            found.insert(0, ok(CHECK, f"{len(flows)} flows: {', '.join(map(str, flows))}."))
        return found

    def _flow_checks(self, maker: MirrorMakerConfig, flow: SourceAndTarget, writes: bool) -> Iterator[Check]:
        source, target = self._clusters[flow.source], self._clusters[flow.target]
        if source.cluster is None or target.cluster is None:
            away = flow.source if source.cluster is None else flow.target
            yield unchecked(FLOW, f"Not looked at: {away} cannot be reached.", str(flow))
            return
        config = self._worker(maker, flow)
        worker = WorkerChecks(config, target, self._timeout_s, str(flow))
        yield from worker.checks(writes=writes)
        limit_s = 6 * self._timeout_s
        yield Check(
            TOPICS, "looking at the topics of mirrors", lambda: self._own_topics(maker, flow), limit_s, str(flow)
        )
        yield Check(FLOW, "looking at what is copied", lambda: self._copied(maker, flow), limit_s, str(flow))

    def _own_topics(self, maker: MirrorMakerConfig, flow: SourceAndTarget) -> list[Finding]:
        """Heartbeats, checkpoints and offset syncs."""
        source = SourceSettings.of(self._connector(maker, flow, _SOURCE))
        checkpoint = CheckpointSettings.of(self._connector(maker, flow, _CHECKPOINT))
        heartbeat = HeartbeatSettings.of(self._connector(maker, flow, _HEARTBEAT))
        on_target = [
            _wanted(heartbeat.heartbeats_topic, heartbeat.heartbeats_topic_replication_factor, "heartbeats", False)
        ]
        on_source: list[WantedTopic] = []
        if source.enabled:
            on_target.append(
                _wanted(checkpoint.checkpoints_topic, checkpoint.checkpoints_topic_replication_factor, "checkpoints")
            )
            syncs = _wanted(source.offset_syncs_topic, source.offset_syncs_topic_replication_factor, "offset-syncs")
            (on_source if source.offset_syncs_location == "source" else on_target).append(syncs)
        config = self._worker(maker, flow)
        found = WorkerChecks(config, self._clusters[flow.target], self._timeout_s).topics(on_target)
        if on_source:
            found += WorkerChecks(config, self._clusters[flow.source], self._timeout_s).topics(on_source)
        return found

    def _copied(self, maker: MirrorMakerConfig, flow: SourceAndTarget) -> list[Finding]:
        settings = SourceSettings.of(self._connector(maker, flow, _SOURCE))
        source, target = self._clusters[flow.source].cluster, self._clusters[flow.target].cluster
        assert source is not None and target is not None  # noqa: S101 - for the type checker
        topics = self._clusters[flow.source].inspector.list_topics(timeout_s=self._timeout_s)
        chosen = settings.topic_filter()
        try:
            copied = [
                topic
                for topic in sorted(topics)
                if chosen.should_replicate_topic(topic) and not settings.policy.is_internal_topic(topic)
            ]
        finally:
            chosen.close()
        return judge_flow(
            FlowFacts(
                str(flow),
                settings.enabled,
                copied,
                settings.replication_factor,
                len(target.brokers),
                source.cluster_id == target.cluster_id,
                settings.config.get("topics", ".*"),
            )
        )

    def _connector(self, maker: MirrorMakerConfig, flow: SourceAndTarget, name: str) -> dict[str, str]:
        config = maker.connector_config(flow, next(each for each in CONNECTORS if each == name))
        return resolved(self._properties, config)

    def _worker(self, maker: MirrorMakerConfig, flow: SourceAndTarget) -> WorkerConfig:
        shared = {key: value for key, value in self._properties.items() if key.startswith(_SHARED)}
        return WorkerConfig({**shared, **maker.worker_config(flow)})


def _wanted(topic: str, factor: int, kind: str, is_single: bool = True) -> WantedTopic:
    spec = TopicSpec(topic, 1, factor, {"cleanup.policy": "compact"})
    return WantedTopic("", f"{kind}.topic.replication.factor", spec, is_single=is_single)
