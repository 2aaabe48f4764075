"""Optional parts of Spark: table formats and database drivers that a worker's Spark is started with if told so.

`seamark.spark.packages` names them. Their jars are locked and downloaded like all others (`seamark.kafka.jars`); the
settings that make Spark use them are here. A connector that needs one calls `require_package`, which says what to do
if it is not there; jars that came another way, such as by ``spark.jars.packages``, count as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from seamark.errors import ConfigError
from seamark.kafka import jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROPERTY: Final = "seamark.spark.packages"
EXTENSIONS: Final = "spark.sql.extensions"
_EXTENSIONS: Final = {
    "delta": "io.delta.sql.DeltaSparkSessionExtension",
    "iceberg": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
}
_SETTINGS: Final = {
    # Delta's statements only work if Spark's own catalog is Delta's, too; it leaves other tables alone.
    "delta": {"spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog"},
}
_PROOF: Final = {
    "delta": "io.delta.tables.DeltaTable",
    "iceberg": "org.apache.iceberg.spark.SparkCatalog",
    "postgresql": "org.postgresql.Driver",
}


def package_jars(names: Iterable[str]) -> list[str]:
    """The jars of packages, downloaded first if this machine does not have them.

    Raises:
        JarError: they cannot be.
    """
    return [str(path) for name in names for path in jars.ensure(jars.PACKAGES[name])]


def package_settings(names: Iterable[str], given: Mapping[str, str]) -> dict[str, str]:
    """Settings of a session that make Spark use the packages; those that are given win, extensions add up."""
    chosen = list(names)
    settings = {key: given.get(key, value) for name in chosen for key, value in _SETTINGS.get(name, {}).items()}
    extensions = [_EXTENSIONS[name] for name in chosen if name in _EXTENSIONS]
    if extensions:
        extensions += filter(None, map(str.strip, given.get(EXTENSIONS, "").split(",")))
        settings[EXTENSIONS] = ",".join(dict.fromkeys(extensions))
    return settings


def require_package(spark: SparkSession, name: str, why: str) -> None:
    """Make sure that the session has a package.

    Args:
        spark: the session.
        name: one of `seamark.spark.packages`.
        why: what needs it, such as `"format=delta"`.

    Raises:
        ConfigError: it does not, with what to set.
    """
    if name not in _PROOF or (_has_class(spark, _PROOF[name]) and _has_extension(spark, name)):
        return
    raise ConfigError(
        f"{why} needs the Spark package {name!r}, which this worker was started without. Add it to {PROPERTY} in the "
        f"worker's properties, as in {PROPERTY}={name}, and start the worker again."
    )


def _has_class(spark: SparkSession, name: str) -> bool:
    from py4j.protocol import Py4JJavaError

    thread = spark.sparkContext._jvm.java.lang.Thread.currentThread()  # noqa: SLF001 - no public way to ask
    try:
        # By the loader of the thread, which also knows what `spark.jars` has brought.
        spark.sparkContext._jvm.java.lang.Class.forName(name, False, thread.getContextClassLoader())  # noqa: SLF001
    except Py4JJavaError:
        return False
    return True


def _has_extension(spark: SparkSession, name: str) -> bool:
    return _EXTENSIONS.get(name, "") in (spark.conf.get(EXTENSIONS, "") or "")
