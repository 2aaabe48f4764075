"""What of a running Connect cluster Seamark could run, and whether its state can be taken over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from seamark.doctor.findings import Finding, error, ok, warning

CONNECTORS: Final = "connectors"
TAKE_OVER: Final = "take-over"
_SHOWN: Final = 5
_CONFLUENT: Final = "io.confluent.connect"
_FILES: Final = "`SparkSink` with `format=parquet` and a `path`"
_INSTEAD: Final = {
    f"{_CONFLUENT}.jdbc.JdbcSinkConnector": "`SparkSink` with `format=jdbc`",
    f"{_CONFLUENT}.jdbc.JdbcSourceConnector": "`SparkSource` with `format=jdbc`",
    f"{_CONFLUENT}.http.HttpSinkConnector": "`HttpSink`",
    f"{_CONFLUENT}.s3.S3SinkConnector": _FILES,
    f"{_CONFLUENT}.gcs.GcsSinkConnector": _FILES,
    f"{_CONFLUENT}.hdfs.HdfsSinkConnector": _FILES,
    f"{_CONFLUENT}.hdfs3.Hdfs3SinkConnector": _FILES,
    f"{_CONFLUENT}.replicator.ReplicatorSourceConnector": "`MirrorSourceConnector`",
    "org.apache.iceberg.connect.IcebergSinkConnector": "`SparkSink` with `format=iceberg`",
    "io.tabular.iceberg.connect.IcebergSinkConnector": "`SparkSink` with `format=iceberg`",
}
"""What does the same here under another name and with other keys."""


@dataclass(frozen=True, slots=True)
class ClassUse:
    """A class that connectors name; `is_known` if Seamark has it."""

    kind: str
    class_name: str
    connectors: Sequence[str]
    is_known: bool


def named_classes(config: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    """Kind and name of each plugin that a connector's config names."""
    kinds = {"connector.class": "connector", "header.converter": "header_converter"}
    kinds |= {"key.converter": "converter", "value.converter": "converter"}
    for key, kind in kinds.items():
        if name := (config.get(key) or "").strip():
            yield kind, name
    for list_key, kind in (("transforms", "transformation"), ("predicates", "predicate")):
        for alias in (config.get(list_key) or "").split(","):
            if name := (config.get(f"{list_key}.{alias.strip()}.type") or "").strip():
                yield kind, name


def judge_classes(uses: Sequence[ClassUse]) -> list[Finding]:
    """Which classes Seamark has, and which it lacks."""
    found = [
        error(
            CONNECTORS,
            f"Seamark has no {use.kind.replace('_', ' ')} {use.class_name}, which {_listed(use.connectors)} "
            f"use{'s' if len(use.connectors) == 1 else ''}.",
            _remedy(use),
        )
        for use in uses
        if not use.is_known
    ]
    known = sorted({use.class_name.rpartition(".")[2] for use in uses if use.is_known})
    if known:
        found.append(ok(CONNECTORS, f"Seamark has {', '.join(known)}."))
    return found


def judge_configs(problems: Mapping[str, Sequence[str]], checked: int) -> list[Finding]:
    """Configs of connectors whose classes are known, and what Seamark would refuse them for.

    Args:
        problems: messages by connector.
        checked: how many were looked at.
    """
    found = [
        error(
            CONNECTORS,
            f"Seamark would refuse connector {name}: {'; '.join(messages[:_SHOWN])}",
            f"Change its config, or the worker's file: `seamark validate` tells the same for {name}.",
        )
        for name, messages in problems.items()
    ]
    fine = checked - len(problems)
    if fine:
        found.append(ok(CONNECTORS, f"Seamark would take {fine} of {checked} configs with known classes as they are."))
    return found


@dataclass(frozen=True, slots=True)
class TakeOver:
    """What is known of a running cluster, and of the file that a Seamark worker would be started with.

    Attributes:
        url: of the running worker.
        running: names of its connectors.
        running_cluster: the id of its Kafka cluster.
        file_cluster: the id of the file's.
        topic: the file's config topic.
        stored: names of the connectors in that topic; None if there is no such topic.
    """

    url: str
    running: Sequence[str]
    running_cluster: str
    file_cluster: str
    topic: str
    stored: Sequence[str] | None


def judge_take_over(facts: TakeOver) -> Finding:
    """Whether a worker that is started with the file goes on where the running cluster stops."""
    if facts.running_cluster != facts.file_cluster:
        return error(
            TAKE_OVER,
            f"The worker at {facts.url} works on Kafka cluster {facts.running_cluster}, the file's is "
            f"{facts.file_cluster}.",
            "Set `bootstrap.servers` to the brokers of the running workers.",
        )
    lacking = sorted(set(facts.running) - set(facts.stored or ()))
    if facts.stored is None or lacking:
        what = "does not exist" if facts.stored is None else f"does not have {_listed(lacking)}"
        return warning(
            TAKE_OVER,
            f"{facts.topic} (config.storage.topic) {what}: the worker at {facts.url} keeps its connectors elsewhere, "
            "and one that is started with the file would not have them.",
            "Copy `group.id` and the three `*.storage.topic` from the running workers' file, or move connectors one by "
            "one with `seamark get connectors -o yaml` and `seamark apply`.",
        )
    return ok(
        TAKE_OVER,
        f"{facts.topic} has all {len(facts.running)} connectors of {facts.url}: when its workers are stopped, one that "
        "is started with the file goes on with them, at their offsets.",
    )


def judge_states(failed: Sequence[str], url: str) -> list[Finding]:
    """Connectors that do not run where they are now."""
    if not failed:
        return []
    return [
        warning(
            CONNECTORS,
            f"{_listed(failed)} {'is' if len(failed) == 1 else 'are'} FAILED at {url} now.",
            f"Look with `seamark describe {failed[0]} --url {url}` before you move it.",
        )
    ]


def _remedy(use: ClassUse) -> str:
    if use.class_name in _INSTEAD:
        return f"Write its config anew for {_INSTEAD[use.class_name]}, or leave it on Kafka Connect."
    return (
        f"Put a Python {use.kind.replace('_', ' ')} of that name on `plugin.path` "
        "(docs/guides/writing-a-connector.md), or leave these connectors on Kafka Connect."
    )


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
