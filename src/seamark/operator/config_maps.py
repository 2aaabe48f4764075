"""ConfigMaps of offsets: what their entries are called, and what a new one is made of."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from seamark.operator.kinds import CLUSTER_LABEL, MANAGER, Resource, labels_of, name_of, namespace_of, written_version

CONNECTOR_KEY: Final = "offsets.json"
"""Of a KafkaConnector."""
_LABEL: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]")


def mirror_key(connector: str) -> str:
    """Of a connector of a KafkaMirrorMaker2; keys cannot have ``>``."""
    return f"{connector.replace('->', '--')}.json"


def target_name(spec: Mapping[str, Any], fallback: Mapping[str, Any] | None = None) -> str | None:
    """Where a list of offsets goes: as the connector's section says, else as the resource says."""
    return _name(spec, fallback, "listOffsets", "toConfigMap")


def source_name(spec: Mapping[str, Any], fallback: Mapping[str, Any] | None = None) -> str | None:
    """Where altered offsets come from."""
    return _name(spec, fallback, "alterOffsets", "fromConfigMap")


def template(owner: Resource, name: str) -> dict[str, Any]:
    """A new ConfigMap, without its data, that goes with the resource that it was made for."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "namespace": namespace_of(owner),
            "labels": _labels(owner),
            "ownerReferences": [owner_reference(owner)],
        },
    }


def owner_reference(owner: Resource) -> dict[str, Any]:
    """That something belongs to a resource, without being in the way of its deletion."""
    return {
        "apiVersion": written_version(owner),
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": owner["metadata"]["uid"],
        "controller": False,
        "blockOwnerDeletion": False,
    }


def text_of(content: Any) -> str:
    """JSON for people."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _name(spec: Mapping[str, Any], fallback: Mapping[str, Any] | None, section: str, reference: str) -> str | None:
    for place in (spec, fallback or {}):
        name = ((place.get(section) or {}).get(reference) or {}).get("name")
        if name:
            return str(name)
    return None


def _labels(owner: Resource) -> dict[str, str]:
    wanted = {
        **labels_of(owner),
        "strimzi.io/kind": owner["kind"],
        "strimzi.io/name": name_of(owner),
        CLUSTER_LABEL: name_of(owner),
        "app.kubernetes.io/managed-by": MANAGER,
    }
    return {key: value for key, value in wanted.items() if _LABEL.fullmatch(value)}
