"""Downloading jars with the real Ivy, from a registry on this machine that can be made to fail."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from seamark.errors import JarError
from seamark.kafka import ivy, jars
from seamark.kafka.jars import JarSet
from seamark.testing.waiting import eventually

NAMES = ("one", "two")


class Registry:
    """A Maven registry on loopback with two jars; holds every download back while `is_open` is not set."""

    def __init__(self) -> None:
        self.files = {f"/org/example/{name}/1.0/{name}-1.0.jar": _jar(name) for name in NAMES}
        self.requests: list[str] = []
        self.is_open = threading.Event()
        self.is_open.set()
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self._answer(with_body=False)

            def do_GET(self) -> None:
                registry.requests.append(self.path)
                registry.is_open.wait(30)
                self._answer(with_body=True)

            def _answer(self, *, with_body: bool) -> None:
                content = registry.files.get(self.path)
                self.send_response(404 if content is None else 200)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                if with_body and content is not None:
                    self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Keep the test's output readable."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self.server.server_port}/"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self) -> None:
        self.is_open.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def _jar(name: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("name.txt"), name)  # with a date of its own, so always the same bytes
    return buffer.getvalue()


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    running = Registry()
    settings = tmp_path / "ivysettings.xml"
    settings.write_text(
        '<ivysettings><settings defaultResolver="local"/><resolvers>'
        f'<ibiblio name="local" m2compatible="true" usepoms="false" root="{running.root}"/></resolvers></ivysettings>'
    )
    monkeypatch.setenv(ivy.SETTINGS_ENV, str(settings))
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    yield running
    running.close()


@pytest.fixture
def tiny(tmp_path: Path) -> JarSet:
    lock = tmp_path / "tiny.lock"
    contents = {name: _jar(name) for name in NAMES}
    lock.write_text(
        "".join(
            f"{hashlib.sha256(content).hexdigest()}  {len(content)}  org.example:{name}:1.0\n"
            for name, content in contents.items()
        )
    )
    return JarSet("tiny", tuple(f"org.example:{name}:1.0" for name in NAMES), lock)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def _left_of_the_set(cache: Path) -> list[str]:
    return [path.name for path in cache.iterdir() if path.name.startswith(("tiny", ".partial"))]


def _start_ensure(tiny: JarSet, cache: Path) -> subprocess.Popen[str]:
    code = (
        "import sys; from pathlib import Path; from seamark.kafka import jars\n"
        "tiny = jars.JarSet('tiny', (), Path(sys.argv[1]))\n"
        "print([path.read_bytes()[:2] for path in jars.ensure(tiny, cache=Path(sys.argv[2]))])"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, str(tiny.lock_file), str(cache)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_jars_are_downloaded_once(
    registry: Registry, tiny: JarSet, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = jars.ensure(tiny, cache=cache)
    assert [path.name for path in first] == ["one-1.0.jar", "two-1.0.jar"]
    assert [path.read_bytes() for path in first] == [_jar(name) for name in NAMES]
    said = capsys.readouterr()
    assert said.out == ""
    assert "tiny jars" in said.err
    registry.requests.clear()
    assert jars.ensure(tiny, cache=cache) == first
    assert registry.requests == []
    assert capsys.readouterr().err == ""


def test_unreachable_registry_is_one_sentence_and_leaves_nothing(
    tiny: JarSet, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        monkeypatch.delenv(ivy.SETTINGS_ENV, raising=False)
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{closed.getsockname()[1]}")
        with pytest.raises(JarError) as failed:
            jars.ensure(tiny, cache=cache)
    assert "Connection refused" in str(failed.value)
    assert "one-1.0.jar and 1 more" in str(failed.value)
    assert "\n" not in str(failed.value)
    assert _left_of_the_set(cache) == []


def test_missing_jar_is_named(registry: Registry, tiny: JarSet, cache: Path) -> None:
    del registry.files["/org/example/two/1.0/two-1.0.jar"]
    with pytest.raises(JarError, match="two"):
        jars.ensure(tiny, cache=cache)
    assert _left_of_the_set(cache) == []


def test_a_jar_with_other_bytes_is_refused_and_fetched_again_next_time(
    registry: Registry, tiny: JarSet, cache: Path
) -> None:
    path = "/org/example/two/1.0/two-1.0.jar"
    good, registry.files[path] = registry.files[path], _jar("evil")
    with pytest.raises(JarError, match=r"two-1\.0\.jar"):
        jars.ensure(tiny, cache=cache)
    assert _left_of_the_set(cache) == []
    registry.files[path] = good
    assert jars.ensure(tiny, cache=cache)[1].read_bytes() == good


def test_a_truncated_jar_in_the_cache_is_replaced(registry: Registry, tiny: JarSet, cache: Path) -> None:
    damaged = jars.ensure(tiny, cache=cache)[0]
    damaged.write_bytes(b"")
    assert jars.ensure(tiny, cache=cache)[0].read_bytes() == _jar("one")
    assert _left_of_the_set(cache) == [tiny.folder(cache).name]


def test_a_second_process_waits_for_the_first(registry: Registry, tiny: JarSet, cache: Path) -> None:
    registry.is_open.clear()
    first = _start_ensure(tiny, cache)
    eventually(lambda: registry.requests, 30, "the first process asked for no jar")
    second = _start_ensure(tiny, cache)
    assert second.stderr is not None
    assert "Waiting for another process" in second.stderr.readline()
    registry.is_open.set()
    for process in (first, second):
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert out.strip() == "[b'PK', b'PK']"
    assert len([path for path in registry.requests if path.endswith("one-1.0.jar")]) == 1


def test_a_killed_download_leaves_no_set_and_does_not_stand_in_the_way(
    registry: Registry, tiny: JarSet, cache: Path
) -> None:
    registry.is_open.clear()
    victim = _start_ensure(tiny, cache)
    eventually(lambda: registry.requests, 30, "no jar was asked for")
    os.killpg(victim.pid, signal.SIGKILL)
    victim.communicate()
    assert not tiny.folder(cache).exists()
    registry.is_open.set()
    assert len(jars.ensure(tiny, cache=cache)) == 2
    assert _left_of_the_set(cache) == [tiny.folder(cache).name]
