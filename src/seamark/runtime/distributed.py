"""The herder of a worker in a cluster: configs, states and offsets in topics, roles given by Kafka's group coordinator.

Who owns the config topic's partition leads: it alone writes connector and task configs, fenced by a transactional id.
Who owns a slot (a partition of the offsets topic) runs the connectors that are placed there, with all their tasks.
Placements are records of the config topic, written by the leader, so every worker agrees on them; the coordinator sees
to it that a slot has one owner, and hands it over only when the former owner has stopped what ran there.

When workers have come or gone, the leader moves connectors from those that have more to those that have fewer: it takes
the slot of a connector away, and gives another one only after its owner has said that it has ended.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlsplit

from seamark.config.states import State, TargetState
from seamark.errors import ConnectError, KafkaError, NotFoundError
from seamark.kafka.admin import Admin
from seamark.kafka.clients import effective_client_config, worker_client_config
from seamark.kafka.group_members import Member
from seamark.kafka.worker_group import WorkerAssignment, WorkerGroup
from seamark.runtime.abstract_herder import AbstractHerder
from seamark.runtime.forwarding import RestClient
from seamark.runtime.herder import (
    NO_LEADER,
    STALE_CONFIG,
    ForwardError,
    InternalRequest,
    RestError,
)
from seamark.runtime.internal_requests import InternalRequests
from seamark.runtime.placement import least_loaded_slot, to_be_moved
from seamark.runtime.runner import Cancelled, PublicationCancelledError
from seamark.runtime.worker import Worker
from seamark.storage.cluster_state import ClusterConfigState, ConfigEvent, ConnectorConfigUpdated
from seamark.storage.config_store import ConfigStoreError, PrivilegedWriteError
from seamark.storage.kafka_config import KafkaConfigStore
from seamark.storage.kafka_status import KafkaStatusStore

log = logging.getLogger(__name__)

JOIN_S = 60.0
FENCE_S = 60.0
RETRY_S = 0.25
LONGEST_RETRY_S = 5.0
HAND_OVER_S = 60.0  # how long a connector without a slot may wait for the word of the worker that ran it
BALANCE_AFTER_S = 5.0  # how long the same workers must have been there before connectors are moved between them
_SHOWN = (State.RUNNING, State.PAUSED, State.STOPPED, State.FAILED)
ORPHANED_S = 10.0  # how long a deleted connector's state may wait for the worker that ran it to remove it


class DistributedHerder(AbstractHerder):
    """One of the workers of a group."""

    rest_url: str

    def __init__(self, worker: Worker, worker_id: str, rest_url: str) -> None:
        config = worker.config
        self._config_store = KafkaConfigStore.for_worker(config.raw)
        super().__init__(worker, self._config_store, KafkaStatusStore.for_worker(config.raw), worker_id)
        self.rest_url = rest_url
        self._group_id = config.group_id
        self._slots = 0
        self._signing = InternalRequests.of(config)
        self._client = RestClient(tls=worker.rest_tls)
        self.forwarder = self._client
        self._assigned = threading.Event()
        self._rebalanced_at = time.monotonic()
        self._orphans: dict[str, float] = {}
        self._unplaced: dict[str, float] = {}
        self._workers: frozenset[str] = frozenset()
        self._workers_since, self._is_balanced = time.monotonic(), False
        self._group = WorkerGroup(
            config.raw,
            group_id=self._group_id,
            config_topic=self._config_store.topic,
            offsets_topic=config.offset_storage_topic,
            rest_url=rest_url,
            listener=self,
        )

    # life

    def start(self) -> None:
        with Admin(worker_client_config("admin", self.worker.config.raw)) as admin:
            topic = self.worker.config.offset_storage_topic
            self._slots = admin.describe_topics([topic])[topic].partitions
        super().start()
        self._ready = False
        self._group.start()
        self._ready = self._assigned.wait(JOIN_S)
        if not self._ready:
            log.warning("The worker has not joined group %r yet: %s", self._group_id, self._group.error)

    def is_ready(self) -> bool:
        return self._ready or self._assigned.is_set()

    def stop(self) -> None:
        self._stopping.set()
        self._group.stop()
        super().stop()
        self._client.close()

    def stage(self) -> str | None:
        error = self._group.error
        return f"joining the group of workers: {error}" if error is not None else None

    @property
    def is_leader(self) -> bool:
        """Whether this worker leads its group; it may not have taken over the writing of configs yet."""
        return self._is_leader()

    @property
    def group_id(self) -> str | None:
        return self._group_id

    def group_members(self) -> list[Member]:
        return self._group.members()

    def membership_problem(self) -> str | None:
        if self._group.error is not None:
            return self.stage()
        assignment = self._group.assignment
        return None if assignment.generation >= 0 else "The worker is not a member of its group."

    def url_of(self, worker_id: str) -> str:
        # The flows of a mirror maker have a path each.
        own = urlsplit(self.rest_url)
        return f"{own.scheme}://{worker_id}{own.path}"

    @property
    def generation(self) -> int:
        return self._group.assignment.generation

    # roles

    def on_assigned(self, assignment: WorkerAssignment) -> None:
        """Told by the group: these are ours."""
        log.info("Generation %d: leader %s, slots %s", *_shown(assignment))
        if self.metrics is not None:
            self.metrics.rebalance_completed(time.monotonic() - self._rebalanced_at, epoch=assignment.generation)
        if assignment.is_leader:
            self._submit(self._lead)
        running = set(self.local.names())
        for name in self._placed_in(assignment.slots):
            if name not in running:
                self.events.add(name, "rebalance", f"taken over by {self.worker_id}")
            self._reconcile(name)
        self._assigned.set()

    def on_revoked(self, slots: frozenset[int], leader: bool) -> None:
        """Told by the group: these go to another worker when this returns."""
        self._rebalanced_at = time.monotonic()
        if self.metrics is not None:
            self.metrics.rebalance_started()
        if leader:
            self._configs.release_write_privileges()
        state = self._configs.snapshot()
        # Also what does not run here yet: it may just be about to be started, and must not be any more.
        names = {*self.local.names(), *state.connectors}
        for name in self.local.names():
            if self._slot(state, name) in slots:
                self.events.add(name, "rebalance", f"given up by {self.worker_id}")
        self.local.end([name for name in names if self._slot(state, name) in slots])

    def on_lost(self, slots: frozenset[int], leader: bool) -> None:
        """Told by the group: this worker was away for too long, and others have taken over."""
        log.warning("This worker has lost its membership; what ran here is stopped")
        self.on_revoked(slots, leader)

    def _placed_in(self, slots: frozenset[int]) -> list[str]:
        state = self._configs.snapshot()
        return [name for name in state.connectors if self._slot(state, name) in slots]

    def _slot(self, state: ClusterConfigState, name: str) -> int | None:
        placed = state.placements.get(name)
        return None if placed is None or not self._slots else placed % self._slots

    def _owns(self, state: ClusterConfigState, name: str) -> bool:
        return self._slot(state, name) in self._group.assignment.slots

    def _is_leader(self) -> bool:
        return self._group.assignment.is_leader

    def _require_leader(self) -> None:
        if not self._is_leader():
            raise ForwardError("Only the leader may do this.", self._group.leader_url())
        if not self._configs.has_write_privileges:
            self._claim()

    def _claim(self) -> None:
        try:
            self._configs.claim_write_privileges()
        except ConnectError as error:
            raise RestError(500, f"{PrivilegedWriteError()}") from error

    def _require_owner(self, name: str) -> None:
        state = self._configs.snapshot()
        slot = self._slot(state, name)
        if slot in self._group.assignment.slots:
            return
        url = None if slot is None else self._group.owner_url(slot)
        raise ForwardError(f"Connector {name} runs on another worker.", url)

    def _require_settled(self) -> None:
        if self._group.is_rebalancing:
            raise RestError(409, STALE_CONFIG)

    def _slot_for(self, name: str) -> int | None:
        state = self._configs.snapshot()
        try:
            owners = self._owners()
        except KafkaError as error:
            log.warning("Who owns which slot is not known; connectors are spread over slots alone: %s", error)
            owners = {}
        return least_loaded_slot((self._slot(state, each) for each in state.connectors), owners, self._slots)

    def _owners(self) -> dict[int, str]:
        """The id of the worker that owns a slot."""
        return {
            slot: urlsplit(member.url).netloc or member.client_id
            for member in self._group.members()
            for slot in member.slots
        }

    # the leader's work

    def _leads(self) -> bool:
        return self._is_leader() and not self._group.is_rebalancing

    def _lead(self) -> None:
        if not self._is_leader():
            return
        self.operations.led()
        self._configs.claim_write_privileges()
        self._renew_session_key()
        self._place_all()

    def _renew_session_key(self) -> None:
        now_ms = int(time.time() * 1000)
        if self._signing.must_replace(self._configs.snapshot().session_key, now_ms):
            self._configs.put_session_key(self._signing.new_key(now_ms))

    def _place_all(self) -> None:
        """Give a slot to connectors that have none: those that a Java worker created, and those that are moved."""
        with self._change:
            state, now = self._configs.snapshot(), time.monotonic()
            unplaced = [name for name in state.connectors if name not in state.placements]
            self._unplaced = {name: self._unplaced.get(name, now) for name in unplaced}
            for name, since in self._unplaced.items():
                if self._is_leader() and (self._is_released(name) or now - since >= HAND_OVER_S):
                    self._configs.put_placement(name, self._slot_for(name))

    def _is_released(self, name: str) -> bool:
        """Whether the worker that ran a connector has said that it does not any more, or is gone."""
        row = self._statuses.get_connector(name)
        if row is None or row.state is State.UNASSIGNED:
            return True
        if row.worker_id == self.worker_id:
            return name not in self.local.names()
        try:
            return row.worker_id not in self._owners().values()
        except KafkaError:
            return False

    def _balance(self) -> None:
        """After workers have come or gone: take connectors from those that have more than others.

        A connector that is taken away has no slot until its worker has said that it has ended; then it is placed anew.
        """
        try:
            owners = self._owners()
        except KafkaError:
            return
        workers, now = frozenset(owners.values()), time.monotonic()
        if workers != self._workers:
            self._workers, self._workers_since, self._is_balanced = workers, now, False
        if self._is_balanced or len(owners) < self._slots or now - self._workers_since < BALANCE_AFTER_S:
            return
        with self._change:
            state = self._configs.snapshot()
            placed = {name: slot for name in state.connectors if (slot := self._slot(state, name)) is not None}
            if len(placed) < len(state.connectors):
                return
            moved = to_be_moved(placed, owners)
            self._is_balanced = not moved  # otherwise look again when they have moved
            for name in moved:
                row = self._statuses.get_connector(name)
                # Only what its worker has shown: the end of that will be shown too.
                if row is not None and row.worker_id == owners[placed[name]] and row.state in _SHOWN:
                    log.info("[%s] is taken from %s, which has more connectors than others", name, row.worker_id)
                    self._configs.put_placement(name, None)

    def _tick(self) -> None:
        super()._tick()
        if self._is_leader() and not self._group.is_rebalancing:
            if not self._configs.has_write_privileges:
                self._configs.claim_write_privileges()
            self._renew_session_key()
            self._place_all()
            self._balance()
            self._remove_orphans()
        for name in set(self.local.names()) | set(self._placed_in(self._group.assignment.slots)):
            self._reconcile_if_needed(name)

    def _remove_orphans(self) -> None:
        """Remove the states of deleted connectors whose worker did not live to do so."""
        now = time.monotonic()
        known = self._configs.snapshot().connectors
        gone = {name for name in self._statuses.connectors() if name not in known}
        self._orphans = {name: self._orphans.get(name, now) for name in gone}
        for name, since in self._orphans.items():
            if now - since >= ORPHANED_S:
                self._statuses.delete_connector(name)
                self._statuses.delete_topics(name)

    # following

    def _on_event(self, event: ConfigEvent) -> None:
        super()._on_event(event)
        if isinstance(event, ConnectorConfigUpdated) and self._is_leader():
            name = event.name
            if name not in self._configs.snapshot().placements:
                self._submit(self._place_all)

    def _reconcile(self, name: str) -> None:
        self._submit(lambda: self.local.reconcile(name))

    def _reconcile_if_needed(self, name: str) -> None:
        state = self._configs.snapshot()
        is_here, is_ours = name in self.local.names(), name in state.connectors and self._owns(state, name)
        if is_here != is_ours:
            self._reconcile(name)

    # tasks

    def _publish(self, name: str, tasks: list[dict[str, str]], cancelled: Cancelled) -> None:
        published = self._published(name, tasks)
        exactly_once = self._is_exactly_once(self._configs.snapshot().connector_config(name) or {})
        pause_s = RETRY_S
        while True:
            if cancelled() or self._stopping.is_set():
                raise PublicationCancelledError(f"The tasks of {name} are no longer wanted.")
            try:
                if self._is_news(name, published):
                    self._send_task_configs(name, published)
                if exactly_once:
                    self._ask_to_fence(name)
                return
            except NotFoundError as error:
                raise PublicationCancelledError(f"The connector {name} is no more.") from error
            except (RestError, ForwardError, KafkaError, ConfigStoreError) as error:
                log.warning("[%s] its tasks are not known to all workers yet: %s", name, error)
            self._stopping.wait(pause_s)
            pause_s = min(2 * pause_s, LONGEST_RETRY_S)

    def _send_task_configs(self, name: str, tasks: Sequence[Mapping[str, str]]) -> None:
        if self._is_leader():
            self._put_task_configs(name, tasks)
        else:
            self._internal("POST", f"connectors/{quote(name, safe='')}/tasks", list(tasks))
        self._configs.refresh(30.0)

    def _ask_to_fence(self, name: str) -> None:
        if self._is_leader():
            self._fence(name)
        else:
            self._internal("PUT", f"connectors/{quote(name, safe='')}/fence", None)

    def _internal(self, method: str, path: str, body: object | None) -> None:
        url, key = self._group.leader_url(), self._configs.snapshot().session_key
        if url is None or key is None:
            raise RestError(409, NO_LEADER)
        self._client.internal(method, f"{url.rstrip('/')}/{path}", body, self._signing, key)

    def session_key(self, *, is_fresh: bool = False) -> bytes | None:
        if is_fresh:
            self._configs.refresh(5.0)
        key = self._configs.snapshot().session_key
        return None if key is None else key.key

    def put_task_configs(self, name: str, configs: Sequence[Mapping[str, str]], request: InternalRequest) -> None:
        self._verify(request)
        self._put_task_configs(name, configs)

    def fence_zombies(self, name: str, request: InternalRequest) -> None:
        self._verify(request)
        self._require_leader()
        self._state_with(name, f"Unknown connector {name}")
        self._fence(name)

    def _verify(self, request: InternalRequest) -> None:
        key = self._configs.snapshot().session_key
        try:
            self._signing.verify(request, key)
        except RestError as error:
            if error.status != 403:
                raise
            # The key may have been replaced a moment ago.
            self._configs.refresh(5.0)
            self._signing.verify(request, self._configs.snapshot().session_key)

    def _put_task_configs(self, name: str, configs: Sequence[Mapping[str, str]]) -> None:
        self._require_leader()
        with self._change:
            state = self._state_with(name, f"Connector {name} not found")
            if configs and state.target_state(name) is TargetState.STOPPED:
                raise RestError(400, f"Cannot submit non-empty set of task configs for stopped connector {name}")
            self._configs.put_task_configs(name, list(configs))

    def _fence(self, name: str) -> None:
        """End the producers of former tasks, and write down for how many tasks that was done."""
        with self._change:
            state = self._configs.snapshot()
            if name not in state.connectors:
                raise NotFoundError(f"Connector {name} not found")
            if name not in state.pending_fencing:
                return
            count, record = state.task_count(name), state.task_count_records.get(name)
            if record is not None and not (record == 1 and count == 1):
                ids = [f"{self._group_id}-{name}-{task}" for task in range(record)]
                # Where its tasks produce to, which need not be the worker's own Kafka.
                config = self.worker.resolved(name, state.connector_config(name) or {})
                producer = effective_client_config(
                    "producer", self.worker.config.raw, config, connector_name=name, task=None
                )
                with Admin(producer) as client:
                    client.fence_producers(ids, timeout_s=FENCE_S)
            self._configs.put_task_count_record(name, count)


def _shown(assignment: WorkerAssignment) -> tuple[int, bool, str]:
    return assignment.generation, assignment.is_leader, json.dumps(sorted(assignment.slots))
