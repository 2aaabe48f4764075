"""A hundred resources at once; how quick the operator is, and how much it needs."""

from __future__ import annotations

import os
import time

import psutil
import pytest

from fixtures.http_proxy import Proxy
from fixtures.kube import Cluster, conditions
from kube.conftest import SEAMARK_ONLY, MakeMirror, MakeOperator
from kube.resources import OFFSETS
from seamark.operator.context import RESYNC_S
from seamark.testing.waiting import eventually, patience

COUNT = 100
IDLE_S = 20.0
MOST_CPU = 0.05
MOST_MB = 200


@pytest.mark.requirement("STR-18")
def test_an_annotation_is_served_within_five_seconds(make_mirror: MakeMirror) -> None:
    mirror = make_mirror(sections=("sourceConnector",)).create()
    took = []
    for _ in range(3):
        began = time.monotonic()
        mirror.ask("list", mirror.source)
        mirror.await_served(5)
        took.append(time.monotonic() - began)
        assert mirror.entry(mirror.source) == []
    print(f"from annotation to removal: {', '.join(f'{each:.2f} s' for each in took)}")
    assert min(took) < 5


@pytest.mark.slow
@pytest.mark.timeout(900)
@SEAMARK_ONLY
def test_a_hundred_resources(
    cluster: Cluster, namespace: str, make_operator: MakeOperator, make_mirror: MakeMirror, rest: Proxy
) -> None:
    operator = make_operator(namespace)
    mirrors = [make_mirror(namespace, sections=("sourceConnector",)) for _ in range(COUNT)]
    began = time.monotonic()
    for mirror in mirrors:
        mirror.create(await_ready=False)
    listed = f"/apis/kafka.strimzi.io/v1beta2/namespaces/{namespace}/kafkamirrormaker2s"

    def all_ready() -> bool:
        found = cluster.ask("GET", listed)["items"]
        return len(found) == COUNT and all(
            conditions(each).get("Ready") == "True" and each["status"].get("connectors") for each in found
        )

    eventually(all_ready, 300, "not all are ready")
    print(f"{COUNT} resources are ready after {time.monotonic() - began:.1f} s")
    began = time.monotonic()
    for mirror in mirrors:
        mirror.ask("list", mirror.source)

    def all_served() -> bool:
        return all(OFFSETS not in each["metadata"]["annotations"] for each in cluster.ask("GET", listed)["items"])

    eventually(all_served, 120, "not all are served")
    print(f"{COUNT} lists took {time.monotonic() - began:.1f} s")
    for mirror in mirrors:
        assert mirror.entry(mirror.source) == []
    process = psutil.Process(operator.pid)
    _settle(rest)
    before, at = _cpu_s(process), time.monotonic()
    time.sleep(IDLE_S)  # what is measured is that nothing happens
    waiting = (_cpu_s(process) - before) / (time.monotonic() - at)
    # From time to time every resource is looked at without a reason. A change that means nothing costs a little more.
    before = _cpu_s(process)
    for mirror in mirrors:
        cluster.annotate(mirror.body, look="here")
    _settle(rest)
    passes = _cpu_s(process) - before
    share = waiting + passes / RESYNC_S
    print(f"looking at {COUNT} resources takes {passes:.2f} s of a core, every {RESYNC_S:g} s; waiting {waiting:.2%}")
    memory = process.memory_info().rss / 2**20
    print(f"idle with {COUNT} resources: less than {100 * share:.2f} % of a core, {memory:.0f} MB")
    assert share < MOST_CPU
    assert memory < MOST_MB
    assert "Traceback" not in operator.log


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _settle(rest: Proxy) -> None:
    """Until requests come seldom."""
    deadline = time.monotonic() + patience(60)
    while time.monotonic() < deadline:
        before = len(rest.requests)
        time.sleep(3)
        if len(rest.requests) - before < COUNT // 5:
            return
    raise AssertionError(f"the operator does not come to rest: {os.linesep.join(map(str, rest.requests[-20:]))}")
