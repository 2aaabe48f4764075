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
from typing import TYPE_CHECKING, Any, Final, TypeVar

from seamark.config.worker import WorkerConfig
from seamark.engine.spark_archive import with_archive
from seamark.engine.spark_packages import package_jars, package_settings
from seamark.engine.tracing import span
from seamark.kafka import jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

TASK_ATTEMPTS: Final = 4
"""Local mode gives a task a single attempt unless told otherwise; a cluster gives it four."""
_LOOPBACK: Final = "127.0.0.1"
_POOL: Final = "spark.scheduler.pool"
_LAST_JARS: Final = "SPARK_DIST_CLASSPATH"
"""The variable with which Spark's launcher puts jars at the end of the class path."""
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
_WORK: Final = "spark job"
_log = logging.getLogger(__name__)


def start_session(worker: WorkerConfig, *, app_name: str = "seamark") -> SparkSession:
    """Start Spark as the worker's settings say, or return the session that this process has.

    Raises:
        JarError: the jars of Spark's Kafka source are not there and cannot be downloaded.
    """
    packages = package_jars(worker.spark_packages)
    properties = session_properties(
        worker, [str(path) for path in jars.ensure(jars.SPARK_KAFKA)], packages, cores=os.cpu_count() or 1
    )
    os.environ["PYSPARK_PYTHON"] = (
        properties.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable
    )
    if is_local(properties["spark.master"]):
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)  # otherwise the JVM looks its host name up, and warns
        _append_to_class_path(packages)
    properties["spark.driver.extraJavaOptions"] = with_archive(
        quiet_java_options(properties.get("spark.driver.extraJavaOptions", ""))
    )
    from pyspark.sql import SparkSession

    launch_jvm(properties)
    builder = SparkSession.builder.appName(app_name)
    for key, value in properties.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel(worker.raw.get("spark.log.level", "WARN"))
    if spark.sparkContext.uiWebUrl:
        _log.info("Spark's web page is at %s", spark.sparkContext.uiWebUrl)
    return spark


def _append_to_class_path(packages: Iterable[str]) -> None:
    """Put jars behind those of Spark.

    The archive of Spark's classes fits any class path that begins with the one that it was made for, so a setting that
    puts them in front would make every start slow.
    """
    present = list(filter(None, os.environ.get(_LAST_JARS, "").split(os.pathsep)))
    jars_behind = [*present, *(path for path in packages if path not in present)]
    if jars_behind:
        os.environ[_LAST_JARS] = os.pathsep.join(jars_behind)


def launch_jvm(properties: Mapping[str, str]) -> None:
    """Start Spark's JVM outside this process's group, unless this process has one.

    A signal to the group (from a terminal, or a supervisor) is for the worker, which then stops its tasks cleanly; a
    JVM that stopped at the same moment would not let it. The JVM still ends with this process: it watches a pipe to it.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if has_ended(SparkContext._gateway):  # noqa: SLF001 - no public way to ask
        forget_session()
    if SparkContext._gateway is None:  # noqa: SLF001 - the same
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


def is_lost(spark: SparkSession) -> bool:
    """Whether a session that nobody stopped is of no use any more.

    Its JVM has ended (the kernel kills it first when memory runs out), or Spark has stopped in it, as it does when its
    cluster gives it up.
    """
    from py4j.protocol import Py4JError
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway  # noqa: SLF001 - no public way to ask
    context: Any = spark.sparkContext
    if gateway is None or context._jsc is None or has_ended(gateway):  # noqa: SLF001 - the same
        return True
    try:
        return bool(context._jsc.sc().isStopped())  # noqa: SLF001 - the same
    except (Py4JError, OSError):
        return True


def has_ended(gateway: Any) -> bool:
    """Whether the JVM of a gateway has ended; of one that this process did not start nobody knows."""
    process = getattr(gateway, "proc", None)
    return process is not None and process.poll() is not None


def was_killed() -> bool:
    """Whether the JVM that this process has, or had until now, was ended by a signal."""
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001 - no public way to ask
    return process is not None and (process.poll() or 0) < 0


def forget_session() -> None:
    """Let go of a lost session and of what is left of its JVM, so that the next start makes others."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    gateway: Any = SparkContext._gateway  # noqa: SLF001 - PySpark has no way to say that a JVM is gone
    SparkContext._active_spark_context = None  # noqa: SLF001 - the same
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - the same
    SparkSession._instantiatedSession = None  # noqa: SLF001 - the same
    if gateway is None:
        return
    try:
        gateway.shutdown()
    except Exception as error:
        _log.debug("The connection to Spark's lost JVM could not be closed: %s", error)
    process = getattr(gateway, "proc", None)
    if process is not None:
        process.kill()
        process.wait()


def session_properties(
    worker: WorkerConfig, kafka_jars: Iterable[str], packages: Iterable[str] = (), *, cores: int
) -> dict[str, str]:
    """All ``spark.*`` settings of the session; the worker's own win.

    Args:
        worker: whose session it is.
        kafka_jars: of Spark's Kafka source.
        packages: jars that are shipped to a cluster; in local mode they are on the class path.
        cores: of this machine.
    """
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
        # With dynamic allocation: nobody reads the shuffled rows of a batch after it. Spark would keep their executors
        # until the driver's garbage collector has found that out, half an hour later or never.
        "spark.dynamicAllocation.shuffleTracking.timeout": "60s",
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
            # Delta reads its log with fifty tasks otherwise
            "spark.databricks.delta.snapshotPartitions": str(cores),
        }
    # One JVM in local mode: a class path spares copying the jars into every session's temporary directory.
    jars_key, separator = ("spark.driver.extraClassPath", os.pathsep) if is_local(master) else ("spark.jars", ",")
    properties |= given
    properties |= package_settings(worker.spark_packages, given)
    properties["spark.master"] = master
    shipped = [] if is_local(master) else packages
    properties[jars_key] = separator.join([*kafka_jars, *shipped, *filter(None, [given.get(jars_key)])])
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
        with span(_WORK, seamark__connector=pool, spark__job_group=group, spark__description=description):
            return work()
    finally:
        for key in (_POOL, *_GROUP_PROPERTIES):
            context.setLocalProperty(key, None)


def cancel_jobs(spark: SparkSession, group: str) -> None:
    """Cancel the group's running jobs and refuse those that it has yet to start. Any thread."""
    # PySpark only offers the form that lets a job slip through which starts a moment later.
    spark.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(group)  # noqa: SLF001


def quiet_java_options(java_options: str) -> str:
    """Options of Spark's JVM, with settings of its log unless they have some."""
    if "log4j" in java_options:
        return java_options
    folder = Path(tempfile.mkdtemp(prefix="seamark-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    settings = folder / "log4j2.properties"
    settings.write_text(_LOG4J)
    return f"{java_options} -Dlog4j2.configurationFile={settings.as_uri()}".strip()
