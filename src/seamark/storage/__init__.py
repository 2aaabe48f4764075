"""Stores for offsets, configurations and statuses. They know neither each other's records nor connectors that run."""

from seamark.storage.intents import IntentStore
from seamark.storage.layered import ConnectorOffsetStore, offset_store_for, worker_offset_store
from seamark.storage.offsets import OffsetStore, encode_key, encode_value

__all__ = [
    "ConnectorOffsetStore",
    "IntentStore",
    "OffsetStore",
    "encode_key",
    "encode_value",
    "offset_store_for",
    "worker_offset_store",
]
