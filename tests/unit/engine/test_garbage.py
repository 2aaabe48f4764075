from __future__ import annotations

import gc

import pytest

from seamark.engine.garbage import seldom_searched


def test_the_loop_of_a_task_is_searched_less_often() -> None:
    before, frozen = gc.get_threshold(), gc.get_freeze_count()

    class Failed(Exception):
        pass

    with pytest.raises(Failed), seldom_searched():
        assert gc.get_threshold() == (50_000, *before[1:])
        assert gc.get_freeze_count() > frozen
        assert gc.isenabled()
        raise Failed
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)


def test_cycles_are_still_found() -> None:
    class Node:
        def __init__(self) -> None:
            self.me = self

    with seldom_searched():
        for _ in range(120_000):
            Node()
        alive = sum(type(each) is Node for each in gc.get_objects())
    assert alive <= 50_000
