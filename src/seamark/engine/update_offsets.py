"""KIP-910: let a source task change the offsets that are about to be committed."""

from __future__ import annotations

from collections.abc import Mapping

from seamark.connector.offsets import Offsets, SourceOffset, SourcePartition, as_partition, check_offset_map
from seamark.connector.source import SourceTask
from seamark.errors import DataError, connector_code

OffsetMap = dict[SourcePartition, "SourceOffset | None"]


def overrides_hook(task: SourceTask) -> bool:
    """Whether the task has a hook of its own; a task written before the hook existed has none."""
    hook = getattr(type(task), "update_offsets", None)
    return hook is not None and hook is not SourceTask.update_offsets


def updated_offsets(
    task: SourceTask, connector: str, offsets: Mapping[SourcePartition, SourceOffset | None]
) -> OffsetMap:
    """The offsets to commit: those given, with what the task's hook returns added or put in their place.

    The hook gets a copy, so that changes it makes to its argument have no effect. Whatever it raises becomes
    ConnectorCodeError.

    Raises:
        DataError: it returned something that cannot be an offset.
    """
    with connector_code(connector, "update_offsets"):
        answer = task.update_offsets(Offsets(offsets))
        pairs = [] if answer is None else list(answer.items() if isinstance(answer, Mapping) else answer)
        updates: OffsetMap = {}
        for partition, offset in pairs:
            if partition is None:
                raise DataError(
                    "Offsets must be specified for a source partition, but update_offsets returned None as one"
                )
            check_offset_map(partition)
            check_offset_map(offset)
            updates[as_partition(partition)] = None if offset is None else dict(offset)
    return {**offsets, **updates}
