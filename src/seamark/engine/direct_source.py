"""Direct stage of source connectors."""

from __future__ import annotations

import base64
import logging
import threading
from collections.abc import Mapping
from typing import Any

from seamark.connector.offsets import Offsets, SourcePartition
from seamark.connector.source import SourceConnector
from seamark.engine.direct import DirectStage
from seamark.engine.leases import Epoch, EpochServices, LeaseState
from seamark.engine.stage import Ending, StageEnvironment, StageOutcome
from seamark.errors import KafkaError, LeaseLostError
from seamark.kafka.admin import Admin
from seamark.kafka.clients import effective_client_config
from seamark.kafka.producer import RecordProducer
from seamark.kafka.stable import wait_until_stable
from seamark.storage.layered import ConnectorOffsetStore

# A task that asks for offsets which cannot be had yet is told so soon: it looks whether to stop, and asks again.
STABLE_S, READ_S = 1.0, 5.0
FENCE_S = 10.0  # what a stop waits at most for a task that did not end by itself

log = logging.getLogger(__name__)


class SourceServices:
    """Reads and writes source offsets on behalf of tasks that hold a lease."""

    def __init__(
        self, connector: str, store: ConnectorOffsetStore, timeout_s: float, transactional: Admin | None = None
    ) -> None:
        """`transactional` reaches the offsets topic if tasks write to it in transactions."""
        self._connector, self._store, self._timeout_s = connector, store, timeout_s
        self._transactional = transactional
        # Two tasks of a connector may share a source partition: their commits must not cross.
        self._lock = threading.Lock()
        self._is_closed = False

    def read_offsets(self) -> dict[str, Any]:
        if self._transactional is not None and self._store.topic is not None:
            # A reader sees nothing behind the beginning of an open transaction, whoever's it is: not even what this
            # task's predecessor has committed since. Taking that for "not written yet" would write it twice.
            partitions = self._transactional.partitions_of([self._store.topic])
            wait_until_stable(self._transactional, partitions, timeout_s=STABLE_S)
        offsets = self._store.read(self._connector, READ_S)
        raw_keys = self._store.raw_keys(self._connector)
        return {
            "offsets": [{"partition": dict(p), "offset": o} for p, o in offsets.items()],
            "raw_keys": [{"partition": dict(p), "key": base64.b64encode(k).decode()} for p, k in raw_keys.items()],
        }

    def write_offsets(self, task: int, body: Mapping[str, Any]) -> None:
        offsets = {SourcePartition(entry["partition"]): entry["offset"] for entry in body["offsets"]}
        with self._lock:
            if self._is_closed:
                raise LeaseLostError(f"The epoch of task {task} is over.")
            if body["store"] == "secondary":
                self._store.write_deletions_to_secondary(self._connector, offsets, self._timeout_s)
                self._store.copy_to_secondary(self._connector, offsets, self._timeout_s)
            else:
                self._store.write(self._connector, offsets, self._timeout_s)

    def close(self) -> None:
        """Wait for a write that is under way, and take no other."""
        with self._lock:
            self._is_closed = True

    def commit_sink(self, task: int, body: Mapping[str, Any]) -> None:
        raise TypeError("a source task has no consumer-group offsets")


class DirectSourceStage(DirectStage):
    """Runs `SourceTask` objects."""

    kind = "source"
    _idle_offsets: Offsets | None = None

    def __init__(self, environment: StageEnvironment) -> None:
        super().__init__(environment)
        self._admin: Admin | None = None
        if environment.exactly_once:
            name, worker = environment.name, environment.worker.raw
            self._admin = environment.admins.borrow(
                effective_client_config("admin", worker, environment.config, connector_name=name, task=None)
            )

    def plan(self) -> dict[int, dict[str, Any]]:
        environment = self.environment
        fields: dict[str, Any] = {"exactly_once": environment.exactly_once}
        if environment.exactly_once:
            fields["offsets_topic"] = environment.offsets.topic
            fields["has_secondary"] = environment.offsets.has_secondary
        return {
            task: {**fields, "transactional_id": self._transactional_id(task) if environment.exactly_once else None}
            for task in range(len(environment.task_configs))
        }

    def services(self) -> EpochServices:
        timeout_s = self._worker.offset_flush_timeout_ms / 1000
        return SourceServices(self.environment.name, self.environment.offsets, timeout_s, self._admin)

    def on_closed(self, epoch: Epoch) -> None:
        """Nothing may be written after a stop, but a task that did not end in time may be about to commit."""
        if isinstance(epoch.services, SourceServices):
            epoch.services.close()
        late = [lease.task for lease in epoch.leases if lease.state in (LeaseState.HELD, LeaseState.LOST)]
        if not self.environment.exactly_once or epoch.stop_reason is not Ending.STOPPED:
            return
        name, worker = self.environment.name, self.environment.worker
        for task in late:
            config = effective_client_config(
                "producer", worker.raw, self.environment.config, connector_name=name, task=task
            )
            try:
                with RecordProducer(config, self._transactional_id(task)) as producer:
                    producer.init_transactions(FENCE_S)
            except KafkaError as error:
                log.warning("[%s|task-%d] did not end in time and could not be fenced: %s", name, task, error)

    def _transactional_id(self, task: int) -> str:
        return f"{self.environment.worker.group_id}-{self.environment.name}-{task}"

    def close(self) -> None:
        super().close()
        if self._admin is not None:
            self.environment.admins.give_back(self._admin)

    def run(self) -> StageOutcome:
        self._idle_offsets = None
        outcome = super().run()
        if outcome.ending is Ending.IDLE:
            try:
                # Nobody else moves them while the connector is idle, so one look serves the whole time.
                self._idle_offsets = self.environment.offsets.read(self.environment.name, READ_S)
            except KafkaError as error:
                log.warning("[%s] is idle, but its offsets cannot be read yet: %s", self.environment.name, error)
        return outcome

    def has_work(self) -> bool | None:
        connector = self.environment.connector
        if not isinstance(connector, SourceConnector):
            return None
        offsets = self._idle_offsets
        if offsets is None:
            offsets = self._idle_offsets = self.environment.offsets.read(self.environment.name)
        return connector.has_work(self.environment.config, offsets)
