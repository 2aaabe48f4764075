"""The partition that Java's default partitioner chooses for a key.

A key must land on the same partition whoever writes it, or neither compaction nor order per key holds when Java
workers and Seamark write the same topic.
"""

from __future__ import annotations

_MASK = 0xFFFFFFFF
_M = 0x5BD1E995
_SEED = 0x9747B28C


def murmur2(data: bytes) -> int:
    """Java's 32-bit murmur2 of `data`, as a signed int like Java's."""
    length = len(data)
    h = (_SEED ^ length) & _MASK
    end = length & ~3
    for start in range(0, end, 4):
        k = int.from_bytes(data[start : start + 4], "little")
        k = (k * _M) & _MASK
        k ^= k >> 24
        k = (k * _M) & _MASK
        h = ((h * _M) & _MASK) ^ k
    if end < length:
        h ^= int.from_bytes(data[end:], "little")
        h = (h * _M) & _MASK
    h ^= h >> 13
    h = (h * _M) & _MASK
    h ^= h >> 15
    return h - (1 << 32) if h & 0x80000000 else h


def partition_for(key: bytes, partitions: int) -> int:
    """The partition of `key` in a topic of that many partitions."""
    if partitions < 1:
        raise ValueError(f"a topic has at least one partition, not {partitions}")
    return (murmur2(key) & 0x7FFFFFFF) % partitions
