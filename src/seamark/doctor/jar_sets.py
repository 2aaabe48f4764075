"""Whether a worker could start without a network: are its jars here?"""

from __future__ import annotations

from typing import Final

from seamark.doctor.findings import Finding, error, ok, warning
from seamark.kafka.jar_cache import JarCache

CHECK: Final = "jars"
_MB: Final = 1_000_000


def judge_jars(cache: JarCache, packages: str = "", spark_packages: str = "") -> list[Finding]:
    """Of the sets that the worker needs.

    Args:
        cache: what is there.
        packages: `seamark.spark.packages` of the worker, for the command that fetches them.
        spark_packages: its `spark.jars.packages`, which Spark itself resolves whenever it starts.
    """
    prepare = f"seamark prepare --packages {packages}" if packages else "seamark prepare"
    found = []
    for each in cache.sets:
        if not each.missing:
            continue
        what = f"{len(each.missing)} of the {each.total} {each.name} jars are not in {cache.folder}"
        if cache.is_writable:
            found.append(
                warning(
                    CHECK,
                    f"{what}: the first start downloads {each.bytes_missing / _MB:.0f} MB.",
                    f"Run `{prepare}` once, while there is a network.",
                )
            )
        else:
            found.append(
                error(
                    CHECK,
                    f"{what}, and they cannot be put there.",
                    f"Set SEAMARK_CACHE to a directory that can be written, and run `{prepare}`.",
                )
            )
    if not found:
        names = ", ".join(each.name for each in cache.sets)
        found.append(ok(CHECK, f"All jars ({names}) are in {cache.folder}: no network is needed to start."))
    if spark_packages:
        found.append(
            warning(
                CHECK,
                f"spark.jars.packages has {spark_packages}, which Spark looks up on the network at every start.",
                "Download these jars and name them in spark.jars instead.",
            )
        )
    return found
