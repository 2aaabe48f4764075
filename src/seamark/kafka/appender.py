"""Appending to a topic with futures: one producer, and a thread that serves its reports only while some are due."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final

import confluent_kafka

from seamark.errors import KafkaError
from seamark.kafka.client_logs import librdkafka_logger
from seamark.kafka.clients import clients_closed, librdkafka_config, make_client
from seamark.kafka.errors import kafka_error

_POLL_S: Final = 0.1


class Appender:
    """A producer whose reports are served by a thread of its own while something is on its way."""

    def __init__(self, java_config: Mapping[str, str], topic: str) -> None:
        config = librdkafka_config(java_config, "producer")
        # Nobody notices a millisecond; but records that are appended together then travel together.
        config.setdefault("linger.ms", 1)
        config["logger"] = librdkafka_logger()
        self._topic, self._brokers = topic, config["bootstrap.servers"]
        self._producer: Any = make_client(confluent_kafka.Producer, config)
        self._pending: set[Future[None]] = set()
        self._changed = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._serve, name=f"append-{topic}", daemon=True)
        self._thread.start()

    def append(self, key: bytes | None, value: bytes | None) -> Future[None]:
        """Queue one record; the future is done when brokers have it."""
        return self.append_all([(key, value)])

    def append_all(self, records: Sequence[tuple[bytes | None, bytes | None]]) -> Future[None]:
        """Queue records in order; the future is done when brokers have them all, or have refused one."""
        future: Future[None] = Future()
        if not records:
            future.set_result(None)
            return future
        left, failure = len(records), None

        def report(error: Any, _message: Any) -> None:
            nonlocal left, failure
            left -= 1
            failure = failure or error
            if left > 0:
                return
            with self._changed:
                self._pending.discard(future)
            if future.done():
                return
            if failure is None:
                future.set_result(None)
            else:
                future.set_exception(kafka_error(failure, f"append to topic {self._topic!r}", self._brokers))

        with self._changed:
            if self._is_closed:
                raise KafkaError(f"The log of topic {self._topic!r} is stopped; nothing can be appended.")
            self._pending.add(future)
            self._changed.notify_all()
        try:
            for key, value in records:
                self._producer.produce(self._topic, value, key, on_delivery=report)
        except (confluent_kafka.KafkaException, BufferError) as error:
            with self._changed:
                self._pending.discard(future)
            raise kafka_error(error, f"append to topic {self._topic!r}", self._brokers) from error
        return future

    def close(self) -> None:
        """Let go of the broker; futures that are not done fail."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._thread.join()
        self._producer.flush(1.0)
        self._producer.purge()
        self._producer.flush(1.0)
        self._producer = None
        clients_closed()
        for future in list(self._pending):
            if not future.done():
                future.set_exception(
                    KafkaError(f"The log of topic {self._topic!r} was stopped before the record was acknowledged.")
                )

    def _serve(self) -> None:
        while True:
            with self._changed:
                while not self._pending and not self._is_closed:
                    self._changed.wait()
                if self._is_closed:
                    return
            self._producer.poll(_POLL_S)
