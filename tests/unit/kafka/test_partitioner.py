from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.kafka.partitioner import murmur2, partition_for


@pytest.mark.parametrize(
    ("data", "expected"),
    [  # values of Kafka's own tests
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_javas(data: bytes, expected: int) -> None:
    assert murmur2(data) == expected


@given(st.binary(max_size=64), st.integers(1, 100))
def test_partitions_are_in_range(key: bytes, partitions: int) -> None:
    assert 0 <= partition_for(key, partitions) < partitions
    assert -(2**31) <= murmur2(key) < 2**31


def test_a_topic_without_partitions_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one partition"):
        partition_for(b"k", 0)
