"""Intents: what is about to be done, recorded before it is done, so that after a crash exactly that is done again.

They are kept like offsets, under the name ``__seamark:<connector>``, which no connector can be asked about by a Java
worker: key ``["__seamark:<connector>",{"intent":"<kind>"}]``, value a map of primitives. Its ``version`` and ``state``
mean the same in all versions. An intent of a later version that is not done is refused: what it asks for cannot be done
again by who does not know all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from seamark.connector.offsets import SourcePartition, check_offset_map
from seamark.errors import NewerFormatError
from seamark.formats import check_version
from seamark.storage.offsets import READ_TIMEOUT_S, WRITE_TIMEOUT_S, OffsetStore, encode_key

PENDING, DONE = "pending", "done"
INTENT_VERSION: Final = 1
_PREFIX = "__seamark:"


class IntentStore:
    """Intents of connectors, in an offset store."""

    def __init__(self, store: OffsetStore) -> None:
        self._store = store

    def read(self, connector: str, kind: str, timeout_s: float = READ_TIMEOUT_S) -> dict[str, Any] | None:
        """The intent last written, or None."""
        found = self._store.read(intents_name(connector), timeout_s).get(intent_partition(kind))
        return None if found is None else dict(found)

    def write(
        self,
        connector: str,
        kind: str,
        intent: Mapping[str, Any] | None,
        timeout_s: float = WRITE_TIMEOUT_S,
        *,
        transactional_id: str | None = None,
    ) -> None:
        """Record an intent, None when it is done with; durable on return.

        Raises:
            DataError: a value is no primitive.
        """
        check_offset_map(intent)
        self._store.write(
            intents_name(connector), {intent_partition(kind): intent}, timeout_s, transactional_id=transactional_id
        )


def understood(intent: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The intent; None if there is none, or one that a newer worker has done with, so that nothing is left of it to do.

    Raises:
        NewerFormatError: a newer worker has written it, and not finished what it says.
    """
    if intent is None:
        return None
    try:
        check_version(intent, INTENT_VERSION, f"Batch {intent.get('batch')} of this connector")
    except NewerFormatError:
        if intent.get("state") == DONE:
            return None
        raise
    return intent


def intents_name(connector: str) -> str:
    """The name under which a connector's intents are stored."""
    return _PREFIX + connector


def intent_partition(kind: str) -> SourcePartition:
    """The source partition that stands for an intent of this kind."""
    return SourcePartition(intent=kind)


def intent_key(connector: str, kind: str) -> bytes:
    """The key of an intent in the offsets topic."""
    return encode_key(intents_name(connector), intent_partition(kind))
