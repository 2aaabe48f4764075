"""`seamark mirror-maker` with a MirrorMaker 2 file, between two real clusters."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from fixtures.mirror_flows import Kafka
from seamark.kafka.broker_storage import free_port
from seamark.kafka.java import JavaProcess
from seamark.testing.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
SEAMARK = str(Path(sys.executable).with_name("seamark"))


class Maker:
    """A running mirror maker of the clusters `a` (near) and `b` (far)."""

    def __init__(self, directory: Path, near: Kafka, far: Kafka) -> None:
        tag = uuid.uuid4().hex[:6]
        self.source, self.target = f"a{tag}", f"b{tag}"
        self.topic = f"orders-{tag}"
        self.url = f"http://127.0.0.1:{free_port('127.0.0.1')}"
        settings = {
            "clusters": f"{self.source}, {self.target}",
            f"{self.source}.bootstrap.servers": near.servers,
            f"{self.target}.bootstrap.servers": far.servers,
            f"{self.source}->{self.target}.enabled": "true",
            f"{self.source}->{self.target}.topics": f"{self.topic}.*",
            f"{self.target}->{self.source}.emit.heartbeats.enabled": "false",
            f"{self.target}.exactly.once.source.support": "enabled",
            f"{self.source}.consumer.isolation.level": "read_committed",
            "listeners": self.url,
            "spark.ui.enabled": "false",
            **{
                f"{kind}replication.factor": "1"
                for kind in (
                    "",
                    "checkpoints.topic.",
                    "heartbeats.topic.",
                    "offset-syncs.topic.",
                    "offset.storage.",
                    "status.storage.",
                    "config.storage.",
                )
            },
        }
        self.file = directory / "mm2.properties"
        self.file.write_text("".join(f"{key} = {value}\n" for key, value in settings.items()))
        self.log = directory / "mirror-maker.log"
        self.process = JavaProcess([SEAMARK, "mirror-maker", str(self.file)], log_file=self.log, stop_timeout_s=60)

    def get(self, path: str) -> Any:
        return httpx.get(self.url + path, timeout=30).raise_for_status().json()


@pytest.fixture
def maker(tmp_path: Path, near: Kafka, far: Kafka) -> Iterator[Maker]:
    running = Maker(tmp_path, near, far)
    yield running
    running.process.stop()


def test_a_flow_runs_and_can_be_looked_at(maker: Maker, near: Kafka, far: Kafka) -> None:
    near.create(maker.topic, 2)
    near.send(maker.topic, [b"1", b"2"], 0)
    near.send(maker.topic, [b"3"], 1)
    copy = f"{maker.source}.{maker.topic}"
    eventually(lambda: far.values(copy) == [b"1", b"2", b"3"], 120, "nothing is copied")
    flow = f"/{maker.source}/{maker.target}"
    assert maker.get("/") == {"flows": [{"source": maker.source, "target": maker.target, "path": flow}]}
    assert maker.get("/health")["status"] == "healthy"
    connectors = {"MirrorSourceConnector", "MirrorHeartbeatConnector", "MirrorCheckpointConnector"}
    eventually(lambda: set(maker.get(f"{flow}/connectors")) == connectors, 60)
    offsets = eventually(lambda: maker.get(f"{flow}/connectors/MirrorSourceConnector/offsets")["offsets"], 60)
    # Other tests may have left heartbeats on that cluster, which are mirrored too.
    assert {row["partition"]["topic"] for row in offsets} - {"heartbeats"} == {maker.topic}
    assert [row["connector"] for row in maker.get("/mirrors")] == ["MirrorSourceConnector"]
    internal = {f"mm2-{kind}.{maker.source}.internal" for kind in ("offsets", "status", "configs")}
    assert internal <= far.admin.list_topics()
    missing = httpx.get(f"{maker.url}/{maker.source}/nowhere/connectors", timeout=30)
    assert missing.status_code == httpx.codes.NOT_FOUND
    expected = f"No replication flow found for source '{maker.source}' and target 'nowhere'"
    assert missing.json()["message"] == expected
    assert httpx.get(f"{maker.url}/nothing", timeout=30).status_code == httpx.codes.NOT_FOUND
    maker.process.stop()
    assert maker.process.exit_code == 0, maker.log.read_text()[-2000:]


@pytest.mark.parametrize(
    ("lines", "arguments", "code", "said"),
    [
        ("clusters = a, b\nemit.heartbeats.enabled = false\n", [], 3, "No source->target replication flows."),
        ("clusters = a, b\na->b.enabled = true\n", ["--clusters", "c"], 3, "--clusters names c; the file's are a, b."),
        ("a->b.enabled = true\n", [], 3, "clusters"),
        ("clusters = a, b\n", ["b"], 2, "name clusters with --clusters"),
    ],
)
def test_what_cannot_start_says_why(tmp_path: Path, lines: str, arguments: list[str], code: int, said: str) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(lines)
    done = subprocess.run(
        [SEAMARK, "mirror-maker", str(file), *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
