"""Whether a mirror-maker file makes sense, and what its flows copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from seamark.config.configdef import ConfigValue
from seamark.doctor.findings import Finding, error, ok, warning
from seamark.doctor.key_names import ROLES, closest, worker_level_keys
from seamark.kafka.client_keys import client_config_def
from seamark.mirror.maker_config import CLUSTERS, connector_key_names, mirror_maker_config_def

CHECK: Final = "mirror file"
FLOW: Final = "flow"
_SHOWN: Final = 5


def is_mirror_file(properties: Mapping[str, str]) -> bool:
    """Whether a file is one of MirrorMaker 2: it names clusters, and no broker of its own."""
    return CLUSTERS in properties and "bootstrap.servers" not in properties


def judge_keys(properties: Mapping[str, str], clusters: Sequence[str]) -> list[Finding]:
    """Keys that look like others, and flows between clusters that there are not."""
    pairs = {f"{source}->{target}" for source in clusters for target in clusters if source != target}
    found: list[Finding] = []
    strangers: dict[str, str] = {}
    for key in properties:
        flow = key.partition(".")[0] if "->" in key else None
        if flow is not None and flow not in pairs and not key.startswith(tuple(f"{pair}." for pair in pairs)):
            strangers.setdefault(flow, key)
            continue
        found += _typo(key, clusters, pairs)
    for flow, key in strangers.items():
        found.append(
            warning(
                CHECK,
                f"`{key}` is ignored: {flow} is not a flow between two of the clusters {', '.join(clusters)}.",
                f"Correct the names in `{key}`, or add the cluster to `{CLUSTERS}`.",
            )
        )
    return found


def judge_connectors(reports: Mapping[str, Iterable[ConfigValue]]) -> list[Finding]:
    """What the connectors of a flow would be refused for, by the connector's name."""
    return [
        error(CHECK, f"{name}: {report.errors[0]}", f"Correct `{report.name}`.")
        for name, values in reports.items()
        for report in values
        if report.errors
    ]


@dataclass(frozen=True, slots=True)
class FlowFacts:
    """What a flow would do.

    Attributes:
        flow: its name.
        is_enabled: whether it copies records.
        topics: those of the source that it would copy; None if they could not be listed.
        replication_factor: of the topics that it creates on the target.
        target_brokers: how many there are.
        is_same_cluster: source and target are one.
        patterns: `topics` of the flow.
    """

    flow: str
    is_enabled: bool
    topics: Sequence[str]
    replication_factor: int
    target_brokers: int
    is_same_cluster: bool
    patterns: str


def judge_flow(facts: FlowFacts) -> list[Finding]:
    """One flow, whose clusters both answer."""
    if not facts.is_enabled:
        return [ok(FLOW, f"{facts.flow} is not enabled: it writes heartbeats, and copies nothing.")]
    found: list[Finding] = []
    if facts.is_same_cluster:
        found.append(
            warning(
                FLOW,
                f"Both ends of {facts.flow} are the same Kafka cluster.",
                "Correct one of the two `bootstrap.servers`, unless that is meant.",
            )
        )
    if facts.replication_factor > facts.target_brokers:
        found.append(
            error(
                FLOW,
                f"New topics shall have {facts.replication_factor} replicas, and the target has "
                f"{facts.target_brokers} broker{'s' if facts.target_brokers != 1 else ''}.",
                f"Set `{facts.flow}.replication.factor={min(3, facts.target_brokers)}`.",
            )
        )
    if not facts.topics:
        found.append(
            warning(
                FLOW,
                f"No topic of the source matches `topics` ({facts.patterns}): nothing would be copied now.",
                f"Correct `{facts.flow}.topics`, which takes names and regular expressions, comma-separated.",
            )
        )
    else:
        more = len(facts.topics) - _SHOWN
        shown = ", ".join(facts.topics[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
        found.append(ok(FLOW, f"{facts.flow} would copy {len(facts.topics)} topics: {shown}."))
    return found


def _typo(key: str, clusters: Sequence[str], pairs: Iterable[str]) -> Iterator[Finding]:
    prefix = next(
        (each for each in (*(f"{p}." for p in pairs), *(f"{c}." for c in clusters)) if key.startswith(each)), ""
    )
    rest = key.removeprefix(prefix)
    if rest.startswith(("spark.", "config.providers.")):
        return
    role_prefix = next((f"{role}." for role in ROLES if rest.startswith(f"{role}.")), "")
    for side in ("source.", "target."):
        if rest.startswith(tuple(f"{side}{each}." for each in (*ROLES, "cluster"))):
            return
    if role_prefix and prefix:
        known = {
            role_prefix + name
            for role in ROLES
            if role_prefix == f"{role}."
            for name in client_config_def(role).names()
        }
    else:
        known = {*connector_key_names(), *worker_level_keys(), *mirror_maker_config_def().names()}
    if rest in known:
        return
    meant = closest(rest, known)
    if meant is not None:
        yield warning(
            CHECK,
            f"`{key}` is not a key that anything reads; `{prefix}{meant}` looks like it.",
            f"Write `{prefix}{meant}` instead of `{key}`, or remove the line.",
        )
