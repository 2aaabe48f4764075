"""Whether the Spark that `spark.master` names is there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from seamark.doctor.findings import Finding, error, ok, skipped, warning

CHECK: Final = "spark"
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_LOCAL: Final = re.compile(r"local(\[.*\])?")
_KUBERNETES: Final = re.compile(r"k8s://(?:(https?)://)?([^/]+)")


@dataclass(frozen=True, slots=True)
class Started:
    """What came of starting Spark: how long it took until a job was done, or the end of what it said."""

    seconds: float
    version: str = ""
    problem: str | None = None


def addresses_of(master: str) -> list[str]:
    """Where a master should answer; none for those that are no addresses."""
    if master.startswith("spark://"):
        return [each.strip() for each in master.removeprefix("spark://").split(",") if each.strip()]
    matched = _KUBERNETES.match(master)
    if matched is not None:
        host = matched[2]
        return [host if re.search(r":\d+$", host) else f"{host}:{'80' if matched[1] == 'http' else '443'}"]
    return []


def judge_master(
    master: str, connections: Mapping[str, str | None], driver_host: str | None, environment: Mapping[str, str]
) -> list[Finding]:
    """The master, without starting anything.

    Args:
        master: `spark.master`.
        connections: by address of it, why it cannot be connected to.
        driver_host: `spark.driver.host`.
        environment: of this process.
    """
    if _LOCAL.fullmatch(master):
        return [
            skipped(
                CHECK,
                f"spark.master is {master}: Spark starts on this machine.",
                "Add `--spark` to try whether it does.",
            )
        ]
    found: list[Finding] = []
    reached = [address for address, reason in connections.items() if reason is None]
    if master.startswith(("spark://", "k8s://")):
        if not reached:
            reasons = "; ".join(f"{address}: {reason}" for address, reason in connections.items())
            found.append(
                error(
                    CHECK,
                    f"spark.master is {master}, and nobody answers there ({reasons or 'no host:port in it'}).",
                    "Start that master, or correct `spark.master`.",
                )
            )
    elif master == "yarn":
        if not (environment.get("HADOOP_CONF_DIR") or environment.get("YARN_CONF_DIR")):
            found.append(
                error(
                    CHECK,
                    "spark.master is yarn, and neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set: Spark does not know "
                    "the cluster.",
                    "Set `HADOOP_CONF_DIR` to the directory with yarn-site.xml.",
                )
            )
    else:
        found.append(
            error(
                CHECK,
                f"spark.master is {master}, which is no master of Spark.",
                "Set `spark.master` to local[*], spark://host:7077, yarn or k8s://https://host:443.",
            )
        )
    if driver_host is None or driver_host in _LOOPBACK:
        found.append(
            warning(
                CHECK,
                f"spark.driver.host is {driver_host or 'not set'}: executors elsewhere may not find the driver.",
                "Set `spark.driver.host` to an address of this machine that the executors reach.",
            )
        )
    return found or [
        ok(CHECK, f"spark.master {master} can be connected to{' at ' if reached else ''}{', '.join(reached)}.")
    ]


def judge_start(master: str, started: Started) -> Finding:
    """What came of `--spark`."""
    if started.problem is None:
        return ok(CHECK, f"Spark {started.version} starts on {master}; a job was done after {started.seconds:.0f} s.")
    return error(
        CHECK,
        f"Spark does not start on {master}, or does no job: {started.problem}",
        "Correct the `spark.*` keys of the file, or what the message names.",
    )
