"""Resources that tests make, and what they wait for."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from compat.client import Connect, path_of
from compat.targets import SINK, STRING
from fixtures.http_proxy import Proxy
from fixtures.kube import Cluster, Object, condition, conditions, config_map, warnings
from fixtures.worker import Topics
from seamark.kafka.producer import RecordProducer
from seamark.testing.waiting import eventually

OFFSETS: Final = "strimzi.io/connector-offsets"
CONNECTOR: Final = "strimzi.io/mirrormaker-connector"
V1BETA2: Final = "kafka.strimzi.io/v1beta2"
V1: Final = "kafka.strimzi.io/v1"
BYTES: Final = "org.apache.kafka.connect.converters.ByteArrayConverter"
_ONE: Final = {
    "replication.factor": 1,
    "offset-syncs.topic.replication.factor": 1,
    "checkpoints.topic.replication.factor": 1,
    "heartbeats.topic.replication.factor": 1,
    "key.converter": BYTES,
    "value.converter": BYTES,
    "emit.checkpoints.interval.seconds": 1,
    "refresh.topics.interval.seconds": 5,
    # From a cluster to itself each copy of a heartbeats topic would be copied in turn.
    "heartbeats.replication.enabled": False,
}
STEPS: Final = (
    "RefMapped",
    "AcquireDataPlaneServices",
    "ConsumerGroupsStopped",
    "OffsetsUpdated",
    "ConsumerGroupsStarted",
)
"""Of a ResetOffset, in order; each is a condition."""
ALL_TRUE: Final = dict.fromkeys([*STEPS, "Succeeded"], "True")


class Mirror:
    """A KafkaMirrorMaker2 with one mirror, whose connectors are stopped unless said otherwise."""

    def __init__(
        self,
        cluster: Cluster,
        connect: Connect,
        rest: Proxy,
        servers: str,
        namespace: str,
        *,
        state: str = "stopped",
        sections: Sequence[str] = ("sourceConnector", "checkpointConnector", "heartbeatConnector"),
        topics: str = "nothing-matches-this",
        config_topic: str | None = None,
        is_v1: bool = False,
        places: bool = True,
    ) -> None:
        tag = uuid.uuid4().hex[:6]
        self.cluster, self.connect, self.rest, self.namespace = cluster, connect, rest, namespace
        self.servers = servers
        self.source_alias, self.target_alias = f"east-{tag}", f"west-{tag}"
        self.name = f"mm2-{tag}"
        self.map_name = f"offsets-{tag}"
        self.config_topic = config_topic or "mirrormaker2-cluster-configs"
        mirror: Object = {"topicsPattern": topics, "groupsPattern": "nothing-matches-this"}
        for section in sections:
            mirror[section] = {"tasksMax": 1, "state": state, "config": dict(_ONE)}
        spec: Object = {"replicas": 1, "mirrors": [mirror]}
        if is_v1:
            mirror["source"] = {"alias": self.source_alias, "bootstrapServers": servers}
            spec["target"] = {
                "alias": self.target_alias,
                "bootstrapServers": servers,
                "groupId": "g",
                "configStorageTopic": self.config_topic,
                "offsetStorageTopic": "o",
                "statusStorageTopic": "s",
            }
        else:
            mirror |= {"sourceCluster": self.source_alias, "targetCluster": self.target_alias}
            own = {} if config_topic is None else {"config.storage.topic": config_topic}
            spec |= {
                "connectCluster": self.target_alias,
                "clusters": [
                    {"alias": self.source_alias, "bootstrapServers": servers},
                    {"alias": self.target_alias, "bootstrapServers": servers, "config": own},
                ],
            }
        if places:
            spec |= {
                "listOffsets": {"toConfigMap": {"name": self.map_name}},
                "alterOffsets": {"fromConfigMap": {"name": self.map_name}},
            }
        self.body: Object = {
            "apiVersion": V1 if is_v1 else V1BETA2,
            "kind": "KafkaMirrorMaker2",
            "metadata": {
                "name": self.name,
                "namespace": namespace,
                "annotations": {"seamark.dev/connect-url": rest.url},
            },
            "spec": spec,
        }

    # names

    @property
    def source(self) -> str:
        return f"{self.source_alias}->{self.target_alias}.MirrorSourceConnector"

    @property
    def checkpoint(self) -> str:
        return f"{self.source_alias}->{self.target_alias}.MirrorCheckpointConnector"

    @property
    def heartbeat(self) -> str:
        return f"{self.source_alias}->{self.target_alias}.MirrorHeartbeatConnector"

    @staticmethod
    def key(connector: str) -> str:
        return connector.replace("->", "--") + ".json"

    # the resource

    @property
    def mirror(self) -> Object:
        section: Object = self.body["spec"]["mirrors"][0]
        return section

    def section(self, name: str) -> Object:
        found: Object = self.mirror[f"{name}Connector"]
        return found

    def create(self, *, await_ready: bool = True) -> Mirror:
        self.cluster.create(self.body)
        if await_ready:
            eventually(self.is_ready, 60, f"{self.name} is not ready")
        return self

    def update(self) -> None:
        """Write the spec as it is now."""
        self.cluster.merge(self.body, {"spec": self.body["spec"]})

    def get(self) -> Object:
        return self.cluster.get(self.body)

    def is_ready(self) -> bool:
        found = self.get()
        status = found.get("status") or {}
        sections = sum(name.endswith("Connector") for name in self.mirror)
        wanted = {
            self.section(name.removesuffix("Connector")).get("state", "running")
            for name in self.mirror
            if name.endswith("Connector")
        }
        live = [each["connector"]["state"].lower() for each in status.get("connectors") or []]
        is_current = status.get("observedGeneration") == found["metadata"]["generation"]
        return is_current and conditions(found).get("Ready") == "True" and len(live) == sections and set(live) == wanted

    def delete(self) -> None:
        found = self.cluster.find(self.body)
        if found is not None:
            self.cluster.delete(self.body)

    # requests

    def ask(self, action: str, connector: str, **more: str) -> None:
        self.cluster.annotate(self.body, connector_offsets=action, mirrormaker_connector=connector, **more)

    def await_served(self, within_s: float = 30) -> None:
        eventually(self.is_served, within_s, "the annotations are still there")

    def is_served(self) -> bool:
        found = self.get()["metadata"].get("annotations") or {}
        return OFFSETS not in found and CONNECTOR not in found

    def serve(self, action: str, connector: str) -> None:
        self.ask(action, connector)
        self.await_served()

    def await_warning(self, reason: str, within_s: float = 30) -> Object:
        """The only warning."""

        def look() -> Object | None:
            found = warnings(self.get())
            return found[0] if [each["reason"] for each in found] == [reason] else None

        return eventually(look, within_s, f"there is no Warning {reason}")  # type: ignore[return-value]

    def await_passes(self, count: int = 1) -> None:
        """Wait until the operator has looked at the connectors again, to the end of the pass."""
        before = len(self.rest.calls("GET", path="/status"))
        sections = sum(name.endswith("Connector") for name in self.mirror)
        eventually(lambda: len(self.rest.calls("GET", path="/status")) >= before + count * sections, 30)

    # offsets

    def offsets(self, connector: str) -> list[Object]:
        found: list[Object] = self.connect.call("GET", path_of(connector, "offsets")).json()["offsets"]
        return sorted(found, key=lambda row: json.dumps(row, sort_keys=True))

    def set_offsets(self, connector: str, *rows: Object) -> None:
        answer = self.connect.call("PATCH", path_of(connector, "offsets"), {"offsets": list(rows)})
        assert answer.status_code == 200, answer.text

    def row(self, topic: str, partition: int, offset: int | None, cluster: str | None = None) -> Object:
        """Of the source connector."""
        where = {"cluster": cluster or self.source_alias, "partition": partition, "topic": topic}
        return {"partition": where, "offset": None if offset is None else {"offset": offset}}

    def checkpoint_row(self, group: str, topic: str, partition: int) -> Object:
        return {"partition": {"group": group, "partition": partition, "topic": topic}, "offset": {"offset": 0}}

    def heartbeat_row(self) -> Object:
        aliases = {"sourceClusterAlias": self.source_alias, "targetClusterAlias": self.target_alias}
        return {"partition": aliases, "offset": {"offset": 0}}

    def entry(self, connector: str, name: str | None = None) -> list[Object]:
        """The rows of a connector's entry."""
        found = self.cluster.config_map(self.namespace, name or self.map_name)
        assert found is not None
        rows: list[Object] = json.loads(found["data"][self.key(connector)])["offsets"]
        return rows

    def write_entry(self, connector: str, rows: Any) -> None:
        text = rows if isinstance(rows, str) else json.dumps({"offsets": rows})
        self.cluster.apply(config_map(self.namespace, self.map_name, {self.key(connector): text}))


class Connectors:
    """A KafkaConnect, and sinks of it that write what they read into files."""

    def __init__(
        self,
        cluster: Cluster,
        connect: Connect,
        rest: Proxy,
        servers: str,
        namespace: str,
        topics: Topics,
        directory: Path,
    ) -> None:
        tag = uuid.uuid4().hex[:6]
        self.cluster, self.connect, self.rest, self.namespace = cluster, connect, rest, namespace
        self.topics, self.directory, self.servers = topics, directory, servers
        self.name = f"connect-{tag}"
        self.body: Object = {
            "apiVersion": V1BETA2,
            "kind": "KafkaConnect",
            "metadata": {
                "name": self.name,
                "namespace": namespace,
                "annotations": {
                    "seamark.dev/connect-url": rest.url,
                    "strimzi.io/use-connector-resources": "true",
                },
            },
            "spec": {"replicas": 1, "bootstrapServers": servers},
        }
        cluster.create(self.body)
        self._made: list[Object] = []

    def sink(
        self, lines: int = 0, partitions: int = 1, *, create: bool = True, state: str = "running", **config: str
    ) -> Sink:
        """A sink of a topic with that many records in every partition."""
        name = f"sink-{uuid.uuid4().hex[:8]}"
        self.topics.create(name, partitions)
        made = Sink(self, name, partitions, state, {key.replace("__", "."): value for key, value in config.items()})
        if lines:
            made.send(lines)
        if create:
            made.create()
        return made

    def remember(self, body: Object) -> None:
        self._made.append(body)

    def delete(self) -> None:
        for body in [*self._made, self.body]:
            found = self.cluster.find(body)
            if found is not None and found["metadata"].get("finalizers"):
                self.cluster.merge(body, {"metadata": {"finalizers": None}})
            self.cluster.delete(body)

    def reset(self, sink: Sink | None, time: str, **options: Any) -> Reset:
        """A ResetOffset of a sink."""
        return Reset(self, sink.name if sink is not None else "nobody", time, **options)


class Sink:
    """A KafkaConnector of a FileStreamSink."""

    def __init__(self, owner: Connectors, name: str, partitions: int, state: str, config: Mapping[str, str]) -> None:
        self.owner, self.name, self.partitions = owner, name, partitions
        self.file = owner.directory / f"{name}.txt"
        self.sent = 0
        self.body: Object = {
            "apiVersion": V1BETA2,
            "kind": "KafkaConnector",
            "metadata": {
                "name": name,
                "namespace": owner.namespace,
                "labels": {"strimzi.io/cluster": owner.name},
                "annotations": {},
            },
            "spec": {
                "class": SINK,
                "tasksMax": 1,
                "state": state,
                "config": {
                    "topics": name,
                    "file": str(self.file),
                    "key.converter": STRING,
                    "value.converter": STRING,
                    **config,
                },
            },
        }

    @property
    def group(self) -> str:
        return str(self.body["spec"]["config"].get("consumer.override.group.id") or f"connect-{self.name}")

    def create(self) -> Sink:
        self.owner.cluster.create(self.body)
        self.owner.remember(self.body)
        return self

    def get(self) -> Object:
        return self.owner.cluster.get(self.body)

    def send(self, lines: int) -> None:
        """The same number of records to each partition: ``<partition>:<number>``."""
        for partition in range(self.partitions):
            values = [f"{partition}:{number}" for number in range(self.sent, self.sent + lines)]
            self.owner.topics.send(self.name, values, partition)
        self.sent += lines

    def send_at(self, partition: int, *times_ms: int) -> None:
        """Records of certain times; ``<partition>:<time>``."""
        with RecordProducer({"bootstrap.servers": self.owner.servers}) as producer:
            for time_ms in times_ms:
                producer.send(self.name, f"{partition}:{time_ms}".encode(), None, partition, time_ms)
            assert producer.flush(30) == 0

    def lines(self) -> list[str]:
        return self.file.read_text().splitlines() if self.file.exists() else []

    def offsets(self) -> dict[int, int]:
        """What is committed for its topic; Kafka Connect lists all topics of a group."""
        answer = self.owner.connect.call("GET", path_of(self.name, "offsets"))
        topic = self.body["spec"]["config"]["topics"]
        rows = [row for row in answer.json().get("offsets", []) if row["partition"]["kafka_topic"] == topic]
        return {row["partition"]["kafka_partition"]: row["offset"]["kafka_offset"] for row in rows}

    def await_offsets(self, offset: int, within_s: float = 90) -> None:
        wanted = dict.fromkeys(range(self.partitions), offset)
        eventually(lambda: self.offsets() == wanted, within_s, f"{self.name} has not come to {offset}")

    def live_state(self) -> str:
        answer = self.owner.connect.call("GET", path_of(self.name, "status"))
        return str(answer.json().get("connector", {}).get("state")) if answer.status_code == 200 else ""

    def await_state(self, state: str, within_s: float = 60) -> None:
        eventually(lambda: self.live_state() == state, within_s, f"{self.name} is not {state}")

    def calls(self, verb: str) -> int:
        """How often the operator asked for it."""
        return len(self.owner.rest.calls(path=f"/connectors/{self.name}/{verb}"))


class Reset:
    """A ResetOffset."""

    def __init__(
        self, owner: Connectors, name: str, time: str, *, namespace: str | None = None, ref: Object | None = None
    ) -> None:
        self.owner = owner
        self.body: Object = {
            "apiVersion": "kafka.eventing.knative.dev/v1alpha1",
            "kind": "ResetOffset",
            "metadata": {"name": f"reset-{uuid.uuid4().hex[:8]}", "namespace": namespace or owner.namespace},
            "spec": {
                "offset": {"time": time},
                "ref": ref or {"apiVersion": V1BETA2, "kind": "KafkaConnector", "name": name},
            },
        }

    def create(self) -> Reset:
        self.owner.cluster.create(self.body)
        self.owner.remember(self.body)
        return self

    def get(self) -> Object:
        return self.owner.cluster.get(self.body)

    @property
    def status(self) -> Object:
        return self.get().get("status") or {}

    def conditions(self) -> dict[str, str]:
        return conditions(self.get())

    def condition(self, kind: str) -> Object:
        return condition(self.get(), kind) or {}

    def is_done(self) -> bool:
        return self.conditions().get("Succeeded") == "True"

    def await_done(self, within_s: float = 120) -> Reset:
        eventually(self.is_done, within_s, f"it has not succeeded: {self.status}")
        return self

    def await_failure(self, step: str, within_s: float = 60) -> Object:
        def look() -> Object | None:
            found = self.condition(step)
            return found if found.get("status") == "False" else None

        return eventually(look, within_s, f"{step} has not failed")  # type: ignore[return-value]

    def rows(self) -> list[tuple[int, int, int]]:
        """Partition, old and new offset."""
        return [
            (each["partition"], each["oldOffset"], each["newOffset"]) for each in self.status.get("partitions") or []
        ]


def subscription(place: str, channel: str, **more: str) -> tuple[Object, Object]:
    """A Subscription in the namespace `place` to a channel, and a reference to it."""
    where = {"apiVersion": "messaging.knative.dev/v1", "kind": "Subscription"}
    name = f"subscription-{uuid.uuid4().hex[:8]}"
    to = {"apiVersion": "messaging.knative.dev/v1beta1", "kind": "KafkaChannel", "name": channel, **more}
    body = {**where, "metadata": {"name": name, "namespace": place}, "spec": {"channel": to}}
    return body, {**where, "name": name}


def rfc3339(time_ms: int) -> str:
    """A time as a ResetOffset has it."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def reasons_of_events(cluster: Cluster, reset: Reset) -> list[str]:
    """Of the events about a ResetOffset."""
    return [each["reason"] for each in cluster.events(reset.body)]
