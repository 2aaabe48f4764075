"""Java as a child process: finding it, and running it so that it never outlives its owner."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from seamark.errors import ConnectError


def find_java(error: type[ConnectError]) -> str:
    """Path of the `java` command: that of ``JAVA_HOME`` if set, as Spark does, else the one on ``PATH``.

    Args:
        error: what to raise when there is none, so that the caller's own kind of error reaches the user.
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        if os.access(java, os.X_OK):
            return str(java)
        raise error(f"JAVA_HOME is {home!r}, but {str(java)!r} is not a program; name a Java 17 or later, or unset it")
    found = shutil.which("java")
    if found is None:
        raise error("No java command was found; install Java 17 or later, or set JAVA_HOME")
    return found


class JavaProcess:
    """A running Java under a supervisor (see `supervisor`), which ends it when this process is gone.

    Args:
        command: from the path of `java` on.
        log_file: receives, appended, what Java prints.
        stop_timeout_s: how long Java may take to stop before it is killed.
        pass_fds: descriptors that stay open in Java, and only there, until it ends.
    """

    def __init__(
        self, command: Sequence[str], *, log_file: Path, stop_timeout_s: float, pass_fds: Sequence[int] = ()
    ) -> None:
        self._stop_timeout_s = stop_timeout_s
        self._log_file = log_file
        supervisor = [sys.executable, "-I", "-S", str(Path(__file__).with_name("supervisor.py"))]
        descriptors = ",".join(map(str, pass_fds))
        with open(log_file, "ab") as log:
            self._log_start = log.tell()
            self._process = subprocess.Popen(
                [*supervisor, str(stop_timeout_s), descriptors, *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=pass_fds,
                # Ctrl-C in a terminal goes to the whole foreground group; when Java stops is for its owner to say.
                start_new_session=True,
            )

    @property
    def exit_code(self) -> int | None:
        """None while the process is alive."""
        return self._process.poll()

    @property
    def pid(self) -> int | None:
        """Process id of the JVM, or None when it has ended."""
        if self._process.poll() is not None:
            return None
        try:
            children = psutil.Process(self._process.pid).children()
        except psutil.NoSuchProcess:
            return None
        return children[0].pid if children else None

    def stop(self) -> None:
        """Ask Java to stop and wait for its end."""
        self._close_stdin()
        try:
            self._process.wait(self._stop_timeout_s + 5)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End Java and its supervisor at once (SIGKILL); Java may need a moment more to disappear."""
        # The supervisor leads a process group of its own that holds exactly itself and Java. Once it is reaped, its
        # number may be somebody else's.
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._close_stdin()

    def log_tail(self, lines: int = 15) -> str:
        """The last lines that this process printed."""
        with open(self._log_file, "rb") as handle:
            handle.seek(self._log_start)
            text = handle.read().decode(errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def _close_stdin(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
