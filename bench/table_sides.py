"""The two sides of `bench tables`: a Seamark worker and a job by hand, processes that can be killed and started again.

Both get the same cores, the same memory for the JVM, and the same jars.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from seamark.engine.spark_packages import package_jars, package_settings
from seamark.kafka import jars
from seamark.kafka.broker_storage import free_port

MEMORY = "1g"
PACKAGES = ("delta", "postgresql")


@dataclass(frozen=True)
class Flow:
    """What is to be moved, for either side."""

    name: str
    servers: str
    topic: str
    batch: int
    tasks: int
    columns: str = ""
    format: str = ""
    path: str = ""
    database: Mapping[str, str] = field(default_factory=dict)
    table: str = ""


class Side(ABC):
    """A process that moves the rows of a flow."""

    name = ""

    def __init__(self, folder: Path, flow: Flow) -> None:
        self.folder, self.flow = folder, flow
        self.folder.mkdir(parents=True, exist_ok=True)
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """How the process is started, the first time and after a crash."""

    @abstractmethod
    def started(self) -> None:
        """Do what is to be done once, after the first start."""

    def start(self) -> float:
        """Start it; when that was."""
        began = time.monotonic()
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(self.command(), stdout=log, stderr=log, env=environment)
        return began

    def kill(self) -> None:
        """End it and everything below it, all at once and without a word."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(psutil.NoSuchProcess):
            root = psutil.Process(process.pid)
            tree = [root, *root.children(recursive=True)]
            for each in tree:
                with contextlib.suppress(psutil.NoSuchProcess):
                    each.kill()
            psutil.wait_procs(tree, timeout=30)
        process.wait(30)

    def cpu_s(self) -> float:
        """Processor time of all its processes so far; those that have ended count with their parents."""
        if self._process is None:
            return 0.0
        spent = 0.0
        root = psutil.Process(self._process.pid)
        for each in (root, *root.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                times = each.cpu_times()
                spent += times.user + times.system + times.children_user + times.children_system
        return spent

    def check(self) -> None:
        """Raises if it has ended by itself."""
        if self._process is not None and self._process.poll() is not None:
            raise RuntimeError(f"{self.name} has ended: {self.last_words()}")

    def last_words(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-3000:]


class ByHand(Side):
    """A Structured Streaming job."""

    name = "by hand"

    def started(self) -> None:
        return

    def command(self) -> list[str]:
        flow, cores = self.flow, os.cpu_count() or 1
        paths = [*map(str, jars.ensure(jars.SPARK_KAFKA)), *package_jars(PACKAGES)]
        order: dict[str, Any] = {
            "spark": {
                "spark.master": f"local[{cores}]",
                "spark.driver.memory": MEMORY,
                "spark.driver.host": "127.0.0.1",
                "spark.driver.bindAddress": "127.0.0.1",
                "spark.driver.extraClassPath": os.pathsep.join(paths),
                "spark.ui.enabled": "false",
                "spark.sql.session.timeZone": "UTC",
                "spark.sql.shuffle.partitions": str(cores),
                **package_settings(PACKAGES, {}),
            },
            "bootstrap.servers": flow.servers,
            "topic": flow.topic,
            "batch": flow.batch,
            "tasks": flow.tasks,
            "schema": flow.columns,
            "format": flow.format,
            "path": flow.path,
            "checkpoint": str(self.folder / "checkpoint"),
            "table": flow.table,
            **flow.database,
        }
        return [sys.executable, str(Path(__file__).with_name("streaming_job.py")), json.dumps(order)]


class Seamark(Side):
    """A distributed worker with the flow as its connector."""

    name = "seamark"
    exactly_once = False

    def __init__(self, folder: Path, flow: Flow) -> None:
        super().__init__(folder, flow)
        self._url = f"http://127.0.0.1:{free_port('127.0.0.1')}"
        properties = {
            "bootstrap.servers": flow.servers,
            "group.id": folder.name,
            **{f"{kind}.storage.topic": f"{folder.name}-{kind}s" for kind in ("config", "offset")},
            "status.storage.topic": f"{folder.name}-status",
            **{f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")},
            "exactly.once.source.support": "enabled" if self.exactly_once else "disabled",
            "listeners": self._url,
            # It has an address that stays the same, so after a crash the group need not wait for its end.
            "seamark.static.membership": "true",
            "seamark.spark.packages": ",".join(PACKAGES),
            "seamark.batch.max.records": str(flow.batch),
            "spark.master": f"local[{os.cpu_count() or 1}]",
            "spark.driver.memory": MEMORY,
        }
        (folder / "worker.properties").write_text("".join(f"{key}={value}\n" for key, value in properties.items()))

    def command(self) -> list[str]:
        return [sys.executable, "-m", "seamark.cli.main", "distributed", str(self.folder / "worker.properties")]

    def started(self) -> None:
        body = json.dumps({"name": self.flow.name, "config": self.config()}).encode()
        deadline = time.monotonic() + 120
        while True:
            request = urllib.request.Request(
                f"{self._url}/connectors", body, {"Content-Type": "application/json"}, method="POST"
            )
            try:
                urllib.request.urlopen(request, timeout=30).close()
                return
            except urllib.error.HTTPError as error:
                if error.code not in (409, 503) or time.monotonic() > deadline:
                    raise RuntimeError(f"refused: {error.read().decode()}") from error
            except OSError as error:
                self.check()
                if time.monotonic() > deadline:
                    raise RuntimeError(f"the worker does not answer: {self.last_words()}") from error
            time.sleep(0.02)

    def config(self) -> dict[str, str]:
        flow = self.flow
        if flow.database:
            return {
                "connector.class": "SparkSource",
                "tasks.max": str(flow.tasks),
                "format": "jdbc",
                "connection.url": flow.database["jdbc.url"],
                "connection.user": flow.database["jdbc.user"],
                "connection.password": flow.database["jdbc.password"],
                "mode": "incrementing",
                "incrementing.column.name": "id",
                "table.whitelist": flow.table,
                "topic.prefix": flow.topic.removesuffix(flow.table),
                "poll.interval.ms": "1000",
                "value.converter": "org.apache.kafka.connect.json.JsonConverter",
                "value.converter.schemas.enable": "false",
            }
        return {
            "connector.class": "SparkSink",
            "tasks.max": str(flow.tasks),
            "topics": flow.topic,
            "format": flow.format,
            "path": flow.path,
            "value.format": "json",
            "schema": flow.columns,
        }


class SeamarkExactlyOnce(Seamark):
    """The same with transactions."""

    name = "seamark, exactly-once"
    exactly_once = True
