"""Containers run as nobody special and change nothing of their image."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from seamark.operator.workloads import WorkerSettings, manifests

DEPLOY = Path(__file__).parents[3] / "deploy"


def test_images_run_as_nobody_special() -> None:
    stages = re.split(r"^FROM ", (DEPLOY / "Dockerfile").read_text(), flags=re.MULTILINE)[1:]
    users: dict[str, str] = {}
    for stage in stages:
        base, _, name = stage.splitlines()[0].partition(" AS ")
        named = re.findall(r"^USER (\S+)", stage, flags=re.MULTILINE)
        users[name] = named[-1] if named else users.get(base, "root")
    assert users["operator"] == users["worker"] == "10001"


def is_confined(pod: dict[str, Any]) -> bool:
    for container in pod["containers"]:
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"] is True
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        writable = {mount["name"] for mount in container["volumeMounts"] if not mount.get("readOnly")}
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert all("emptyDir" in volumes[name] for name in writable), "only what is gone with the pod can be written"
    return bool(pod["securityContext"]["runAsNonRoot"]) and "seccompProfile" in pod["securityContext"]


def test_the_operator_is_confined() -> None:
    found = list(yaml.safe_load_all((DEPLOY / "operator.yaml").read_text()))
    pods = [each["spec"]["template"]["spec"] for each in found if each["kind"] == "Deployment"]
    assert pods
    assert all(map(is_confined, pods))


def test_workers_that_the_operator_makes_are_confined() -> None:
    owner = {
        "apiVersion": "kafka.strimzi.io/v1",
        "kind": "KafkaConnect",
        "metadata": {"name": "c", "namespace": "n", "uid": "u"},
        "spec": {},
    }
    made = manifests(WorkerSettings(owner, "connect", 1, "seamark/worker", {}, ["secret"]))
    pods = [body["spec"]["template"]["spec"] for _, body in made if body["kind"] == "Deployment"]
    assert pods
    assert all(map(is_confined, pods))
