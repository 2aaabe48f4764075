"""What can be seen of a cluster of two workers, asked at either of them."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from fixtures.herders import Cluster, MakeCluster
from fixtures.otlp_receiver import attributes, otlp_receiver
from seamark.client import ConnectClient, NotFound
from seamark.config.worker import WorkerConfig
from seamark.engine import tracing
from seamark.testing.waiting import eventually, patience

ROOT = Path(__file__).parents[2]
DASHBOARD = ROOT / "deploy" / "grafana" / "seamark.json"
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yaml"
DOCS = ROOT / "docs" / "reference" / "metrics.md"
SECRET = "hunter2"


@pytest.fixture(scope="module")
def cluster(make_module_cluster: MakeCluster) -> Cluster:
    return make_module_cluster(workers=2)


@pytest.fixture(scope="module")
def pipeline(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A source that reads a file into a topic and a sink that writes it to another, on different workers if it can."""
    folder, topic = tmp_path_factory.mktemp("observed"), f"{cluster.group}-lines"
    (folder / "in.txt").write_text("".join(f"line {number}\n" for number in range(2000)))
    connect = cluster.connect()
    source, sink = f"{cluster.group}-in", f"{cluster.group}-out"
    connect.create(
        source,
        {"connector.class": "FileStreamSource", "file": str(folder / "in.txt"), "topic": topic, "tasks.max": "1"},
    )
    connect.create(
        sink,
        {
            "connector.class": "FileStreamSink",
            "file": str(folder / "out.txt"),
            "topics": topic,
            "tasks.max": "1",
            "sink.password": SECRET,
        },
    )
    connect.await_state(sink, "RUNNING")
    eventually(lambda: (folder / "out.txt").read_text().count("\n") == 2000, 60)
    yield source, sink
    for name in (source, sink):
        connect.ask("DELETE", f"/connectors/{name}", status=204)


@pytest.fixture
def client(cluster: Cluster) -> Iterator[ConnectClient]:
    """Of a worker that does not lead: what others know has to be asked of them."""
    with ConnectClient(cluster.other().server.url) as client:
        yield client


def test_all_workers_are_shown_with_their_load(cluster: Cluster, client: ConnectClient) -> None:
    found = client.cluster()
    assert (found.mode, found.group_id, found.leader) == ("distributed", cluster.group, cluster.leader.id)
    assert {worker.id for worker in found.workers} == {node.id for node in cluster.nodes}
    for worker in found.workers:
        assert worker.error is None
        assert worker.spark is not None and worker.spark.state == "running" and worker.spark.executors == 1
        assert worker.memory_bytes is not None and worker.memory_bytes > 1_000_000
        assert worker.is_leader == (worker.id == cluster.leader.id)
    alone = client.worker()
    assert alone.id == cluster.other().id
    assert client.ready().is_ready


def test_the_overview_knows_rates_and_lags_of_all_workers(client: ConnectClient, pipeline: tuple[str, str]) -> None:
    source, sink = pipeline

    def seen() -> dict[str, Any]:
        rows = {row.name: row for row in client.overview().connectors}
        assert rows[sink].lag == 0
        assert any(rows[sink].rate_points[-3:]) or rows[sink].records_per_second == 0
        assert rows[sink].rate_points[-1] is not None
        assert rows[source].rate_points[-1] is not None
        return rows

    rows = eventually(seen, 60)
    assert (rows[source].type, rows[sink].type) == ("source", "sink")
    assert rows[sink].class_name == "FileStreamSink"
    assert rows[sink].tasks == {"RUNNING": 1}
    assert client.overview().unreachable == []


def test_series_are_those_of_the_owner(client: ConnectClient, pipeline: tuple[str, str]) -> None:
    def point() -> Any:
        points = client.series(pipeline[1], minutes=5).points
        assert points[-1].lag == 0
        return points[-1]

    assert eventually(point, 60).at % 10_000 == 0
    with pytest.raises(NotFound):
        client.series("unknown")


def test_logs_and_events_tell_what_happened(cluster: Cluster, client: ConnectClient, pipeline: tuple[str, str]) -> None:
    sink = pipeline[1]
    client.pause(sink)
    client.await_state(sink, "PAUSED")
    client.patch_config(sink, {"sink.password": f"{SECRET}{SECRET}"})
    client.resume(sink)
    client.await_state(sink, "RUNNING")
    client.restart(sink, include_tasks=True)

    def events() -> Any:
        found = client.events(sink)
        assert {"created", "state", "config", "restart"} <= {event.kind for event in found}
        return found

    found = eventually(events, 30)
    assert [event.at for event in found] == sorted((event.at for event in found), reverse=True)
    changed = next(event for event in found if event.kind == "config")
    assert changed.detail == {"changed": ["sink.password"]}
    assert any(event.message == "PAUSED" for event in found)
    assert SECRET not in str(found)
    lines = eventually(lambda: client.logs(sink), 20)
    assert {line.worker for line in lines} <= {node.id for node in cluster.nodes}
    assert any("PAUSED" in line.message for line in lines)
    assert SECRET not in str(lines)
    assert client.logs(sink, level="FATAL") == []
    for ask in (client.logs, client.events):
        with pytest.raises(NotFound):
            ask("unknown")


def test_a_failure_is_an_event_and_shown_in_the_overview(cluster: Cluster, client: ConnectClient) -> None:
    name = f"{cluster.group}-broken"
    config = {"connector.class": "FileStreamSource", "file": "/does/not/matter", "topic": "t", "tasks.max": "1"}
    config |= {"transforms": "x", "transforms.x.type": "HoistField$Value", "transforms.x.field": "f"}
    config |= {"value.converter": "ByteArrayConverter"}
    source = Path(cluster.properties["plugin.path"]) / "README"
    client.create(name, {**config, "file": str(source if source.exists() else __file__)})
    row = eventually(
        lambda: next(row for row in client.overview().connectors if row.name == name and row.error is not None), 60
    )
    assert row.tasks == {"FAILED": 1}
    assert "Traceback" not in str(row.error)
    failed = eventually(lambda: next(event for event in client.events(name) if event.kind == "task"), 20)
    assert failed.message.startswith("task 0 is FAILED: ")
    client.delete(name)
    eventually(lambda: any(event.kind == "deleted" for event in client.events(name)), 20)


def test_traces_tell_of_requests_changes_of_offsets_and_spark_jobs(
    client: ConnectClient, pipeline: tuple[str, str]
) -> None:
    sink = pipeline[1]
    with otlp_receiver() as receiver:
        stop = tracing.start(WorkerConfig({tracing.KEY: receiver.url}), "worker")
        try:
            change = client.change_offsets(sink, {"positions": "earliest"})
            eventually(lambda: client.operation(change.id).is_done, 60)
            client.await_state(sink, "RUNNING")
            client.pause(sink)  # ends an epoch
            client.await_state(sink, "PAUSED")
            client.resume(sink)
            client.await_state(sink, "RUNNING")
            eventually(lambda: receiver.named("spark job"), 30)
        finally:
            stop()
    (changed,) = receiver.named("offsets change")
    assert attributes(changed) == {"seamark.connector": sink, "seamark.operation": change.id}
    assert sink in {attributes(span)["seamark.connector"] for span in receiver.named("spark job")}
    assert receiver.named("POST /connectors/{connector}/offsets/change")


def test_every_metric_of_dashboard_and_alerts_is_scraped_and_every_one_is_documented(
    cluster: Cluster, pipeline: tuple[str, str]
) -> None:
    scraped = httpx.get(f"{cluster.owner(pipeline[1]).server.url}/metrics", timeout=30).text
    assert 'key_converter_class="org.apache.kafka.connect.storage.StringConverter"' in scraped
    names = set()
    for family in text_string_to_metric_families(scraped):
        suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"], "info": ["_info"]}
        names |= {family.name + suffix for suffix in suffixes.get(family.type, [""])}
    dashboard = json.loads(DASHBOARD.read_text())
    shown = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    shown += [each["definition"] for each in dashboard["templating"]["list"] if "definition" in each]
    alerts = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
    assert len(shown) > 30 and len(alerts) > 10
    for expression in [*shown, *(rule["expr"] for rule in alerts)]:
        named = set(re.findall(r"\b(?:kafka_connect|seamark)_\w+", expression))
        assert named and named <= names, (expression, named - names)
    page = DOCS.read_text()
    own = {name for name in names if not re.search(r"_mirror_|_(created|bucket|sum|count)$", name)}
    assert not {name for name in own if f"`{name}" not in page}


def test_a_lost_worker_is_shown_as_such_and_the_rest_goes_on(
    cluster: Cluster, client: ConnectClient, pipeline: tuple[str, str]
) -> None:
    lost = cluster.add()
    lost_id = lost.id
    lost.server.stop(1.0)  # it is still in the group, but does not answer

    def seen() -> bool:
        rows = {worker.id: worker for worker in client.cluster().workers}
        assert rows[lost_id].error is not None
        assert rows[lost_id].spark is None
        assert sum(worker.error is None for worker in rows.values()) == 2
        return True

    eventually(seen, 30)
    began = time.monotonic()
    assert {row.name for row in client.overview().connectors} >= set(pipeline)
    assert time.monotonic() - began < patience(5)
    cluster.remove(lost)
    eventually(lambda: {worker.id for worker in client.cluster().workers} == {node.id for node in cluster.nodes}, 30)
