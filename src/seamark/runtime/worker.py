"""A worker: one Spark session, one lease server, the offset store, and the runners of its connectors.

It decides nothing about which connectors should run: that is a herder's business. It can run one, stop one and say
how it is.
"""

from __future__ import annotations

import functools
import logging
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from seamark.config import connector as connector_config
from seamark.config.providers import Providers
from seamark.config.worker import WorkerConfig
from seamark.connector.connector import Connector
from seamark.connector.frame import FrameSink, FrameSource
from seamark.connector.source import ExactlyOnceSupport, SourceConnector
from seamark.engine.frame_chain import check_transforms
from seamark.engine.lease_server import LeaseServer
from seamark.engine.plugins import Plugins
from seamark.engine.stage import Stage, StageEnvironment, TaskProgress
from seamark.engine.watch import WorkWatcher
from seamark.errors import AlreadyExistsError, ConfigError, NotFoundError
from seamark.kafka.admin import Admin
from seamark.kafka.admin_pool import AdminPool
from seamark.kafka.clients import effective_client_config
from seamark.runtime.connector_memory import StoredMemory
from seamark.runtime.runner import ConnectorRunner, Publish, keep_to_oneself, stage_for
from seamark.runtime.spark_holder import SparkHolder
from seamark.runtime.states import ConnectorStatus, State, TargetState
from seamark.storage.layered import ConnectorOffsetStore, offset_store_for, worker_offset_store
from seamark.storage.offsets import OffsetStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)


class Worker:
    """Runs connectors in this process and on its Spark."""

    def __init__(self, config: WorkerConfig, *, spark: SparkSession | SparkHolder | None = None) -> None:
        """`spark` shares a session that the caller stops; without it the worker starts and stops its own."""
        self.providers = Providers.of(config.raw)
        self.config = _with_defaults(WorkerConfig(_texts(self.providers.resolve(config.raw))))
        self.plugins = Plugins(config.plugin_path, config["seamark.plugins.allow"])
        self._owns_spark = not isinstance(spark, SparkHolder)
        self._spark = spark if isinstance(spark, SparkHolder) else SparkHolder(self.config, self.is_spark_used, spark)
        self._leases = LeaseServer(*self._lease_hosts(), has_tls=self.config.advertised_protocol == "https")
        self.admins = AdminPool()
        self._watcher = WorkWatcher(admins=self.admins)
        self._offsets: OffsetStore | None = None
        self._runners: dict[str, ConnectorRunner] = {}
        self._lock = threading.RLock()

    @functools.cached_property
    def rest_tls(self) -> ssl.SSLContext | None:
        """For requests to other workers with https; None if nothing is said about it, then the system's counts."""
        from seamark.config.tls import Tls

        if self.config.advertised_protocol == "http":
            return None
        return Tls(self.config.raw).client_context()

    def _lease_hosts(self) -> tuple[str, str]:
        """What leases are served on, and the name that executors know it by: as for Spark's driver itself."""
        known_as = self.config.raw.get("spark.driver.host", "127.0.0.1")
        return self.config.raw.get("spark.driver.bindAddress", known_as), known_as

    @property
    def spark_holder(self) -> SparkHolder:
        """What starts the session, and gives it back."""
        return self._spark

    @property
    def spark(self) -> SparkSession:
        """The Spark session; waits until it is started."""
        return self._spark.session

    def check_spark(self) -> None:
        """Returns if Spark runs or is still starting.

        Raises:
            ConnectError: it could not be started; the worker can run nothing.
        """
        self._spark.check()

    def is_spark_used(self) -> bool:
        """Whether a connector runs, or is about to."""
        with self._lock:
            return any(runner.target is TargetState.STARTED for runner in self._runners.values())

    @property
    def offsets(self) -> OffsetStore:
        """The worker's own offset store, once started."""
        assert self._offsets is not None, "the worker is not started"  # noqa: S101 - a mistake of the caller
        return self._offsets

    def start(self, *, wait_for_spark: bool = True) -> None:
        """Connect to Kafka and Spark.

        Without `wait_for_spark` it returns while Spark is still starting; the first connector then waits for it, and
        fails if it did not start.
        """
        if self._owns_spark:
            self._spark.start()
        self._offsets = worker_offset_store(self.config.raw)
        self._offsets.start()
        if wait_for_spark:
            self.spark  # noqa: B018 - waits
        self._leases.start()
        self._watcher.start()

    def stop(self) -> None:
        """Stop every connector cleanly, then everything else."""
        with self._lock:
            runners = list(self._runners.values())
            self._runners.clear()
        closers = [threading.Thread(target=runner.close, name=f"close-{runner.name}") for runner in runners]
        for closer in closers:
            closer.start()
        for closer in closers:
            closer.join()
        self._watcher.stop()
        self._leases.stop()
        if self._offsets is not None:
            self._offsets.stop()
        if self._owns_spark:
            self._spark.stop()
        self.providers.close()

    # connectors

    def start_connector(
        self,
        name: str,
        config: Mapping[str, str | None],
        target: TargetState = TargetState.STARTED,
        on_status: Callable[[ConnectorStatus], None] = lambda status: None,
        *,
        known_tasks: int = 0,
        publish: Publish = keep_to_oneself,
    ) -> ConnectorRunner:
        """Run a connector. Its config may hold references to config providers; they are resolved here and only here.

        Raises:
            AlreadyExistsError: it runs already.
            PluginError: its class is not known.
            ConfigError: its config is not acceptable.
        """
        config = self.resolved(name, config)
        if target is TargetState.STARTED:
            self.check_config(name, config)
        with self._lock:
            if name in self._runners:
                raise AlreadyExistsError(f"Connector {name} already exists")
            runner = self._runners[name] = ConnectorRunner(
                name,
                config,
                make_connector=lambda: self.connector_class(config)(),  # noqa: PLW0108 - fails later, as a FAILED connector
                make_stage=lambda connector, tasks: self._stage(name, config, connector, tasks),
                watch=lambda stage, wake: self._watcher.add(stage, self.admin_config(name, config), wake),
                unwatch=self._watcher.remove,
                await_engine=self._spark.await_session,
                is_usable=lambda stage: self._spark.is_current(stage.environment.spark),
                target=target,
                known_tasks=known_tasks,
                publish=publish,
                retry_timeout_s=self.config.for_connector(config)["seamark.retry.timeout.ms"] / 1000,
                on_status=on_status,
                memory=self.memory_of(name, config),
            )
        runner.start()
        return runner

    def stop_connector(self, name: str) -> None:
        """End a connector and forget it; its offsets stay."""
        runner = self.runner(name)
        runner.close()
        with self._lock:
            self._runners.pop(name, None)

    def set_target(self, name: str, target: TargetState) -> None:
        """Pause, stop or resume a connector."""
        self.runner(name).set_target(target)

    def wait_for(self, name: str, state: State, timeout_s: float = 60.0) -> bool:
        """Wait until a connector is in that state."""
        return self.runner(name).wait_for(state, timeout_s)

    def restart_connector(self, name: str) -> None:
        """Start a connector and its tasks anew."""
        self.runner(name).restart()

    def status(self, name: str) -> ConnectorStatus:
        """What a connector is."""
        return self.runner(name).status()

    def progress(self, name: str) -> list[TaskProgress]:
        """How far a connector is."""
        return self.runner(name).progress()

    @property
    def idle(self) -> int:
        """How many connectors wait for work, without a place on Spark."""
        return self._watcher.watched

    def connectors(self) -> list[str]:
        """The names of this worker's connectors."""
        with self._lock:
            return sorted(self._runners)

    def runner(self, name: str) -> ConnectorRunner:
        """The runner of a connector.

        Raises:
            NotFoundError: there is none; lists those there are.
        """
        with self._lock:
            try:
                return self._runners[name]
            except KeyError:
                known = ", ".join(sorted(self._runners)) or "none"
                raise NotFoundError(f"Connector {name} not found; known connectors: {known}") from None

    def connector_offsets(self, name: str) -> ConnectorOffsetStore:
        """The offset store that a connector uses."""
        return self._store(name, self.runner(name).config)

    def check_config(self, name: str, config: Mapping[str, str]) -> None:
        """Refuse a config that could not run.

        Raises:
            PluginError: the class is not known.
            ConfigError: a key is missing or wrong.
        """
        connector_class = self.connector_class(config)
        for key, refusal in self.plugins.refused_classes(connector_class.config_def(), config).items():
            raise ConfigError(refusal, key=key, value=config[key])
        is_source = issubclass(connector_class, SourceConnector)
        connector_config.check(config, is_source=is_source, plugin=connector_class.config_def())
        for report in connector_class().validate(config):
            if report.errors:
                raise ConfigError(report.errors[0], key=report.name, value=config.get(report.name))
        for kind in ("key", "value"):
            self.plugins.converter(*connector_config.converter_settings(kind, config, self.config), kind == "key")
        self.plugins.header_converter(*connector_config.converter_settings("header", config, self.config))
        self._check_transforms(connector_class, config)
        effective_client_config("producer", self.config.raw, config, connector_name=name, task=None)
        # As in Kafka Connect, a standalone worker does not look at it.
        if is_source and connector_config.exactly_once_required(config) and not self.config.offset_storage_file:
            self._check_exactly_once(connector_class, config)

    def _check_transforms(self, connector_class: type[Connector], config: Mapping[str, str]) -> None:
        is_frame = issubclass(connector_class, FrameSource | FrameSink)
        check_transforms(self.plugins, config, connector=connector_class.__name__, is_frame=is_frame)

    def _check_exactly_once(self, connector_class: type[Connector], config: Mapping[str, str]) -> None:
        if not self.config.exactly_once:
            raise ConfigError(
                "This worker does not have exactly-once source support enabled.", key="exactly.once.support"
            )
        connector = connector_class()
        assert isinstance(connector, SourceConnector)  # noqa: S101 - for the type checker
        if connector.exactly_once_support(config) is not ExactlyOnceSupport.SUPPORTED:
            raise ConfigError(
                "The connector does not support exactly-once semantics with the provided configuration.",
                key="exactly.once.support",
            )

    def connector_class(self, config: Mapping[str, str]) -> type[Connector]:
        """The class that a config names.

        Raises:
            ConfigError: it names none.
            PluginError: it cannot be found or loaded.
        """
        class_name = config.get("connector.class")
        if not class_name:
            raise ConfigError(
                'Missing required configuration "connector.class" which has no default value.', key="connector.class"
            )
        return self.plugins.connector_class(class_name)

    def class_of(self, config: Mapping[str, str | None]) -> type[Connector]:
        """The class of a config that is not resolved: other references in it are not followed, which may be costly.

        Raises:
            ConfigError: it names none, or by a reference that cannot be resolved.
            PluginError: it cannot be found or loaded.
        """
        return self.connector_class(_texts(self.providers.resolve({"connector.class": config.get("connector.class")})))

    @contextmanager
    def admin_of(self, name: str, config: Mapping[str, str]) -> Iterator[Admin]:
        """An admin client for a connector's Kafka, shared with whoever uses the same."""
        admin = self.admins.borrow(self.admin_config(name, config))
        try:
            yield admin
        finally:
            self.admins.give_back(admin)

    def admin_config(self, name: str, config: Mapping[str, str]) -> dict[str, str]:
        """Settings of an admin client for a connector's Kafka, with its resolved config."""
        return effective_client_config("admin", self.config.raw, config, connector_name=name, task=None)

    def resolved(self, name: str, config: Mapping[str, str | None]) -> dict[str, str]:
        """The config that a connector gets: with its name, and with what references to providers stand for.

        Not to be stored or shown.
        """
        return _texts(self.providers.resolve({**config, "name": name}))

    def offset_store(self, name: str, config: Mapping[str, str]) -> ConnectorOffsetStore:
        """The store of a source connector with this config, whether it runs here or not; not started."""
        return self._store(name, config)

    def memory_of(self, name: str, config: Mapping[str, str]) -> StoredMemory:
        """What outlives a source connector with this config."""
        return StoredMemory(name, lambda: self._store(name, config), self.offsets)

    def _store(self, name: str, config: Mapping[str, str]) -> ConnectorOffsetStore:
        return offset_store_for({**config, "name": name}, self.config.raw, self.offsets, self.config.exactly_once)

    def _stage(self, name: str, config: Mapping[str, str], connector: Connector, tasks: list[dict[str, str]]) -> Stage:
        store = self._store(name, config)
        store.start()
        environment = StageEnvironment(
            name=name,
            config=config,
            task_configs=tasks,
            connector=connector,
            worker=self.config,
            spark=self.spark,
            offsets=store,
            plugins=self.plugins,
            leases=self._leases,
            admins=self.admins,
            exactly_once=self.config.exactly_once and isinstance(connector, SourceConnector),
        )
        return stage_for(environment)


def _texts(config: Mapping[str, str | None]) -> dict[str, str]:
    """Without keys that have no value: for a connector they are the same as keys that are not there."""
    return {key: value for key, value in config.items() if value is not None}


def _with_defaults(config: WorkerConfig) -> WorkerConfig:
    """The settings whose defaults other parts, and executors, must agree on, written out."""
    defaults = {"group.id": config.group_id}
    if not config.offset_storage_file:
        defaults["offset.storage.topic"] = config.offset_storage_topic
    return config.with_properties({**defaults, **config.raw})
