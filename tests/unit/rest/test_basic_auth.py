"""Names and passwords over HTTP: our file of users, and Kafka Connect's extension."""

from __future__ import annotations

import base64
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from seamark.config import passwords
from seamark.config.worker import WorkerConfig
from seamark.errors import ConfigError
from seamark.rest import RestServer, basic_auth, failures
from seamark.rest.access import Access
from seamark.rest.basic_auth import BasicAuth
from seamark.rest.failures import Failures
from seamark.rest.flows import FlowsApp
from seamark.rest.page_access import PageSessions
from seamark.testing.waiting import eventually
from unit.rest import users
from unit.rest.herders import MemoryHerder

EXTENSION = "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
MODULE = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return users.write(tmp_path / "users")


def java(tmp_path: Path, credentials: str, entry: str | None = None) -> dict[str, str]:
    (tmp_path / "credentials.properties").write_text(credentials)
    module = f'{MODULE} required file="{tmp_path}/credentials.properties";'
    (tmp_path / "jaas.conf").write_text(entry or f"// for the REST API\nKafkaConnect {{\n  {module}\n}};\n")
    return {"rest.extension.classes": EXTENSION, "seamark.auth.jaas.file": str(tmp_path / "jaas.conf")}


def test_whoami(serve: Any, file: Path) -> None:
    client = serve(users.settings(file))
    assert client.get("/whoami", auth=users.login("olga")).json() == {
        "user": "olga",
        "role": "operator",
        "auth": "basic",
    }
    assert serve().get("/whoami").json() == {"user": None, "role": "editor", "auth": "none"}


@pytest.mark.parametrize(
    "header",
    [
        "Basic",
        "Basic !!!",
        "Basic " + base64.b64encode(b"vera").decode(),
        "Basic " + base64.b64encode(b":vera-pw").decode(),
        "Basic " + base64.b64encode(b"vera:wrong").decode(),
        "Basic " + base64.b64encode(b"nobody:vera-pw").decode(),
        "Basic " + base64.b64encode(b"vera:\xff\xfe").decode(),
        "Bearer abc",
        "Bearer seamark.abc.def",
        "Bearer seamark.abc",
        "Digest username=vera",
        "vera:vera-pw",
    ],
)
def test_what_is_no_login(serve: Any, file: Path, header: str) -> None:
    answer = serve(users.settings(file)).get("/connectors", headers={"Authorization": header})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Basic realm="seamark", charset="UTF-8"'
    assert "vera" not in answer.text


def test_names_of_all_characters(serve: Any, tmp_path: Path) -> None:
    file = users.write(tmp_path / "users", {"Zoë ✓": "viewer"})
    header = base64.b64encode("Zoë ✓:Zoë ✓-pw".encode()).decode()
    client = serve(users.settings(file))
    assert client.get("/whoami", headers={"Authorization": f"bAsIc {header}"}).json()["user"] == "Zoë ✓"


def test_a_changed_file_counts_at_once(
    serve: Any, file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(basic_auth, "LOOK_S", 0.0)
    client = serve(users.settings(file))
    assert client.get("/whoami", auth=users.login("vera")).json()["role"] == "viewer"
    # Remembered passwords must not outlive the user.
    users.write(file, {"vera": "editor", "eda": "editor"})
    assert client.get("/whoami", auth=users.login("vera")).json()["role"] == "editor"
    file.write_text("vera:king:hash\n")
    assert client.get("/whoami", auth=users.login("vera")).json()["role"] == "editor"
    assert "line 1" in caplog.text
    users.write(file, {"eda": "editor"})
    assert client.get("/whoami", auth=users.login("vera")).status_code == 401
    file.unlink()
    assert client.get("/whoami", auth=users.login("eda")).json()["role"] == "editor"


def test_failures_are_told_and_slowed(serve: Any, file: Path, caplog: pytest.LogCaptureFixture) -> None:
    client = serve(users.settings(file))
    client.get("/whoami", auth=users.login("eda"))  # remembered
    for _ in range(failures.FREE_FAILURES):
        client.get("/whoami", auth=("vera", "guess"))
    began = time.monotonic()
    assert client.get("/whoami", auth=("vera", "guess")).status_code == 401
    assert time.monotonic() - began >= failures.FIRST_DELAY_S
    began = time.monotonic()
    assert client.get("/whoami", auth=users.login("eda")).status_code == 200
    assert time.monotonic() - began < failures.FIRST_DELAY_S * 2, "who has logged in is not slowed by others"
    assert "Login failed from 127.0.0.1 as 'vera': wrong name or password (4 in a row)" in caplog.text
    assert "guess" not in caplog.text


def test_delays_grow_and_are_forgotten() -> None:
    now = 0.0
    found = Failures(lambda: now)
    delays = []
    for _ in range(12):
        delays.append(found.delay_s("a"))
        found.failed("a", "u", "no")
    assert delays == [0, 0, 0, 0.25, 0.5, 1, 2, 4, 4, 4, 4, 4]
    assert found.delay_s("b") == 0
    now += failures.FORGOTTEN_S
    assert found.delay_s("a") == 0
    found.failed("b", "u", "no")
    found.succeeded("b")
    for number in range(failures.MOST_ADDRESSES + 5):
        found.failed(f"c{number}", None, "no")
    assert len(found._found) == failures.MOST_ADDRESSES


def test_a_password_is_hashed_once_a_minute_only(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checks: list[str] = []
    is_password = passwords.is_password

    def counted(password: str, text: str) -> bool:
        checks.append(text)
        return is_password(password, text)

    monkeypatch.setattr(passwords, "is_password", counted)
    basic = BasicAuth.of(WorkerConfig(users.settings(file)))
    assert basic is not None
    assert basic.remembered("vera", "vera-pw") is None
    assert basic.check("vera", "vera-pw") is not None
    began = time.perf_counter()
    for _ in range(1000):
        assert basic.remembered("vera", "vera-pw") is not None
    assert len(checks) == 1
    assert time.perf_counter() - began < 2.0
    assert basic.remembered("vera", "vera-px") is None
    assert basic.check("nobody", "x") is None
    assert len(checks) == 2, "a user that is not known takes as long"


def test_a_real_hash() -> None:
    made = passwords.hash_password("pässword")
    assert made != passwords.hash_password("pässword")
    assert passwords.is_password("pässword", made)
    assert not passwords.is_password("password", made)
    assert not passwords.is_password("pässword", passwords.unmatchable(made))


@pytest.mark.parametrize(
    "line",
    [
        "vera",
        "vera:viewer",
        "vera:root:x",
        ":viewer:x",
        "vera:viewer:plain",
        "vera:viewer:scrypt$16$8$1$AAAA$AAAA",
        "vera:viewer:scrypt$15$8$1$MDEyMzQ1Njc4OWFiY2RlZg==$MDEyMzQ1Njc4OWFiY2RlZg==",
        "vera:viewer:scrypt$1073741824$8$1$MDEyMzQ1Njc4OWFiY2RlZg==$MDEyMzQ1Njc4OWFiY2RlZg==",
        "vera:viewer:scrypt$16$8$99999999$MDEyMzQ1Njc4OWFiY2RlZg==$MDEyMzQ1Njc4OWFiY2RlZg==",
    ],
)
def test_wrong_lines_are_refused_without_their_content(line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        passwords.parse_users(f"# users\n\n{line}\n", "file")
    assert caught.value.message.startswith("file, line 3: ")
    assert "vera" not in caught.value.message


def test_nobody_else_may_read_the_file(file: Path) -> None:
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "settings",
    [
        {"seamark.auth.type": "basic"},
        {"seamark.auth.type": "basic", "seamark.auth.basic.users.file": "/nowhere/users"},
        {"seamark.auth.type": "none,basic"},
        {"seamark.auth.type": "kerberos"},
        {"seamark.auth.type": "oidc"},
        {"seamark.auth.type": "oidc", "seamark.auth.oidc.issuer": "https://i"},
        {"seamark.auth.type": "oidc", "seamark.auth.oidc.issuer": "file:///x", "seamark.auth.oidc.audience": "a"},
        {"rest.extension.classes": "com.example.Extension"},
        {"rest.extension.classes": EXTENSION},
        {"rest.extension.classes": EXTENSION, "seamark.auth.jaas.file": "/nowhere/jaas"},
    ],
)
def test_a_worker_does_not_start_with_half_of_it(serve: Any, settings: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        serve(settings)


# Kafka Connect's extension


def test_connects_extension(serve: Any, tmp_path: Path) -> None:
    client = serve(java(tmp_path, "connect = s3:cret\n"))
    answer = client.get("/connectors")
    # As Kafka Connect 4.2.0 answers.
    assert (answer.status_code, answer.content) == (401, b"User cannot access the resource.")
    assert answer.headers["content-type"] == "application/json"
    assert client.get("/connectors", headers={"Accept": "text/plain"}).status_code == 406
    assert (client.head("/connectors").status_code, client.get("/nope").status_code) == (401, 404)
    assert "www-authenticate" not in answer.headers
    assert client.get("/connectors", auth=("connect", "wrong")).content == b"User cannot access the resource."
    assert client.get("/connectors", auth=("connect", "s3:cret")).status_code == 200
    assert client.get("/whoami", auth=("connect", "s3:cret")).json()["role"] == "editor"
    # The workers' own requests need no password, but a signature.
    assert (
        client.post("/connectors/x/tasks", json=[]).json()["message"] == "Internal request missing required signature"
    )


def test_a_file_that_becomes_empty_lets_nobody_in(
    serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(basic_auth, "LOOK_S", 0.0)
    settings = java(tmp_path, "connect = secret\n")
    client = serve(settings)
    files = [file for file in tmp_path.iterdir() if "connect = secret" in file.read_text()]
    files[0].write_text("")
    assert client.get("/connectors").status_code == 401
    assert client.get("/connectors", auth=("connect", "secret")).status_code == 200
    assert "is empty now" in caplog.text


def test_an_empty_file_lets_all_in(serve: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = java(tmp_path, "# nobody\n")
    client = serve(settings)
    assert client.get("/connectors").status_code == 200
    pages = PageSessions(Access(WorkerConfig(settings), MemoryHerder()))
    assert pages.user_of("") == ("", "editor"), "nor does the page ask"
    assert (
        client.get("/whoami", headers={"Authorization": f"Bearer {pages.token_for('', 'editor')}"}).status_code == 200
    )
    assert "is empty; all requests will be permitted" in caplog.text


def test_the_jaas_file_of_the_environment(serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = java(tmp_path, "a=b")
    file = settings.pop("seamark.auth.jaas.file")
    monkeypatch.setenv("KAFKA_OPTS", f'-Xmx1g "-Djava.security.auth.login.config={file}"')
    assert serve(settings).get("/connectors", auth=("a", "b")).status_code == 200


@pytest.mark.parametrize(
    "entry",
    [
        "Other { a.B required; };",
        "KafkaConnect { com.example.Ldap required; };",
        f"KafkaConnect {{ {MODULE} required; }};",
        f'KafkaConnect {{ {MODULE} required file="x"; com.example.Ldap optional; }};',
        f'KafkaConnect {{ {MODULE} file="x"; }};',
        f'KafkaConnect {{ {MODULE} required file="x; }};',
        f'KafkaConnect {{ {MODULE} required file="x";',
    ],
)
def test_jaas_files_of_no_use(serve: Any, tmp_path: Path, entry: str) -> None:
    with pytest.raises(ConfigError):
        serve(java(tmp_path, "a=b", entry))


def test_both_at_once(serve: Any, file: Path, tmp_path: Path) -> None:
    client = serve({**users.settings(file), **java(tmp_path, "connect=c")})
    assert client.get("/whoami", auth=("connect", "c")).json()["role"] == "editor"
    assert client.get("/whoami", auth=users.login("vera")).json()["role"] == "viewer"
    assert "www-authenticate" in client.get("/whoami").headers


# what stays open


def test_metrics_are_for_viewers_unless_they_are_open(serve: Any, file: Path) -> None:
    closed = serve(users.settings(file), render_metrics=lambda: b"m 1\n")
    assert closed.get("/metrics").status_code == 401
    assert closed.get("/metrics", auth=users.login("vera")).content == b"m 1\n"
    opened = serve({**users.settings(file), "seamark.auth.metrics": "open"}, render_metrics=lambda: b"m 1\n")
    assert opened.get("/metrics").content == b"m 1\n"


def test_what_is_of_no_flow_of_a_mirror_maker(file: Path) -> None:
    config = WorkerConfig({"listeners": "http://127.0.0.1:0", **users.settings(file)})
    server = RestServer(config)
    server.bind()
    server.serve(FlowsApp({}, dict, lambda: [{"lag": 1}], Access(config, MemoryHerder())))
    try:
        with httpx.Client(base_url=server.url, timeout=60, trust_env=False, verify=False) as client:
            assert [client.get(path).status_code for path in ("/", "/mirrors", "/health")] == [401, 401, 200]
            assert client.get("/mirrors", auth=users.login("vera")).json() == [{"lag": 1}]
    finally:
        server.stop(5)


def test_with_nobody_asked_nothing_is_different(serve: Any, file: Path) -> None:
    client = serve()
    plain = client.get("/connectors/x")
    for headers in (
        {"Authorization": "Basic !!!"},
        {"Authorization": "Bearer seamark.x.y"},
        {"Origin": "https://evil.example"},
        {"X-Seamark-Identity": "x.y", "Cookie": "seamark_session=x.y"},
    ):
        answer = client.get("/connectors/x", headers=headers)
        assert (answer.status_code, answer.content) == (plain.status_code, plain.content)
        assert dict(answer.headers) | {"date": ""} == dict(plain.headers) | {"date": ""}
        assert client.put("/connectors/x/pause", headers=headers).status_code == 404
    assert client.post("/ui/session").status_code == 404


def test_many_requests_a_second_with_real_hashes(serve: Any, tmp_path: Path) -> None:
    file = tmp_path / "users"
    real = passwords.hash_password("pw")
    passwords.write_users(file, {"vera": passwords.User("vera", "viewer", real)})
    client = serve(users.settings(file))
    client.get("/whoami", auth=("vera", "pw"))
    client.get("/whoami", auth=("vera", "pw"))

    def is_fast() -> bool:
        began = time.perf_counter()
        for _ in range(100):
            assert client.get("/whoami", auth=("vera", "pw")).status_code == 200
        return time.perf_counter() - began < 5.0

    eventually(is_fast, within_s=60)
