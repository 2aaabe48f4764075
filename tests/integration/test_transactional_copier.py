"""Batches copied in the transactions of a producer: seen when it commits, never if it does not, and never twice."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

from fixtures.mirror_flows import WAIT_S, Kafka, MakeFlow
from integration.test_batch_copier import copied, filled, handed_back, shown, stopped_again_and_again
from seamark.errors import FencedError, KafkaError
from seamark.kafka.batch_copier import Copied
from seamark.kafka.producer import RecordProducer
from seamark.kafka.topic_partitions import TopicPartition
from seamark.kafka.transactional_copier import TRANSACTION_BYTES, TransactionalCopier
from seamark.testing.waiting import eventually

MakeProducer = Callable[[], RecordProducer]


@pytest.fixture
def make_producer(far: Kafka, topic_name: str) -> Iterator[MakeProducer]:
    """Makes transactional producers in the far cluster, each of which takes over from the one before."""
    made: list[RecordProducer] = []

    def make() -> RecordProducer:
        settings = {"bootstrap.servers": far.servers, "batch.size": "2000"}
        made.append(RecordProducer(settings, f"{topic_name}-0", reports_successes=True, shows_identity=True))
        made[-1].init_transactions()
        return made[-1]

    yield make
    for producer in made:
        producer.close(0)


Make = Callable[..., TransactionalCopier]


@pytest.fixture
def make(near: Kafka, far: Kafka, topic_name: str) -> Iterator[Make]:
    """Makes copiers of the topic, from the near cluster to a topic of the same name in the far one."""
    made: list[TransactionalCopier] = []

    def make(producer: RecordProducer, partitions: int = 1, position: int = 0) -> TransactionalCopier:
        wheres = [TopicPartition(topic_name, number) for number in range(partitions)]
        made.append(
            TransactionalCopier(
                {"bootstrap.servers": near.servers},
                {"bootstrap.servers": far.servers},
                {where: (where, position) for where in wheres},
                producer.identity(),
            )
        )
        return made[-1]

    yield make
    for copier in made:
        copier.close()


@pytest.fixture
def ledger(far: Kafka, topic_name: str) -> str:
    """A topic for what the producer itself writes in each transaction."""
    name = f"{topic_name}-ledger"
    far.create(name)
    return name


def commit(producer: RecordProducer, ledger: str, done: list[Copied]) -> None:
    """As the engine does: a transaction with the position that is reached."""
    producer.begin()
    producer.send(ledger, str(done[-1].first + done[-1].count).encode())
    producer.commit()


def test_copies_are_seen_when_the_producer_commits(
    near: Kafka, far: Kafka, topic_name: str, ledger: str, make: Make, make_producer: MakeProducer
) -> None:
    for kafka in (near, far):
        kafka.create(topic_name, 2)
    filled(near, topic_name, 5000, 0, **{"compression.type": "lz4"})
    filled(near, topic_name, 3000, 1)
    producer = make_producer()
    copier = make(producer, 2)
    found: list[Copied] = []
    while sum(each.count for each in found) < 8000:
        done = copier.poll(1.0)
        assert not found or far.ends(topic_name, is_committed=True) == committed_ends(found)
        if done:
            found += done
            commit(producer, ledger, done)
            # The markers follow a moment after the commit.
            ends = committed_ends(found)
            eventually(lambda ends=ends: far.ends(topic_name, is_committed=True) == ends, WAIT_S)
    assert [row[2:] for row in shown(far, topic_name)] == [row[2:] for row in shown(near, topic_name)]
    for partition in (0, 1):
        own = [each for each in found if each.origin.partition == partition]
        assert all(a.first + a.count == b.first for a, b in itertools.pairwise(own))
        # Markers of transactions take offsets of their own in the copy, and in no other way are there gaps.
        assert all(b.downstream >= a.downstream + a.count for a, b in itertools.pairwise(own))
    assert copier.handed_back() == {}
    assert copier.has_written


def committed_ends(found: list[Copied]) -> dict[int, int]:
    """The ends of the committed log, which has a marker behind each transaction of a partition."""
    ends = dict.fromkeys(range(2), 0)
    for each in found:
        ends[each.origin.partition] = each.downstream + each.count + 1
    return ends


def seen(kafka: Kafka, topic: str, count: int, partition: int | None = None) -> list[bytes | None]:
    """The committed values, as soon as there are so many: markers follow a moment after a commit."""
    return eventually(
        lambda: found if len(found := kafka.values(topic, partition)) >= count else None, WAIT_S, f"not {count} values"
    )


def test_what_was_not_committed_is_never_seen(
    near: Kafka, far: Kafka, topic_name: str, ledger: str, make: Make, make_producer: MakeProducer
) -> None:
    for kafka in (near, far):
        kafka.create(topic_name)
    filled(near, topic_name, 2000)
    lost = make(make_producer())
    copied(lost, 2000)
    producer = make_producer()  # its predecessor is gone before it could commit
    copier = make(producer)
    commit(producer, ledger, copied(copier, 2000))
    assert seen(far, topic_name, 2000) == near.values(topic_name)
    assert far.ends(topic_name)[0] > 4000
    # The one who was replaced can do no harm.
    filled(near, topic_name, 100, start=2000)
    with pytest.raises(FencedError):
        while not lost.poll(1.0):
            pass
    with pytest.raises(FencedError):
        lost.poll(0)


def test_records_and_batches_share_a_transaction(
    near: Kafka, far: Kafka, topic_name: str, ledger: str, make: Make, make_producer: MakeProducer
) -> None:
    for kafka in (near, far):
        kafka.create(topic_name)
    filled(near, topic_name, 500)
    producer = make_producer()
    producer.begin()
    producer.send(ledger, b"before")
    found = copied(make(producer), 500)
    producer.send(ledger, b"after")
    assert far.ends(topic_name, is_committed=True)[0] == 0
    producer.commit()
    assert seen(far, ledger, 2) == [b"before", b"after"]
    assert (len(found), len(seen(far, topic_name, 500))) == (1, 500)


def test_each_poll_leaves_nothing_on_its_way_and_ends(
    near: Kafka, far: Kafka, topic_name: str, ledger: str, make: Make, make_producer: MakeProducer
) -> None:
    for kafka in (near, far):
        kafka.create(topic_name)
    size = 40_000
    count = 3 * TRANSACTION_BYTES // size
    with RecordProducer({"bootstrap.servers": near.servers, "linger.ms": "20", "batch.size": "900000"}) as sender:
        sender.send_batch(topic_name, [b"x" * size] * count, partition=0)
        assert sender.flush(60) == 0
    producer = make_producer()
    copier, polls, position = make(producer), 0, 0
    while position < count:
        done = copier.poll(1.0)
        if done:
            polls, position = polls + 1, done[-1].first + done[-1].count
            assert copier.positions() == {TopicPartition(topic_name, 0): position}
            commit(producer, ledger, done)
    assert polls >= 3
    assert len(seen(far, topic_name, count)) == count


def test_what_cannot_be_copied_is_handed_back_and_the_rest_stays(
    near: Kafka, far: Kafka, topic_name: str, ledger: str, make: Make, make_producer: MakeProducer
) -> None:
    near.create(topic_name, 2)
    far.create(topic_name, 2, max__message__bytes="5000")
    filled(near, topic_name, 20, 0)
    filled(near, topic_name, 2000, 1)
    producer = make_producer()
    copier = make(producer, 2)
    assert handed_back(copier) == {TopicPartition(topic_name, 1): 0}
    producer.begin()
    producer.send(ledger, b"20")
    producer.commit()
    assert seen(far, topic_name, 20, 0) == near.values(topic_name, 0)
    # With another identity the producer itself may write there.
    successor = make_producer()
    successor.begin()
    successor.send_batch(topic_name, near.values(topic_name, 1), partition=1)
    successor.send(topic_name, b"more", partition=0)
    successor.commit()
    assert seen(far, topic_name, 2000, 1) == near.values(topic_name, 1)


def test_a_target_that_is_not_there_is_handed_back(
    near: Kafka, far: Kafka, topic_name: str, make: Make, make_producer: MakeProducer
) -> None:
    near.create(topic_name)
    filled(near, topic_name, 100)
    assert handed_back(make(make_producer())) == {TopicPartition(topic_name, 0): 0}
    assert topic_name not in far.admin.list_topics()


def test_an_identity_is_shown_only_if_it_was_asked_for(far: Kafka, topic_name: str) -> None:
    with RecordProducer({"bootstrap.servers": far.servers}, f"{topic_name}-0") as producer:
        producer.init_transactions()
        with pytest.raises(KafkaError):
            producer.identity(0.5)


@pytest.mark.parametrize("boundary", ["poll", "interval"])
def test_a_mirror_hands_over_between_batches_and_records_and_copies_each_once(
    make_flow: MakeFlow, near: Kafka, far: Kafka, topic_name: str, boundary: str
) -> None:
    near.create(topic_name, 3)
    flow = make_flow(exactly_once=True)
    name = flow.start(
        "Source",
        topics=topic_name,
        tasks__max="1",
        transaction__boundary=boundary,
        transaction__boundary__interval__ms="50",
        consumer__isolation__level="read_uncommitted",
    )
    remote = flow.remote(topic_name)

    def feed(number: int) -> None:
        for partition in (0, 1):
            filled(near, topic_name, 500, partition, number)
        # Batches of single records: these are handed back after a while, in the middle of the others.
        filled(near, topic_name, 20, 2, number, **{"batch.size": "1", "linger.ms": "0"})

    stopped_again_and_again(flow, name, far, remote, feed, after=5000)
    for partition in range(3):
        expected = near.values(topic_name, partition)
        assert seen(far, remote, len(expected), partition) == expected
