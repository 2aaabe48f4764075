"""`seamark mirror` as people run it, against workers on two Kafka clusters."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from fixtures.herders import path_of
from fixtures.mirror_flows import Flow, Kafka, MakeFlow
from seamark.kafka.topic_partitions import TopicPartition
from seamark.testing.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

WAIT_S = 60.0
IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"


def run(*arguments: str, fails: bool = False, answer: str = "") -> subprocess.CompletedProcess[str]:
    """`seamark mirror` with these arguments, and what is typed; by default nobody is there to confirm anything."""
    command = [str(Path(sys.executable).with_name("seamark")), "mirror", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False, input=answer)
    assert (done.returncode != 0) == fails, f"{arguments} -> {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def url(flow: Flow) -> str:
    return flow.cluster.nodes[0].server.url


def detail(flow: Flow, name: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(run("status", name, "--url", url(flow), "-o", "json").stdout)
    return found


def values(count: int, start: int = 0) -> list[bytes | None]:
    return [b"%d" % number for number in range(start, start + count)]


def start(flow: Flow, topic: str, **settings: str) -> str:
    return flow.start("Source", topics=topic, heartbeats__replication__enabled="false", **settings)


def await_values(kafka: Kafka, topic: str, wanted: list[bytes | None]) -> None:
    def is_there() -> bool:
        assert kafka.values(topic) == wanted
        return True

    eventually(is_there, WAIT_S)


def test_status_shows_flows_partitions_and_groups(make_flow: MakeFlow, topic_name: str) -> None:
    flow = make_flow()
    flow.source.create(topic_name)
    flow.source.send(topic_name, values(20))
    name = start(flow, topic_name)
    flow.start("Checkpoint", topics=topic_name, groups=topic_name)
    flow.source.commit(topic_name, {TopicPartition(topic_name, 0): 20})

    def is_shown() -> bool:
        rows = detail(flow, name)
        assert rows["totals"] == {"topics": 1, "partitions": 1, "lag": 0, "lag_ms": 0}
        (partition,) = rows["partitions"]  # type: ignore[misc, attr-defined]
        assert (partition["position"], partition["end"]) == (20, 20)
        assert partition["last_sync"]["upstream"] == 19
        (group,) = rows["groups"]  # type: ignore[misc, attr-defined]
        assert group["group"] == topic_name
        assert [each["upstream"] for each in group["partitions"]] == [20]
        return True

    eventually(is_shown, WAIT_S)
    listed = run("status", "--url", url(flow)).stdout
    (row,) = [line.split() for line in listed.splitlines() if line.startswith(f"{name} ")]
    assert row[1:] == [f"{flow.source_alias}->{flow.target_alias}", "RUNNING", "1", "RUNNING", "1", "1", "0", "0", "ms"]
    shown = run("status", name, "--url", url(flow)).stdout
    assert f"{topic_name}           0   {flow.remote(topic_name)}" in shown
    assert "LAST SYNC" in shown and "DOWNSTREAM" in shown


def test_what_is_no_mirror_is_said_so(make_flow: MakeFlow) -> None:
    flow = make_flow()
    name = flow.start("Heartbeat", state="STOPPED")
    error = run("status", name, "--url", url(flow), fails=True).stderr
    assert f"error: Connector {name} is not a MirrorSourceConnector" in error
    assert "Connector nobody not found" in run("status", "nobody", "--url", url(flow), fails=True).stderr
    missing = run("status", "--url", "http://127.0.0.1:1", fails=True)
    assert "No worker answers at http://127.0.0.1:1" in missing.stderr and "hint: " in missing.stderr


def test_clients_go_over_and_back_with_the_default_policy(make_flow: MakeFlow, topic_name: str) -> None:
    flow = make_flow()
    back = make_flow(back=True, aliases=(flow.target_alias, flow.source_alias))
    copy = flow.remote(topic_name)
    flow.source.create(topic_name, 2)
    flow.source.send(topic_name, values(30))
    flow.source.send(topic_name, values(7), partition=1)
    name = start(flow, topic_name)
    flow.source.commit(topic_name, {TopicPartition(topic_name, 0): 30, TopicPartition(topic_name, 1): 0})

    refused = run("failover", name, "--url", url(flow), fails=True)  # nobody confirmed it
    assert f"wait until {name} has copied everything" in refused.stdout
    assert flow.connect.status(name)["connector"]["state"] == "RUNNING"

    done = run("failover", name, "--url", url(flow), "--yes").stdout
    assert f"{name} has copied everything" in done
    flow.connect.await_state(name, "STOPPED")
    assert flow.target.values(copy, 0) == values(30)
    assert flow.target.values(copy, 1) == values(7)
    committed = flow.target.committed(topic_name)
    assert committed[TopicPartition(copy, 0)] == flow.target.ends(copy, is_committed=True)[0] - 1  # before the marker
    assert f"{topic_name}: synced, " in done

    run("failback", name, "--url", url(flow), "--target-url", url(back), "--yes")
    reverse = f"{name}-reverse"
    back._made.append(reverse)
    assert back.connect.status(reverse)["connector"]["state"] == "RUNNING"
    flow.target.create(topic_name)
    flow.target.send(topic_name, values(5))
    await_values(flow.source, f"{flow.target_alias}.{topic_name}", values(5))
    assert not [topic for topic in flow.source.admin.list_topics() if topic.endswith(copy)]


def test_with_names_kept_nothing_is_copied_twice_over_and_back_and_over_again(
    make_flow: MakeFlow, topic_name: str
) -> None:
    flow = make_flow()
    back = make_flow(back=True, aliases=(flow.target_alias, flow.source_alias))
    near, far = flow.source, flow.target
    near.create(topic_name)
    near.send(topic_name, values(40))
    name = start(flow, topic_name, replication__policy__class=IDENTITY)
    await_values(far, topic_name, values(40))
    both = ("--url", url(flow), "--target-url", url(back))
    refused = run("failback", name, *both, "--yes", fails=True).stderr
    assert f"{name} is RUNNING" in refused and f"hint: Run `seamark mirror failover {name}` first." in refused

    run("failover", name, "--url", url(flow), answer="y\n")
    wrong = run("failback", name, "--url", url(flow), "--yes", fails=True).stderr
    assert "would copy to the wrong place" in wrong
    disabled = back.start("Source", state="STOPPED", enabled="false", topics=topic_name)
    assert f"{disabled} at {url(back)} is not enabled" in run("failback", name, *both, "--yes", fails=True).stderr
    back.connect.ask("DELETE", path_of(disabled), status=204)
    far.send(topic_name, values(10, 40))
    done = run("failback", name, *both, "--yes").stdout
    reverse = f"{name}-reverse"
    back._made.append(reverse)
    assert f"let {reverse} begin behind what came from {flow.source_alias}, in 1 partitions" in done
    await_values(near, topic_name, values(50))
    again = run("failback", name, *both, "--yes", fails=True).stderr
    assert f"{reverse} is RUNNING already: there is nothing to do." in again

    run("failover", reverse, "--url", url(back), "--yes")
    near.send(topic_name, values(5, 50))
    run("failback", reverse, "--url", url(back), "--target-url", url(flow), "--yes")
    assert flow.connect.status(name)["connector"]["state"] == "RUNNING"
    await_values(far, topic_name, values(55))
    assert near.values(topic_name) == values(55)


def test_a_flow_that_cannot_drain_is_left_alone(make_flow: MakeFlow, topic_name: str) -> None:
    flow = make_flow()
    flow.source.create(topic_name)
    flow.source.send(topic_name, values(3))
    name = start(flow, topic_name, state="STOPPED")
    flow.connect.await_state(name, "STOPPED")
    refused = run("failover", name, "--url", url(flow), "--yes", fails=True).stderr
    assert f"{name} is 3 records behind and will not copy them: it is STOPPED." in refused
    done = run("failover", name, "--url", url(flow), "--yes", "--no-drain").stdout
    assert f"warning: 3 records of {flow.source_alias} are not copied" in done


def test_a_source_that_is_away_can_be_left_behind(make_flow: MakeFlow, topic_name: str) -> None:
    flow = make_flow()
    name = flow.start("Source", state="STOPPED", topics=topic_name, source__cluster__bootstrap__servers="127.0.0.1:1")
    flow.connect.await_state(name, "STOPPED")
    listed = httpx.get(f"{url(flow)}/mirrors", timeout=60).json()
    (row,) = [row for row in listed if row["connector"] == name]
    assert row["lag"] is None and "127.0.0.1:1" in row["error"]
    refused = run("failover", name, "--url", url(flow), "--yes", fails=True).stderr
    assert f"How much {name} has yet to copy is not known." in refused and "use --no-drain" in refused
    run("failover", name, "--url", url(flow), "--yes", "--no-drain")
    too_early = run("failback", name, "--url", url(flow), "--yes", fails=True).stderr
    assert f"Nothing can be copied to {flow.source_alias} yet." in too_early
    flow.connect.ask("DELETE", path_of(name), status=204)
