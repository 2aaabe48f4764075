"""The operator as a process, workers for it, and resources of tests.

Most tests share one operator, which serves the namespace `SHARED` as the ServiceAccount of `deploy/rbac.yaml`; those
that kill theirs, or need it otherwise, start one for namespaces of their own.
"""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

from compat.client import Connect, path_of
from compat.targets import KafkaDistributed, SeamarkDistributed, Target
from fixtures import kube_binaries
from fixtures.http_proxy import Proxy
from fixtures.kube import Cluster, KubeRefused, install
from fixtures.worker import Topics
from kube.resources import Connectors, Mirror
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.java import JavaProcess
from seamark.testing.waiting import eventually

SHARED: Final = "shared"


class OneSeamark(SeamarkDistributed):
    """A cluster of one worker."""

    worker_count = 1


class Operator:
    """`seamark operator`, as a process."""

    def __init__(self, kubeconfig: Path, directory: Path, namespaces: tuple[str, ...]) -> None:
        program = str(Path(sys.executable).with_name("seamark"))
        served = [word for namespace in namespaces for word in ("--namespace", namespace)]
        self._command = [program, "operator", "--kubeconfig", str(kubeconfig), *served]
        self._log = directory / f"operator-{uuid.uuid4().hex[:6]}.log"
        self.process: JavaProcess | None = None

    def start(self) -> None:
        self.process = JavaProcess(self._command, log_file=self._log, stop_timeout_s=10)

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    @property
    def pid(self) -> int:
        assert self.process is not None
        return eventually(lambda: self.process and self.process.pid, 10)  # type: ignore[return-value]

    def kill(self) -> None:
        """As with -9."""
        if self.process is not None:
            self.process.kill()
            self.process = None

    def stop(self) -> None:
        if self.process is not None:
            self.process.stop()
            self.process = None


SEAMARK_ONLY = pytest.mark.parametrize("target", ["seamark"], indirect=True)
"""Of tests of what the operator decides by itself: the kind of worker behind it makes no difference."""
MakeOperator = Callable[..., Operator]
MakeProxy = Callable[[str], Proxy]
Case = TypeVar("Case")
_AT_ONCE: Final = 4


def at_once(test: Callable[[Case], None], cases: Sequence[Case]) -> None:
    """Try cases that have nothing to do with each other at the same time, as most of the time they wait."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        started = [(case, pool.submit(test, case)) for case in cases]
    failures = []
    for case, future in started:
        error = future.exception()
        if error is not None:
            error.add_note(f"case: {case}")
            failures.append(error)
    if failures:
        raise BaseExceptionGroup(f"{len(failures)} of {len(cases)} cases have failed", failures)


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """An API server with the operator's resources and rights."""
    try:
        made = Cluster(tmp_path_factory.mktemp("kube"))
        made.start()
    except kube_binaries.BinariesMissingError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))
    try:
        install(made)
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="package")
def make_namespace(cluster: Cluster) -> Callable[[], str]:
    """Makes namespaces; there is nobody who could delete them."""

    def make() -> str:
        name = f"t-{uuid.uuid4().hex[:8]}"
        cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        return name

    return make


@pytest.fixture
def namespace(make_namespace: Callable[[], str]) -> str:
    """A namespace of the test's own."""
    return make_namespace()


@pytest.fixture(scope="package")
def operators(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Operator]:
    """Makes operators that run as the ServiceAccount."""
    directory = tmp_path_factory.mktemp("operators")

    def make(*namespaces: str, through: Proxy | None = None) -> Operator:
        server = None if through is None else through.url
        config = cluster.kubeconfig("operator", cluster.token(), server)
        return Operator(config, directory, namespaces)

    return make


@pytest.fixture
def make_operator(operators: Callable[..., Operator]) -> Iterator[MakeOperator]:
    """Makes running operators, for namespaces of the test; they end with it."""
    made: list[Operator] = []

    def make(*namespaces: str, through: Proxy | None = None) -> Operator:
        operator = operators(*namespaces, through=through)
        operator.start()
        made.append(operator)
        return operator

    yield make
    for operator in made:
        operator.kill()


@pytest.fixture(scope="package")
def operator(cluster: Cluster, operators: Callable[..., Operator]) -> Iterator[Operator]:
    """The operator of the namespace that tests share."""
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SHARED}}
    try:
        cluster.create(body)
    except KubeRefused as error:
        assert error.status == 409
    running = operators(SHARED)
    running.start()
    yield running
    running.stop()
    assert "Traceback" not in running.log, running.log[-5000:]


@pytest.fixture(scope="package")
def seamark_worker(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """Seamark, one distributed worker."""
    target = OneSeamark(tmp_path_factory.mktemp("seamark"), broker.bootstrap_servers)
    target.start()
    yield target
    target.stop()


@pytest.fixture(scope="package")
def java_worker(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """The real Kafka Connect, one distributed worker."""
    target = KafkaDistributed(tmp_path_factory.mktemp("java"), broker.bootstrap_servers)
    target.start()
    yield target
    target.stop()


@pytest.fixture(params=["seamark", pytest.param("java", marks=pytest.mark.java)])
def target(request: pytest.FixtureRequest) -> Target:
    """A worker of either kind."""
    found: Target = request.getfixturevalue(f"{request.param}_worker")
    return found


@pytest.fixture(scope="package")
def make_proxy() -> Iterator[MakeProxy]:
    """Makes proxies; they stay until the end, as the operator still cleans up through them when a test is over."""
    made: list[Proxy] = []

    def make(url: str) -> Proxy:
        made.append(Proxy(url))
        return made[-1]

    yield make
    for proxy in made:
        proxy.close()


@pytest.fixture
def rest(target: Target, make_proxy: MakeProxy) -> Iterator[Proxy]:
    """What the operator knows as the worker: it remembers requests, and can refuse them."""
    proxy = make_proxy(target.urls[0])
    yield proxy
    proxy.clear()


@pytest.fixture
def connect(target: Target) -> Iterator[Connect]:
    """The worker, without the proxy; connectors that appear during the test are deleted after it."""
    client = Connect(target)
    before = set(client.get("/connectors").json())
    yield client
    for name in set(client.get("/connectors").json()) - before:
        client.call("DELETE", path_of(name))
    client.close()


MakeMirror = Callable[..., Mirror]


@pytest.fixture
def make_mirror(
    cluster: Cluster, operator: Operator, connect: Connect, rest: Proxy, broker: EmbeddedBroker
) -> Iterator[MakeMirror]:
    """Makes KafkaMirrorMaker2 resources in the shared namespace, from the broker to itself."""
    made: list[Mirror] = []

    def make(namespace: str = SHARED, through: Proxy | None = None, **options: Any) -> Mirror:
        mirror = Mirror(cluster, connect, through or rest, broker.bootstrap_servers, namespace, **options)
        made.append(mirror)
        return mirror

    yield make
    for mirror in made:
        mirror.delete()


@pytest.fixture
def make_connectors(
    cluster: Cluster, connect: Connect, rest: Proxy, broker: EmbeddedBroker, topics: Topics, tmp_path: Path
) -> Iterator[Callable[..., Connectors]]:
    """Makes KafkaConnect resources with KafkaConnector ones."""
    made: list[Connectors] = []

    def make(namespace: str = SHARED, through: Proxy | None = None) -> Connectors:
        one = Connectors(cluster, connect, through or rest, broker.bootstrap_servers, namespace, topics, tmp_path)
        made.append(one)
        return one

    yield make
    for one in made:
        one.delete()


@pytest.fixture
def connectors(operator: Operator, make_connectors: Callable[..., Connectors]) -> Connectors:
    """A KafkaConnect in the shared namespace."""
    return make_connectors()
