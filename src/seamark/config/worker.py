"""The worker's configuration, typed. `seamark.config.worker_keys` defines the keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamark.config.rest_keys import advertised_protocol
from seamark.config.worker_keys import ENGINE_KEYS, WORKER
from seamark.errors import ConfigError

_HIDDEN_PARTS = ("password", "secret", "jaas", "token", "credential", "private", "ssl.key", "keystore.key")


class WorkerConfig:
    """A worker's settings; immutable. `raw` has the texts as given, the properties have typed values with defaults.

    Raises:
        ConfigError: a value is not acceptable, or two contradict each other.
    """

    __slots__ = ("_raw", "_values")

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._raw = {str(name): value for name, value in properties.items()}
        self._values = WORKER.parse(self._raw)
        interval, lease = self["seamark.lease.interval.ms"], self["seamark.lease.ms"]
        if interval >= lease:
            raise ConfigError(
                f"Invalid value {interval} for configuration seamark.lease.interval.ms: it must be lower than "
                f"seamark.lease.ms ({lease}), or a task's lease would end before it is renewed.",
                key="seamark.lease.interval.ms",
                value=interval,
            )

    @property
    def raw(self) -> dict[str, str]:
        """All settings as texts, also those that no key is defined for. A copy."""
        return dict(self._raw)

    def __getitem__(self, key: str) -> Any:
        """The typed value of a defined key.

        Raises:
            KeyError: no such key is defined.
        """
        return self._values[key]

    def __reduce__(self) -> tuple[Any, ...]:
        return WorkerConfig, (self._raw,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WorkerConfig) and other._raw == self._raw

    def __hash__(self) -> int:
        return hash(frozenset(self._raw.items()))

    def __repr__(self) -> str:
        shown = {
            name: "[hidden]" if any(part in name.lower() for part in _HIDDEN_PARTS) else value
            for name, value in self._raw.items()
        }
        return f"WorkerConfig({shown!r})"

    # derived configurations

    def with_properties(self, properties: Mapping[str, str]) -> WorkerConfig:
        """A copy with some settings changed."""
        return WorkerConfig({**self._raw, **properties})

    def with_embedded_broker(self, bootstrap_servers: str) -> WorkerConfig:
        """A copy that uses this single broker: internal topics get one replica unless the settings say otherwise."""
        replicas = {f"{prefix}.storage.replication.factor": "1" for prefix in ("offset", "config", "status")}
        return WorkerConfig({**replicas, **self._raw, "bootstrap.servers": bootstrap_servers})

    def for_connector(self, config: Mapping[str, str]) -> WorkerConfig:
        """A copy in which a connector's own ``seamark.*`` settings win."""
        changes = {name: value for name, value in config.items() if name in ENGINE_KEYS}
        return self.with_properties(changes) if changes else self

    def with_prefix(self, prefix: str) -> dict[str, str]:
        """The settings whose names start so, without the prefix: ``with_prefix("producer.")``."""
        return {name[len(prefix) :]: value for name, value in self._raw.items() if name.startswith(prefix)}

    # Kafka

    @property
    def bootstrap_servers(self) -> str | None:
        """Comma-separated brokers; None stands for an embedded broker."""
        servers = self["bootstrap.servers"]
        return ",".join(servers) if servers else None

    @property
    def group_id(self) -> str:
        """The name of the cluster of workers."""
        return str(self["group.id"])

    @property
    def advertised_protocol(self) -> str:
        """How other workers reach this one: ``http`` or ``https``."""
        return advertised_protocol(self["listeners"], self["rest.advertised.listener"])

    @property
    def config_storage_topic(self) -> str:
        """The topic of connector configurations."""
        return self["config.storage.topic"] or f"{self.group_id}-configs"

    @property
    def config_storage_replication_factor(self) -> int:
        """Replicas of the topic of connector configurations when it is created."""
        return int(self["config.storage.replication.factor"])

    @property
    def offset_storage_topic(self) -> str:
        """The topic of source offsets."""
        return self["offset.storage.topic"] or f"{self.group_id}-offsets"

    @property
    def offset_storage_partitions(self) -> int:
        """Partitions of the topic of source offsets when it is created."""
        return int(self["offset.storage.partitions"])

    @property
    def offset_storage_replication_factor(self) -> int:
        """Replicas of the topic of source offsets when it is created."""
        return int(self["offset.storage.replication.factor"])

    @property
    def offset_storage_file(self) -> str | None:
        """The file of source offsets in standalone mode."""
        return self["offset.storage.file.filename"] or None

    @property
    def status_storage_topic(self) -> str:
        """The topic of statuses."""
        return self["status.storage.topic"] or f"{self.group_id}-status"

    @property
    def status_storage_partitions(self) -> int:
        """Partitions of the topic of statuses when it is created."""
        return int(self["status.storage.partitions"])

    @property
    def status_storage_replication_factor(self) -> int:
        """Replicas of the topic of statuses when it is created."""
        return int(self["status.storage.replication.factor"])

    @property
    def topic_creation_enable(self) -> bool:
        """Whether tasks create topics by `topic.creation.*`."""
        return bool(self["topic.creation.enable"])

    # converters and plugins

    @property
    def key_converter(self) -> str:
        """Class name of the converter of keys."""
        return str(self["key.converter"])

    @property
    def value_converter(self) -> str:
        """Class name of the converter of values."""
        return str(self["value.converter"])

    @property
    def header_converter(self) -> str:
        """Class name of the converter of headers."""
        return str(self["header.converter"])

    @property
    def plugin_path(self) -> str | None:
        """Comma-separated directories of plugins."""
        directories = self["plugin.path"]
        return ",".join(directories) if directories else None

    # commits

    @property
    def offset_flush_interval_ms(self) -> int:
        """How often offsets are committed."""
        return int(self["offset.flush.interval.ms"])

    @property
    def offset_flush_timeout_ms(self) -> int:
        """How long a commit may take."""
        return int(self["offset.flush.timeout.ms"])

    @property
    def exactly_once_source_support(self) -> str:
        """``disabled``, ``preparing`` or ``enabled``."""
        return str(self["exactly.once.source.support"]).lower()

    @property
    def exactly_once(self) -> bool:
        """Whether source tasks use transactions."""
        return self.exactly_once_source_support == "enabled"

    @property
    def task_shutdown_graceful_timeout_ms(self) -> int:
        """How long tasks have to end when the worker stops."""
        return int(self["task.shutdown.graceful.timeout.ms"])

    # Spark and the engine

    @property
    def spark_properties(self) -> dict[str, str]:
        """All ``spark.*`` settings, to be passed to Spark as they are."""
        return {name: value for name, value in self._raw.items() if name.startswith("spark.")}

    @property
    def spark_master(self) -> str:
        """Where Spark runs; ``local[*]`` unless `spark.master` says otherwise."""
        return self._raw.get("spark.master") or "local[*]"

    @property
    def epoch_ms(self) -> int:
        """Length of an epoch."""
        return int(self["seamark.epoch.ms"])

    @property
    def idle_ms(self) -> int:
        """How long an idle stage keeps its slots."""
        return int(self["seamark.idle.ms"])

    @property
    def idle_release(self) -> str:
        """``auto``, ``always`` or ``never``."""
        return str(self["seamark.idle.release"])

    @property
    def idle_poll_ms(self) -> int:
        """How often a connector without slots is looked at."""
        return int(self["seamark.idle.poll.ms"])

    @property
    def lease_ms(self) -> int:
        """How long a task goes on without an answer from its worker."""
        return int(self["seamark.lease.ms"])

    @property
    def lease_interval_ms(self) -> int:
        """How often a task renews its lease."""
        return int(self["seamark.lease.interval.ms"])

    @property
    def batch_max_records(self) -> int:
        """Records per batch."""
        return int(self["seamark.batch.max.records"])

    @property
    def batch_max_bytes(self) -> int:
        """Bytes per batch."""
        return int(self["seamark.batch.max.bytes"])

    @property
    def batch_max_ms(self) -> int:
        """How long a batch may be gathered."""
        return int(self["seamark.batch.max.ms"])

    @property
    def local_slots(self) -> int:
        """Slots of ``local[*]``."""
        return int(self["seamark.local.slots"])

    @property
    def spark_packages(self) -> list[str]:
        """What Spark is started with besides its own formats, each once."""
        return list(dict.fromkeys(self["seamark.spark.packages"]))
