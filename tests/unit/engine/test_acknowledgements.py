"""Only the longest acknowledged prefix of each source partition may be committed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from seamark.connector.offsets import SourcePartition
from seamark.engine.acknowledgements import SubmittedRecords

A, B = SourcePartition(file="a"), SourcePartition(file="b")


def test_an_offset_behind_an_unacknowledged_record_is_not_committable() -> None:
    submitted = SubmittedRecords()
    first, second, third = (submitted.submit(A, {"n": n}) for n in (1, 2, 3))
    third.acknowledge()
    assert submitted.take_committable() == {}
    first.acknowledge()
    assert submitted.take_committable() == {A: {"n": 1}}
    second.acknowledge()
    assert submitted.take_committable() == {A: {"n": 3}}
    assert submitted.take_committable() == {}


def test_partitions_do_not_wait_for_each_other() -> None:
    submitted = SubmittedRecords()
    submitted.submit(A, {"n": 1})
    submitted.submit(B, {"n": 9}).acknowledge()
    submitted.submit(None, None)
    assert submitted.take_committable() == {B: {"n": 9}}


def test_a_record_that_was_not_sent_after_all_holds_nobody_up() -> None:
    submitted = SubmittedRecords()
    submitted.submit(A, {"n": 1}).acknowledge()
    submitted.drop(submitted.submit(A, {"n": 2}))
    assert submitted.take_committable() == {A: {"n": 1}}
    assert len(submitted) == 0


@given(st.lists(st.tuples(st.sampled_from([A, B]), st.booleans()), max_size=40))
def test_committable_is_the_last_of_the_acknowledged_prefix(history: list[tuple[SourcePartition, bool]]) -> None:
    submitted = SubmittedRecords()
    for number, (partition, acknowledged) in enumerate(history):
        submission = submitted.submit(partition, {"n": number})
        if acknowledged:
            submission.acknowledge()
    expected = {}
    for partition in (A, B):
        for number, (owner, acknowledged) in enumerate(history):
            if owner == partition:
                if not acknowledged:
                    break
                expected[partition] = {"n": number}
    assert submitted.take_committable() == expected
