"""Requests that workers send each other, and that nobody else may."""

from __future__ import annotations

import base64

import pytest

from compat.client import Connect, path_of
from compat.config_topic import ConfigTopic
from compat.conftest import Parked
from compat.targets import Target

AUTHORIZATION, ALGORITHM = "X-Connect-Authorization", "X-Connect-Request-Signature-Algorithm"
ENDPOINTS = {"tasks": ("POST", "[]"), "fence": ("PUT", None)}
WRONG = base64.b64encode(b"0" * 32).decode()
CASES = {
    "unsigned": ({}, 400, "Internal request missing required signature"),
    "no-algorithm": ({AUTHORIZATION: WRONG}, 400, "Internal request missing required signature"),
    "no-signature": ({ALGORITHM: "HmacSHA256"}, 400, "Internal request missing required signature"),
    "other-algorithm": (
        {AUTHORIZATION: WRONG, ALGORITHM: "HmacMD5"},
        400,
        "This worker does not support the 'HmacMD5' key signing algorithm used by other workers. This worker is "
        "currently configured to use: [HmacSHA256]. Check that all workers' configuration files permit the same set "
        "of signature algorithms, and correct any misconfigured worker and restart it.",
    ),
    "no-such-algorithm": ({AUTHORIZATION: WRONG, ALGORITHM: "nope"}, 400, "Algorithm nope not available"),
    "not-base64": ({AUTHORIZATION: "!!", ALGORITHM: "HmacSHA256"}, 400, "Illegal base64 character 21"),
    "wrong-signature": (
        {AUTHORIZATION: WRONG, ALGORITHM: "HmacSHA256"},
        403,
        "Internal request contained invalid signature.",
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_request_without_a_valid_signature(
    distributed: Target, connect: Connect, running_source: Parked, endpoint: str, case: str
) -> None:
    method, content = ENDPOINTS[endpoint]
    headers, status, message = CASES[case]
    response = connect.call(
        method,
        f"{running_source.path}/{endpoint}",
        content=content,
        headers={**headers, **({"Content-Type": "application/json"} if content else {})},
    )
    connect.refuses(response, status, message)


def test_tasks_of_a_stopped_connector(distributed: Target, connect: Connect, stopped_source: Parked) -> None:
    body = b'[{"file":"f"}]'
    response = connect.call(
        "POST", f"{stopped_source.path}/tasks", content=body, headers=ConfigTopic(distributed).sign(body)
    )
    message = f"Cannot submit non-empty set of task configs for stopped connector {stopped_source.name}"
    connect.refuses(response, 400, message)


@pytest.mark.parametrize("name", ["no-such-connector", "parked"])
def test_standalone_worker_has_no_fellows(
    standalone: Target, connect: Connect, running_source: Parked, name: str
) -> None:
    used = running_source.name if name == "parked" else name
    response = connect.call("POST", path_of(used, "tasks"), content="[]")
    message = "Kafka Connect in standalone mode does not support externally setting task configurations."
    connect.refuses(response, 500, message, "standalone/tasks")
    response = connect.put(path_of(used, "fence"))
    message = "Kafka Connect in standalone mode does not support exactly-once source connectors."
    connect.refuses(response, 500, message, "standalone/fence")
