"""Whether Python, Java, PySpark and the Kafka clients are there, and fit together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from seamark.doctor.findings import Finding, error, ok, warning

CHECK: Final = "versions"
JAVA_LOWEST: Final = 17
JAVA_TRIED: Final = (17, 21)
"""What Spark 4.0 says that it runs on."""
_REQUIREMENT: Final = re.compile(
    r"^\s*(?P<name>[A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*\(?(?P<rules>[^;)]*)\)?\s*(?:;.*)?$"
)
_RULE: Final = re.compile(r"(==|>=|<=|<|>|!=|~=)\s*([0-9][0-9A-Za-z.]*)")
_PARTS: Final = ("pyspark", "confluent-kafka", "kafka-python")
"""Named in the report even if all is well."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package that Seamark requires: the rules for its version, and the version that is installed, if any."""

    name: str
    rules: str
    installed: str | None


@dataclass(frozen=True, slots=True)
class Machine:
    """What is installed here.

    Attributes:
        python: version of the interpreter.
        python_rules: which ones Seamark runs on, as in ``>=3.11``.
        java: version of Java, None if there is none.
        java_problem: why there is none.
        packages: what Seamark requires.
        spark_jars_for: the version of Spark that Seamark's jars are made for.
        spark_home: ``SPARK_HOME``, if it names another Spark than PySpark's own, and the version of that.
        executor_python: ``PYSPARK_PYTHON``, if it names another Python, and its version; None of one that cannot run.
    """

    python: str
    python_rules: str
    java: str | None
    java_problem: str | None
    packages: Sequence[Package]
    spark_jars_for: str
    spark_home: tuple[str, str | None] | None = None
    executor_python: tuple[str, str | None] | None = None


def judge_versions(machine: Machine) -> list[Finding]:
    """What does not fit, and what there is."""
    found = [*_python(machine), *_java(machine), *_packages(machine), *_spark(machine)]
    if found:
        return found
    installed = {package.name: package.installed for package in machine.packages}
    parts = ", ".join(f"{name} {installed[name]}" for name in _PARTS if installed.get(name))
    return [ok(CHECK, f"Python {machine.python}, Java {machine.java}, {parts} fit together.")]


def parse_requirement(text: str) -> tuple[str, str] | None:
    """Name and rules of a requirement of a package; None for one of an extra."""
    matched = _REQUIREMENT.match(text)
    if matched is None or "extra ==" in text:
        return None
    return matched["name"], matched["rules"].strip()


def parse_java_version(text: str) -> str | None:
    """The version in what ``java -version`` prints."""
    matched = re.search(r'version "([^"]+)"', text)
    return matched[1] if matched else None


def java_feature(version: str) -> int:
    """17 of ``17.0.15``, 8 of ``1.8.0_402``."""
    numbers = _numbers(version)
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def satisfies(version: str, rules: str) -> bool:
    """Whether a version is as rules like ``>=3.18,<4`` say; rules of other kinds are not judged."""
    actual = _numbers(version)
    for operator, wanted in _RULE.findall(rules):
        bound = _numbers(wanted)
        width = max(len(actual), len(bound))
        left, right = (tuple([*each, *[0] * width][:width]) for each in (actual, bound))
        holds = {"==": left == right, ">=": left >= right, "<=": left <= right, "<": left < right, ">": left > right}
        if not holds.get(operator, True):
            return False
    return True


def _python(machine: Machine) -> Iterator[Finding]:
    if not satisfies(machine.python, machine.python_rules):
        yield error(
            CHECK,
            f"Python is {machine.python}; Seamark runs on {machine.python_rules}.",
            f"Install Seamark with a Python {machine.python_rules}: `python3.11 -m venv .venv`.",
        )
    if machine.executor_python is not None:
        path, version = machine.executor_python
        if version is None:
            yield error(CHECK, f"PYSPARK_PYTHON is {path}, which cannot be run.", "Unset PYSPARK_PYTHON.")
        elif _numbers(version)[:2] != _numbers(machine.python)[:2]:
            yield error(
                CHECK,
                f"PYSPARK_PYTHON is {path}, Python {version}; the worker runs on {machine.python}, and Spark's tasks "
                "need the same one.",
                "Unset PYSPARK_PYTHON, or let it name a Python of the worker's version.",
            )


def _java(machine: Machine) -> Iterator[Finding]:
    if machine.java is None:
        yield error(
            CHECK,
            machine.java_problem or "No Java was found.",
            f"Install Java {JAVA_LOWEST} or set JAVA_HOME to one.",
        )
        return
    feature = java_feature(machine.java)
    if feature < JAVA_LOWEST:
        yield error(
            CHECK,
            f"Java is {machine.java}; Spark 4 and the embedded Kafka need {JAVA_LOWEST} or later.",
            f"Install Java {JAVA_LOWEST} and set JAVA_HOME to it.",
        )
    elif feature > JAVA_TRIED[-1]:
        yield warning(
            CHECK,
            f"Java is {machine.java}; Spark 4.0 is made for {' and '.join(map(str, JAVA_TRIED))}.",
            f"Set JAVA_HOME to a Java {JAVA_TRIED[-1]}, or try with `seamark doctor --spark`.",
        )


def _packages(machine: Machine) -> Iterator[Finding]:
    for package in machine.packages:
        if package.installed is None:
            yield error(
                CHECK,
                f"The Python package {package.name} is not installed.",
                f"Run `pip install '{package.name}{package.rules}'`.",
            )
        elif not satisfies(package.installed, package.rules):
            yield error(
                CHECK,
                f"{package.name} is {package.installed}; Seamark is made for {package.rules}.",
                f"Run `pip install '{package.name}{package.rules}'`.",
            )


def _spark(machine: Machine) -> Iterator[Finding]:
    installed = next((package.installed for package in machine.packages if package.name == "pyspark"), None)
    if installed is not None and _numbers(installed) != _numbers(machine.spark_jars_for):
        yield error(
            CHECK,
            f"PySpark is {installed}; the jars of Spark's Kafka source are those of Spark {machine.spark_jars_for}.",
            f"Run `pip install pyspark=={machine.spark_jars_for}`.",
        )
    if machine.spark_home is not None:
        path, version = machine.spark_home
        if version is None or _numbers(version) != _numbers(machine.spark_jars_for):
            yield error(
                CHECK,
                f"SPARK_HOME is {path}, Spark {version or 'of an unknown version'}: PySpark would run that one instead "
                f"of its own {machine.spark_jars_for}.",
                "Unset SPARK_HOME.",
            )


def _numbers(version: str) -> tuple[int, ...]:
    found = tuple(int(part) for part in re.findall(r"\d+", re.split(r"[^0-9._]", version)[0]))
    return found or (0,)
