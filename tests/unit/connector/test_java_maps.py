"""Maps as Java prints them."""

from __future__ import annotations

from typing import Any

import pytest

from seamark.connector.java_maps import hash_order, render_map


@pytest.mark.parametrize(
    ("items", "printed"),
    [
        ({}, "{}"),
        ({"topic": "t", "partition": 0, "cluster": "a"}, "{cluster=a, partition=0, topic=t}"),
        ({"group": "g", "topic": "t", "partition": 0}, "{partition=0, topic=t, group=g}"),
        ({"a": None, "b": True, "c": 1.5}, "{a=null, b=true, c=1.5}"),
    ],
)
def test_a_map_as_a_java_worker_showed_it(items: dict[str, Any], printed: str) -> None:
    assert render_map(items) == printed


def test_many_keys_are_in_the_order_of_a_larger_table() -> None:
    names = [chr(ord("a") + index) for index in range(14)]
    assert hash_order(names[:12]) == sorted(names[:12], key=lambda name: ord(name) % 16)
    assert hash_order(names) == sorted(names, key=lambda name: ord(name) % 32)
