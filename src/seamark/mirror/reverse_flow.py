"""The flow in the other direction, so that nothing that came from the other side is copied back.

After a failover from A to B, what is written on B has to come to A, and only that. Policies that put the source's name
into those of copies see that a copy is on its way back, and leave it out. With others, as the one that keeps names, a
copy and what was written behind it are in one partition: there the reverse flow begins behind the last copied record,
which the last offset sync of the stopped flow names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from seamark.mirror.config import SourceSettings
from seamark.mirror.offsets import offset_of, source_offset, source_partition
from seamark.mirror.topic_sync import TopicRules

_SIDES: Final = {"source": "target", "target": "source"}
_OF_A_SIDE: Final = ("cluster.", "consumer.", "producer.", "admin.")
# Where the worker itself writes: the other worker has its own.
_OF_THE_WORKER: Final = ("producer.override.", "consumer.override.", "admin.override.")
_ONLY_FORWARD: Final = frozenset({"name", "mirror.start", "offsets.storage.topic"})


def reversed_config(config: Mapping[str, str], name: str) -> dict[str, str]:
    """The config of the MirrorSourceConnector in the other direction: what is said of the two sides changes places.

    Overrides of the worker's own clients are left out.
    """
    result = {}
    for key, value in config.items():
        side, _, rest = key.partition(".")
        if key in _ONLY_FORWARD or key.startswith(_OF_THE_WORKER):
            continue
        is_sided = side in _SIDES and rest.startswith(_OF_A_SIDE)
        result[f"{_SIDES[side]}.{rest}" if is_sided else key] = value
    result.setdefault("source.cluster.alias", "target")  # what a target is called that has no name
    return {**result, "name": name}


def copied_back(topics: Iterable[str], forward: Mapping[str, str], reverse: Mapping[str, str]) -> list[str]:
    """Which copies of these topics the reverse flow would read, since nothing in their names tells what they are.

    Args:
        topics: on the source of the forward flow.
        forward: its config.
        reverse: the config of the reverse flow.

    Raises:
        ConfigError: a config cannot be used.
    """
    settings, back = SourceSettings.of(forward), SourceSettings.of(reverse)
    rules = TopicRules(
        back.source_alias,
        back.target_alias,
        back.policy,
        back.topic_filter(),
        back.config_property_filter(),
        back.heartbeats_replication,
    )
    copies = {settings.policy.format_remote_topic(settings.source_alias, topic) for topic in topics}
    return sorted(copy for copy in copies if rules.should_replicate(copy))


@dataclass(frozen=True, slots=True)
class StartOffsets:
    """Where a reverse flow begins, and what keeps it from being known."""

    offsets: list[dict[str, Any]]
    """As in a request that alters offsets."""
    problems: list[str]


def start_offsets(
    partitions: Sequence[Mapping[str, Any]],
    copies: Iterable[str],
    reverse_alias: str,
    committed: Iterable[Mapping[str, Any]] = (),
) -> StartOffsets:
    """Where the reverse flow has to begin so that it copies only what was written behind the copies.

    Args:
        partitions: of the stopped flow, as `GET /mirrors/{connector}` shows them.
        copies: the topics that need it: see `copied_back`.
        reverse_alias: what the reverse flow calls its source.
        committed: offsets that the reverse flow has already; it is never sent back.
    """
    wanted = set(copies)
    known = {
        (row["partition"].get("topic"), row["partition"].get("partition")): offset_of(row["offset"])
        for row in committed
        if row["partition"].get("cluster") == reverse_alias
    }
    result = StartOffsets([], [])
    for row in partitions:
        topic, number, position, sync = row["remote_topic"], row["partition"], row["position"], row["last_sync"]
        if topic not in wanted or not position:
            continue  # nothing was copied: all that is there was written there
        if sync is None or sync["upstream"] != position - 1:
            last = "there is none" if sync is None else f"the last one is of {sync['upstream']}"
            result.problems.append(
                f"{row['topic']}-{number} was copied up to {position - 1}, but no offset sync tells where that is on "
                f"the target: {last}."
            )
            continue
        downstream = sync["downstream"]
        before = known.get((topic, number))
        if before is None or before < downstream:
            result.offsets.append(
                {
                    "partition": dict(source_partition(reverse_alias, topic, number)),
                    "offset": source_offset(downstream),
                }
            )
    return result
