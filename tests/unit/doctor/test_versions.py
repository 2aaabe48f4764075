"""Whether what is installed fits together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seamark.doctor.findings import Severity
from seamark.doctor.versions import (
    Machine,
    Package,
    java_feature,
    judge_versions,
    parse_java_version,
    parse_requirement,
    satisfies,
)

FINE = Machine(
    python="3.11.7",
    python_rules=">=3.11",
    java="17.0.15",
    java_problem=None,
    packages=[Package("pyspark", "==4.0.0", "4.0.0"), Package("confluent-kafka", "==2.16.1", "2.16.1")],
    spark_jars_for="4.0.0",
)


def test_what_fits_is_named() -> None:
    (finding,) = judge_versions(FINE)
    assert finding.severity is Severity.OK
    for part in ("3.11.7", "17.0.15", "pyspark 4.0.0", "confluent-kafka 2.16.1"):
        assert part in finding.found


@pytest.mark.parametrize(
    ("machine", "severity", "said"),
    [
        (replace(FINE, python="3.10.2"), Severity.ERROR, "Python is 3.10.2"),
        (replace(FINE, java=None, java_problem="No java command"), Severity.ERROR, "No java command"),
        (replace(FINE, java="1.8.0_402"), Severity.ERROR, "Java is 1.8.0_402"),
        (replace(FINE, java="11.0.2"), Severity.ERROR, "Java is 11.0.2"),
        (replace(FINE, java="24.0.1"), Severity.WARNING, "made for 17 and 21"),
        (replace(FINE, packages=[Package("pyspark", "==4.0.0", None)]), Severity.ERROR, "pyspark is not installed"),
        (
            replace(FINE, packages=[Package("confluent-kafka", "==2.16.1", "2.5.0")]),
            Severity.ERROR,
            "confluent-kafka is 2.5.0",
        ),
        (replace(FINE, packages=[Package("pyspark", ">=4", "4.0.1")]), Severity.ERROR, "those of Spark 4.0.0"),
        (replace(FINE, spark_home=("/opt/spark", "3.5.1")), Severity.ERROR, "SPARK_HOME is /opt/spark, Spark 3.5.1"),
        (replace(FINE, executor_python=("python3.9", "3.9.1")), Severity.ERROR, "PYSPARK_PYTHON is python3.9"),
        (replace(FINE, executor_python=("nowhere", None)), Severity.ERROR, "which cannot be run"),
    ],
)
def test_what_does_not_fit_is_told_with_a_fix(machine: Machine, severity: Severity, said: str) -> None:
    (finding,) = judge_versions(machine)
    assert finding.severity is severity
    assert said in finding.found
    assert finding.fix


@pytest.mark.parametrize(
    "machine",
    [
        replace(FINE, java="21.0.4"),
        replace(FINE, spark_home=("/opt/spark", "4.0.0")),
        replace(FINE, executor_python=("/usr/bin/python3.11", "3.11.2")),
    ],
)
def test_what_is_unusual_but_fits_is_fine(machine: Machine) -> None:
    assert [finding.severity for finding in judge_versions(machine)] == [Severity.OK]


@pytest.mark.parametrize(
    ("version", "rules", "expected"),
    [
        ("3.18.0", ">=3.18,<4", True),
        ("4.0", "<4,>=3.18", False),
        ("4.0.0", "==4.0.0", True),
        ("4.0", "==4.0.0", True),
        ("4.0.1", "==4.0.0", False),
        ("1.9.post1", ">=1.8", True),
        ("1.0", "", True),
    ],
)
def test_rules_of_versions(version: str, rules: str, expected: bool) -> None:
    assert satisfies(version, rules) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pyspark==4.0.0", ("pyspark", "==4.0.0")),
        ("pyjwt[crypto]>=2.10", ("pyjwt", ">=2.10")),
        ("nicegui (>=3.18,<4)", ("nicegui", ">=3.18,<4")),
        ('tomli>=2; python_version < "3.11"', ("tomli", ">=2")),
        ('mypy; extra == "dev"', None),
    ],
)
def test_requirements_are_read(text: str, expected: tuple[str, str] | None) -> None:
    assert parse_requirement(text) == expected


def test_java_is_known_by_what_it_prints() -> None:
    assert parse_java_version('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime') == "17.0.15"
    assert parse_java_version("command not found") is None
    assert [java_feature(version) for version in ("17.0.15", "1.8.0_402", "21", "22-ea")] == [17, 8, 21, 22]
