"""Spark on Kubernetes as the guide sets it up: the API server takes the executors' pods; no node runs them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from fixtures.kube import ROOT, Cluster, Object
from fixtures.worker import worker_properties
from seamark.config.properties import load_properties
from seamark.kafka.broker import EmbeddedBroker
from seamark.testing.driver import DriverProcess
from seamark.testing.waiting import eventually

pytestmark = [pytest.mark.timeout(600), pytest.mark.slow]

GUIDE = (ROOT / "docs" / "guides" / "spark-clusters.md").read_text().partition("## Kubernetes\n")[2]
"""What it says about Kubernetes."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


def pods(cluster: Cluster, namespace: str) -> list[Object]:
    found = cluster.ask("GET", f"/api/v1/namespaces/{namespace}/pods", labelSelector="spark-role=executor")
    return list(found["items"])


def worker_pod(cluster: Cluster, namespace: str) -> Object:
    """The pod that the worker would run in."""
    container = {"name": "worker", "image": "example/seamark:0.1.0"}
    spec = {"serviceAccountName": "seamark-worker", "containers": [container]}
    meta = {"name": "worker-0", "namespace": namespace}
    return cluster.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})


def test_executors_are_pods_as_the_guide_describes_them(
    cluster: Cluster,
    namespace: str,
    broker: EmbeddedBroker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rights, template = blocks("yaml")
    # Nobody else makes the account that every namespace has.
    cluster.create(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": namespace}}
    )
    for body in yaml.safe_load_all(rights):
        body["metadata"]["namespace"] = namespace
        for subject in body.get("subjects", []):
            subject["namespace"] = namespace
        cluster.apply(body)
    worker = worker_pod(cluster, namespace)
    (tmp_path / "executor.yaml").write_text(template)

    (text,) = blocks("properties")
    guide = load_properties(text)
    here = {
        "spark.master": f"k8s://{cluster.url}",
        "spark.kubernetes.namespace": namespace,
        "spark.kubernetes.executor.podTemplateFile": str(tmp_path / "executor.yaml"),
        # As in a pod, where both lie in files that Spark finds by itself.
        "spark.kubernetes.authenticate.oauthToken": cluster.token(namespace, "seamark-worker"),
        "spark.kubernetes.trust.certificates": "true",
        "spark.scheduler.minRegisteredResourcesRatio": "0",  # no executor will ever answer
    }
    assert here.keys() - guide.keys() == set(list(here)[3:]), "the guide sets the others"
    monkeypatch.setenv("POD_NAME", "worker-0")
    monkeypatch.setenv("POD_IP", "127.0.0.1")
    properties = {**worker_properties(broker.bootstrap_servers), **guide, **here}
    with DriverProcess(tmp_path / "driver", [{"properties": properties, "connectors": {}}]):
        made = eventually(lambda: len(found := pods(cluster, namespace)) == 2 and found, 60, "no pods were created")
        for pod in made or []:
            check(pod, guide, worker)
    eventually(lambda: not pods(cluster, namespace), 30, "pods are left")


def check(pod: Object, guide: dict[str, str], worker: Object) -> None:
    """What the settings, the template and Spark itself say."""
    meta, spec = pod["metadata"], pod["spec"]
    (container,) = spec["containers"]
    environment = {each["name"]: each.get("value") for each in container["env"]}
    assert (container["name"], container["image"]) == (
        "spark-kubernetes-executor",
        guide["spark.kubernetes.container.image"],
    )
    assert meta["labels"]["team"] == "pipelines"
    assert [owner["uid"] for owner in meta["ownerReferences"]] == [worker["metadata"]["uid"]]
    assert container["resources"]["requests"]["cpu"] == "1"
    assert container["resources"]["limits"] == {"cpu": "2", "memory": "2867Mi"}  # 2 GiB and 40 % of it for Python
    assert environment["SPARK_EXECUTOR_CORES"] == "2"
    assert environment["SPARK_DRIVER_URL"].startswith("spark://CoarseGrainedScheduler@127.0.0.1:")
    assert spec["serviceAccountName"] == "default"
    mounts: list[dict[str, Any]] = container["volumeMounts"]
    assert {"name": "lake", "mountPath": "/data"} in mounts
    assert {"key": "pipelines", "operator": "Exists"} in spec["tolerations"]
    assert "Pending" == pod["status"]["phase"]
