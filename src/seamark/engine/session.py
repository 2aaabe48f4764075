"""The Spark session of a worker, and Spark jobs that can be cancelled.

One session serves all connectors of a worker. Each connector has a scheduler pool of its own; pools weigh the same,
so a connector with a thousand partitions does not push the others aside. All ``spark.*`` settings of the worker win
over what is chosen here.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from seamark.config.worker import WorkerConfig
from seamark.kafka import jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

TASK_ATTEMPTS: Final = 4
"""Local mode gives a task a single attempt unless told otherwise; a cluster gives it four."""
_LOOPBACK: Final = "127.0.0.1"
_POOL: Final = "spark.scheduler.pool"
_GROUP_PROPERTIES: Final = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")
# Some warnings say nothing to a user here: that Hadoop runs without its native library, that a pool was not in a
# file, and that a Kafka consumer of a batch read ignores options which Spark itself has set. Others tell at length of
# tasks and writes that were cancelled, or that failed; the latter reach the worker, which reports them.
_LOG4J: Final = """
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex
appender.stderr.filter.ended.type = RegexFilter
appender.stderr.filter.ended.regex = Aborting task|.*TaskKilled.*
appender.stderr.filter.ended.onMatch = deny
appender.stderr.filter.ended.onMismatch = neutral
logger.hadoop.name = org.apache.hadoop.util
logger.hadoop.level = error
logger.outputs.name = org.apache.hadoop.mapreduce.lib.output
logger.outputs.level = error
logger.pools.name = org.apache.spark.scheduler.FairSchedulableBuilder
logger.pools.level = error
logger.kafka.name = org.apache.kafka.clients
logger.kafka.level = error
logger.writes.name = org.apache.spark.sql.execution.datasources.FileFormatWriter
logger.writes.level = off
"""
_log = logging.getLogger(__name__)


def start_session(worker: WorkerConfig, *, app_name: str = "seamark") -> SparkSession:
    """Start Spark as the worker's settings say, or return the session that this process has.

    Raises:
        JarError: the jars of Spark's Kafka source are not there and cannot be downloaded.
    """
    properties = session_properties(
        worker, [str(path) for path in jars.ensure(jars.SPARK_KAFKA)], cores=os.cpu_count() or 1
    )
    os.environ["PYSPARK_PYTHON"] = (
        properties.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable
    )
    if is_local(properties["spark.master"]):
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)  # otherwise the JVM looks its host name up, and warns
    properties["spark.driver.extraJavaOptions"] = _with_log_settings(
        properties.get("spark.driver.extraJavaOptions", "")
    )
    from pyspark.sql import SparkSession

    _launch_jvm(properties)
    builder = SparkSession.builder.appName(app_name)
    for key, value in properties.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel(worker.raw.get("spark.log.level", "WARN"))
    if spark.sparkContext.uiWebUrl:
        _log.info("Spark's web page is at %s", spark.sparkContext.uiWebUrl)
    return spark


def _launch_jvm(properties: Mapping[str, str]) -> None:
    """Start Spark's JVM outside this process's group, unless this process has one.

    A signal to the group (from a terminal, or a supervisor) is for the worker, which then stops its tasks cleanly; a
    JVM that stopped at the same moment would not let it. The JVM still ends with this process: it watches a pipe to it.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is None:  # noqa: SLF001 - no public way to ask
        conf = SparkConf(loadDefaults=False).setAll(list(properties.items()))
        gateway = launch_gateway(conf, popen_kwargs={"start_new_session": True})
        SparkContext._ensure_initialized(gateway=gateway)  # noqa: SLF001 - `SparkContext(gateway=...)` does just this


def end_jvm(timeout_s: float = 10.0) -> None:
    """End Spark's JVM, once all sessions are stopped, and wait for it.

    It would end by itself after this process; but whoever waits for this process expects nothing to be left behind.
    """
    from pyspark import SparkContext

    gateway = SparkContext._gateway  # noqa: SLF001 - no public way to ask
    if gateway is None or SparkContext._active_spark_context is not None:  # noqa: SLF001
        return
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - a next session starts another JVM
    gateway.shutdown()
    jvm = gateway.proc
    jvm.stdin.close()  # what the JVM watches
    try:
        jvm.wait(timeout_s)
    except subprocess.TimeoutExpired:
        _log.warning("Spark's JVM has not ended within %g s and is killed", timeout_s)
        jvm.kill()
        jvm.wait()


def session_properties(worker: WorkerConfig, kafka_jars: Iterable[str], *, cores: int) -> dict[str, str]:
    """All ``spark.*`` settings of the session; the worker's own win."""
    given = worker.spark_properties
    master = widened_master(worker.spark_master, worker.local_slots)
    properties = {
        "spark.scheduler.mode": "FAIR",
        "spark.ui.enabled": "false",
        "spark.ui.port": "0",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.python.daemon.module": "seamark.engine.spark_daemon",
        "spark.python.task.killTimeout": "1s",  # how long the Python side of a cancelled task may go on
        # The session lives as long as the worker and runs a job per batch: Spark's own book-keeping must stay small.
        "spark.ui.retainedJobs": "100",
        "spark.ui.retainedStages": "100",
        "spark.ui.retainedTasks": "5000",
        "spark.sql.ui.retainedExecutions": "50",
    }
    if is_local(master):
        properties |= {
            "spark.driver.host": _LOOPBACK,
            "spark.driver.bindAddress": _LOOPBACK,
            # More slots than cores (see `widened_master`), but data is still cut for the cores.
            "spark.default.parallelism": str(cores),
            "spark.sql.shuffle.partitions": str(cores),
        }
    # One JVM in local mode: a class path spares copying the jars into every session's temporary directory.
    jars_key, separator = ("spark.driver.extraClassPath", os.pathsep) if is_local(master) else ("spark.jars", ",")
    properties |= given
    properties["spark.master"] = master
    properties[jars_key] = separator.join([*kafka_jars, *filter(None, [given.get(jars_key)])])
    return properties


def is_local(master: str) -> bool:
    """Whether Spark runs inside this machine's one JVM."""
    return re.fullmatch(r"local(\[.*\])?", master) is not None


def widened_master(master: str, slots: int) -> str:
    """``local[*]`` with that many slots, and several attempts per task for every local master.

    Tasks of the direct stage wait most of the time, so slots may be many times the cores.
    """
    if master == "local[*]":
        return f"local[{slots},{TASK_ATTEMPTS}]"
    fixed = re.fullmatch(r"local(?:\[(\d+)\])?", master)
    return f"local[{fixed[1] or 1},{TASK_ATTEMPTS}]" if fixed else master


def run_job(spark: SparkSession, pool: str, group: str, work: Callable[[], T], *, description: str = "") -> T:
    """Call `work`; the Spark jobs that it starts from this thread share a pool and can be cancelled as a group.

    Args:
        spark: the session.
        pool: the scheduler pool, by convention the connector's name.
        group: a name that no other call uses, for `cancel_jobs`.
        work: runs in the calling thread.
        description: what Spark's web page shows.
    """
    context = spark.sparkContext
    context.setLocalProperty(_POOL, pool)
    # Interrupting the tasks' threads is what makes them end at once; without it they go on until they next look.
    context.setJobGroup(group, description or group, interruptOnCancel=True)
    try:
        return work()
    finally:
        for key in (_POOL, *_GROUP_PROPERTIES):
            context.setLocalProperty(key, None)


def cancel_jobs(spark: SparkSession, group: str) -> None:
    """Cancel the group's running jobs and refuse those that it has yet to start. Any thread."""
    # PySpark only offers the form that lets a job slip through which starts a moment later.
    spark.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(group)  # noqa: SLF001


def _with_log_settings(java_options: str) -> str:
    if "log4j" in java_options:
        return java_options
    folder = Path(tempfile.mkdtemp(prefix="seamark-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    settings = folder / "log4j2.properties"
    settings.write_text(_LOG4J)
    return f"{java_options} -Dlog4j2.configurationFile={settings.as_uri()}".strip()
