from __future__ import annotations

import pytest

from seamark.config.worker import WorkerConfig
from seamark.engine.session import is_local, session_properties, widened_master


@pytest.mark.parametrize(
    ("master", "widened"),
    [
        ("local[*]", "local[64,4]"),
        ("local", "local[1,4]"),
        ("local[3]", "local[3,4]"),
        ("local[3,1]", "local[3,1]"),
        ("spark://host:7077", "spark://host:7077"),
        ("k8s://https://host", "k8s://https://host"),
    ],
)
def test_a_local_master_gets_slots_and_attempts_and_others_stay(master: str, widened: str) -> None:
    assert widened_master(master, 64) == widened
    assert is_local(widened) == master.startswith("local")


def test_the_workers_own_settings_win() -> None:
    worker = WorkerConfig(
        {"spark.driver.memory": "3g", "spark.ui.enabled": "true", "spark.driver.extraClassPath": "x.jar"}
    )
    properties = session_properties(worker, ["a.jar", "b.jar"], cores=2)
    assert (properties["spark.driver.memory"], properties["spark.ui.enabled"]) == ("3g", "true")
    assert properties["spark.driver.extraClassPath"] == "a.jar:b.jar:x.jar"
    assert (properties["spark.default.parallelism"], properties["spark.sql.shuffle.partitions"]) == ("2", "2")


def test_on_a_cluster_jars_are_shipped_and_nothing_is_bound_to_loopback() -> None:
    properties = session_properties(WorkerConfig({"spark.master": "spark://host:7077"}), ["a.jar"], cores=2)
    assert properties["spark.jars"] == "a.jar"
    assert "spark.driver.host" not in properties
    assert "spark.default.parallelism" not in properties
