"""`/mirrors` of a worker whose connectors are none; with mirrors it is tested in tests/e2e/test_mirror_cli.py."""

from __future__ import annotations

import httpx
import pytest

from unit.rest.herders import MemoryHerder

REQUESTS = [("GET", "/mirrors/{}"), ("GET", "/mirrors/{}/groups"), ("POST", "/mirrors/{}/groups/sync")]


def test_connectors_that_are_no_mirrors_are_not_listed(client: httpx.Client, herder: MemoryHerder) -> None:
    herder.configs["x"] = {"name": "x"}
    answer = client.get("/mirrors")
    assert (answer.status_code, answer.json()) == (200, [])


@pytest.mark.parametrize(("method", "path"), REQUESTS)
def test_a_connector_that_is_no_mirror_is_not_found(
    client: httpx.Client, herder: MemoryHerder, method: str, path: str
) -> None:
    herder.configs["x"] = {"name": "x"}
    answer = client.request(method, path.format("x"))
    message = "Connector x is not a MirrorSourceConnector; those that are: none"
    assert (answer.status_code, answer.json()["message"]) == (404, message)


@pytest.mark.parametrize(("method", "path"), REQUESTS)
def test_a_connector_that_does_not_exist_is_not_found(client: httpx.Client, method: str, path: str) -> None:
    answer = client.request(method, path.format("nobody"))
    assert (answer.status_code, answer.json()["message"]) == (404, "Connector nobody not found")
