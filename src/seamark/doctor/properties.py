"""Whether the properties of a worker's file make sense, before anything is reached with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from seamark.config.override_policies import ALLOWLIST_KEY, POLICY_KEY
from seamark.config.worker import WorkerConfig
from seamark.config.worker_keys import WORKER
from seamark.doctor.findings import Finding, Severity, error, ok, warning
from seamark.doctor.key_names import ROLES, closest, unknown_keys
from seamark.errors import ConfigError
from seamark.kafka.client_keys import client_config_def
from seamark.kafka.clients import librdkafka_config, worker_client_config
from seamark.kafka.overrides import OverridePolicy

CHECK: Final = "worker file"
OFFSETS_FILE: Final = "offset.storage.file.filename"
TOPIC_KEYS: Final = ("config.storage.topic", "offset.storage.topic", "status.storage.topic")
_DISTRIBUTED: Final = ("group.id", *TOPIC_KEYS)


def is_standalone(properties: Mapping[str, str]) -> bool:
    """Whether the file is for `seamark standalone`: offsets are in a file, and nothing says where configs are kept."""
    return bool(properties.get(OFFSETS_FILE, "").strip()) and "config.storage.topic" not in properties


def judge_properties(properties: Mapping[str, str]) -> list[Finding]:
    """All that is wrong with the properties, whose references to config providers are resolved."""
    found = [*_values(properties), *_required(properties), *_names(properties)]
    if not any(each.severity is Severity.ERROR for each in found):
        found += [*_across(properties), *_overrides(properties), *_clients(properties)]
    if not any(each.severity is not Severity.OK for each in found):
        command = "standalone" if is_standalone(properties) else "distributed"
        found.insert(0, ok(CHECK, f"{len(properties)} keys, for `seamark {command}`."))
    return found


def _values(properties: Mapping[str, str]) -> Iterator[Finding]:
    for report in WORKER.validate(properties):
        if report.errors:
            key = WORKER.key(report.name)
            valid = f" (valid: {key.validator})" if key is not None and key.validator is not None else ""
            yield error(CHECK, report.errors[0], f"Correct `{report.name}`{valid}, or leave it out.")


def _required(properties: Mapping[str, str]) -> Iterator[Finding]:
    if is_standalone(properties):
        return
    for key in _DISTRIBUTED:
        if not properties.get(key, "").strip():
            yield error(
                CHECK,
                f"`{key}` is missing, which `seamark distributed` needs.",
                f"Add `{key}=...`, with the value that all workers of the cluster have.",
            )
    topics = [properties[key].strip() for key in TOPIC_KEYS if properties.get(key, "").strip()]
    if len(set(topics)) < len(topics):
        yield error(
            CHECK,
            f"The internal topics are {', '.join(topics)}: each must be another one.",
            f"Give {', '.join(f'`{key}`' for key in TOPIC_KEYS)} three different names.",
        )


def _names(properties: Mapping[str, str]) -> Iterator[Finding]:
    ignored = []
    for unknown in unknown_keys(properties):
        if unknown.meant is not None:
            also = " is set, too, and" if unknown.meant in properties else ""
            yield warning(
                CHECK,
                f"`{unknown.name}` is not a key that anything reads; `{unknown.meant}`{also} looks like it.",
                f"Write `{unknown.meant}` instead of `{unknown.name}`, or remove the line.",
            )
        elif unknown.name.startswith("seamark."):
            yield warning(
                CHECK,
                f"`{unknown.name}` is not a key of Seamark.",
                f"Remove `{unknown.name}`; docs/reference/worker.md has all keys.",
            )
        else:
            ignored.append(unknown.name)
    if ignored:
        yield ok(CHECK, f"Keys that Seamark does not know and ignores: {', '.join(ignored)}.")


def _across(properties: Mapping[str, str]) -> Iterator[Finding]:
    try:
        config = WorkerConfig(properties)
    except ConfigError as problem:
        key = problem.key or "the file"
        yield error(CHECK, str(problem), f"Correct `{key}`.")
        return
    if is_standalone(properties) and config.exactly_once:
        yield warning(
            CHECK,
            "exactly.once.source.support is enabled, which has no effect on a standalone worker.",
            "Run the connectors with `seamark distributed`, or remove `exactly.once.source.support`.",
        )
    heartbeat, session = config["heartbeat.interval.ms"], config["session.timeout.ms"]
    if heartbeat >= session:
        yield error(
            CHECK,
            f"heartbeat.interval.ms is {heartbeat}, session.timeout.ms is {session}: a worker would be taken for dead "
            "between two heartbeats.",
            f"Set `heartbeat.interval.ms` to a third of `session.timeout.ms`, {session // 3}, or less.",
        )


def _overrides(properties: Mapping[str, str]) -> Iterator[Finding]:
    allowed = [each.strip() for each in properties.get(ALLOWLIST_KEY, "").split(",") if each.strip()]
    policy = OverridePolicy.of(properties)
    if policy is not OverridePolicy.ALLOWLIST:
        if allowed:
            yield warning(
                CHECK,
                f"`{ALLOWLIST_KEY}` has no effect: the policy is {policy.value}.",
                f"Set `{POLICY_KEY}=Allowlist`, or remove `{ALLOWLIST_KEY}`.",
            )
        return
    if not allowed:
        yield warning(
            CHECK,
            "The override policy is Allowlist and its list is empty: no connector may override anything.",
            f"List client settings in `{ALLOWLIST_KEY}`, or set `{POLICY_KEY}=None`.",
        )
    known = {name for role in ROLES for name in client_config_def(role).names()}
    for name in allowed:
        if name not in known:
            meant = closest(name, known)
            yield warning(
                CHECK,
                f"`{ALLOWLIST_KEY}` has {name}, which is no setting of a Kafka client.",
                f"Write {meant} instead." if meant else f"Remove {name} from `{ALLOWLIST_KEY}`.",
            )


def _clients(properties: Mapping[str, str]) -> Iterator[Finding]:
    if not properties.get("bootstrap.servers", "").strip():
        return
    told = set()
    for role in ROLES:
        try:
            librdkafka_config(worker_client_config(role, properties), role)
        except ConfigError as problem:
            if problem.message not in told:
                told.add(problem.message)
                key = problem.key or "the client's settings"
                yield error(CHECK, f"A {role} cannot be made: {problem.message}", f"Change `{key}` as it says.")
