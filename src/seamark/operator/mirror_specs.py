"""Which connectors a KafkaMirrorMaker2 has, in Strimzi's layout of v1beta2 and in that of v1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from seamark.errors import BadRequestError
from seamark.operator import config_maps
from seamark.operator.connector_specs import ConnectorSpec, number_of_tasks, restarts_of, state_of, texts
from seamark.operator.kafka_access import client_config
from seamark.operator.offset_forms import MirrorFields, MirrorType

SECTIONS: Final = {
    "sourceConnector": MirrorType.SOURCE,
    "checkpointConnector": MirrorType.CHECKPOINT,
    "heartbeatConnector": MirrorType.HEARTBEAT,
}
_PATTERNS: Final = {
    "topics": ("topicsPattern",),
    "topics.exclude": ("topicsExcludePattern", "topicsBlacklistPattern"),
    "groups": ("groupsPattern",),
    "groups.exclude": ("groupsExcludePattern", "groupsBlacklistPattern"),
}
_DEFAULT_GROUP: Final = "mirrormaker2-cluster"
_PACKAGE: Final = "org.apache.kafka.connect.mirror"


class InvalidResourceError(BadRequestError):
    """A resource contradicts itself."""

    reason = "InvalidResourceException"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Kafka cluster; `spec` is its section of the resource."""

    alias: str
    bootstrap_servers: str
    spec: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MirrorMaker:
    """The workers' own settings, and the connectors."""

    target: Cluster
    group: str
    config_topic: str
    offsets_topic: str
    status_topic: str
    connectors: Sequence[ConnectorSpec]


def parse(spec: Mapping[str, Any] | None) -> MirrorMaker:
    """What a KafkaMirrorMaker2 asks for.

    Raises:
        InvalidResourceError: it contradicts itself; the words are Strimzi's.
    """
    if not spec:
        raise InvalidResourceError(".spec section is required for KafkaMirrorMaker2 resource")
    if not spec.get("mirrors"):
        raise InvalidResourceError(".spec.mirrors section is required in KafkaMirrorMaker2 resource")
    clusters = {str(each["alias"]): _cluster(each) for each in spec.get("clusters") or []}
    target = _target(spec, clusters)
    own = target.spec.get("config") or {}
    group = str(target.spec.get("groupId") or own.get("group.id") or _DEFAULT_GROUP)

    def topic(field_name: str, key: str, end: str) -> str:
        default = f"{_DEFAULT_GROUP}-{end}"
        return str(target.spec.get(field_name) or own.get(key) or default)

    config_topic = topic("configStorageTopic", "config.storage.topic", "configs")
    connectors: list[ConnectorSpec] = []
    for mirror in spec["mirrors"]:
        connectors += _connectors(spec, mirror, clusters, target, config_topic)
    names = [connector.name for connector in connectors]
    if len(set(names)) < len(names):
        raise InvalidResourceError("The target and source cluster aliases must be unique.")
    return MirrorMaker(
        target,
        group,
        config_topic,
        topic("offsetStorageTopic", "offset.storage.topic", "offsets"),
        topic("statusStorageTopic", "status.storage.topic", "status"),
        connectors,
    )


def _target(spec: Mapping[str, Any], clusters: Mapping[str, Cluster]) -> Cluster:
    if spec.get("target"):
        return _cluster(spec["target"])
    alias = str(spec.get("connectCluster"))
    if alias not in clusters:
        raise InvalidResourceError(
            f"connectCluster with alias {alias} cannot be found in the list of clusters at .spec.clusters"
        )
    return clusters[alias]


def _connectors(
    spec: Mapping[str, Any],
    mirror: Mapping[str, Any],
    clusters: Mapping[str, Cluster],
    target: Cluster,
    config_topic: str,
) -> list[ConnectorSpec]:
    source, target = _source(mirror, clusters), _mirror_target(mirror, clusters, target)
    if source.alias == target.alias:
        raise InvalidResourceError("The target and source cluster aliases must be unique.")
    found = []
    for section, kind in SECTIONS.items():
        if mirror.get(section) is None:
            continue
        own = mirror[section]
        name = f"{source.alias}->{target.alias}.{kind.value}"
        config = {
            **_prefixed("source.cluster.", source),
            **_prefixed("target.cluster.", target),
            **texts(own.get("config")),
            **_patterns(mirror),
            "name": name,
            "connector.class": f"{_PACKAGE}.{kind.value}",
            **number_of_tasks(own),
        }
        found.append(
            ConnectorSpec(
                name,
                config,
                state_of(own),
                **restarts_of(own),
                key=config_maps.mirror_key(name),
                list_to=config_maps.target_name(own, spec),
                alter_from=config_maps.source_name(own, spec),
                mirror=MirrorFields(kind, source.alias, target.alias, config_topic),
            )
        )
    return found


def _source(mirror: Mapping[str, Any], clusters: Mapping[str, Cluster]) -> Cluster:
    if mirror.get("source"):
        return _cluster(mirror["source"])
    alias = str(mirror.get("sourceCluster"))
    if alias not in clusters:
        raise InvalidResourceError(
            f"sourceCluster with alias {alias} cannot be found in the list of clusters at .spec.clusters"
        )
    return clusters[alias]


def _mirror_target(mirror: Mapping[str, Any], clusters: Mapping[str, Cluster], target: Cluster) -> Cluster:
    """A mirror may call the workers' cluster by another alias."""
    alias = mirror.get("targetCluster")
    if alias in (None, target.alias):
        return target
    other = clusters.get(str(alias))
    if other is None or other.bootstrap_servers != target.bootstrap_servers:
        raise InvalidResourceError(
            "The .spec.mirrors[].targetCluster alias is not the same as the actual target cluster alias."
        )
    return other


def _cluster(section: Mapping[str, Any]) -> Cluster:
    return Cluster(str(section["alias"]), str(section["bootstrapServers"]), section)


def _prefixed(prefix: str, cluster: Cluster) -> dict[str, str]:
    settings = {
        **texts(cluster.spec.get("config")),
        "alias": cluster.alias,
        "bootstrap.servers": cluster.bootstrap_servers,
        **client_config(cluster.spec),
    }
    return {f"{prefix}{key}": value for key, value in settings.items()}


def _patterns(mirror: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    for key, fields in _PATTERNS.items():
        value = next((mirror[each] for each in fields if mirror.get(each) is not None), None)
        if value is not None:
            found[key] = str(value)
    return found
