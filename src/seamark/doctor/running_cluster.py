"""Checks of a running Connect cluster, Java's or Seamark's, over its REST API."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime

import httpx

from seamark.client import ConnectClient, ExpandedConnector, Settings
from seamark.client.exchange import shown_url
from seamark.config.worker import WorkerConfig
from seamark.doctor import clocks
from seamark.doctor.checks import Check
from seamark.doctor.cluster_checks import ClusterChecks
from seamark.doctor.findings import Finding, Severity, error, ok, skipped
from seamark.doctor.migration import (
    CONNECTORS,
    TAKE_OVER,
    ClassUse,
    TakeOver,
    judge_classes,
    judge_configs,
    judge_states,
    judge_take_over,
    named_classes,
)
from seamark.engine.plugins import Plugins
from seamark.errors import ConnectError, PluginError
from seamark.kafka.clients import worker_client_config
from seamark.kafka.log import LogRecord, TopicLog
from seamark.runtime.plugin_catalog import PluginCatalog
from seamark.runtime.validation import ConfigValidator
from seamark.storage.cluster_state import ConfigLogReducer

WORKER = "running worker"
_DATE_AGE_MS = 5000
"""Servers renew the Date of their answers about once a second, and later if they have much to do."""
_LOOKS, _PAUSE_S = 3, 1.0


class RunningChecks:
    """Of the cluster at a URL."""

    def __init__(
        self,
        settings: Settings,
        worker: WorkerConfig,
        plugins: Plugins,
        timeout_s: float,
        cluster: ClusterChecks | None = None,
    ) -> None:
        """`cluster` is that of the file, if there is a file; its worker is `worker`."""
        self._settings, self._worker, self._plugins = settings, worker, plugins
        self._timeout_s, self._cluster = timeout_s, cluster
        self._url = shown_url(settings.url)
        self._kafka_id = ""
        self._connectors: dict[str, ExpandedConnector] | None = None

    def checks(self) -> Iterator[Check]:
        """All of them; only the first one if nobody answers."""
        limit_s = 4 * self._timeout_s
        yield Check(WORKER, f"asking the worker at {self._url}", self._ask, limit_s)
        if self._connectors is None:
            return
        yield Check(clocks.CHECK, f"looking at the clock of {self._url}", self._clock, limit_s)
        yield Check(CONNECTORS, f"looking at {len(self._connectors)} connectors", self._judge, limit_s)
        if self._cluster is not None and self._cluster.cluster is not None:
            yield Check(TAKE_OVER, "reading the config topic", self._take_over, limit_s)

    def _ask(self) -> list[Finding]:
        try:
            with ConnectClient(self._settings) as client:
                info, what = client.server_info(), client.capabilities()
                self._connectors = client.expanded()
        except ConnectError as problem:
            return [
                error(WORKER, problem.message, "Name the REST address of a running worker with `--url`, and log in.")
            ]
        self._kafka_id = info.kafka_cluster_id
        name = f"Seamark {what.version}" if what.is_seamark else f"Kafka Connect {info.version}"
        return [
            ok(WORKER, f"{self._url} is {name} on Kafka cluster {self._kafka_id}: {len(self._connectors)} connectors.")
        ]

    def _clock(self) -> list[Finding]:
        found: list[Finding] = []
        with httpx.Client(**self._settings.http_options()) as client:
            for attempt in range(_LOOKS):
                if attempt:
                    time.sleep(_PAUSE_S)
                found = [self._told_time(client)]
                if found[0].severity is not Severity.WARNING:
                    break
        return found

    def _told_time(self, client: httpx.Client) -> Finding:
        before = time.time_ns() // 1_000_000
        answer = client.get(self._settings.url)
        after = time.time_ns() // 1_000_000
        told = answer.headers.get("date")
        if told is None:
            return skipped(clocks.CHECK, f"{self._url} does not tell its time: its answers have no Date.")
        told_ms = int(parsedate_to_datetime(told).timestamp() * 1000)
        return clocks.judge_skew(self._url, clocks.Skew.of(before, after, told_ms, _DATE_AGE_MS))

    def _configs(self) -> dict[str, Mapping[str, str | None]]:
        found = self._connectors or {}
        return {name: each.info.config for name, each in sorted(found.items()) if each.info is not None}

    def _judge(self) -> list[Finding]:
        configs = self._configs()
        if not configs:
            return [ok(CONNECTORS, f"{self._url} has no connectors.")]
        used: dict[tuple[str, str], list[str]] = {}
        for name, config in configs.items():
            for use in dict.fromkeys(named_classes(config)):
                used.setdefault(use, []).append(name)
        validator = ConfigValidator(self._plugins, self._worker)
        uses = [
            ClassUse(kind, cls, names, _is_known(validator.catalog, kind, cls)) for (kind, cls), names in used.items()
        ]
        unknown = {name for use in uses if not use.is_known for name in use.connectors}
        judged = {name: config for name, config in configs.items() if name not in unknown}
        problems = {name: messages for name, config in judged.items() if (messages := _refusals(validator, config))}
        failed = [name for name, each in sorted((self._connectors or {}).items()) if _is_failed(each)]
        return [
            *judge_classes(uses),
            *judge_configs(problems, len(judged)),
            *judge_states(failed, self._url),
        ]

    def _take_over(self) -> list[Finding]:
        assert self._cluster is not None and self._cluster.cluster is not None  # noqa: S101 - for the type checker
        topic = self._worker.config_storage_topic
        is_there = bool(self._cluster.inspector.describe_topics([topic], timeout_s=self._timeout_s))
        facts = TakeOver(
            self._url,
            sorted(self._connectors or {}),
            self._kafka_id,
            self._cluster.cluster.cluster_id,
            topic,
            self._stored(topic) if is_there else None,
        )
        return [judge_take_over(facts)]

    def _stored(self, topic: str) -> list[str]:
        """The connectors that a config topic has; it is only read."""
        reducer = ConfigLogReducer()

        def take(record: LogRecord) -> None:
            if record.key is not None:
                reducer.apply(record.key.decode("utf-8", "replace"), record.value, record.offset)

        consumer = {**worker_client_config("consumer", self._worker.raw), "isolation.level": "read_committed"}
        log = TopicLog(topic, consumer_config=consumer, on_record=take)
        try:
            log.start(2 * self._timeout_s)
            return sorted(reducer.snapshot().connectors)
        finally:
            with suppress(ConnectError):
                log.stop()


def _is_known(catalog: PluginCatalog, kind: str, class_name: str) -> bool:
    try:
        catalog.find(kind, class_name)
    except PluginError:
        return False
    return True


def _refusals(validator: ConfigValidator, config: Mapping[str, str | None]) -> list[str]:
    try:
        return validator.validate(config, resolves=False).errors
    except ConnectError as problem:
        return [problem.message]


def _is_failed(connector: ExpandedConnector) -> bool:
    status = connector.status
    return status is not None and "FAILED" in (status.connector.state, *(task.state for task in status.tasks))
