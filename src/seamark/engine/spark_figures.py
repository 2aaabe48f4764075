"""What a running Spark session is and does, as its driver knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seamark.engine.session import is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def spark_figures(spark: SparkSession) -> dict[str, Any]:
    """Version, address of its page, executors, and what they run. A few calls of the JVM, however much runs."""
    context = spark.sparkContext
    tracker = context._jsc.sc().statusTracker()  # noqa: SLF001 - PySpark's own tracker knows no executors
    infos = list(tracker.getExecutorInfos())
    # The driver is listed too; only in local mode does it run tasks.
    executors = len(infos) if is_local(context.master) else len(infos) - 1
    return {
        "version": context.version,
        "ui_url": context.uiWebUrl,
        "application_id": context.applicationId,
        "executors": max(0, executors),
        "running_jobs": len(tracker.getActiveJobIds()),
        "running_tasks": sum(info.numRunningTasks() for info in infos),
    }
