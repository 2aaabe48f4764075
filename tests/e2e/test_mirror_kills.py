"""A mirror under load; its worker is killed again and again, at random moments, and its broker once."""

from __future__ import annotations

import os
import random
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from fixtures.mirror_flows import BYTES, JAVA, ONE_REPLICA, Kafka
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.broker_storage import free_port
from seamark.kafka.java import JavaProcess
from seamark.kafka.producer import RecordProducer
from seamark.testing.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

# Each kill costs the start of a worker and its Spark; `SEAMARK_KILLS=10` takes its time.
KILLS, PARTITIONS, TOPIC = int(os.environ.get("SEAMARK_KILLS", "3")), 3, "ledger"
LONGEST_RUN_S = 2.0


class _Writer(threading.Thread):
    """Writes numbered records until it is told to stop."""

    def __init__(self, servers: str) -> None:
        super().__init__(name="writer", daemon=True)
        self._servers, self._stopping = servers, threading.Event()
        self.written = 0

    def run(self) -> None:
        # The broker dies meanwhile: without idempotence a retry could write twice, and the copy would have both.
        settings = {"bootstrap.servers": self._servers, "acks": "all", "enable.idempotence": "true"}
        with RecordProducer(settings) as producer:
            while not self._stopping.wait(0.02):
                for _ in range(20):
                    producer.send(TOPIC, b"%d" % (self.written // PARTITIONS), partition=self.written % PARTITIONS)
                    self.written += 1
                producer.poll()
            assert producer.flush(60) == 0

    def stop(self) -> None:
        self._stopping.set()
        self.join()


class _Worker:
    """A `seamark distributed` process that can be killed and started again."""

    def __init__(self, directory: Path, servers: str) -> None:
        self._directory = directory
        directory.mkdir()
        self.url = f"http://127.0.0.1:{free_port('127.0.0.1')}"
        settings = {
            "bootstrap.servers": servers,
            "listeners": self.url,
            "group.id": "killed",
            "exactly.once.source.support": "enabled",
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "500",
            "key.converter": BYTES,
            "value.converter": BYTES,
            "header.converter": BYTES,
            "offset.storage.partitions": "3",
            "spark.ui.enabled": "false",
        }
        for kind in ("config", "offset", "status"):
            settings[f"{kind}.storage.topic"] = f"killed-{kind}s"
            settings[f"{kind}.storage.replication.factor"] = "1"
        self._properties = directory / "worker.properties"
        self._properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        self._process: JavaProcess | None = None

    def start(self) -> None:
        command = [str(Path(sys.executable).with_name("seamark")), "distributed", str(self._properties)]
        self._process = JavaProcess(command, log_file=self._directory / "worker.log", stop_timeout_s=60)
        eventually(lambda: httpx.get(f"{self.url}/health", timeout=5).is_success, 120, "the worker is not healthy")

    def kill(self) -> None:
        assert self._process is not None
        assert self._process.pid is not None
        children = psutil.Process(self._process.pid).children(recursive=True)
        self._process.kill()
        _, alive = psutil.wait_procs(children, timeout=30)
        assert not alive, f"survived their worker: {alive}"

    def stop(self) -> None:
        if self._process is not None:
            self._process.stop()


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(tmp_path / "broker", heap="384m") as running:
        yield running


def test_nothing_is_lost_or_doubled(own_broker: EmbeddedBroker, tmp_path: Path) -> None:
    kafka = Kafka(own_broker)
    kafka.create(TOPIC, PARTITIONS)
    kafka.create(f"a.{TOPIC}", PARTITIONS)
    worker, writer = _Worker(tmp_path / "worker", kafka.servers), _Writer(kafka.servers)
    worker.start()
    config = {
        "connector.class": f"{JAVA}.MirrorSourceConnector",
        "tasks.max": "2",
        "source.cluster.alias": "a",
        "target.cluster.alias": "b",
        "source.cluster.bootstrap.servers": kafka.servers,
        "target.cluster.bootstrap.servers": kafka.servers,
        "topics": TOPIC,
        "consumer.isolation.level": "read_committed",
        "sync.topic.acls.enabled": "false",
        **ONE_REPLICA,
    }
    created = httpx.post(f"{worker.url}/connectors", json={"name": "mirror", "config": config}, timeout=100)
    assert created.status_code == httpx.codes.CREATED, created.text
    writer.start()

    def copied() -> int:
        return sum(kafka.ends(f"a.{TOPIC}", is_committed=True).values())

    try:
        for number in range(KILLS):
            before = copied()
            eventually(lambda before=before: copied() > before, 120, f"nothing is copied after {number} kills")
            threading.Event().wait(random.uniform(0, LONGEST_RUN_S))  # the random moment
            if number == KILLS // 2:
                own_broker.kill()
                own_broker.start()
                before = copied()
                eventually(lambda before=before: copied() > before, 120, "nothing is copied after the broker's death")
            worker.kill()
            worker.start()
        writer.stop()

        def is_done() -> bool:
            return len(kafka.records(f"a.{TOPIC}")) >= writer.written

        eventually(is_done, 120, f"not all of {writer.written} records arrive")
        for partition in range(PARTITIONS):
            sent = kafka.values(TOPIC, partition)
            assert sent == [b"%d" % number for number in range(len(sent))]
            assert kafka.values(f"a.{TOPIC}", partition) == sent
    finally:
        worker.stop()
        kafka.close()
