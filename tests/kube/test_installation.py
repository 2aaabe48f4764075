"""What is installed: definitions, rights, workers in the cluster, and the examples of the guide."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from compat.targets import WorkerProcess
from fixtures import kube_binaries
from fixtures.kube import DEPLOY, ROOT, Cluster, KubeRefused, conditions
from kube.conftest import MakeOperator, Operator
from kube.resources import V1BETA2
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.broker_storage import free_port
from seamark.testing.waiting import eventually

DOCS = ROOT / "docs"
PROGRAM = Path(sys.executable).with_name("seamark")


def examples() -> list[dict[str, Any]]:
    """Every resource in the documentation."""
    found = []
    for page in sorted([*DOCS.rglob("*.md"), ROOT / "README.md"]):
        for block in re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
            found += [body for body in yaml.safe_load_all(block) if isinstance(body, dict)]
    # A template for pods, which has no name, is none.
    return [body for body in found if {"apiVersion", "kind", "metadata"} <= set(body)]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """An API server without anything of ours."""
    try:
        made = Cluster(tmp_path_factory.mktemp("fresh"))
        made.start()
    except kube_binaries.BinariesMissingError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))
    yield made
    made.stop()


@pytest.mark.requirement("RST-01")
@pytest.mark.requirement("STR-39")
def test_one_command_installs_everything_and_the_examples_work(fresh: Cluster, tmp_path: Path) -> None:
    """The operator runs before there is anything to serve, in all namespaces, as its ServiceAccount."""
    for body in yaml.safe_load_all((DEPLOY / "rbac.yaml").read_text()):
        fresh.apply(body)
    operator = Operator(fresh.kubeconfig("operator", fresh.token()), tmp_path, ())
    operator.start()
    try:
        eventually(lambda: "The operator serves all namespaces" in operator.log, 30)
        # twice: what is there stays
        for _ in range(2):
            eventually(lambda: fresh.kubectl("apply", "-k", str(DEPLOY)), 60)
        assert fresh.kubectl("get", "deployment", "-n", "seamark", "-o", "name") == "deployment.apps/seamark-operator\n"
        all_examples = examples()
        assert {body["kind"] for body in all_examples} == {
            "KafkaConnect", "KafkaConnector", "KafkaMirrorMaker2", "ConfigMap", "ResetOffset", "ServiceAccount", "Role",
            "RoleBinding",
        }  # fmt: skip
        for body in all_examples:
            fresh.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(body))
        # no workers run here, so nothing becomes ready; but everything is made and told
        eventually(lambda: "my-connect-connect" in fresh.kubectl("get", "deployments"), 60)
        eventually(lambda: "my-mm2-mirrormaker2" in fresh.kubectl("get", "deployments"), 60)
        assert "outside" not in fresh.kubectl("get", "deployments")
        eventually(lambda: "NotReady" in fresh.kubectl("describe", "kmm2", "my-mm2"), 60)
        lines = fresh.kubectl("get", "kctr", "orders-to-file").splitlines()
        assert lines[0].split() == ["NAME", "CLUSTER", "CONNECTOR", "CLASS", "MAX", "TASKS", "READY"]
        assert lines[1].split()[:4] == ["orders-to-file", "my-connect", "FileStreamSink", "2"]
        assert fresh.kubectl("get", "kmm2").splitlines()[0].split() == ["NAME", "DESIRED", "REPLICAS", "READY"]
        eventually(lambda: "FailedToAcquire" in fresh.kubectl("get", "resetoffset", "orders-again"), 60)
        lines = fresh.kubectl("get", "ro", "orders-again").splitlines()
        assert lines[0].split() == ["NAME", "SUCCEEDED", "REASON", "AGE"]
        assert lines[1].split()[:3] == ["orders-again", "False", "FailedToAcquireDataPlaneServices"]
        described = fresh.kubectl("describe", "ro", "orders-again")
        assert "RefMapped" in described
        eventually(lambda: "InternalError" in fresh.kubectl("describe", "ro", "orders-again"), 30)
        assert "orders-again" in fresh.kubectl("get", "all"), "it is of the category all"
        fresh.kubectl("delete", "ro", "orders-again", "--timeout=30s")
    finally:
        operator.stop()
    assert "Traceback" not in operator.log, operator.log


def test_every_example_is_accepted_without_kubectl_too(cluster: Cluster, namespace: str) -> None:
    for body in examples():
        body["metadata"]["namespace"] = namespace
        assert cluster.apply(body)["metadata"]["uid"]


def test_images_are_made_of_what_is_there() -> None:
    """There is no Docker here; but every file that is copied exists, and what pods run is understood."""
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    copied = [
        name for line in lines if line.startswith("COPY ") and "--from" not in line for name in line.split()[1:-1]
    ]
    assert copied and [name for name in copied if not (ROOT / name).exists()] == []
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    assert {f"!{name.split('/')[0]}" for name in copied} <= set(ignored)
    assert 'ENTRYPOINT ["seamark"]' in lines
    stages = {line.split()[-1] for line in lines if line.startswith("FROM ")}
    assert {"operator", "worker"} <= stages
    (deployment,) = yaml.safe_load_all((DEPLOY / "operator.yaml").read_text())
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    done = subprocess.run([str(PROGRAM), *container["args"], "--help"], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("verb", "what", "is_allowed"),
    [
        ("patch", "kafkamirrormaker2s.kafka.strimzi.io", True),
        ("patch", "kafkamirrormaker2s.kafka.strimzi.io/status", True),
        ("create", "configmaps", True),
        ("get", "secrets", True),
        ("create", "leases.coordination.k8s.io", True),
        ("delete", "kafkamirrormaker2s.kafka.strimzi.io", False),
        ("create", "kafkaconnectors.kafka.strimzi.io", False),
        ("delete", "resetoffsets.kafka.eventing.knative.dev", False),
        ("list", "secrets", False),
        ("create", "secrets", False),
        ("delete", "configmaps", False),
        ("create", "pods", False),
        ("create", "pods/exec", False),
        ("delete", "deployments.apps", False),
        ("create", "clusterroles.rbac.authorization.k8s.io", False),
        ("patch", "customresourcedefinitions.apiextensions.k8s.io", False),
    ],
)
def test_rights_are_the_least(cluster: Cluster, verb: str, what: str, is_allowed: bool) -> None:
    resource, _, sub = what.partition("/")
    name, _, group = resource.partition(".")
    attributes = {"namespace": "default", "verb": verb, "group": group, "resource": name, "subresource": sub}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": "system:serviceaccount:seamark:seamark-operator", "resourceAttributes": attributes},
    }
    made = cluster.ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    assert made["status"].get("allowed", False) == is_allowed


@pytest.mark.requirement("STR-39")
def test_fields_are_optional_and_objects(cluster: Cluster, namespace: str) -> None:
    def mirror(name: str, **spec: Any) -> dict[str, Any]:
        clusters = [{"alias": alias, "bootstrapServers": "k:9092"} for alias in ("a", "b")]
        sections = {"sourceCluster": "a", "targetCluster": "b", "sourceConnector": {}}
        meta = {"name": name, "namespace": namespace}
        whole = {"connectCluster": "b", "clusters": clusters, "mirrors": [sections], "jvmOptions": {"kept": 1}, **spec}
        return {"apiVersion": V1BETA2, "kind": "KafkaMirrorMaker2", "metadata": meta, "spec": whole}

    made = cluster.create(mirror("plain"))
    assert made["spec"]["jvmOptions"] == {"kept": 1}, "what Strimzi has beyond this is kept"
    assert made["spec"]["replicas"] == 1
    also = cluster.ask("GET", f"/apis/kafka.strimzi.io/v1/namespaces/{namespace}/kafkamirrormaker2s/plain")
    assert also["spec"] == made["spec"]
    for name, wrong in {
        "list": {"listOffsets": "my-map"},
        "alter": {"alterOffsets": {}},
        "target": {"connectCluster": "z"},
        "source": {"mirrors": [{"sourceCluster": "z", "targetCluster": "b"}]},
        "replicas": {"replicas": -1},
        "state": {"mirrors": [{"sourceCluster": "a", "sourceConnector": {"state": "asleep"}}]},
        "tasks": {"mirrors": [{"sourceCluster": "a", "sourceConnector": {"tasksMax": 0}}]},
    }.items():
        with pytest.raises(KubeRefused) as refused:
            cluster.create(mirror(name, **wrong))
        assert refused.value.status == 422


def test_workers_in_the_cluster_are_made_and_can_run(
    cluster: Cluster,
    namespace: str,
    make_operator: MakeOperator,
    broker: EmbeddedBroker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There is no node here: what a pod would run is run by hand, from the very ConfigMap."""
    make_operator(namespace)
    body = {
        "apiVersion": V1BETA2,
        "kind": "KafkaConnect",
        "metadata": {"name": "workers", "namespace": namespace},
        "spec": {
            "replicas": 2,
            "bootstrapServers": broker.bootstrap_servers,
            "config": {
                "group.id": f"{namespace}-group",
                "config.storage.topic": f"{namespace}-configs",
                "offset.storage.topic": f"{namespace}-offsets",
                "status.storage.topic": f"{namespace}-status",
                "config.storage.replication.factor": 1,
                "offset.storage.replication.factor": 1,
                "status.storage.replication.factor": 1,
                "spark.driver.memory": "512m",
                "spark.ui.enabled": False,
            },
        },
    }
    cluster.create(body)

    def get(kind: str, version: str, name: str) -> dict[str, Any]:
        return cluster.get({"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}})

    deployment = eventually(lambda: get("Deployment", "apps/v1", "workers-connect"), 60)
    assert deployment["spec"]["replicas"] == 2
    assert deployment["metadata"]["ownerReferences"][0]["name"] == "workers"
    service = get("Service", "v1", "workers-connect-api")
    assert service["spec"]["ports"][0]["port"] == 8083
    eventually(lambda: "NotReady" in conditions(cluster.get(body)), 60)
    assert cluster.get(body)["status"]["url"] == f"http://workers-connect-api.{namespace}.svc:8083"
    cluster.merge(body, {"spec": {"replicas": 3}})
    eventually(lambda: get("Deployment", "apps/v1", "workers-connect")["spec"]["replicas"] == 3, 30)
    # what somebody else does to it is put right
    cluster.merge(deployment, {"spec": {"replicas": 7}})
    eventually(lambda: get("Deployment", "apps/v1", "workers-connect")["spec"]["replicas"] == 3, 30)
    cluster.delete(deployment)
    eventually(lambda: get("Deployment", "apps/v1", "workers-connect")["spec"]["replicas"] == 3, 30)
    properties = get("ConfigMap", "v1", "workers-connect-config")["data"]["worker.properties"]
    port = free_port("127.0.0.1")
    # a pod has a network of its own
    file = tmp_path / "worker.properties"
    local = {"listeners=http://0.0.0.0:8083": f"listeners=http://127.0.0.1:{port}", "rest.advertised.port=8083": ""}
    for old, new in local.items():
        assert old in properties
        properties = properties.replace(old, new)
    file.write_text(properties)
    monkeypatch.setenv("POD_IP", "127.0.0.1")
    worker = WorkerProcess([str(PROGRAM), "distributed", str(file)], tmp_path / "worker", port)
    try:
        worker.start()
        worker.await_healthy()
        assert httpx.get(f"{worker.url}/connectors").json() == []
        cluster.merge(body, {"metadata": {"annotations": {"seamark.dev/connect-url": worker.url}}})
        eventually(lambda: conditions(cluster.get(body)) == {"Ready": "True"}, 60)
        plugins = {each["class"] for each in cluster.get(body)["status"]["connectorPlugins"]}
        assert any("HttpSink" in each for each in plugins)
    finally:
        worker.stop()


def test_a_resource_that_contradicts_itself_is_told(
    cluster: Cluster, namespace: str, make_operator: MakeOperator, broker: EmbeddedBroker
) -> None:
    make_operator(namespace)
    clusters = [{"alias": alias, "bootstrapServers": f"{alias}:9092"} for alias in ("a", "b")]
    body = {
        "apiVersion": V1BETA2,
        "kind": "KafkaMirrorMaker2",
        "metadata": {"name": "wrong", "namespace": namespace},
        "spec": {
            "connectCluster": "b",
            "clusters": clusters,
            "mirrors": [{"sourceCluster": "b", "targetCluster": "a", "sourceConnector": {}}],
        },
    }
    cluster.create(body)

    def problem() -> Any:
        return next(each for each in cluster.get(body)["status"]["conditions"] if each["type"] == "NotReady")

    assert eventually(problem, 30)["reason"] == "InvalidResourceException"
    assert "actual target cluster alias" in problem()["message"]
    cluster.merge(body, {"metadata": {"annotations": {"strimzi.io/pause-reconciliation": "true"}}})
    eventually(lambda: conditions(cluster.get(body)) == {"ReconciliationPaused": "True"}, 30)
