"""Starting Spark as a worker would, and running one job of Python tasks: in a process of its own, which can be ended.

The worker's properties are read from stdin as JSON; the last line of stdout is JSON, too.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from seamark.doctor.spark import Started

if TYPE_CHECKING:
    from seamark.config.worker import WorkerConfig

_TASKS = 2
_SHOWN = 400


def start_spark(properties: Mapping[str, str], timeout_s: float) -> Started:
    """Try it; whatever is left of it afterwards is ended."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that its JVM can be ended with it
    )
    try:
        out, err = process.communicate(json.dumps(dict(properties)), timeout_s)
    except subprocess.TimeoutExpired:
        return Started(timeout_s, problem=f"it is not done after {timeout_s:g} s")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    seconds = time.monotonic() - began
    lines = [line for line in out.splitlines() if line.startswith("{")]
    if not lines:  # it did not get so far
        said = [line.strip() for line in err.splitlines() if line.strip()]
        return Started(seconds, problem=(said[-1] if said else f"exit code {process.returncode}")[:_SHOWN])
    told = json.loads(lines[-1])
    return Started(seconds, version=told["version"], problem=told["problem"])


def main() -> None:
    """In the process of its own."""
    from seamark.config.worker import WorkerConfig
    from seamark.engine.session import end_jvm

    told = {"version": "", "problem": None}
    try:
        told["version"] = _run_job(WorkerConfig(json.load(sys.stdin)))
    except Exception as error:  # of Python, of Java, of a cluster: it is what was asked for
        told["problem"] = _first_lines(str(error))
    finally:
        end_jvm()
    print(json.dumps(told))


def _run_job(worker: WorkerConfig) -> str:
    """The version of the Spark that has done it."""
    from seamark.engine.session import start_session

    spark = start_session(worker, app_name="seamark-doctor")
    try:
        spark.sparkContext.parallelize(range(_TASKS), _TASKS).map(lambda number: number + 1).count()
        return str(spark.version)
    finally:
        spark.stop()


def _first_lines(text: str) -> str:
    """What a Java error says, without where it was."""
    lines = [line.strip(" :") for line in text.splitlines() if not line.startswith("\tat ")]
    return " ".join(lines[:2])[:_SHOWN]


if __name__ == "__main__":
    main()
