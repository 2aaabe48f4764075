"""Fixtures for every test. What is expensive exists once per run and is started by the first test that asks."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from seamark.kafka.broker import EmbeddedBroker
from seamark.testing.java_connect import JavaConnect

# Most JVMs of the suite live for seconds, and would spend half of them on optimising what they never run again.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")

# How long an example takes says nothing on a machine that runs other tests beside it.
settings.register_profile(
    "seamark",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
    print_blob=True,
)
settings.load_profile("seamark")

pytest_plugins = [
    "fixtures.spark",
    "fixtures.postgres",
    "fixtures.worker",
    "fixtures.herders",
    "fixtures.mirror_flows",
    "fixtures.secured",
    "fixtures.authority",
]


_TARGETS = ("seamark-distributed", "seamark-standalone", "kafka-distributed", "kafka-standalone")
# An API server, an operator and two workers are there for all tests of this folder, and gone afterwards.
_KUBE = "tests/kube"
# A worker and a browser, the same way.
_WEB = "tests/web"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With several processes (`make test`), tests that share something expensive stay together. Each process has a
    broker, a Spark session and a Java worker of its own.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _group(nodeid)

    return ByGroup(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Groups of tests that take long begin first; otherwise the order stays as it is."""
    turns: dict[str, int] = {}
    for item in items:
        group = _group(item.nodeid)
        turns[group] = min(turns.get(group, len(_TARGETS) + 3), _turn(item, group))
    items.sort(key=lambda item: turns[_group(item.nodeid)])


def _group(nodeid: str) -> str:
    path, _, test = nodeid.partition("::")
    for folder in (_KUBE, _WEB):
        if path.startswith(f"{folder}/"):
            return folder
    return next((name for name in _TARGETS if f"[{name}" in test), path)


def _turn(item: pytest.Item, group: str) -> int:
    if group in (_KUBE, _WEB):
        return 0
    if group in _TARGETS:
        return _TARGETS.index(group) + 1
    if item.get_closest_marker("slow"):
        return len(_TARGETS) + 1
    return len(_TARGETS) + (3 if "unit" in item.path.parts else 2)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """A real Kafka, shared by all tests of the run: use names of your own, and leave it running."""
    with EmbeddedBroker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture(scope="session")
def java_connect(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaConnect]:
    """The real Kafka Connect, one distributed worker; mark the test `java`, and delete the connectors you create."""
    with JavaConnect(tmp_path_factory.mktemp("java-connect"), broker.bootstrap_servers, heap="256m") as running:
        yield running


@pytest.fixture
def topic_name(request: pytest.FixtureRequest) -> str:
    """A legal name for a topic (or group, or connector) that no other test uses and that tells whose it is."""
    readable = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")
    return f"{readable[:80]}-{uuid.uuid4().hex[:8]}"
