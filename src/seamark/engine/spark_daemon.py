"""Parent of Spark's Python workers on each machine: PySpark's own daemon, with our modules already imported.

Spark forks a Python worker per task from this process. Importing here once, instead of in each child, takes about
half a second off the start of every epoch. Set as `spark.python.daemon.module`; nothing may start a thread here, for
the sake of the forks.
"""

from __future__ import annotations

import importlib

PRELOADED = ("seamark.engine.direct_task", "seamark.engine.writer", "pyarrow")


def preload() -> None:
    """Import what tasks need. What is missing on this machine is left to the task, whose error says more."""
    for module in PRELOADED:
        try:
            importlib.import_module(module)
        except ImportError:
            continue


if __name__ == "__main__":
    from pyspark.daemon import manager

    preload()
    manager()
