"""Several workers in one process: those at one address each have a page; servers that end leave the page to others."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest
from fastapi import FastAPI

from seamark.config.worker import WorkerConfig
from seamark.rest.flows import FlowsApp
from seamark.rest.server import RestServer
from seamark.web.mounting import PageApp
from seamark.web.site import Site

# NiceGUI loads a Kafka client that uses what Python will drop one day.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
FLOWS = (("a", "b"), ("b", "a"))


def worker(name: str) -> FastAPI:
    """What a page asks, of a worker without connectors."""
    app = FastAPI()
    app.add_api_route("/overview", lambda: {"at": 0, "connectors": [], "unreachable": []})
    cluster = {"kafka_cluster_id": f"id-of-{name}", "group_id": None, "mode": "standalone", "leader": None}
    app.add_api_route("/cluster", lambda: {**cluster, "workers": []})
    return app


def served() -> RestServer:
    server = RestServer(WorkerConfig({"bootstrap.servers": "unused", "listeners": "http://127.0.0.1:0"}))
    server.bind()
    pages = {f"{source}->{target}": f"/{source}/{target}/ui/" for source, target in FLOWS}
    apps = {
        (source, target): PageApp(
            worker(source), Site(f"{server.url}/{source}/{target}", f"/{source}/{target}", None, pages)
        )
        for source, target in FLOWS
    }
    server.serve(FlowsApp(apps, dict, list))
    return server


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False, timeout=30) as made:
        yield made


def test_each_flow_has_a_page_and_the_next_server_can_have_it(client: httpx.Client) -> None:
    first, second = served(), served()
    try:
        assert client.get(f"{first.url}/ui").headers["location"] == "/a/b/ui/"
        for source, target in FLOWS:
            answer = client.get(f"{first.url}/{source}/{target}/ui/")
            assert f"id-of-{source}" in answer.text
            assets = set(re.findall(r'(?:href|src)="(/[^"]+)"', answer.text))
            assert {url.split("/ui/")[0] for url in assets} == {f"/{source}/{target}"}
            assert {client.get(first.url + url).status_code for url in assets} == {200}

        elsewhere = client.get(f"{second.url}/a/b/ui/")
        assert elsewhere.status_code == 503
        assert f'href="{first.url}/' in elsewhere.text
        first.stop(5)
        answer = client.get(f"{second.url}/a/b/ui/")
        assert (answer.status_code, "id-of-a" in answer.text) == (200, True)
        socket = client.get(f"{second.url}/a/b/ui/_nicegui_ws/socket.io/?EIO=4&transport=polling")
        assert socket.status_code == 200
    finally:
        first.stop(5)
        second.stop(5)
