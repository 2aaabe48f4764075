"""Schemathesis over the OpenAPI document of a real worker: no answer that is not documented, no crash, no hang."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from compat.client import path_of
from compat.targets import SINK, SOURCE, SeamarkStandalone
from seamark.kafka.broker import EmbeddedBroker

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

EXAMPLES, SEED = 12, 875980
CONNECTORS = {
    "source": {"connector.class": SOURCE, "file": "/nowhere/in.txt", "topic": "fuzzed"},
    "sink": {"connector.class": SINK, "file": "/nowhere/out.txt", "topics": "fuzzed"},
}


@pytest.fixture
def worker(tmp_path: Path, broker: EmbeddedBroker) -> Iterator[SeamarkStandalone]:
    target = SeamarkStandalone(tmp_path / "worker", broker.bootstrap_servers)
    target.start()
    for name, config in CONNECTORS.items():
        request = {"name": name, "config": config, "initial_state": "STOPPED"}
        assert httpx.post(f"{target.urls[0]}/connectors", json=request, timeout=100).status_code == httpx.codes.CREATED
    yield target
    target.stop()


def test_every_answer_is_documented(worker: SeamarkStandalone, tmp_path: Path) -> None:
    url = worker.urls[0]
    command = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{url}/openapi.json", "--no-color"]
    command += ["--checks", "status_code_conformance,response_schema_conformance", "--continue-on-failure"]
    command += ["--max-examples", str(EXAMPLES), "--seed", str(SEED), "--request-timeout", "60", "--no-shrink"]
    command += ["--phases", "examples,coverage,fuzzing", "--generation-database", "none", "--warnings", "off"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=800, check=False)

    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    # It has survived: it still answers, and does what it is asked.
    assert httpx.get(f"{url}/health", timeout=30).status_code == httpx.codes.OK
    name = "after the storm"
    request = {"name": name, "config": CONNECTORS["source"], "initial_state": "STOPPED"}
    assert httpx.post(f"{url}/connectors", json=request, timeout=100).status_code == httpx.codes.CREATED
    assert httpx.delete(f"{url}{path_of(name)}", timeout=100).status_code == httpx.codes.NO_CONTENT
