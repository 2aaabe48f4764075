"""Membership of a worker in its group; Kafka's group coordinator does the consensus.

All workers with one ``group.id`` are one consumer group. They subscribe to the config topic, whose only partition makes
its owner the leader, and to the offsets topic, whose partitions are the slots that connectors are placed in. What the
coordinator guarantees is what the cluster relies on: a partition has one owner, a dead owner is replaced after its
session timeout, and a partition moves only after its owner has given it up. Records are never read through the group
and offsets are never committed: every partition is paused as soon as it is assigned.

Assignment is cooperative and sticky: a worker that comes or goes moves few slots, and what stays is not interrupted.

A group that Java workers have left can be joined, and the other way round: the coordinator lets an empty group change
its protocol. While Java workers are in the group, joining is refused; `WorkerGroup` says so and tries again.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import confluent_kafka

from seamark.errors import KafkaError
from seamark.kafka import group_consumer
from seamark.kafka.client_logs import librdkafka_logger
from seamark.kafka.clients import make_client
from seamark.kafka.errors import is_fatal
from seamark.kafka.group_consumer import UNKNOWN_GENERATION
from seamark.kafka.group_members import GroupDescriber, GroupView, Member

__all__ = ["GroupListener", "Member", "WorkerAssignment", "WorkerGroup"]

DESCRIBE_TIMEOUT_S: Final = 5.0

_LOG: Final = logging.getLogger(__name__)
_POLL_S: Final = 0.1
_RETRY_S: Final = 1.0
_METADATA_S: Final = 2.0
_COMPLAIN_EVERY_S: Final = 60.0
_JOIN_STATE: Final = re.compile(r'"join_state":\s*"([a-z-]+)"')
# In these join states the callbacks say what is going on; in all others but "steady" a rebalance is under way.
_SAID_BY_CALLBACKS: Final = frozenset({"wait-assign-call", "wait-unassign-call"})


@dataclass(frozen=True, slots=True)
class WorkerAssignment:
    """What this worker owns.

    Attributes:
        generation: of the group; grows with each rebalance. -1 while the worker is in no group.
        is_leader: whether it owns the config topic's partition.
        slots: partitions of the offsets topic that it owns.
    """

    generation: int
    is_leader: bool
    slots: frozenset[int]


NOTHING: Final = WorkerAssignment(UNKNOWN_GENERATION, False, frozenset())


class GroupListener(Protocol):
    """What a worker does when its assignment changes. All calls come from one thread, one after the other.

    A call that takes longer than the rebalance timeout costs the worker its membership: `on_lost` follows. An exception
    is logged and changes nothing.
    """

    def on_revoked(self, slots: frozenset[int], leader: bool) -> None:
        """These slots (and leadership) go to others once this returns: return only when nothing runs there any more."""

    def on_lost(self, slots: frozenset[int], leader: bool) -> None:
        """The membership has expired: others may own these slots already. Stop at once, commit nothing."""

    def on_assigned(self, assignment: WorkerAssignment) -> None:
        """A rebalance is complete and this is the whole assignment, also if it has not changed. Return soon."""


class WorkerGroup:
    """This worker's membership in the group of workers.

    Args:
        java_config: Java-style worker configuration: ``bootstrap.servers`` and security, ``session.timeout.ms`` (10 s),
            ``heartbeat.interval.ms`` (1 s), ``rebalance.timeout.ms`` (60 s), ``seamark.static.membership`` (false).
        group_id: of the cluster of workers.
        config_topic: exists, with one partition.
        offsets_topic: exists.
        rest_url: this worker's advertised address; it travels in the client id.
        listener: is told of changes.

    With static membership the worker is known to the group by its address. Restarted within the session timeout, also
    after a crash, it gets its slots back at once and nobody else notices; of two workers with one address the older is
    put out, and stays out until `rejoin`. Without it a restarted worker is a new member, and the slots of a crashed one
    wait for its session timeout. Either way `stop` hands slots over within a heartbeat of the others.

    Raises:
        ConfigError: the settings contradict each other.
    """

    def __init__(
        self,
        java_config: Mapping[str, str],
        *,
        group_id: str,
        config_topic: str,
        offsets_topic: str,
        rest_url: str,
        listener: GroupListener,
    ) -> None:
        self.group_id, self.rest_url = group_id, rest_url
        self._config_topic, self._offsets_topic = config_topic, offsets_topic
        self._listener = listener
        self._settings = group_consumer.settings(java_config, group_id, rest_url)
        self._view_age_s = int(self._settings["heartbeat.interval.ms"]) / 1000
        self._describer = GroupDescriber(java_config, group_id, config_topic, offsets_topic)

        self._lock = threading.Lock()
        self._assignment = NOTHING
        self._is_rebalancing = True
        self._revoked_in = UNKNOWN_GENERATION
        self._is_replaced = False
        self._error: KafkaError | None = None
        self._complained: dict[str, float] = {}
        self._view: GroupView | None = None
        self._view_at = 0.0
        self._view_error: KafkaError | None = None
        self._is_stopping, self._must_rejoin = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    # life

    def start(self) -> None:
        """Begin to join; `GroupListener.on_assigned` tells when it is done.

        Raises:
            ConfigError: the settings of the Kafka client cannot be used.
        """
        if self._thread is not None:
            return
        consumer = self._new_consumer()
        self._is_stopping.clear()
        self._thread = threading.Thread(
            target=self._run, args=(consumer,), name=f"worker-group-{self.group_id}", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Leave the group: `GroupListener.on_revoked` is called for all that is owned, then others get it at once."""
        self._is_stopping.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._describer.close()

    def rejoin(self) -> None:
        """Leave and join again, soon: all that is owned is revoked first. Returns at once."""
        self._must_rejoin.set()

    # what is known

    @property
    def assignment(self) -> WorkerAssignment:
        """What this worker owns now, without what is being revoked."""
        with self._lock:
            return self._assignment

    @property
    def is_rebalancing(self) -> bool:
        """Whether a rebalance is under way, as far as this member knows; also before the first assignment."""
        with self._lock:
            return self._is_rebalancing

    @property
    def error(self) -> KafkaError | None:
        """Why the worker is not in the group, if it cannot join; None once it has joined."""
        with self._lock:
            return self._error

    def members(self) -> list[Member]:
        """All workers of the group with what they own; while the group rebalances, as before the rebalance.

        Raises:
            KafkaError: the group's coordinator cannot be asked.
        """
        with self._lock:
            if time.monotonic() - self._view_at <= self._view_age_s:
                if self._view_error is not None:
                    raise self._view_error
                if self._view is not None:
                    return list(self._view.members)
            asked_in = self._assignment
        view, error = self._describe()
        with self._lock:
            if asked_in == self._assignment:  # otherwise the answer may be of the time before
                self._view_at, self._view_error = time.monotonic(), error
                if view is not None and (view.is_stable or self._view is None):
                    self._view = view
            if error is not None:
                raise error
            return list(self._view.members if self._view is not None else ())

    def _describe(self) -> tuple[GroupView | None, KafkaError | None]:
        try:
            return self._describer.describe(DESCRIBE_TIMEOUT_S), None
        except KafkaError as error:
            return None, error

    def leader_url(self) -> str | None:
        """REST address of the leader; None while nobody is known to be."""
        return self.rest_url if self.assignment.is_leader else self._url_of(lambda member: member.is_leader)

    def owner_url(self, slot: int) -> str | None:
        """REST address of the worker that owns a slot; None while nobody is known to."""
        return self.rest_url if slot in self.assignment.slots else self._url_of(lambda member: slot in member.slots)

    def _url_of(self, is_wanted: Callable[[Member], bool]) -> str | None:
        try:
            return next((member.url for member in self.members() if member.url and is_wanted(member)), None)
        except KafkaError as error:
            self._complain("members", str(error))
            return None

    # the member's thread

    def _run(self, consumer: Any) -> None:
        while True:
            try:
                if self._await_topics(consumer):
                    self._subscribe(consumer)
                    self._serve(consumer)
            except Exception as error:
                if not isinstance(error, confluent_kafka.KafkaException):
                    _LOG.exception("The membership in group %r failed; joining again", self.group_id)
                self._on_error(error)
            self._leave(consumer)
            self._must_rejoin.clear()
            if self._is_stopping.wait(_RETRY_S) or not self._may_join():
                return
            consumer = self._new_consumer()

    def _await_topics(self, consumer: Any) -> bool:
        """Wait until the brokers know the topics: a member that joins before gets nothing, and is not asked again."""
        while not self._is_stopping.is_set():
            try:
                asked = [
                    consumer.list_topics(topic, _METADATA_S) for topic in (self._config_topic, self._offsets_topic)
                ]
            except confluent_kafka.KafkaException as error:
                self._on_error(error)
            else:
                unknown = [
                    each for found in asked for each in found.topics.values() if each.error or not each.partitions
                ]
                if not unknown:
                    return True
                _LOG.debug("Waiting for topics %s", unknown)
            self._is_stopping.wait(_POLL_S)
        return False

    def _serve(self, consumer: Any) -> None:
        while not self._is_stopping.is_set() and not self._must_rejoin.is_set():
            message = consumer.poll(_POLL_S)
            if message is not None and message.error() is not None:
                self._on_error(message.error())

    def _may_join(self) -> bool:
        # Two workers with one address would put each other out for ever: the older one waits until it is told.
        while self._is_replaced and not self._is_stopping.is_set():
            if self._must_rejoin.wait(_POLL_S):
                self._must_rejoin.clear()
                self._is_replaced = False
        return not self._is_stopping.is_set()

    def _new_consumer(self) -> Any:
        callbacks = {"stats_cb": self._on_stats, "error_cb": self._on_error, "logger": librdkafka_logger()}
        return make_client(confluent_kafka.Consumer, {**self._settings, **callbacks})

    def _subscribe(self, consumer: Any) -> None:
        consumer.subscribe(
            [self._config_topic, self._offsets_topic],
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_lost,
        )

    def _leave(self, consumer: Any) -> None:
        try:
            consumer.close()  # revokes what is owned, through the callback, and says good-bye
        except (confluent_kafka.KafkaException, RuntimeError) as error:
            _LOG.warning("Leaving group %r was not clean: %s", self.group_id, error)
        with self._lock:
            rest, self._assignment, self._is_rebalancing = self._assignment, NOTHING, True
            self._view = None
        if rest.slots or rest.is_leader:  # closing failed before the callback could be called
            self._tell(lambda: self._listener.on_lost(rest.slots, rest.is_leader))
        instance = self._settings.get("group.instance.id")
        if instance is not None and not self._is_replaced:
            try:  # a static member that closes stays in the group; others would wait for its session timeout
                self._describer.remove_static_member(str(instance), DESCRIBE_TIMEOUT_S)
            except KafkaError as error:
                _LOG.warning("%s. Its slots are given to others when its session has expired.", error)

    # callbacks, all within poll() or close()

    def _on_assign(self, consumer: Any, partitions: list[Any]) -> None:
        # At a fixed offset: nothing has to be asked to know where reading would start, if it ever did.
        consumer.incremental_assign([confluent_kafka.TopicPartition(p.topic, p.partition, 0) for p in partitions])
        if partitions:
            consumer.pause(partitions)
        generation = group_consumer.generation(consumer)
        leader, slots = self._sorted_out(partitions)
        with self._lock:
            before = self._assignment
            self._assignment = WorkerAssignment(generation, before.is_leader or leader, before.slots | slots)
            # What others gave up together with this worker comes in the next generation.
            self._is_rebalancing = generation != UNKNOWN_GENERATION and generation == self._revoked_in
            self._view, self._error = None, None
            assignment, is_rebalancing = self._assignment, self._is_rebalancing
        _LOG.info(
            "Generation %d of group %r: %s, slots %s",
            generation,
            self.group_id,
            "leader" if assignment.is_leader else "no leader",
            sorted(assignment.slots),
        )
        if not is_rebalancing:
            self._tell(lambda: self._listener.on_assigned(assignment))

    def _on_revoke(self, consumer: Any, partitions: list[Any]) -> None:
        if self._is_replaced:
            self._on_lost(consumer, partitions)
            return
        leader, slots = self._take_away(partitions)
        generation = group_consumer.generation(consumer)
        with self._lock:
            self._revoked_in = generation
        self._tell(lambda: self._listener.on_revoked(slots, leader))
        consumer.incremental_unassign(partitions)

    def _on_lost(self, consumer: Any, partitions: list[Any]) -> None:
        leader, slots = self._take_away(partitions)
        _LOG.warning("The membership in group %r has expired; slots %s may run elsewhere", self.group_id, sorted(slots))
        self._tell(lambda: self._listener.on_lost(slots, leader))
        consumer.incremental_unassign(partitions)

    def _take_away(self, partitions: Iterable[Any]) -> tuple[bool, frozenset[int]]:
        leader, slots = self._sorted_out(partitions)
        with self._lock:
            before = self._assignment
            self._assignment = WorkerAssignment(
                before.generation, before.is_leader and not leader, before.slots - slots
            )
            self._is_rebalancing, self._view_at = True, 0.0
        return leader, slots

    def _sorted_out(self, partitions: Iterable[Any]) -> tuple[bool, frozenset[int]]:
        owned = [(each.topic, each.partition) for each in partitions]
        slots = frozenset(partition for topic, partition in owned if topic == self._offsets_topic)
        return any(topic == self._config_topic for topic, _ in owned), slots

    def _on_stats(self, stats: str) -> None:
        found = _JOIN_STATE.search(stats)
        if found is None or found[1] in _SAID_BY_CALLBACKS:
            return
        with self._lock:
            self._is_rebalancing = found[1] != "steady"

    def _on_error(self, error: Any) -> None:
        code = group_consumer.reason(error)
        if code in group_consumer.PASSING:
            return
        failure = group_consumer.explained(error, self.group_id, self.rest_url, self._settings["bootstrap.servers"])
        self._is_replaced = self._is_replaced or code == group_consumer.REPLACED
        if self._is_replaced or code == group_consumer.FATAL or is_fatal(error):
            self._must_rejoin.set()
        with self._lock:
            self._error = failure
        self._complain(code, str(failure))

    def _tell(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception:
            _LOG.exception("A change of assignment in group %r was not handled", self.group_id)

    def _complain(self, kind: str, text: str) -> None:
        now = time.monotonic()
        if now - self._complained.get(kind, -_COMPLAIN_EVERY_S) >= _COMPLAIN_EVERY_S:
            self._complained[kind] = now
            _LOG.error("%s", text)
