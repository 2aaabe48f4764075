from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from seamark.kafka.topic_partitions import TopicPartition
from seamark.mirror.topic_sync import deal, redeal


def _parts(*numbers: int) -> list[TopicPartition]:
    return [TopicPartition("t", number) for number in numbers]


def test_new_partitions_go_to_who_has_fewest() -> None:
    shares = deal(_parts(0, 1, 2), 2)
    assert shares == [_parts(0, 2), _parts(1)]
    assert redeal(shares, _parts(0, 1, 2, 3, 4), 2) == [_parts(0, 2, 4), _parts(1, 3)]


def test_deleted_partitions_leave_the_others_where_they_are() -> None:
    assert redeal([_parts(0, 2), _parts(1, 3)], _parts(1, 2, 3), 2) == [_parts(2), _parts(1, 3)]


def test_another_number_of_tasks_deals_all_anew() -> None:
    assert redeal([_parts(0), _parts(1)], _parts(0, 1, 2), 3) == deal(_parts(0, 1, 2), 3)
    assert redeal([_parts(0), _parts(1)], _parts(1), 2) == [_parts(1)]
    assert redeal([_parts(0), _parts(1)], [], 2) == []
    assert redeal([], _parts(0, 1, 2), 2) == deal(_parts(0, 1, 2), 2)


def test_a_task_that_would_have_nothing_deals_all_anew() -> None:
    assert redeal([_parts(0), _parts(1)], _parts(1, 2), 2) == [_parts(1), _parts(2)]


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)), st.integers(1, 6))
def test_each_partition_has_one_task_and_none_moves(before: set[int], after: set[int], tasks: int) -> None:
    shares = deal(_parts(*sorted(before)), tasks)
    dealt = redeal(shares, _parts(*sorted(after)), tasks)
    assert sorted(where.partition for share in dealt for where in share) == sorted(after)
    assert all(dealt)
    assert len(dealt) == min(tasks, len(after))
    if len(dealt) == len(shares) and all(set(share) & set(_parts(*after)) for share in shares):
        for old, new in zip(shares, dealt, strict=True):
            assert set(new) & set(_parts(*before)) == set(old) & set(_parts(*after))
