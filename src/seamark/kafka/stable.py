"""Reading what is certain: everything committed so far, also behind transactions of others that are still open.

A read_committed reader ends at the last stable offset. A transaction that someone else has open holds that offset
back, and records which were committed after it began stay unseen. Whoever decides "this was not written yet, so I
write it" must not overlook them: after `init_transactions` has fenced the predecessor, these functions wait until the
end of the log itself is stable.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Final

import confluent_kafka

from seamark.kafka.admin import Admin
from seamark.kafka.client_logs import librdkafka_logger
from seamark.kafka.clients import librdkafka_config, make_client
from seamark.kafka.errors import kafka_error, timeout_error
from seamark.kafka.log import LogRecord
from seamark.kafka.topic_partitions import TopicPartition

_RETRY_S: Final = 0.02
_POLL_S: Final = 0.5
# Longer than the default transaction timeout: a crashed producer's transaction is over by then.
STABLE_TIMEOUT_S: Final = 90.0


def wait_until_stable(
    admin: Admin, partitions: Iterable[TopicPartition], *, timeout_s: float = STABLE_TIMEOUT_S
) -> dict[TopicPartition, int]:
    """Wait until all transactions that are open now in these partitions have ended.

    Returns:
        The ends of the partitions at the time of the call: a read_committed reader can now read up to there.

    Raises:
        KafkaTimeoutError: a transaction stayed open for longer.
    """
    deadline = time.monotonic() + timeout_s
    ends = admin.list_offsets({where: "latest" for where in partitions})
    waiting = dict(ends)
    while True:
        stable = admin.list_offsets({where: "latest" for where in waiting}, is_committed=True)
        waiting = {where: end for where, end in waiting.items() if stable[where] < end}
        if not waiting:
            return ends
        if time.monotonic() > deadline:
            names = ", ".join(map(str, sorted(waiting)))
            raise timeout_error(f"read {names} to the end, where a transaction is open,", admin.brokers, timeout_s)
        time.sleep(_RETRY_S)


def read_tail(
    admin: Admin,
    consumer_config: Mapping[str, str],
    where: TopicPartition,
    position: int,
    *,
    timeout_s: float = STABLE_TIMEOUT_S,
) -> list[LogRecord]:
    """All committed records from `position` to the end of the partition as it is now.

    Raises:
        KafkaTimeoutError: a transaction of someone else stayed open, or the records did not come, in time.
    """
    deadline = time.monotonic() + timeout_s
    end = wait_until_stable(admin, [where], timeout_s=timeout_s)[where]
    if end <= position:
        return []
    config = librdkafka_config(
        {
            **consumer_config,
            "isolation.level": "read_committed",
            "enable.auto.commit": "false",
            "auto.offset.reset": "earliest",
            "enable.partition.eof": "true",
            "group.id": f"seamark-tail-{where.topic}",  # librdkafka wants one; nothing is ever committed under it
        },
        "consumer",
    )
    config["logger"] = librdkafka_logger()
    config.pop("group.instance.id", None)
    consumer = make_client(confluent_kafka.Consumer, config)
    try:
        consumer.assign([confluent_kafka.TopicPartition(where.topic, where.partition, position)])
        records: list[LogRecord] = []
        while position < end:
            if time.monotonic() > deadline:
                raise timeout_error(f"read {where} to offset {end}", admin.brokers, timeout_s)
            message = consumer.poll(_POLL_S)
            if message is None:
                continue
            error = message.error()
            if error is None:
                position = message.offset() + 1
                _, timestamp = message.timestamp()
                records.append(LogRecord(message.key(), message.value(), where.partition, message.offset(), timestamp))
            elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:  # noqa: SLF001 - the library's name
                position = max(position, message.offset())  # also moves over control records, which nobody gets to see
            elif not kafka_error(error, "read").retriable:
                raise kafka_error(error, f"read {where}", admin.brokers)
        return records
    finally:
        consumer.close()
