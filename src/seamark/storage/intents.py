"""Intents: what is about to be done, recorded before it is done, so that after a crash exactly that is done again.

They are kept like offsets, under the name ``__seamark:<connector>``, which no connector can be asked about by a Java
worker: key ``["__seamark:<connector>",{"intent":"<kind>"}]``, value a map of primitives, with a ``version``. An intent
of a later version is refused: what it asks for cannot be done again by who does not know all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from seamark.connector.offsets import SourcePartition, check_offset_map
from seamark.formats import check_version
from seamark.storage.offsets import READ_TIMEOUT_S, WRITE_TIMEOUT_S, OffsetStore, encode_key

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


def check_intent(intent: Mapping[str, Any]) -> None:
    """Refuse an intent that cannot be understood here.

    Raises:
        NewerFormatError: a newer worker has written it.
    """
    check_version(intent, INTENT_VERSION, f"Batch {intent.get('batch')} of this connector")


def intents_name(connector: str) -> str:
    """The name under which a connector's intents are stored."""
    return _PREFIX + connector


def intent_partition(kind: str) -> SourcePartition:
    """The source partition that stands for an intent of this kind."""
    return SourcePartition(intent=kind)


def intent_key(connector: str, kind: str) -> bytes:
    """The key of an intent in the offsets topic."""
    return encode_key(intents_name(connector), intent_partition(kind))
