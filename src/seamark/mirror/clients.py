"""Which settings the Kafka clients of the mirror connectors get.

From weak to strong: the cluster's own (``source.cluster.*``, as far as they say where it is and how to talk to it
securely), those of all clients of a kind (``consumer.*``), those of the kind on that side (``source.consumer.*``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from seamark.mirror.client_names import CLIENT_NAMES

Side = Literal["source", "target"]
ClientKind = Literal["consumer", "producer", "admin"]


def with_prefix(config: Mapping[str, str], prefix: str) -> dict[str, str]:
    """The entries whose keys begin so, without that beginning."""
    return {key[len(prefix) :]: value for key, value in config.items() if key.startswith(prefix) and key != prefix}


def client_config(
    config: Mapping[str, str], side: Side, kind: ClientKind, client_role: str | None = None
) -> dict[str, str]:
    """The Java-style settings of a client.

    Args:
        config: The connector's, or a task's.
        side: Of which cluster it is a client.
        kind: What sort of client.
        client_role: What it is for, as MirrorMaker 2 calls it in client ids: ``replication-consumer``.
    """
    cluster = with_prefix(config, f"{side}.cluster.")
    result = {
        **{name: cluster[name] for name in CLIENT_NAMES if name in cluster},
        **with_prefix(config, f"{kind}."),
        **with_prefix(config, f"{side}.{kind}."),
    }
    if kind == "consumer":
        result["enable.auto.commit"] = "false"
        result.setdefault("auto.offset.reset", "earliest")
    own_id = entity_label(config) + ("" if client_role is None else f"|{client_role}")
    result["client.id"] = f"{result['client.id']}|{own_id}" if "client.id" in result else own_id
    return result


def entity_label(config: Mapping[str, str]) -> str:
    """Whose client, scheduler or log line it is: ``A->B|MirrorSourceConnector``, and of a task also its index."""
    label = f"{config.get('source.cluster.alias')}->{config.get('target.cluster.alias', 'target')}|{config.get('name')}"
    return f"{label}-{config['task.index']}" if "task.index" in config else label


def uses_read_committed(config: Mapping[str, str]) -> bool:
    """Whether the source consumer skips aborted records, without which nothing is exactly once."""
    return client_config(config, "source", "consumer").get("isolation.level") == "read_committed"
