"""The control plane, beside the Java worker's: how long a client waits for what it asks."""

from __future__ import annotations

import functools
import statistics
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from bench.setup import SOURCE, STRING, Bench, heading, tree_memory_mb
from seamark.kafka.broker_storage import free_port
from seamark.kafka.java import JavaProcess
from seamark.testing.java_connect import JavaConnect

OFFSETS, STOPPED, LISTS = 1000, 200, 20
WANTED = 1.5  # times Java's
SETTLE_S = 75.0  # longer than `seamark.spark.release.ms`


class _Java:
    name = "java"

    def __init__(self, bench: Bench) -> None:
        self._connect = JavaConnect(
            bench.directory / f"java-control-{uuid.uuid4().hex[:6]}", bench.broker.bootstrap_servers, heap="1g"
        )
        self.url = self._connect.url

    def start(self) -> None:
        self._connect.start()

    def stop(self) -> None:
        self._connect.stop()

    @property
    def pid(self) -> int:
        return self._connect.pid or 0


class _Seamark:
    name = "seamark"

    def __init__(self, bench: Bench) -> None:
        self._directory = bench.directory / f"seamark-control-{uuid.uuid4().hex[:6]}"
        port = free_port("127.0.0.1")
        self.url = f"http://127.0.0.1:{port}"
        group = f"control-{uuid.uuid4().hex[:6]}"
        self._settings = {
            "bootstrap.servers": bench.broker.bootstrap_servers,
            "listeners": self.url,
            "group.id": group,
            "key.converter": STRING,
            "value.converter": STRING,
            "spark.ui.enabled": "false",
        }
        for kind, suffix in (("config", "configs"), ("offset", "offsets"), ("status", "status")):
            self._settings[f"{kind}.storage.topic"] = f"{group}-{suffix}"
            self._settings[f"{kind}.storage.replication.factor"] = "1"
        self._process: JavaProcess | None = None

    def start(self) -> None:
        self._directory.mkdir()
        properties = self._directory / "worker.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in self._settings.items()))
        command = [str(Path(sys.executable).with_name("seamark")), "distributed", str(properties)]
        self._process = JavaProcess(command, log_file=self._directory / "worker.log", stop_timeout_s=60)
        _until(lambda: _status(self.url, "/health") == httpx.codes.OK, 120)

    def stop(self) -> None:
        if self._process is not None:
            self._process.stop()

    @property
    def pid(self) -> int:
        return (self._process.pid or 0) if self._process is not None else 0


def run(bench: Bench) -> None:
    with heading(f"control plane: medians of {bench.repeats} for single requests"):
        measured = {side.name: _measure(bench, side) for side in (_Java(bench), _Seamark(bench))}
    better = 0
    print(f"   {'':44} {'java':>10} {'seamark':>10}   ratio (wanted: at most {WANTED})")
    for what, java in measured["java"].items():
        ours = measured["seamark"][what]
        ratio = ours / java
        better += ratio < 1
        print(f"   {what:44} {java:10.3f} {ours:10.3f}   {ratio:.2f}")
        bench.results[f"control, {what}: java"] = round(java, 4)
        bench.results[f"control, {what}: seamark"] = round(ours, 4)
        bench.results[f"control, {what}: ratio"] = round(ratio, 2)
    print(f"   better on {better} of {len(measured['java'])}")


def _measure(bench: Bench, side: _Java | _Seamark) -> dict[str, float]:
    found: dict[str, float] = {}
    found["start to REST ready, s"] = _timed(side.start)
    try:
        with httpx.Client(base_url=side.url, timeout=100) as client:
            _requests(bench, client, found)
            _many(bench, client, found)
            time.sleep(SETTLE_S)  # both sides give back what they do not need any more
            found["memory with 200 STOPPED, MB"] = tree_memory_mb(side.pid)
    finally:
        side.stop()
    return found


def _requests(bench: Bench, client: httpx.Client, found: dict[str, float]) -> None:
    create, stop, patch, read = [], [], [], []
    for number in range(bench.repeats + 1):
        name = f"control-{number}-{uuid.uuid4().hex[:6]}"
        file = bench.directory / f"{name}.txt"
        file.write_text("line\n")
        config = {"connector.class": SOURCE, "file": str(file), "topic": name, "tasks.max": "1"}

        def is_running(name: str = name) -> bool:
            status = client.get(f"/connectors/{name}/status")
            return status.is_success and [task["state"] for task in status.json()["tasks"]] == ["RUNNING"]

        def created(name: str = name, config: dict[str, str] = config) -> None:
            _ok(client.post("/connectors", json={"name": name, "config": config}))
            _until(is_running, 60)

        def stopped(name: str = name) -> None:
            _ok(client.put(f"/connectors/{name}/stop"))
            _until(lambda: _is_stopped(client, name), 60)

        body = {
            "offsets": [
                {"partition": {"filename": f"/data/{each}"}, "offset": {"position": each}} for each in range(OFFSETS)
            ]
        }
        create.append(_timed(created))
        stop.append(_timed(stopped))
        path = f"/connectors/{name}/offsets"
        patch.append(_timed(functools.partial(_settled, client, "PATCH", path, body)))
        read.append(_timed_read(client, path))
        assert len(client.get(f"/connectors/{name}/offsets").json()["offsets"]) >= OFFSETS
        _settled(client, "DELETE", f"/connectors/{name}", None)
    # The first round is a warm-up: JIT, Spark's first job.
    found["create to RUNNING, s"] = statistics.median(create[1:])
    found["stop to STOPPED, s"] = statistics.median(stop[1:])
    found[f"PATCH of {OFFSETS} offsets, s"] = statistics.median(patch[1:])
    found[f"GET of {OFFSETS} offsets, s"] = statistics.median(read[1:])


def _timed_read(client: httpx.Client, path: str) -> float:
    """Of a read that is answered: now and then the Java worker refuses one with 500 just after a change."""
    for _ in range(5):
        began = time.monotonic()
        answer = client.get(path)
        elapsed_s = time.monotonic() - began
        if answer.is_success:
            return elapsed_s
        print(f"   GET {client.base_url}{path}: {answer.status_code} {answer.text}; asked again")
    raise AssertionError(f"GET {path} was refused five times")


def _many(bench: Bench, client: httpx.Client, found: dict[str, float]) -> None:
    prefix = uuid.uuid4().hex[:6]

    def create() -> None:
        for number in range(STOPPED):
            config = {"connector.class": SOURCE, "file": f"/data/{prefix}-{number}", "topic": "none"}
            request = {"name": f"{prefix}-{number}", "config": config, "initial_state": "STOPPED"}
            _settled(client, "POST", "/connectors", request)

    def all_stopped() -> bool:
        states: dict[str, Any] = client.get("/connectors?expand=status").json()
        reached = [
            name
            for name, each in states.items()
            if name.startswith(prefix) and each["status"]["connector"]["state"] == "STOPPED"
        ]
        return len(reached) == STOPPED

    found[f"create {STOPPED} STOPPED, s"] = _timed(create)
    _until(all_stopped, 120)
    found["list with status and info, s"] = statistics.median(
        _timed(functools.partial(_get, client, "/connectors?expand=status&expand=info")) for _ in range(LISTS)
    )
    found["list of names, s"] = statistics.median(
        _timed(functools.partial(_get, client, "/connectors")) for _ in range(LISTS)
    )


def _is_stopped(client: httpx.Client, name: str) -> bool:
    status = client.get(f"/connectors/{name}/status")
    if not status.is_success:
        return False
    found: dict[str, Any] = status.json()
    return bool(found["connector"]["state"] == "STOPPED" and not found["tasks"])


def _settled(client: httpx.Client, method: str, path: str, body: object) -> None:
    """Repeat what is refused because the group rebalances, as every client does."""
    deadline = time.monotonic() + 60
    while True:
        answer = client.request(method, path, json=body) if body is not None else client.request(method, path)
        if answer.status_code != httpx.codes.CONFLICT and "rebalance" not in answer.text:
            _ok(answer)
            return
        assert time.monotonic() < deadline, answer.text
        time.sleep(0.02)


def _get(client: httpx.Client, path: str) -> None:
    _ok(client.get(path))


def _ok(answer: httpx.Response) -> None:
    assert answer.is_success, f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text}"


def _timed(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def _until(condition: Callable[[], bool], within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {within_s} s"
        time.sleep(0.01)


def _status(url: str, path: str) -> int:
    try:
        return httpx.get(url + path, timeout=5).status_code
    except httpx.HTTPError:
        return 0
