"""No address leads to a file that is not meant to be served, and no name of a connector out of anything."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.raw_http import raw_request
from seamark.config.worker import WorkerConfig
from seamark.rest import RestServer
from seamark.web.mounting import PageApp
from seamark.web.site import Site
from unit.rest.herders import MemoryHerder

# NiceGUI loads a Kafka client that uses what Python will drop one day.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
WAYS_OUT = (
    "/ui/assets/../../../../../../../../etc/passwd",
    "/ui/assets/..%2f..%2f..%2f..%2f..%2f..%2f..%2f..%2fetc%2fpasswd",
    "/ui/assets/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "/ui/assets//etc/passwd",
    "/ui/assets/..%5c..%5cetc%5cpasswd",
    "/ui/assets/../starting.py",
    "/connectors/../../../../etc/passwd",
    "/connectors/..%2f..%2f..%2fetc%2fpasswd",
    "/%2e%2e/etc/passwd",
)


@pytest.fixture
def port() -> Iterator[int]:
    server = RestServer(WorkerConfig({"listeners": "http://127.0.0.1:0"}))
    server.bind()
    server.start(MemoryHerder(), page=lambda app: PageApp(app, Site(server.url)))
    yield server.ports[0]
    server.stop(5)


def test_assets_of_the_page_are_served_but_no_other_files(port: int) -> None:
    found = raw_request(port, "GET", "/ui/assets/icon.svg")
    assert (found.status, b"<svg" in found.body) == (200, True)
    for target in WAYS_OUT:
        answer = raw_request(port, "GET", target)
        assert answer.status in (400, 404), (target, answer.status)
        assert b"root:" not in answer.body, target
        assert b"add_static_files" not in answer.body, target
