"""Which offsets a ResetOffset stands for, as a Seamark worker says it.

The operator looks into Kafka itself, so that it serves Java workers too. Where no resource says how to reach Kafka, a
Seamark worker is asked what it would do: it follows the same rules, and only looks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from seamark.client import AsyncConnectClient
from seamark.config.position_plans import Partition
from seamark.operator.reset_plans import Move, ResetRefusedError, parse_time


async def plan(
    client: AsyncConnectClient,
    connector: str,
    time: str,
    topics: Sequence[str] | None,
    current: Mapping[Partition, int],
) -> list[Move]:
    """Where every partition of a sink goes.

    Args:
        client: of its worker.
        connector: the sink.
        time: as in the ResetOffset.
        topics: to move; None for all that the sink reads.
        current: where its partitions are.

    Raises:
        Unsupported: it is no Seamark worker.
        ClientError: it refuses, because the time is outside what is still there, or for another reason.
        ResetRefusedError: there is nothing to move.
    """
    position = _position(time)
    positions: Any = position if topics is None else dict.fromkeys(topics, position)
    preview = await client.preview_change(connector, {"positions": positions})
    # What is there already does not move, and is not in the preview.
    moves = {where: Move(*where, at, at) for where, at in current.items() if topics is None or where[0] in topics}
    for change in preview.changes:
        where = str(change.partition["kafka_topic"]), int(change.partition["kafka_partition"])
        old, new = (None if at is None else int(at["kafka_offset"]) for at in (change.before, change.after))
        if new is not None:
            moves[where] = Move(*where, old, new)
    if not moves:
        raise ResetRefusedError("there is no partition whose offset could be moved")
    return [moves[where] for where in sorted(moves)]


def _position(time: str) -> str:
    at_ms = parse_time(time)
    if at_ms is None:
        return time
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
