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

from seamark.doctor.spark import Started

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
    if process.returncode:
        said = [line.strip() for line in err.splitlines() if line.strip()]
        return Started(seconds, problem=(said[-1] if said else f"exit code {process.returncode}")[:_SHOWN])
    return Started(seconds, version=str(json.loads(out.splitlines()[-1])["version"]))


def main() -> None:
    """In the process of its own."""
    from seamark.config.worker import WorkerConfig
    from seamark.engine.session import end_jvm, start_session

    spark = start_session(WorkerConfig(json.load(sys.stdin)), app_name="seamark-doctor")
    try:
        done = spark.sparkContext.parallelize(range(_TASKS), _TASKS).map(lambda number: number + 1).count()
        if done != _TASKS:
            raise RuntimeError(f"{done} of {_TASKS} tasks were done")
        print(json.dumps({"version": spark.version}))
    finally:
        spark.stop()
        end_jvm()


if __name__ == "__main__":
    main()
