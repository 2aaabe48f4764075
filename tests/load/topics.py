"""A hundred thousand topics in the cluster's metadata: connectors must find theirs among them.

One broker cannot hold the files of so many, so they belong to brokers that come, create them, and go: topics whose
leader is away are in the metadata like any other.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from compat.targets import Target
from load.cluster import SINK, admin_of, client_of, running, use_of
from load.results import Results
from seamark.errors import BrokerError
from seamark.kafka import TopicSpec, jars
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.broker_storage import free_port
from seamark.kafka.java import JavaProcess, find_java
from seamark.kafka.producer import RecordProducer
from seamark.testing.waiting import eventually

TOPICS, AT_ONCE, PER_BROKER = 100_000, 500, 12_500
WANTED = 3
"""Topics among them that a sink and a mirror are to find by their names."""


def run(directory: Path, results: Results) -> None:
    with running(directory) as (target, broker):
        began = time.monotonic()
        for first in range(0, TOPICS, PER_BROKER):
            _create(directory, broker, first, min(PER_BROKER, TOPICS - first))
        results.add(f"{TOPICS:,} topics created by brokers that come and go", time.monotonic() - began, "s")
        with admin_of(target) as admin:
            wanted = [f"wanted-{number}" for number in range(WANTED)]
            admin.create_topics([TopicSpec(name, 1, 1, {}) for name in wanted])
            began = time.monotonic()
            count = len(admin.list_topics(timeout_s=60))
            results.add("topics in the metadata", count)
            results.add("one look at all names", time.monotonic() - began, "s")
        with RecordProducer({"bootstrap.servers": broker.bootstrap_servers}) as producer:
            for name in wanted:
                producer.send(name, b"found", partition=0)
            producer.flush(60)
        _sink(target, directory, results)
        _mirror(target, broker, results)
        _restart(target, results)
        uses = [use_of(target, number) for number in range(len(target.workers))]
        results.add("memory of three workers", sum(use.memory_mb for use in uses), "MB")


def _create(directory: Path, broker: EmbeddedBroker, first: int, count: int) -> None:
    """Topics on a broker of their own, which is gone afterwards."""
    node = 100 + first // PER_BROKER
    folder = directory / f"guest-{node}"
    with _Guest(folder, broker, node) as guest:
        for start in range(first, first + count, AT_ONCE):
            numbers = range(start, min(start + AT_ONCE, first + count))
            new = [NewTopic(f"many-{number:06d}", 1, replica_assignment=[[node]]) for number in numbers]
            for future in guest.admin.create_topics(new, operation_timeout=120, request_timeout=120).values():
                future.result()
    shutil.rmtree(folder, ignore_errors=True)


class _Guest:
    """A broker that joins the cluster of another one for a while."""

    def __init__(self, directory: Path, host: EmbeddedBroker, node: int) -> None:
        self._directory, self._host, self._node = directory, host, node
        self._process: JavaProcess | None = None
        self.admin = AdminClient({"bootstrap.servers": host.bootstrap_servers})

    def __enter__(self) -> _Guest:
        log_dir = self._directory / "data"
        log_dir.mkdir(parents=True)
        own = self._host.data_dir / "data" / "meta.properties"
        cluster = next(line for line in own.read_text().splitlines() if line.startswith("cluster.id="))
        (log_dir / "meta.properties").write_text(f"version=1\nnode.id={self._node}\n{cluster}\n")
        shutil.copyfile(own.with_name("bootstrap.checkpoint"), log_dir / "bootstrap.checkpoint")
        settings = dict(
            line.split("=", 1) for line in (self._host.data_dir / "server.properties").read_text().splitlines()
        )
        port = free_port("127.0.0.1")
        settings |= {
            "process.roles": "broker",
            "node.id": str(self._node),
            "listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "log.dirs": str(log_dir),
            "log.index.size.max.bytes": "4096",
        }
        properties = self._directory / "server.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        command = [find_java(BrokerError), "-Xmx2g", "-XX:+UseSerialGC", "-cp", jars.classpath(jars.BROKER)]
        self._process = JavaProcess(
            [*command, "kafka.Kafka", str(properties)], log_file=self._directory / "log", stop_timeout_s=60
        )
        eventually(lambda: self._node in self.admin.list_topics(timeout=30).brokers, 120, "a guest has not joined")
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()


def _sink(target: Target, directory: Path, results: Results) -> None:
    output = directory / "wanted.out"
    began = time.monotonic()
    with client_of(target) as client:
        client.create("finder", {"connector.class": SINK, "file": str(output), "topics.regex": "wanted-[0-9]+"})
        eventually(lambda: output.exists() and output.read_text().count("found") == WANTED, 300, "topics not found")
    results.add(f"a sink with topics.regex has the records of its {WANTED} topics after", time.monotonic() - began, "s")


def _mirror(target: Target, broker: EmbeddedBroker, results: Results) -> None:
    config = {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": "near",
        "target.cluster.alias": "far",
        "source.cluster.bootstrap.servers": broker.bootstrap_servers,
        "target.cluster.bootstrap.servers": broker.bootstrap_servers,
        "topics": "wanted-.*",
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
    }
    began = time.monotonic()
    with client_of(target) as client, admin_of(target) as admin:
        client.create("mirror", config)
        eventually(lambda: sum(name.startswith("near.wanted-") for name in admin.list_topics()) == WANTED, 300)
    results.add(f"a mirror has made copies of its {WANTED} topics after", time.monotonic() - began, "s")


def _restart(target: Target, results: Results) -> None:
    worker = target.workers[0]
    worker.stop()
    began = time.monotonic()
    worker.start()
    worker.await_healthy()
    results.add("a worker restarted is healthy after", time.monotonic() - began, "s")
