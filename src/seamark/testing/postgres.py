"""A real PostgreSQL server: one per run, a database per test. Asked and changed with psql, which is not ours."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import uuid
from pathlib import Path
from typing import Any

from seamark.kafka.broker_storage import free_port
from seamark.testing.waiting import eventually, patience

HOST = "127.0.0.1"
USER = "seamark"
PASSWORD = "it's secret"  # noqa: S105 - of servers that live as long as a test
_UNPRIVILEGED = ("postgres", "nobody")


class PostgresServer:
    """A server on a port of the system's choice, in a temporary folder of its own."""

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        self.port = free_port(HOST)
        self._folder = Path(tempfile.mkdtemp(prefix="seamark-postgres-"))
        self._owner = _unprivileged()
        if self._owner is not None:
            os.chown(self._folder, self._owner.pw_uid, self._owner.pw_gid)
        secret = self._folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        command = [self._tool("initdb"), "--pgdata", self._data, "--username", USER, "--pwfile", str(secret)]
        command += ["--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync"]
        made = subprocess.run(command, **self._as_owner(), capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise RuntimeError(f"initdb failed: {made.stderr}")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def _data(self) -> str:
        return str(self._folder / "data")

    def start(self) -> None:
        """Start it, on the same port and with the same data as before."""
        settings = {
            "listen_addresses": HOST,
            "unix_socket_directories": "",
            "fsync": "off",
            "max_connections": "50",
            "shared_buffers": "16MB",
        }
        command = [self._tool("postgres"), "-D", self._data, "-p", str(self.port)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        with open(self._folder / "log", "ab") as log:
            self._process = subprocess.Popen(command, **self._as_owner(), stdout=log, stderr=log)
        eventually(lambda: self.psql("postgres", "SELECT 1") == "1", 30)

    def stop(self, *, is_crash: bool = False) -> None:
        """End it: in order, but without waiting for clients, or as if it had crashed."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT if is_crash else signal.SIGINT)
            self._process.wait(patience(30))
            self._process = None

    def remove(self) -> None:
        self.stop(is_crash=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def psql(self, database: str, sql: str) -> str:
        """Run statements; what the last one returns, as text."""
        command = [self._tool("psql"), "-XqAt", "-v", "ON_ERROR_STOP=1", "-h", HOST, "-p", str(self.port), "-U", USER]
        environment = {**os.environ, "PGPASSWORD": PASSWORD}
        done = subprocess.run(
            [*command, "-d", database],
            input=sql,
            env=environment,
            capture_output=True,
            text=True,
            timeout=patience(60),
            check=False,
        )
        if done.returncode != 0:
            raise AssertionError(f"psql: {done.stderr}")
        return done.stdout.strip()

    def _tool(self, name: str) -> str:
        return str(self._binaries / name)

    def _as_owner(self) -> dict[str, Any]:
        """How a child process of the server is started: it refuses to run as root."""
        if self._owner is None:
            return {"cwd": self._folder}
        return {
            "cwd": self._folder,
            "user": self._owner.pw_uid,
            "group": self._owner.pw_gid,
            "extra_groups": [],
        }


class PostgresDatabase:
    """A database of the test's own."""

    def __init__(self, server: PostgresServer) -> None:
        self.server, self.name = server, f"test_{uuid.uuid4().hex[:8]}"
        server.psql("postgres", f"CREATE DATABASE {self.name}")
        self.user, self.password = USER, PASSWORD

    @property
    def url(self) -> str:
        """For JDBC."""
        return f"jdbc:postgresql://{HOST}:{self.server.port}/{self.name}"

    def execute(self, sql: str) -> None:
        """Run statements."""
        self.server.psql(self.name, sql)

    def query(self, sql: str) -> list[dict[str, Any]]:
        """The rows of a query, as JSON has them."""
        text = self.server.psql(self.name, f"SELECT coalesce(json_agg(found), '[]') FROM ({sql}) AS found")  # noqa: S608
        rows: list[dict[str, Any]] = json.loads(text)
        return rows

    def drop(self) -> None:
        self.server.psql("postgres", f"DROP DATABASE {self.name} WITH (FORCE)")


def find_postgres() -> Path | None:
    """The folder of the server's programs."""
    chosen = os.environ.get("SEAMARK_POSTGRES")
    if chosen:
        return Path(chosen)
    packaged = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: path.parts[-3].zfill(4))
    found = str(packaged[-1]) if packaged else shutil.which("initdb")
    return Path(found).parent if found else None


def _unprivileged() -> pwd.struct_passwd | None:
    """Who runs the server: this user, unless that is root."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return next(known[name] for name in _UNPRIVILEGED if name in known)
