"""A worker's Spark: started in the background with the worker, given back while no connector runs, started again.

Spark's JVM takes several hundred megabytes, and on a cluster its executors take machines. A worker whose connectors are
all stopped needs neither.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING

from seamark.config.worker import WorkerConfig
from seamark.engine.session import end_jvm, forget_session, is_lost, start_session, was_killed
from seamark.errors import ConnectError, cause_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

LOOK_S, POLL_S = 5.0, 0.05
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
# Starting takes a few seconds, on a busy machine a minute: who stops a worker meanwhile does not want to wait for it.
START_GRACE_S = 5.0


class SparkHolder:
    """Starts, hands out and stops the session. Thread-safe."""

    def __init__(self, config: WorkerConfig, is_used: Callable[[], bool], given: SparkSession | None = None) -> None:
        """Nothing happens before `start`.

        Args:
            config: says what session, and after how long it is given back (`seamark.spark.release.ms`).
            is_used: whether a connector runs, or is about to.
            given: a session of the caller, who stops it; none is ever started or stopped then.
        """
        self._config, self._is_used, self._given = config, is_used, given
        release_ms: int = config["seamark.spark.release.ms"]
        self._release_s = None if release_ms < 0 else release_ms / 1000
        self._lock = threading.Lock()
        self._start: Future[SparkSession] | None = None
        self._has_started = False
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to start the session; returns at once."""
        if self._given is not None:
            return
        with self._lock:
            self._begin()
        if self._release_s is not None:
            self._thread = threading.Thread(target=self._watch, name="spark-release", daemon=True)
            self._thread.start()

    @property
    def session(self) -> SparkSession:
        """The session; waits until it is started."""
        return self._given if self._given is not None else self._current().result()

    def await_session(self, cancelled: Callable[[], bool]) -> bool:
        """Wait until `session` need not; false if that is no longer wanted before."""
        while self._given is None:
            start = self._current()
            wait([start], POLL_S)
            if start.done():
                break
            if cancelled():
                return False
        return True

    def _current(self) -> Future[SparkSession]:
        with self._lock:
            if self._is_lost():
                log.warning("Spark's JVM has ended, or Spark in it: it is started again")
                self._start = None
                forget_session()
            return self._start or self._begin()

    def is_current(self, session: SparkSession) -> bool:
        """Whether a session can still be used; one that is lost is replaced by the next that is asked for."""
        if self._given is not None:
            return True
        with self._lock:
            start = self._start
            if start is None or not start.done() or start.exception() is not None:
                return False
            return start.result() is session and not is_lost(session)

    def _is_lost(self) -> bool:
        start = self._start
        return start is not None and start.done() and start.exception() is None and is_lost(start.result())

    @property
    def is_held(self) -> bool:
        """Whether there is a session, or one is being started."""
        return self._given is not None or self._start is not None

    def look(self) -> tuple[str, SparkSession | None, str | None]:
        """``running``, ``starting``, ``released`` or ``failed``, with the session or what was wrong; never waits."""
        if self._given is not None:
            return "running", self._given, None
        start = self._start
        if start is None:
            return "released", None, None
        if not start.done():
            return "starting", None, None
        error = start.exception()
        return ("running", start.result(), None) if error is None else ("failed", None, cause_of(str(error)))

    def check(self) -> None:
        """Returns unless the session could not be started.

        Raises:
            ConnectError: it could not; the worker can run nothing.
        """
        start = self._start
        if start is not None and start.done() and (error := start.exception()) is not None:
            raise ConnectError(f"Spark could not be started: {cause_of(str(error))}") from error

    def stop(self) -> None:
        """Stop the session if it is ours; its JVM stays, for whoever started this process may share it.

        One that is still being started is not waited for: its JVM ends, at the latest with this process.
        """
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            if self._start is not None and wait([self._start], START_GRACE_S).not_done:
                log.info("Spark is still starting, and nobody needs it any more")
                self._start = None
                forget_session()
            self._end()

    def _begin(self) -> Future[SparkSession]:
        future: Future[SparkSession] = Future()
        self._start = future

        def run() -> None:
            try:
                future.set_result(self._started())
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, name="spark-start", daemon=True).start()
        return future

    def _started(self) -> SparkSession:
        """Start until it works, if it has worked before: then it is not the settings that are wrong."""
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                session = start_session(self._config)
            except Exception as error:
                if not self._has_started and not was_killed():
                    raise
                log.warning("Spark could not be started, and is again in %g s: %s", pause_s, cause_of(str(error)))
                forget_session()
                if self._stopping.wait(pause_s):
                    raise
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            else:
                self._has_started = True
                return session

    def _end(self) -> None:
        start, self._start = self._start, None
        if start is None:
            return
        try:
            session = start.result()
            if is_lost(session):
                forget_session()
            else:
                session.stop()
        except Exception as error:
            log.warning("Spark could not be stopped: %s", error)

    def _watch(self) -> None:
        assert self._release_s is not None  # noqa: S101 - for the type checker
        used_at = time.monotonic()
        while not self._stopping.wait(min(LOOK_S, max(0.05, self._release_s / 4))):
            if self._start is None or not self._start.done() or self._is_used():
                used_at = time.monotonic()
            elif time.monotonic() - used_at >= self._release_s:
                self._release()

    def _release(self) -> None:
        # A connector says that it is about to run before it asks for the session: with the lock held, one that is
        # not seen here finds no session, and starts another.
        with self._lock:
            if self._start is None or self._is_used():
                return
            log.info("No connector runs: Spark is given back until one does")
            self._end()
            end_jvm()
