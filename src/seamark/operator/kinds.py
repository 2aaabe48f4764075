"""Names that the operator shares with Kubernetes: kinds, annotations, labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

MANAGER: Final = "seamark-operator"

CONNECT_URL: Final = "seamark.dev/connect-url"
"""Annotation: the REST API of a worker that the operator did not start."""
BOOTSTRAP_SERVERS: Final = "seamark.dev/bootstrap-servers"
"""Annotation: where the operator itself reaches Kafka, if not at what the resource says."""
CONNECTOR_OFFSETS: Final = "strimzi.io/connector-offsets"
MIRROR_CONNECTOR: Final = "strimzi.io/mirrormaker-connector"
RESTART: Final = "strimzi.io/restart"
RESTART_TASK: Final = "strimzi.io/restart-task"
RESTART_CONNECTOR: Final = "strimzi.io/restart-connector"
RESTART_CONNECTOR_TASK: Final = "strimzi.io/restart-connector-task"
PAUSE_RECONCILIATION: Final = "strimzi.io/pause-reconciliation"
USE_CONNECTOR_RESOURCES: Final = "strimzi.io/use-connector-resources"
CLUSTER_LABEL: Final = "strimzi.io/cluster"

Resource = Mapping[str, Any]
"""An object as the API server has it."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of resource.

    Attributes:
        group: of its API.
        versions: the best first.
        kind: its name.
        plural: its name in URLs.
    """

    group: str
    versions: tuple[str, ...]
    kind: str
    plural: str

    def path(self, namespace: str | None, name: str = "", below: str = "", version: str | None = None) -> str:
        """The path of an object, or without a name of all, or without a namespace of those in all namespaces."""
        version = version or self.versions[0]
        root = f"/apis/{self.group}/{version}" if self.group else f"/api/{version}"
        where = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
        what = f"/{quote(name, safe='')}" if name else ""
        return f"{root}{where}/{self.plural}{what}{below}"


# v1beta2 first: it is what existing resources are written in, and all that is served knows it unless only v1 is left.
MIRROR_MAKER: Final = Kind("kafka.strimzi.io", ("v1beta2", "v1"), "KafkaMirrorMaker2", "kafkamirrormaker2s")
CONNECT: Final = Kind("kafka.strimzi.io", ("v1beta2", "v1"), "KafkaConnect", "kafkaconnects")
CONNECTOR: Final = Kind("kafka.strimzi.io", ("v1beta2", "v1"), "KafkaConnector", "kafkaconnectors")
RESET_OFFSET: Final = Kind("kafka.eventing.knative.dev", ("v1alpha1",), "ResetOffset", "resetoffsets")
SUBSCRIPTION: Final = Kind("messaging.knative.dev", ("v1",), "Subscription", "subscriptions")
CONFIG_MAP: Final = Kind("", ("v1",), "ConfigMap", "configmaps")
SECRET: Final = Kind("", ("v1",), "Secret", "secrets")
SERVICE: Final = Kind("", ("v1",), "Service", "services")
EVENT: Final = Kind("", ("v1",), "Event", "events")
DEPLOYMENT: Final = Kind("apps", ("v1",), "Deployment", "deployments")
LEASE: Final = Kind("coordination.k8s.io", ("v1",), "Lease", "leases")

WATCHED: Final = (MIRROR_MAKER, CONNECT, CONNECTOR, RESET_OFFSET)


@dataclass(frozen=True, slots=True)
class Key:
    """A resource, whether it exists or not."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


def annotations_of(resource: Resource) -> dict[str, str]:
    """Its annotations, those without a value left out."""
    found = resource.get("metadata", {}).get("annotations") or {}
    return {key: value for key, value in found.items() if value is not None}


def labels_of(resource: Resource) -> dict[str, str]:
    """Its labels."""
    return dict(resource.get("metadata", {}).get("labels") or {})


def namespace_of(resource: Resource) -> str:
    """Where it is."""
    return str(resource["metadata"]["namespace"])


def name_of(resource: Resource) -> str:
    """What it is called."""
    return str(resource["metadata"]["name"])


def is_paused(resource: Resource) -> bool:
    """Whether its user wants it to be left alone."""
    return annotations_of(resource).get(PAUSE_RECONCILIATION, "").lower() == "true"


def written_version(resource: Resource) -> str:
    """The API version in which its spec was last written; several may be served, and they differ in name only."""
    spec_writes = [
        entry
        for entry in resource["metadata"].get("managedFields") or []
        if "f:spec" in (entry.get("fieldsV1") or {}) and entry.get("apiVersion")
    ]
    newest = max(spec_writes, key=lambda entry: str(entry.get("time", "")), default=None)
    return str(newest["apiVersion"] if newest else resource["apiVersion"])
