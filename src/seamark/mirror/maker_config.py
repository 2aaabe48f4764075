"""A mirror-maker file: clusters, flows between them, and the workers and connectors that make the flows.

::

    clusters = a, b
    a.bootstrap.servers = a1:9092            # everything about a cluster; `a.consumer.*` for its consumers only
    b.bootstrap.servers = b1:9092
    a->b.enabled = true                      # a flow, and what its connectors shall do differently
    a->b.topics = orders.*
    replication.factor = 3                   # what all connectors shall do

Each flow has a worker of its own on the target cluster and the three connectors. By default there is a flow for every
ordered pair of clusters: one that is not enabled copies nothing but still writes heartbeats.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from seamark.config.configdef import Check, ConfigDef, Importance, Type
from seamark.config.connector_keys import common_config_def
from seamark.config.providers import PROVIDERS, Providers
from seamark.config.worker_keys import ENGINE_KEYS
from seamark.errors import ConfigError
from seamark.mirror.client_names import CLIENT_NAMES
from seamark.mirror.clients import with_prefix
from seamark.mirror.filters import distinct_lists
from seamark.mirror.keys import checkpoint_config_def, heartbeat_config_def, source_config_def
from seamark.mirror.loading import JAVA_PACKAGE

log = logging.getLogger(__name__)

CLUSTERS: Final = "clusters"
INTERNAL_REST: Final = "dedicated.mode.enable.internal.rest"
EMIT_HEARTBEATS: Final = "emit.heartbeats.enabled"
OWN_PREFIX: Final = "seamark."
_BYTES: Final = "org.apache.kafka.connect.converters.ByteArrayConverter"
_WORKER_PREFIXES: Final = (
    "offset.storage",
    "config.storage",
    "status.storage",
    "key.converter",
    "value.converter",
    "header.converter",
    "task",
    "worker",
    "replication.policy",
    OWN_PREFIX,
)
_KINDS: Final = ("producer", "consumer", "admin")

MirrorConnector = Literal["MirrorSourceConnector", "MirrorHeartbeatConnector", "MirrorCheckpointConnector"]
CONNECTORS: Final[tuple[MirrorConnector, ...]] = (
    "MirrorSourceConnector",
    "MirrorHeartbeatConnector",
    "MirrorCheckpointConnector",
)
"""Of each flow, in the order in which they are started."""


@dataclass(frozen=True, slots=True, order=True)
class SourceAndTarget:
    """A flow, by the aliases of its clusters."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source}->{self.target}"


def mirror_maker_config_def() -> ConfigDef:
    """The keys of a mirror-maker file that are not those of clusters, flows, workers or connectors."""
    return (
        ConfigDef()
        .define(
            CLUSTERS,
            Type.LIST,
            validator=Check(_aliases, "at least one alias"),
            importance=Importance.HIGH,
            doc="The aliases of all clusters.",
        )
        .define(
            INTERNAL_REST,
            Type.BOOLEAN,
            False,
            importance=Importance.HIGH,
            doc="Whether workers of several nodes talk to each other over HTTP, which they must if there is more than "
            "one node.",
        )
        .define(PROVIDERS, Type.LIST, "", importance=Importance.LOW, doc="Names of the config providers to use.")
    )


def _aliases(name: str, value: object) -> None:
    if not value:
        raise ConfigError(f"Configuration '{name}' must not be empty. Name the aliases of the clusters.", key=name)
    if isinstance(value, list) and "" in value:
        raise ConfigError(f"Configuration '{name}' values must not be empty.", key=name, value=value)


class MirrorMakerConfig:
    """What the properties of a mirror-maker file mean.

    Raises:
        ConfigError: `clusters` is missing, or a config provider cannot be made.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.properties = dict(properties)
        definition = mirror_maker_config_def()
        values = definition.parse(distinct_lists(definition, self.properties))
        self.clusters: list[str] = values[CLUSTERS]
        self.is_internal_rest_enabled: bool = values[INTERNAL_REST]
        for flow in self._unknown_flows():
            log.warning(
                "%s is ignored: it is not a flow between clusters of '%s = %s'",
                flow,
                CLUSTERS,
                ", ".join(self.clusters),
            )

    def flows(self, only_targets: Collection[str] = ()) -> list[SourceAndTarget]:
        """The flows that need a worker: those that are enabled, and those that write heartbeats.

        Args:
            only_targets: If any, only flows into these clusters.

        Raises:
            ConfigError: there are none.
        """
        resolved = self._resolved(self.properties)
        found = [
            SourceAndTarget(source, target)
            for source in self.clusters
            for target in self.clusters
            if source != target
            and (not only_targets or target in only_targets)
            and _has_worker(resolved, f"{source}->{target}.")
        ]
        if not found:
            into = f" into {', '.join(only_targets)}" if only_targets else ""
            raise ConfigError(
                f"No source->target replication flows. Enable one{into} with <source>-><target>.enabled = true; the "
                f"clusters are {', '.join(self.clusters)}.",
                key=CLUSTERS,
            )
        return found

    def worker_config(self, flow: SourceAndTarget) -> dict[str, str]:
        """The properties of the worker of a flow. References to config providers are resolved: keep it secret."""
        config = self.cluster_config(flow.target)
        config.update({key: value for key, value in self.properties.items() if key.startswith(_WORKER_PREFIXES)})
        config = self._resolved(config)
        config.update(self._beginning_with(PROVIDERS))
        internal = f"{flow.source}.internal"
        defaults = {
            "client.id": str(flow),
            "group.id": f"{flow.source}-mm2",
            "offset.storage.topic": f"mm2-offsets.{internal}",
            "status.storage.topic": f"mm2-status.{internal}",
            "config.storage.topic": f"mm2-configs.{internal}",
            "key.converter": _BYTES,
            "value.converter": _BYTES,
            "header.converter": _BYTES,
        }
        return {**defaults, **config}

    def connector_config(self, flow: SourceAndTarget, connector: MirrorConnector) -> dict[str, str]:
        """The configuration of a connector of a flow. References to config providers stay: the worker resolves them."""
        known = connector_key_names()
        config = {key: value for key, value in self.properties.items() if key in known}
        config.update(self._beginning_with(PROVIDERS))
        config.update(self._beginning_with("replication.policy"))
        for side, alias in (("source", flow.source), ("target", flow.target)):
            for key, value in self.cluster_config(alias).items():
                config[f"{side}.{key}" if key.startswith(_KINDS) else f"{side}.cluster.{key}"] = value
        defaults = {
            "name": connector,
            "connector.class": JAVA_PACKAGE + connector,
            "source.cluster.alias": flow.source,
            "target.cluster.alias": flow.target,
            "enabled": "false",
        }
        return {**defaults, **config, **with_prefix(self.properties, f"{flow}.")}

    def cluster_config(self, alias: str) -> dict[str, str]:
        """What the file says about a cluster, without the alias; what all its clients need, also for each kind."""
        config = with_prefix(self.properties, f"{alias}.")
        for name in CLIENT_NAMES:
            if name in config:
                for kind in _KINDS:
                    config.setdefault(f"{kind}.{name}", config[name])
        for name in CLIENT_NAMES:
            if name in self.properties:
                for key in (*(f"{kind}.{name}" for kind in _KINDS), name):
                    config.setdefault(key, self.properties[name])
        return config

    def client_config(self, alias: str) -> dict[str, str]:
        """For `seamark.mirror.MirrorClient` of a cluster, references to config providers resolved."""
        return self._resolved({**self.properties, **self.cluster_config(alias)})

    def _beginning_with(self, prefix: str) -> dict[str, str]:
        return {key: value for key, value in self.properties.items() if key.startswith(prefix)}

    def _resolved(self, config: Mapping[str, str]) -> dict[str, str]:
        providers = Providers.of(self.properties)
        try:
            return {key: value or "" for key, value in providers.resolve(config).items()}
        finally:
            providers.close()

    def _unknown_flows(self) -> list[str]:
        """Flows that the file describes but no pair of clusters makes."""
        pairs = {f"{source}->{target}" for source in self.clusters for target in self.clusters if source != target}
        enabled = [key.removesuffix(".enabled") for key in self.properties if "->" in key and key.endswith(".enabled")]
        return [flow for flow in enabled if flow not in pairs and not flow.startswith(tuple(f"{p}." for p in pairs))]


def connector_key_names() -> frozenset[str]:
    """The keys that, without a prefix, count for the connectors of all flows."""
    definitions = (common_config_def(), source_config_def(), checkpoint_config_def(), heartbeat_config_def())
    return frozenset(name for definition in definitions for name in definition.names()) - ENGINE_KEYS


def _has_worker(config: Mapping[str, str], prefix: str) -> bool:
    heartbeats = config.get(f"{prefix}{EMIT_HEARTBEATS}", config.get(EMIT_HEARTBEATS, "true"))
    return _is_true(config.get(f"{prefix}enabled", "")) or _is_true(heartbeats)


def _is_true(text: str) -> bool:
    return text.lower() == "true"
