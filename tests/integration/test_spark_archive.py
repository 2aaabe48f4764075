"""`seamark prepare`, and that Spark's JVM really starts with the archived classes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from seamark.engine.spark_archive import archive, with_archive

SEAMARK = str(Path(sys.executable).with_name("seamark"))
# Prints which archives Spark's JVM has mapped into its memory.
SCRIPT = """
import pathlib
from pyspark import SparkContext
from seamark.config.worker import WorkerConfig
from seamark.engine.session import end_jvm, start_session

spark = start_session(WorkerConfig({"spark.master": "local[1]"}))
jvm = SparkContext._jvm.java.lang.ProcessHandle.current().pid()
maps = pathlib.Path(f"/proc/{jvm}/maps").read_text().split()
print("archives:", *sorted({word for word in maps if word.endswith(".jsa")}))
spark.stop()
end_jvm()
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_spark_starts_with_archived_classes() -> None:
    for _ in range(2):  # the second time there is nothing left to do
        prepared = subprocess.run([SEAMARK, "prepare"], capture_output=True, text=True, timeout=500, check=False)
        assert prepared.returncode == 0, prepared.stderr
    assert prepared.stderr == ""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=200, check=False)
    assert str(archive().path) in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("options", ["-Xshare:off", "-XX:SharedArchiveFile=/mine.jsa -Xmx1g"])
def test_who_chooses_an_archive_keeps_it(options: str) -> None:
    assert with_archive(options) == options


def test_other_options_come_after_ours() -> None:
    assert with_archive("-Xlog:gc") == " ".join([*archive().jvm_options(), "-Xlog:gc"])
