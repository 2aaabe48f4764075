"""The classes of Spark's JVM, archived: half the processor time of its start, and of the first jobs.

Made by `seamark prepare`, in a Spark of its own that does a little of everything, and kept in the Python environment
that Spark is installed in: the archive belongs to just these jars.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from seamark.errors import ConnectError
from seamark.kafka import jars
from seamark.kafka.class_archives import ClassArchive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TRAINING_S: Final = 300.0
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"


def archive() -> ClassArchive:
    """Of this environment's Spark."""
    import pyspark

    spark = Path(pyspark.__file__).parent / "jars"
    folder = Path(sys.prefix) / "share" / "seamark"
    return ClassArchive(folder, "spark", f":{spark}:{spark.stat().st_mtime_ns}:{jars.SPARK_KAFKA.folder()}")


def with_archive(java_options: str) -> str:
    """Options of Spark's JVM that make it use the archive, if there is one and they say nothing about archives."""
    if "Archive" in java_options or "-Xshare" in java_options:
        return java_options
    return " ".join([*archive().jvm_options(), java_options]).strip()


def ensure() -> bool:
    """Make the archive if there is none yet: takes half a minute. Returns whether there is one now.

    Raises:
        ConnectError: Spark does not start.
    """
    wanted = archive()
    try:
        wanted.folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False  # an environment that is read-only
    if wanted.can_be_made():
        wanted.make(_train)
    return bool(wanted.jvm_options())


def _train(options: Sequence[str]) -> None:
    command = [sys.executable, "-m", __name__, " ".join(options)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_TRAINING_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ConnectError(f"Spark could not be prepared for fast starts within {_TRAINING_S:g} s") from error
    if done.returncode != 0:
        raise ConnectError(f"Spark cannot be prepared for fast starts: {done.stderr.strip()[-2000:]}")


def _exercise(spark: SparkSession, folder: Path) -> None:
    """What workers do: a job with Python in it, columns, files, and a query that streams."""
    spark.sparkContext.parallelize(range(4), 2).mapPartitions(lambda numbers: numbers).count()
    file = str(folder / "rows.parquet")
    spark.range(4).selectExpr("cast(id as string) as key", "to_json(struct(id)) as value").write.parquet(file)
    spark.read.parquet(file).groupBy("value").count().collect()
    stream = spark.readStream.schema("key string, value string").parquet(file)
    query = stream.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
    query.trigger(availableNow=True).start().awaitTermination()


def main(java_options: str) -> None:
    """Start Spark with these options of its JVM, use it, and end it."""
    from seamark.config.worker import WorkerConfig
    from seamark.engine.session import end_jvm, start_session

    spark = start_session(WorkerConfig({"spark.master": "local[2]", _JAVA_OPTIONS: java_options}))
    with tempfile.TemporaryDirectory(prefix="seamark-archive-") as scratch:
        _exercise(spark, Path(scratch))
        spark.stop()
        end_jvm(_TRAINING_S)  # which writes the archive


if __name__ == "__main__":
    main(sys.argv[1])
