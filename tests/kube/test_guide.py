"""The guide, followed from top to bottom with kubectl: what it shows is what happens."""

from __future__ import annotations

import json
import re
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from compat.client import Connect, path_of
from fixtures.http_proxy import Proxy
from fixtures.kube import ROOT, Cluster, conditions
from fixtures.worker import Topics
from kube.conftest import SEAMARK_ONLY, MakeOperator
from kube.resources import V1BETA2
from seamark.kafka.admin import TopicSpec
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.producer import RecordProducer
from seamark.testing.waiting import eventually

GUIDE = ROOT / "docs" / "guides" / "kubernetes.md"
STRING = "org.apache.kafka.connect.storage.StringConverter"
SOURCE = "east-kafka->west-kafka.MirrorSourceConnector"
BLOCK = re.compile(r"^```(yaml|sh|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
AGE = re.compile(r"\b(\d+m)?\d+s\b")
NOON = int(datetime(2026, 5, 1, 12, tzinfo=UTC).timestamp() * 1000)


class Reader:
    """Somebody who follows the guide, with a worker outside of the cluster."""

    def __init__(self, cluster: Cluster, namespace: str, url: str, servers: str, file: Path) -> None:
        self._cluster, self._namespace, self._url, self._servers, self._file = cluster, namespace, url, servers, file

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        return self._cluster.kubectl("--namespace", self._namespace, *arguments, stdin=stdin)

    def named(self, kind: str, name: str) -> dict[str, Any]:
        meta = {"name": name, "namespace": self._namespace}
        return self._cluster.get({"apiVersion": V1BETA2, "kind": kind, "metadata": meta})

    def apply(self, text: str) -> list[str]:
        """Apply resources, at the addresses that there are here; returns their kinds."""
        bodies = [body for body in yaml.safe_load_all(text) if {"apiVersion", "kind"} <= set(body)]
        for body in bodies:
            self.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(self._adapted(body)))
        return [body["kind"] for body in bodies]

    def follow(self, text: str) -> None:
        """Commands, and what they print."""
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
            eventually(lambda command=command, expected=expected: self._shows(command, expected), 60)

    def _shows(self, command: str, expected: str) -> bool:
        program, *arguments = shlex.split(command)
        assert program == "kubectl"
        printed = self.kubectl(*arguments)
        assert _plain(printed) == _plain(expected), f"{command}\n{printed}"
        return True

    def _adapted(self, body: dict[str, Any]) -> dict[str, Any]:
        spec = body.get("spec", {})
        if body["kind"] in ("KafkaConnect", "KafkaMirrorMaker2"):
            body["metadata"].setdefault("annotations", {})["seamark.dev/connect-url"] = self._url
        if body["kind"] == "KafkaConnect":
            spec["bootstrapServers"] = self._servers
            for secured in ("tls", "authentication"):
                spec.pop(secured, None)
        for each in spec.get("clusters", []):
            each["bootstrapServers"] = self._servers
        for mirror in spec.get("mirrors", []):
            for section in ("checkpointConnector", "heartbeatConnector"):
                topics = ("heartbeats", "checkpoints", "offset-syncs")
                mirror[section]["config"] = {f"{topic}.topic.replication.factor": 1 for topic in topics}
        if body["metadata"]["name"] == "orders-to-file":
            spec["config"] |= {"file": str(self._file), "value.converter": STRING, "key.converter": STRING}
        return body


def _plain(text: str) -> list[list[str]]:
    return [AGE.sub("AGE", line).split() for line in text.splitlines() if line.strip()]


@pytest.mark.slow
@SEAMARK_ONLY
def test_the_guide_can_be_followed(
    cluster: Cluster,
    namespace: str,
    make_operator: MakeOperator,
    connect: Connect,
    rest: Proxy,
    broker: EmbeddedBroker,
    topics: Topics,
    tmp_path: Path,
) -> None:
    make_operator(namespace)
    # Kafka would delete records of that age soon.
    topics.admin.create_topics([TopicSpec("orders", 1, 1, {"retention.ms": "-1"})])
    with RecordProducer({"bootstrap.servers": broker.bootstrap_servers}) as producer:
        for number in (-1, 0, 1):
            producer.send("orders", f"order {number}".encode(), None, 0, NOON + 1000 * number)
        assert producer.flush(30) == 0
    reader = Reader(cluster, namespace, rest.url, broker.bootstrap_servers, tmp_path / "orders.txt")

    def read() -> list[str]:
        return (tmp_path / "orders.txt").read_text().splitlines()

    def offsets(connector: str) -> Any:
        return connect.call("GET", path_of(connector, "offsets")).json()["offsets"]

    def asked() -> bool:
        annotations = reader.named("KafkaMirrorMaker2", "my-mm2")["metadata"]["annotations"]
        return "strimzi.io/connector-offsets" in annotations

    seen: list[str] = []
    listed: dict[str, str] = {}
    for language, text in BLOCK.findall(GUIDE.read_text()):
        if language == "yaml":
            kinds = reader.apply(text)
            seen += kinds
            if "KafkaConnector" in kinds and "orders-to-file" in text:
                eventually(lambda: read() == ["order -1", "order 0", "order 1"], 120)
                eventually(lambda: offsets("orders-to-file")[0]["offset"] == {"kafka_offset": 3}, 60)
            elif "KafkaMirrorMaker2" in kinds:
                eventually(lambda: conditions(reader.named("KafkaMirrorMaker2", "my-mm2")) == {"Ready": "True"}, 120)
                eventually(lambda: connect.status(SOURCE)["connector"]["state"] == "STOPPED", 60)
                row = {"partition": {"cluster": "east-kafka", "topic": "orders", "partition": 0}}
                body = {"offsets": [{**row, "offset": {"offset": 15}}]}
                assert connect.call("PATCH", path_of(SOURCE, "offsets"), body).status_code == 200
            elif kinds == ["ConfigMap"]:
                shown = yaml.safe_load(text)["data"]
                assert listed == shown, "what was listed is what the guide shows"
        elif language == "console":
            reader.follow(text)
        elif "connector-offsets=list" in text:
            for command in text.replace("\\\n", " ").splitlines():
                printed = reader.kubectl(*shlex.split(command)[1:])
                eventually(lambda: not asked(), 60)
            listed = yaml.safe_load(printed)["data"]
        elif "connector-offsets=alter" in text:
            key = "east-kafka--west-kafka.MirrorSourceConnector.json"
            edited = {"data": {key: listed[key].replace("15", "3")}}  # instead of an editor
            reader.kubectl("patch", "configmap", "my-mm2-offsets", "--type=merge", "-p", json.dumps(edited))
            annotate = text.replace("\\\n", " ").splitlines()[-1]
            reader.kubectl(*shlex.split(annotate)[1:])
            eventually(lambda: not asked(), 60)
            assert offsets(SOURCE)[0]["offset"] == {"offset": 3}
    assert {"KafkaConnect", "KafkaConnector", "KafkaMirrorMaker2", "ConfigMap", "ResetOffset"} == set(seen)
    eventually(lambda: read()[3:] == ["order 0", "order 1"], 60, "the ResetOffset has not brought back what came later")
    for kind in ("resetoffsets", "kafkaconnectors", "kafkamirrormaker2s", "kafkaconnects"):
        reader.kubectl("delete", kind, "--all", "--timeout=60s")
    eventually(lambda: not _left(connect), 60)


def _left(connect: Connect) -> list[str]:
    return [name for name in connect.get("/connectors").json() if name.startswith(("east-kafka", "orders", "my-sub"))]
