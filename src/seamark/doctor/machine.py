"""What is installed on this machine."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

from seamark.doctor.versions import Machine, Package, parse_java_version, parse_requirement
from seamark.errors import ConnectError
from seamark.kafka.jars import SPARK_VERSION
from seamark.kafka.java import find_java


def look_at_machine(timeout_s: float) -> Machine:
    """Ask Python, Java and the environment."""
    java, problem = _java(timeout_s)
    meta = importlib.metadata.metadata("seamark")
    requirements = [parse_requirement(text) for text in importlib.metadata.requires("seamark") or ()]
    return Machine(
        python=platform.python_version(),
        python_rules=meta["Requires-Python"] or "",
        java=java,
        java_problem=problem,
        packages=[Package(name, rules, _installed(name)) for name, rules in filter(None, requirements)],
        spark_jars_for=SPARK_VERSION,
        spark_home=_spark_home(),
        executor_python=_executor_python(timeout_s),
    )


def _java(timeout_s: float) -> tuple[str | None, str | None]:
    try:
        said = _said([find_java(ConnectError), "-version"], timeout_s)
    except (ConnectError, OSError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    version = parse_java_version(said)
    return version, None if version else f"`java -version` says {said.strip()[:200]!r}"


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _spark_home() -> tuple[str, str | None] | None:
    home = os.environ.get("SPARK_HOME")
    if not home:
        return None
    spec = importlib.util.find_spec("pyspark")
    own = spec.submodule_search_locations[0] if spec is not None and spec.submodule_search_locations else ""
    if Path(home).resolve() == Path(own).resolve():
        return None
    try:
        told = re.search(r"Spark (\S+)", Path(home, "RELEASE").read_text())
    except OSError:
        told = None
    return home, told[1] if told else None


def _executor_python(timeout_s: float) -> tuple[str, str | None] | None:
    named = os.environ.get("PYSPARK_PYTHON")
    if not named or named == sys.executable:
        return None
    try:
        told = re.search(r"Python (\S+)", _said([named, "--version"], timeout_s))
    except (OSError, subprocess.TimeoutExpired):
        return named, None
    return named, told[1] if told else None


def _said(command: list[str], timeout_s: float) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    return ran.stderr + ran.stdout
