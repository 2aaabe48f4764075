"""All checks, in order, for what is known: a worker's file, a mirror-maker file, a running worker."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from seamark.client import Settings
from seamark.config.properties import read_properties
from seamark.config.worker import WorkerConfig
from seamark.doctor import jar_sets, plugins, properties, spark, versions
from seamark.doctor.checks import Check, unchecked
from seamark.doctor.cluster_checks import CONNECT_S, ClusterChecks
from seamark.doctor.findings import Finding, Severity, error, ok
from seamark.doctor.machine import look_at_machine
from seamark.doctor.mirror_checks import MirrorChecks
from seamark.doctor.mirror_file import is_mirror_file
from seamark.doctor.references import resolved
from seamark.doctor.running_cluster import RunningChecks
from seamark.doctor.spark_probe import start_spark
from seamark.doctor.tcp import try_addresses
from seamark.doctor.worker_checks import WorkerChecks
from seamark.engine.plugins import Plugins
from seamark.errors import ConfigError
from seamark.kafka import jars
from seamark.kafka.jar_cache import look_at_jars

SPARK_S: Final = 180.0
_FILES_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Options:
    """What to look at.

    Attributes:
        file: of a worker, or of mirror-maker; which one is told by its content unless `is_mirror` says it.
        is_mirror: the file is one of mirror-maker.
        running: how to reach a running worker.
        timeout_s: for one answer of Kafka or a worker.
        starts_spark: whether Spark is started to see whether it does.
        writes: whether a record may be written, to a topic of its own.
    """

    file: Path | None = None
    is_mirror: bool = False
    running: Settings | None = None
    timeout_s: float = 10.0
    starts_spark: bool = False
    writes: bool = False


class Diagnosis:
    """The checks; each may use what those before it have found."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._properties: dict[str, str] | None = None
        self._worker: WorkerConfig | None = None
        self._is_mirror = options.is_mirror

    def checks(self) -> Iterator[Check]:
        """All of them. Connections are closed after the last one."""
        with ExitStack() as closing:
            yield from self._checks(closing)

    def _checks(self, closing: ExitStack) -> Iterator[Check]:
        options = self._options
        yield Check(versions.CHECK, "asking Python and Java for their versions", _versions, _FILES_S)
        mirrors: MirrorChecks | None = None
        if options.file is not None:
            yield Check(properties.CHECK, f"reading {options.file}", self._read, _FILES_S)
            if self._is_mirror and self._properties is not None:
                mirrors = MirrorChecks(self._properties, options.timeout_s, closing)
                yield from mirrors.checks(writes=options.writes)
                self._worker = mirrors.worker_config()
        yield Check(jar_sets.CHECK, "looking at the jars", self._jars, _FILES_S)
        if options.file is not None and self._worker is None:
            reason = f"Kafka, Spark and plugins were not looked at: {options.file} has to be corrected first."
            yield unchecked(properties.CHECK, reason)
        cluster: ClusterChecks | None = None
        found_plugins = Plugins(None)
        if self._worker is not None:
            found_plugins = Plugins(self._worker.plugin_path, self._worker["seamark.plugins.allow"])
            worker = self._worker
            yield Check(plugins.CHECK, "importing plugins", lambda: _plugins(worker, found_plugins), 2 * _FILES_S)
            if mirrors is None:
                if self._worker.bootstrap_servers:
                    cluster = ClusterChecks(self._worker.raw, options.timeout_s)
                    closing.callback(cluster.close)
                yield from self._worker_checks(self._worker, cluster)
            yield self._spark_check(self._worker)
        if options.running is not None:
            config = self._worker or WorkerConfig({})
            running = RunningChecks(options.running, config, found_plugins, options.timeout_s, cluster)
            yield from running.checks()

    def _worker_checks(self, worker: WorkerConfig, cluster: ClusterChecks | None) -> Iterator[Check]:
        is_standalone = properties.is_standalone(worker.raw)
        if cluster is None:
            yield Check(
                "kafka",
                "looking for bootstrap.servers",
                lambda: [ok("kafka", "bootstrap.servers is not set: the worker starts an embedded Kafka of its own.")],
                1.0,
            )
            return
        yield from cluster.checks(None if is_standalone else worker["session.timeout.ms"])
        if cluster.cluster is not None and not is_standalone:
            yield from WorkerChecks(worker, cluster, self._options.timeout_s).checks(writes=self._options.writes)

    def _spark_check(self, worker: WorkerConfig) -> Check:
        master = worker.spark_master
        if self._options.starts_spark:
            return Check(
                spark.CHECK,
                f"starting Spark on {master}, up to {SPARK_S:g} s",
                lambda: [spark.judge_start(master, start_spark(worker.raw, SPARK_S))],
                SPARK_S + _FILES_S,
            )

        def look() -> list[Finding]:
            connections = try_addresses(spark.addresses_of(master), CONNECT_S)
            return spark.judge_master(master, connections, worker.raw.get("spark.driver.host"), os.environ)

        return Check(spark.CHECK, f"looking for Spark at {master}", look, _FILES_S)

    def _read(self) -> list[Finding]:
        file = self._options.file
        assert file is not None  # noqa: S101 - for the type checker
        try:
            raw = read_properties(file)
        except ConfigError as problem:
            return [error(properties.CHECK, problem.message, f"Give the path of a properties file instead of {file}.")]
        if self._is_mirror or is_mirror_file(raw):
            self._is_mirror, self._properties = True, raw
            return [ok(properties.CHECK, f"{file} is a file of MirrorMaker 2, for `seamark mirror-maker`.")]
        try:
            worker = resolved(raw, raw)
        except ConfigError as problem:
            return [error(properties.CHECK, problem.message, f"Correct `{problem.key or 'config.providers'}`.")]
        found = properties.judge_properties(worker)
        if not any(each.severity is Severity.ERROR for each in found):
            self._worker = WorkerConfig(worker)
        return found

    def _jars(self) -> list[Finding]:
        worker = self._worker or WorkerConfig({})
        needs_broker = not worker.bootstrap_servers and not self._is_mirror
        chosen = [jars.SPARK_KAFKA, *([jars.BROKER] if needs_broker else [])]
        chosen += [jars.PACKAGES[name] for name in worker.spark_packages]
        packages, of_spark = ",".join(worker.spark_packages), worker.raw.get("spark.jars.packages", "")
        return jar_sets.judge_jars(look_at_jars(tuple(chosen)), packages, of_spark)


def _versions() -> list[Finding]:
    return versions.judge_versions(look_at_machine(_FILES_S / 3))


def _plugins(worker: WorkerConfig, found: Plugins) -> list[Finding]:
    return [*plugins.judge_plugins(plugins.look_at_plugins(found)), *plugins.judge_converters(worker, found)]
