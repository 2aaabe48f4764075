"""What becomes of the offsets that are about to be committed, given what a task's hook returns."""

from __future__ import annotations

from typing import Any

import pytest

from seamark.connector import Offsets, SourcePartition, SourceTask
from seamark.engine.update_offsets import overrides_hook, updated_offsets
from seamark.errors import ConnectorCodeError, DataError

A, B = SourcePartition(file="a"), SourcePartition(file="b")
COMMITTED = {A: {"position": 1}, B: {"position": 2}}


class Task(SourceTask):
    def start(self, config: Any, offsets: Offsets) -> None: ...

    def poll(self) -> None: ...


class HookTask(Task):
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def update_offsets(self, offsets: Offsets) -> Any:
        self.argument = offsets
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer(offsets) if callable(self.answer) else self.answer


def updated(answer: Any) -> dict[Any, Any]:
    return updated_offsets(HookTask(answer), "orders", COMMITTED)


@pytest.mark.parametrize(
    "answer", [None, {}, [], Offsets(), iter(())], ids=["none", "map", "list", "offsets", "iterator"]
)
def test_none_and_nothing_change_nothing(answer: Any) -> None:
    assert updated(answer) == COMMITTED


@pytest.mark.parametrize(
    "answer",
    [
        {A: {"position": 10}},
        [({"file": "a"}, {"position": 10})],
        Offsets([({"file": "a"}, {"position": 10})]),
        lambda offsets: ((partition, {"position": 10}) for partition in offsets if partition == A),
    ],
    ids=["map", "pairs", "offsets", "generator"],
)
def test_a_returned_offset_takes_the_place_of_the_given_one(answer: Any) -> None:
    assert updated(answer) == {A: {"position": 10}, B: {"position": 2}}


def test_partitions_are_added_and_deleted() -> None:
    assert updated([({"file": "c"}, {"position": 3}), (B, None)]) == {
        A: {"position": 1},
        B: None,
        SourcePartition(file="c"): {"position": 3},
    }


def test_the_argument_can_be_returned() -> None:
    assert updated(lambda offsets: offsets) == COMMITTED


def test_the_hook_gets_a_copy_that_it_cannot_change_what_is_committed_with() -> None:
    def careless(offsets: Offsets) -> None:
        offsets[A]["position"] = 99  # type: ignore[index]
        with pytest.raises(TypeError):
            offsets[B] = {"position": 99}  # type: ignore[index]

    assert updated(careless) == {A: {"position": 1}, B: {"position": 2}}
    assert COMMITTED == {A: {"position": 1}, B: {"position": 2}}


def test_what_the_task_does_to_its_answer_later_has_no_effect() -> None:
    offset = {"position": 10}
    result = updated({A: offset})
    offset["position"] = 99
    assert result[A] == {"position": 10}


def test_an_exception_of_the_hook_says_whose_it_is() -> None:
    with pytest.raises(ConnectorCodeError) as raised:
        updated(ValueError("the log was purged"))
    assert (raised.value.connector, raised.value.phase) == ("orders", "update_offsets")
    assert str(raised.value.__cause__) == "the log was purged"


@pytest.mark.parametrize(
    "answer",
    [
        {A: 7},
        {A: {"position": [1]}},
        {A: {1: 2}},
        [(None, {"position": 1})],
        [({"file": ["a"]}, {"position": 1})],
        [("file", {"position": 1})],
        {A: {"position": 2**63}},
    ],
    ids=["no-map", "nested", "key", "no-partition", "nested-partition", "text-partition", "too-large"],
)
def test_what_cannot_be_stored_is_refused(answer: Any) -> None:
    with pytest.raises(DataError, match="Offsets m"):
        updated(answer)


@pytest.mark.parametrize("answer", [7, [1, 2], "ab"], ids=["number", "numbers", "text"])
def test_what_is_no_map_of_offsets_is_the_connectors_mistake(answer: Any) -> None:
    with pytest.raises(ConnectorCodeError):
        updated(answer)


def test_only_a_hook_of_the_tasks_own_counts() -> None:
    class OldTask:
        """Has no such method at all."""

    assert not overrides_hook(Task())
    assert not overrides_hook(OldTask())  # type: ignore[arg-type]
    assert overrides_hook(HookTask(None))
