"""Notes of connectors: what one has to remember between its starts, beside its offsets.

They are kept like offsets, where intents are: key ``["__seamark:<connector>",{"note":"<name>"}]``, value a map of
primitives. No Java worker is ever asked about that name.
"""

from __future__ import annotations

from collections.abc import Mapping

from seamark.connector.offsets import SourceOffset, SourcePartition, check_offset_map
from seamark.storage.intents import intents_name
from seamark.storage.offsets import READ_TIMEOUT_S, WRITE_TIMEOUT_S, OffsetStore


class NoteStore:
    """Notes of connectors, in an offset store."""

    def __init__(self, store: OffsetStore) -> None:
        self._store = store

    def read(self, connector: str, timeout_s: float = READ_TIMEOUT_S) -> dict[str, SourceOffset]:
        """Every note of a connector, by its name."""
        kept = self._store.read(intents_name(connector), timeout_s)
        return {
            str(partition["note"]): dict(value)
            for partition, value in kept.items()
            if value is not None and "note" in partition
        }

    def write(
        self, connector: str, notes: Mapping[str, SourceOffset | None], timeout_s: float = WRITE_TIMEOUT_S
    ) -> None:
        """Write notes, None removes one; durable on return.

        Raises:
            DataError: a value is no primitive.
        """
        for value in notes.values():
            check_offset_map(value)
        if notes:
            written = {SourcePartition(note=name): value for name, value in notes.items()}
            self._store.write(intents_name(connector), written, timeout_s)
