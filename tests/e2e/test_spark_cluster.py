"""SparkSource and SparkSink on a Spark standalone cluster: the configs of `local[*]`, each row once, whoever dies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from fixtures.gates import HeldBatch
from fixtures.postgres import PostgresDatabase
from fixtures.spark_source import jdbc
from fixtures.tables import DeltaFolder, IcebergTable, ParquetFolder, PostgresTable, Table
from fixtures.worker import Topics, file_source, worker_properties
from seamark.kafka.broker import EmbeddedBroker
from seamark.testing.driver import DriverProcess, python_workers
from seamark.testing.spark_cluster import SparkCluster
from seamark.testing.waiting import eventually

pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]

PLUGINS = Path(__file__).parents[1] / "fixtures" / "plugins"
ROWS = 11_000  # more than one task of the source reads
ALL = list(range(1, ROWS + 1))
VALUES = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("cluster"), workers=2, cores=4, memory="768m") as running:
        yield running


def on(cluster: SparkCluster) -> dict[str, str]:
    """What a worker is told so that its connectors run there."""
    return {
        "spark.master": cluster.master_url,
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "640m",
        "spark.sql.shuffle.partitions": "2",
    }


class Scene:
    """A table of PostgreSQL goes to a topic, and from there to tables of all kinds that need jars of their own."""

    def __init__(self, directory: Path, broker: EmbeddedBroker, database: PostgresDatabase, name: str) -> None:
        database.execute(
            "CREATE TABLE orders (id bigserial PRIMARY KEY, name text);"
            f"INSERT INTO orders (name) SELECT 'row ' || n FROM generate_series(1, {ROWS}) AS n"
        )
        self.directory, self.broker, self.name = directory, broker, name
        self.topics = Topics(broker.bootstrap_servers)
        self.topic = self.topics.create(f"{name}-orders", 2)
        self.iceberg = IcebergTable(directory / "lake")
        self.tables: dict[str, Table] = {
            "delta": DeltaFolder(directory / "delta"),
            "iceberg": self.iceberg,
            "postgresql": PostgresTable(database),
        }
        self.held = {"source": HeldBatch(directory / "source-gate", 9000), "delta": HeldBatch(directory / "gate", 4000)}
        source = {"connector.class": "SparkSource", **jdbc(database, f"{name}-", "incrementing"), "tasks.max": "2"}
        self.connectors = {f"{name}-source": source | self.held["source"].config}
        for kind, table in self.tables.items():
            config = {"connector.class": "SparkSink", "topics": self.topic, "tasks.max": "2", **VALUES, **table.config}
            self.connectors[f"{name}-{kind}"] = config | (self.held[kind].config if kind in self.held else {})

    def driver(self, spark: dict[str, str]) -> DriverProcess:
        properties = worker_properties(
            self.broker.bootstrap_servers, exactly__once__source__support="enabled", plugin__path=str(PLUGINS)
        )
        properties |= {**self.iceberg.worker, **spark}
        return DriverProcess(self.directory, [{"properties": properties, "connectors": self.connectors}])

    def written(self) -> list[int]:
        return sorted(json.loads(value)["id"] for part in self.topics.records(self.topic).values() for value in part)

    def await_all(self) -> None:
        """Wait until each row is in each table; those that are there twice never come true."""
        eventually(lambda: self.written() == ALL, 120, "the topic lacks rows")
        for kind, table in self.tables.items():
            eventually(lambda table=table: table.ids() == ALL, 120, f"{kind} lacks rows")  # type: ignore[misc]
        admin = self.topics.admin
        ends = admin.list_offsets(dict.fromkeys(admin.partitions_of([self.topic]), "latest"))
        for group in (f"connect-{self.name}-{kind}" for kind in self.tables):
            eventually(lambda group=group: admin.group_offsets(group) == ends, 60)  # type: ignore[misc]


@pytest.fixture
def scene(tmp_path: Path, broker: EmbeddedBroker, postgres: PostgresDatabase, topic_name: str) -> Iterator[Scene]:
    made = Scene(tmp_path, broker, postgres, topic_name[-12:])
    yield made
    made.topics.close()


def test_connectors_run_on_local_threads(scene: Scene) -> None:
    for held in scene.held.values():
        held.let_go()
    with scene.driver({"spark.master": "local[*]"}):
        scene.await_all()


def test_the_same_connectors_run_on_a_cluster_whose_executors_are_killed_in_mid_batch(
    scene: Scene, cluster: SparkCluster
) -> None:
    with scene.driver(on(cluster)) as driver:
        for held in scene.held.values():
            victim = held.executor(cluster)
            below = victim.children(recursive=True)
            victim.kill()
            _, alive = psutil.wait_procs([victim, *below], timeout=30)
            assert not alive, f"survived their executor: {alive}"
            held.let_go()
        scene.await_all()
        assert not python_workers(driver.process), "records were moved by the driver's machine, not by the cluster"
    assert scene.written() == ALL
    assert {kind: table.ids() == ALL for kind, table in scene.tables.items()} == dict.fromkeys(scene.tables, True)
    eventually(lambda: not cluster.executors(), 30, "executors survived their driver")


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python of the same version in which nothing is installed."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False, symlinks=True)
    python = str(folder / "bin" / "python")
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    found = subprocess.run([python, "-c", "import seamark"], env=clean, capture_output=True, text=True, check=False)
    assert "No module named 'seamark'" in found.stderr
    return python


def packed(file: Path) -> dict[str, str]:
    """The settings that `seamark pack` prints."""
    command = [str(Path(sys.executable).with_name("seamark")), "pack", str(file), "--plugin-path", str(PLUGINS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


def test_executors_come_with_the_work_go_with_it_and_get_seamark_from_an_archive(
    tmp_path: Path, cluster: SparkCluster, broker: EmbeddedBroker, topic_name: str, bare_python: str
) -> None:
    topics = Topics(broker.bootstrap_servers)
    topic = topics.create(topic_name)
    lines, table = tmp_path / "lines.txt", ParquetFolder(tmp_path / "out")
    lines.write_text("".join(f"{n}\n" for n in range(100)))
    held = HeldBatch(tmp_path / "gate", 50)
    held.let_go()
    sink: dict[str, Any] = {
        "connector.class": "SparkSink",
        "topics": topic,
        **table.config,
        "transforms": "hoist,gate",
        "transforms.hoist.type": "HoistField$Value",
        "transforms.hoist.field": "id",
        **{key: value for key, value in held.config.items() if key != "transforms"},
    }
    connectors = {f"{topic_name}-lines": file_source(lines, topic), f"{topic_name}-table": sink}
    dynamic = {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.minExecutors": "0",
        "spark.dynamicAllocation.maxExecutors": "2",
        "spark.dynamicAllocation.executorIdleTimeout": "2s",
        "spark.dynamicAllocation.shuffleTracking.timeout": "2s",
        "spark.executor.cores": "2",
    }
    shipped = {**packed(tmp_path / "seamark.tar"), "spark.pyspark.python": bare_python}
    with tarfile.open(tmp_path / "seamark.tar") as archive:
        assert "gate_plugins.py" in archive.getnames(), "modules of plugin.path are shipped, too"
    idle = {"seamark.idle.ms": "1000", "seamark.idle.release": "always", "seamark.idle.poll.ms": "60000"}
    properties = {**worker_properties(broker.bootstrap_servers, plugin__path=str(PLUGINS)), **idle}
    properties |= on(cluster) | dynamic | shipped
    with DriverProcess(tmp_path / "driver", [{"properties": properties, "connectors": connectors}]):
        eventually(lambda: cluster.executors(), 60, "no executor has come")
        eventually(lambda: sorted(map(int, table.ids())) == list(range(100)), 120, "rows are missing")
        eventually(lambda: not cluster.executors(), 90, "executors stay although nothing is to be done")
        topics.send(topic, [str(n) for n in range(100, 150)])
        eventually(lambda: sorted(map(int, table.ids())) == list(range(150)), 120, "rows are missing")
    topics.close()
