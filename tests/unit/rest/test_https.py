"""https and certificates of clients, over real connections."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from fixtures.authority import Authority, Issued
from seamark.cli import certificates
from seamark.cli.main import app as commands
from seamark.client import ConnectClient, Settings, Unreachable
from seamark.config.tls import Tls
from seamark.config.worker import WorkerConfig
from seamark.errors import ConfigError
from seamark.rest import RestServer
from seamark.runtime.forwarding import RestClient
from seamark.runtime.herder import ForwardError
from unit.rest.herders import MemoryHerder

Start = Callable[..., RestServer]
HTTPS = {"listeners": "https://127.0.0.1:0"}


@pytest.fixture
def start() -> Iterator[Start]:
    servers: list[RestServer] = []

    def begin(settings: dict[str, str], herder: MemoryHerder | None = None, **arguments: Any) -> RestServer:
        server = RestServer(WorkerConfig(settings))
        server.bind()
        servers.append(server)
        server.start(herder or MemoryHerder(), **arguments)
        return server

    yield begin
    for server in servers:
        server.stop(2)


@pytest.fixture
def tls(authority: Authority, worker_identity: Issued) -> dict[str, str]:
    return {
        "ssl.keystore.location": str(worker_identity.pem),
        "ssl.truststore.location": str(authority.file),
    }


def get(url: str, verify: ssl.SSLContext | bool) -> httpx.Response:
    return httpx.get(url, verify=verify, timeout=30, trust_env=False)


def test_a_worker_with_https(start: Start, tls: dict[str, str], authority: Authority) -> None:
    server = start({**HTTPS, **tls})
    assert server.url == f"https://127.0.0.1:{server.ports[0]}"
    assert server.advertised_url == f"{server.url}/"
    answer = get(f"{server.url}/connectors", authority.client())
    assert (answer.status_code, answer.json()) == (200, [])
    for wrong in (server.url.replace("https", "http"), server.url):
        with pytest.raises(httpx.HTTPError):
            get(wrong, True)  # no TLS; then a certificate that the system does not trust
    older = authority.client()
    older.maximum_version = ssl.TLSVersion.TLSv1_2
    assert get(server.url, older).status_code == 200
    newer = start({**HTTPS, **tls, "ssl.enabled.protocols": "TLSv1.3"})
    with pytest.raises(httpx.ConnectError):
        get(newer.url, older)


def test_clients_must_show_a_certificate(
    start: Start, tls: dict[str, str], authority: Authority, tmp_path_factory: pytest.TempPathFactory
) -> None:
    required = start({**HTTPS, **tls, "ssl.client.auth": "required"})
    known = authority.issue("client")
    stranger = Authority(tmp_path_factory.mktemp("stranger"), "Strangers").issue("client")
    assert get(required.url, authority.client(known)).status_code == 200
    for shown in (None, stranger):
        with pytest.raises(httpx.HTTPError):
            get(required.url, authority.client(shown))
    requested = start({**HTTPS, **tls, "ssl.client.auth": "requested"})
    for shown in (None, known):
        assert get(requested.url, authority.client(shown)).status_code == 200
    with pytest.raises(httpx.HTTPError):
        get(requested.url, authority.client(stranger))


def test_several_protocols_and_a_certificate_of_its_own_for_admin(
    start: Start, tls: dict[str, str], authority: Authority
) -> None:
    other = authority.issue("admin", host="127.0.0.1")
    server = start(
        {
            "listeners": "https://127.0.0.1:0,http://127.0.0.1:0",
            "admin.listeners": "https://127.0.0.1:0",
            "admin.listeners.https.ssl.keystore.location": str(other.pem),
            **tls,
        }
    )
    assert get(f"https://127.0.0.1:{server.ports[0]}/", authority.client()).status_code == 200
    assert get(f"http://127.0.0.1:{server.ports[1]}/", True).status_code == 200
    assert server.advertised_url == f"http://127.0.0.1:{server.ports[1]}/", "http comes first, as in Kafka Connect"
    assert server.admin_url is not None
    assert get(f"{server.admin_url}/admin/loggers", authority.client()).status_code == 200
    shown = ssl.get_server_certificate(("127.0.0.1", server.admin_ports[0]))
    assert ssl.PEM_cert_to_DER_cert(shown) == ssl.PEM_cert_to_DER_cert(other.chain_pem)


def test_which_listener_is_advertised(tls: dict[str, str]) -> None:
    both = {"listeners": "http://127.0.0.1:0,https://127.0.0.1:0", **tls, "rest.advertised.listener": "https"}
    server = RestServer(WorkerConfig(both))
    server.bind()
    assert server.advertised_url == f"https://127.0.0.1:{server.ports[1]}/"
    server.stop(0)
    behind = {"listeners": "http://127.0.0.1:0", "rest.advertised.listener": "https"}
    server = RestServer(WorkerConfig({**behind, "rest.advertised.host.name": "proxy.example"}))
    server.bind()
    assert server.advertised_url == "https://proxy.example:443/"
    server.stop(0)
    server = RestServer(WorkerConfig(behind))
    server.bind()
    with pytest.raises(ConfigError, match=r"rest\.advertised\.host\.name"):
        _ = server.worker_id
    server.stop(0)


def test_https_without_a_key_store_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"ssl\.keystore\.location"):
        RestServer(WorkerConfig(HTTPS))
    with pytest.raises(ConfigError, match="none, requested, required"):
        WorkerConfig({**HTTPS, "ssl.client.auth": "maybe"})


def test_requests_are_sent_on_between_workers_that_ask_for_certificates(
    start: Start, tls: dict[str, str], authority: Authority
) -> None:
    settings = {**HTTPS, **tls, "ssl.client.auth": "required"}
    leader, follower = MemoryHerder(), MemoryHerder()
    led = start(settings, leader)
    leader.configs["x"] = {}
    follower.failure = ForwardError("not the leader", led.advertised_url)
    forwarder = RestClient(tls=Tls(settings).client_context())
    following = start(settings, follower, forwarder=forwarder)
    client = authority.client(authority.issue("client"))
    assert httpx.put(f"{following.url}/connectors/x/pause", verify=client, trust_env=False).status_code == 202
    forwarder.close()
    forwarder = RestClient()  # knows nobody, is nobody
    following = start(settings, follower, forwarder=forwarder)
    answer = httpx.put(f"{following.url}/connectors/x/pause", verify=client, trust_env=False)
    assert (answer.status_code, "CERTIFICATE_VERIFY_FAILED" in answer.text) == (500, True)
    forwarder.close()


def test_a_worker_reaches_itself_whatever_name_its_certificate_has(start: Start, authority: Authority) -> None:
    named = authority.issue("worker", host="worker.example")
    server = start(
        {
            **HTTPS,
            "ssl.keystore.location": str(named.pem),
            "ssl.truststore.location": str(authority.file),
            "ssl.client.auth": "required",
        }
    )
    own = server.own_context
    assert own is not None
    assert get(server.url, own).status_code == 200
    other = start({**HTTPS, "ssl.keystore.location": str(authority.issue("worker", host="worker.example").pem)})
    with pytest.raises(httpx.ConnectError):
        get(other.url, own)  # of the same authority, but not itself


def test_clients_and_commands_over_https(
    start: Start, tls: dict[str, str], authority: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("SEAMARK_CONFIG", str(tmp_path / "config.yaml"))
    server = start({**HTTPS, **tls, "ssl.client.auth": "required"})
    known = authority.issue("client")
    with ConnectClient(Settings(server.url, verify=authority.client(known))) as client:
        assert client.connectors() == []
    with ConnectClient(server.url) as client, pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
        client.connectors()

    def run(*arguments: str, **environment: str) -> int:
        try:
            return CliRunner().invoke(commands, [*arguments], env=environment).exit_code
        finally:
            certificates.remember(certificates.Certificates())

    shown = ["--certificate", str(known.pem)]
    get_connectors = ["get", "connectors"]
    at = ["--url", server.url]
    assert run("--ca", str(authority.file), *shown, *get_connectors, *at) == 0
    assert run("--insecure", *shown, *get_connectors, *at) == 0
    assert run(*get_connectors, *at, SEAMARK_CA=str(authority.file), SEAMARK_CERTIFICATE=str(known.pem)) == 0
    assert run("--ca", str(authority.file), *get_connectors, *at) != 0
    assert run("--key", str(known.pem), *get_connectors, *at) != 0
    context = ["context", "set", "prod", *at, "--ca", str(authority.file), "--certificate", str(known.pem)]
    assert run(*context) == 0
    assert run(*get_connectors) == 0
