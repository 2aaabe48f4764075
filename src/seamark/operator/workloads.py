"""The workers of a KafkaConnect or KafkaMirrorMaker2 in the cluster: a Deployment, a Service and a ConfigMap.

Workers are all alike and keep nothing (offsets, configs and states are in Kafka), so a Deployment does. `spec.config`
holds the workers' properties, ``spark.*`` among them: with `spark.master` on ``k8s://...`` the work runs on Spark's
executors in the cluster, otherwise in the workers' own pods.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from seamark.errors import BadRequestError
from seamark.operator import config_maps, kafka_access
from seamark.operator.connector_specs import text_of
from seamark.operator.kinds import (
    CLUSTER_LABEL,
    CONFIG_MAP,
    DEPLOYMENT,
    MANAGER,
    SERVICE,
    Key,
    Kind,
    Resource,
    name_of,
    namespace_of,
)
from seamark.operator.kube import Away, EditConflict, Kube, KubeError, Missing
from seamark.operator.mirror_specs import InvalidResourceError, MirrorMaker
from seamark.operator.workers import PORT

IMAGE: Final = "seamark/worker:latest"
_PROPERTIES: Final = "worker.properties"
_MOUNTED: Final = "/etc/seamark/worker"
_SCRATCH: Final = "/tmp"  # noqa: S108 - a volume of the pod
_APPLY_AGAIN_S: Final = 600.0
"""After that long what somebody else has changed is put right."""
_FORBIDDEN: Final = (
    "group.id",
    "config.storage.topic",
    "offset.storage.topic",
    "status.storage.topic",
    "listeners",
    "rest.advertised.",
    "bootstrap.servers",
    "security.",
    "sasl.",
    "ssl.",
)
"""Beginnings of properties that the resource says elsewhere."""


class NotAppliedError(BadRequestError):
    """The API server does not take what a resource asks for."""

    reason = "KubernetesClientException"


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """A cluster of workers.

    Attributes:
        owner: the resource.
        component: the end of names, ``connect`` or ``mirrormaker2``.
        replicas: how many.
        image: of their containers.
        properties: of the workers.
        secrets: that they need as files.
        resources: of their containers.
    """

    owner: Resource
    component: str
    replicas: int
    image: str
    properties: Mapping[str, str]
    secrets: Sequence[str] = ()
    resources: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Of the Deployment."""
        return f"{name_of(self.owner)}-{self.component}"

    @property
    def selector(self) -> dict[str, str]:
        """Labels that only these workers have."""
        return {CLUSTER_LABEL: name_of(self.owner), "strimzi.io/kind": str(self.owner["kind"])}

    @property
    def selector_text(self) -> str:
        """The same for a status."""
        return ",".join(f"{key}={value}" for key, value in self.selector.items())


def connect_workers(resource: Resource) -> WorkerSettings:
    """The workers of a KafkaConnect.

    Raises:
        InvalidResourceError: something is missing.
    """
    spec = resource["spec"]
    if not spec.get("bootstrapServers"):
        raise InvalidResourceError(".spec.bootstrapServers is required for KafkaConnect resource")
    own = spec.get("config") or {}

    def topic(field_name: str, key: str, end: str) -> str:
        return str(spec.get(field_name) or own.get(key) or f"connect-cluster-{end}")

    properties = {
        "group.id": str(spec.get("groupId") or own.get("group.id") or "connect-cluster"),
        "config.storage.topic": topic("configStorageTopic", "config.storage.topic", "configs"),
        "offset.storage.topic": topic("offsetStorageTopic", "offset.storage.topic", "offsets"),
        "status.storage.topic": topic("statusStorageTopic", "status.storage.topic", "status"),
        "bootstrap.servers": str(spec["bootstrapServers"]),
        **kafka_access.client_config(spec),
    }
    return _settings(resource, "connect", properties, own, kafka_access.secrets_of(spec))


def mirror_maker_workers(resource: Resource, maker: MirrorMaker) -> WorkerSettings:
    """The workers of a KafkaMirrorMaker2; they belong to the cluster that is copied to."""
    spec = resource["spec"]
    converter = "org.apache.kafka.connect.converters.ByteArrayConverter"
    properties = {
        "key.converter": converter,
        "value.converter": converter,
        "group.id": maker.group,
        "config.storage.topic": maker.config_topic,
        "offset.storage.topic": maker.offsets_topic,
        "status.storage.topic": maker.status_topic,
        "bootstrap.servers": maker.target.bootstrap_servers,
        **kafka_access.client_config(maker.target.spec),
    }
    sections = [*(spec.get("clusters") or []), spec.get("target"), *(m.get("source") for m in spec["mirrors"])]
    secrets = [name for section in sections if section for name in kafka_access.secrets_of(section)]
    own = {**(maker.target.spec.get("config") or {}), **(spec.get("config") or {})}
    return _settings(resource, "mirrormaker2", properties, own, list(dict.fromkeys(secrets)))


def _settings(
    resource: Resource,
    component: str,
    properties: Mapping[str, str],
    own: Mapping[str, Any],
    secrets: Sequence[str],
) -> WorkerSettings:
    spec = resource["spec"]
    given = {key: text_of(value) for key, value in own.items() if value is not None and not key.startswith(_FORBIDDEN)}
    made = {
        **kafka_access.provider_config(given.pop("config.providers", ""), has_secrets=bool(secrets)),
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        **{key: value for key, value in properties.items() if key.endswith("converter")},
        **given,
        **{key: value for key, value in properties.items() if not key.endswith("converter")},
        "listeners": f"http://0.0.0.0:{PORT}",
        "rest.advertised.host.name": "${pod:POD_IP}",
        "rest.advertised.port": str(PORT),
        "spark.driver.bindAddress": given.get("spark.driver.bindAddress", "0.0.0.0"),  # noqa: S104 - in a pod
    }
    return WorkerSettings(
        resource,
        component,
        int(spec.get("replicas", 1)),
        str(spec.get("image") or IMAGE),
        made,
        secrets,
        spec.get("resources") or {},
    )


def properties_text(properties: Mapping[str, str]) -> str:
    """A properties file."""
    escaped = {key: value.replace("\\", "\\\\").replace("\n", "\\n") for key, value in properties.items()}
    return "".join(f"{key}={value}\n" for key, value in sorted(escaped.items()))


def manifests(settings: WorkerSettings) -> list[tuple[Kind, dict[str, Any]]]:
    """What is applied."""
    config = properties_text(settings.properties)
    digest = hashlib.sha256(config.encode()).hexdigest()[:16]
    return [
        (CONFIG_MAP, _object(settings, CONFIG_MAP, f"{settings.name}-config", data={_PROPERTIES: config})),
        (SERVICE, _object(settings, SERVICE, f"{settings.name}-api", spec=_service(settings))),
        (DEPLOYMENT, _object(settings, DEPLOYMENT, settings.name, spec=_deployment(settings, digest))),
    ]


def _object(settings: WorkerSettings, kind: Kind, name: str, **content: Any) -> dict[str, Any]:
    version = kind.versions[0]
    return {
        "apiVersion": f"{kind.group}/{version}" if kind.group else version,
        "kind": kind.kind,
        "metadata": {
            "name": name,
            "namespace": namespace_of(settings.owner),
            "labels": {**settings.selector, "app.kubernetes.io/managed-by": MANAGER},
            "ownerReferences": [config_maps.owner_reference(settings.owner)],
        },
        **content,
    }


def _service(settings: WorkerSettings) -> dict[str, Any]:
    return {"selector": settings.selector, "ports": [{"name": "rest", "port": PORT, "targetPort": "rest"}]}


def _deployment(settings: WorkerSettings, digest: str) -> dict[str, Any]:
    health = {"httpGet": {"path": "/health", "port": "rest"}}
    mounts: list[dict[str, Any]] = [
        {"name": "config", "mountPath": _MOUNTED, "readOnly": True},
        {"name": "scratch", "mountPath": _SCRATCH},
    ]
    volumes: list[dict[str, Any]] = [
        {"name": "config", "configMap": {"name": f"{settings.name}-config"}},
        {"name": "scratch", "emptyDir": {}},
    ]
    for number, secret in enumerate(settings.secrets):
        mounts.append({"name": f"secret-{number}", "mountPath": f"{kafka_access.DIRECTORY}/{secret}", "readOnly": True})
        volumes.append({"name": f"secret-{number}", "secret": {"secretName": secret}})
    address = {"fieldRef": {"fieldPath": "status.podIP"}}
    container = {
        "name": "worker",
        "image": settings.image,
        "args": ["distributed", f"{_MOUNTED}/{_PROPERTIES}"],
        "env": [
            {"name": "POD_IP", "valueFrom": address},
            # For executors that are pods, too: theirs then end with this one.
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "SPARK_LOCAL_IP", "valueFrom": address},
            {"name": "HOME", "value": _SCRATCH},
        ],
        "ports": [{"name": "rest", "containerPort": PORT}],
        "startupProbe": {**health, "periodSeconds": 5, "failureThreshold": 60, "timeoutSeconds": 5},
        "readinessProbe": {
            "httpGet": {"path": "/ready", "port": "rest"},
            "periodSeconds": 10,
            "timeoutSeconds": 5,
        },
        "livenessProbe": {**health, "periodSeconds": 30, "failureThreshold": 5, "timeoutSeconds": 10},
        "resources": dict(settings.resources),
        # Spark, Java and Python write below /tmp alone.
        "workingDir": _SCRATCH,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    }
    return {
        "replicas": settings.replicas,
        "selector": {"matchLabels": settings.selector},
        "template": {
            "metadata": {"labels": settings.selector, "annotations": {"seamark.dev/config": digest}},
            "spec": {
                "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
                "terminationGracePeriodSeconds": 60,
                "containers": [container],
                "volumes": volumes,
            },
        },
    }


@dataclass(frozen=True, slots=True)
class _Known:
    """What was applied, when, and which generation of the Deployment that made."""

    digest: str
    at: float
    generation: int


class Applied:
    """Applies manifests; those that nobody has changed only once in a while."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._known: dict[Key, _Known] = {}

    async def apply(self, key: Key, manifests: Sequence[tuple[Kind, dict[str, Any]]]) -> int:
        """Make or change everything; returns how many workers there are.

        Raises:
            NotAppliedError: the API server refuses it.
        """
        digest = hashlib.sha256(json.dumps([body for _, body in manifests], sort_keys=True).encode()).hexdigest()
        name = next(str(body["metadata"]["name"]) for kind, body in manifests if kind is DEPLOYMENT)
        found = await self._kube.find(DEPLOYMENT, key.namespace, name)
        known = self._known.get(key)
        is_right = known is not None and found is not None and known.generation == _generation(found)
        if known is None or not is_right or known.digest != digest or time.monotonic() - known.at > _APPLY_AGAIN_S:
            made = {kind.kind: await self._apply(kind, key.namespace, body) for kind, body in manifests}
            found = made[DEPLOYMENT.kind]
            self._known[key] = _Known(digest, time.monotonic(), _generation(found))
        return int(((found or {}).get("status") or {}).get("replicas", 0))

    async def _apply(self, kind: Kind, namespace: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            return await self._kube.apply(kind, namespace, body)
        except (Away, EditConflict, Missing):
            raise  # passes, or there is no such namespace any more
        except KubeError as error:  # also with 500: what it cannot read, it cannot convert
            raise NotAppliedError(f"{kind.kind} {body['metadata']['name']}: {error.message}") from error

    def forget(self, key: Key) -> None:
        """A resource is gone."""
        self._known.pop(key, None)


def _generation(deployment: Resource) -> int:
    return int(deployment["metadata"]["generation"])
