"""A real Spark standalone cluster on this machine: a master and workers, each a JVM of its own."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import psutil

from seamark.errors import ConnectError
from seamark.kafka.broker_storage import free_port
from seamark.kafka.java import JavaProcess, find_java
from seamark.testing.waiting import patience

_HOST: Final = "127.0.0.1"
_MASTER: Final = "org.apache.spark.deploy.master.Master"
_WORKER: Final = "org.apache.spark.deploy.worker.Worker"
_EXECUTOR: Final = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_REGISTERED: Final = "Successfully registered with master"
STOP_TIMEOUT_S: Final = 10.0


class SparkClusterError(ConnectError):
    """The cluster did not start."""


class SparkCluster:
    """One master and several workers.

    Args:
        directory: for logs and the workers' own directories.
        workers: how many.
        cores: slots of each worker.
        memory: of each worker's executors, as Spark writes it.
    """

    def __init__(self, directory: Path, *, workers: int = 2, cores: int = 1, memory: str = "1g") -> None:
        self._directory, self._workers, self._cores, self._memory = directory, workers, cores, memory
        self._port = free_port(_HOST)
        self._processes: list[JavaProcess] = []

    @property
    def master_url(self) -> str:
        """For `spark.master`."""
        return f"spark://{_HOST}:{self._port}"

    def start(self, within_s: float = 60.0) -> None:
        """Start all processes; returns when every worker has registered.

        Raises:
            SparkClusterError: they have not in time; quotes a log.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        # The heaps hold no data: executors are processes of their own.
        ports = ["--host", _HOST, "--port", str(self._port), "--webui-port", "0"]
        self._spawn("master", [_MASTER, *ports])
        for number in range(self._workers):
            folder = self._directory / f"worker-{number}"
            limits = ["--cores", str(self._cores), "--memory", self._memory, "--work-dir", str(folder)]
            self._spawn(f"worker-{number}", [_WORKER, "--host", _HOST, "--webui-port", "0", *limits, self.master_url])
        deadline = time.monotonic() + patience(within_s)
        while not all(_REGISTERED in self._log(f"worker-{number}") for number in range(self._workers)):
            if any(process.exit_code is not None for process in self._processes) or time.monotonic() > deadline:
                tails = "\n".join(process.log_tail() for process in self._processes)
                self.stop()
                raise SparkClusterError(f"The Spark cluster is not ready after {within_s:g} s:\n{tails}")
            time.sleep(0.1)

    def stop(self) -> None:
        """End all processes; executors end with their worker."""
        executors = self.executors()
        for process in self._processes:
            process.kill()
        self._processes = []
        for executor in executors:
            if executor.is_running():
                executor.kill()

    def executors(self) -> list[psutil.Process]:
        """The executors that run now, on any worker."""
        found = []
        for process in self._processes:
            java = process.pid
            if java is None:
                continue
            for child in psutil.Process(java).children():
                if _EXECUTOR in child.cmdline():
                    found.append(child)
        return found

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _spawn(self, name: str, arguments: list[str]) -> None:
        import pyspark

        home = Path(pyspark.__file__).parent
        # What Spark's own start scripts would set.
        settings = {"SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.13", "SPARK_LOCAL_IP": _HOST}
        settings["PYSPARK_PYTHON"] = sys.executable
        environment = [f"{key}={value}" for key, value in settings.items()]
        java = [
            find_java(SparkClusterError),
            "-Xmx256m",
            "-cp",
            f"{home}/jars/*",
        ]
        self._processes.append(
            JavaProcess(
                ["/usr/bin/env", *environment, *java, *arguments],
                log_file=self._directory / f"{name}.log",
                stop_timeout_s=STOP_TIMEOUT_S,
            )
        )

    def _log(self, name: str) -> str:
        return (self._directory / f"{name}.log").read_text(errors="replace")
