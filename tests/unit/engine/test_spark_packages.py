from __future__ import annotations

import pytest

from seamark.config.worker import WorkerConfig
from seamark.config.worker_keys import SPARK_PACKAGES
from seamark.engine.session import session_properties
from seamark.engine.spark_packages import EXTENSIONS, package_settings
from seamark.errors import ConfigError
from seamark.kafka import jars

DELTA = "io.delta.sql.DeltaSparkSessionExtension"
ICEBERG = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
CATALOG = "spark.sql.catalog.spark_catalog"


def test_every_name_that_a_worker_may_give_has_jars() -> None:
    assert set(SPARK_PACKAGES) == set(jars.PACKAGES)


def test_extensions_add_up_and_settings_of_the_worker_win() -> None:
    given = {EXTENSIONS: "com.example.Own", CATALOG: "com.example.Catalog"}
    settings = package_settings(["delta", "iceberg", "postgresql"], given)
    assert settings == {EXTENSIONS: f"{DELTA},{ICEBERG},com.example.Own", CATALOG: "com.example.Catalog"}
    assert package_settings(["postgresql"], given) == {}


def test_a_session_gets_the_packages_of_its_worker() -> None:
    worker = WorkerConfig({"seamark.spark.packages": "iceberg, delta,iceberg", "spark.master": "spark://host:7077"})
    assert worker.spark_packages == ["iceberg", "delta"]
    properties = session_properties(worker, ["kafka.jar"], ["lake.jar"], cores=1)
    assert properties["spark.jars"] == "kafka.jar,lake.jar"
    assert properties[EXTENSIONS] == f"{ICEBERG},{DELTA}"
    assert EXTENSIONS not in session_properties(WorkerConfig({}), ["kafka.jar"], cores=1)


def test_unknown_packages_are_refused_with_those_that_there_are() -> None:
    with pytest.raises(ConfigError, match="delta, iceberg, postgresql"):
        WorkerConfig({"seamark.spark.packages": "hudi"})


def test_a_connector_cannot_choose_packages() -> None:
    worker = WorkerConfig({}).for_connector({"seamark.spark.packages": "delta"})
    assert worker.spark_packages == []
