"""What runs inside a Spark task of a direct stage: set up a source or sink task, run its loop, report how it ended.

A failure of the connector's code is not a failure of the Spark task: retrying it would repeat it. It is reported
through the lease, and the Spark task ends cleanly. Spark's own retries are for lost processes and machines.
"""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import time
import traceback
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from seamark.config.connector import transaction_boundary, transaction_boundary_interval_ms
from seamark.config.connector_keys import TransactionBoundary
from seamark.config.worker import WorkerConfig
from seamark.connector.copying import Copying
from seamark.connector.offsets import Offsets, SourcePartition
from seamark.connector.sink import SinkTask, SinkTaskContext, TopicPartition
from seamark.connector.source import SourceTask, SourceTaskContext
from seamark.connector.transactions import TransactionContext
from seamark.engine.at_least_once import AtLeastOnceCommitter
from seamark.engine.commits import Committer, CommitterParts, wants_reports
from seamark.engine.dead_letters import DeadLetters
from seamark.engine.errant_records import ErrantRecords
from seamark.engine.exactly_once import ExactlyOnceCommitter
from seamark.engine.lease_client import LeaseClient
from seamark.engine.pipeline import Converters, SinkPipeline, SourcePipeline
from seamark.engine.plugins import Plugins
from seamark.engine.shared_transaction import TaskTransaction
from seamark.engine.sink_task import PUT_RECORDS, SinkLimits, SinkLoop
from seamark.engine.source_task import SourceLoop
from seamark.engine.stage import TaskProgress
from seamark.engine.task_spec import TaskSpec
from seamark.engine.tolerance import (
    ErrorCounts,
    ErrorPolicy,
    ErrorReporter,
    LogReporter,
    Tolerance,
    describe_consumed,
    describe_source,
)
from seamark.engine.topic_creator import TopicCreator
from seamark.engine.transform_chain import TransformChain
from seamark.errors import FencedError, KafkaError, LeaseLostError, connector_code
from seamark.kafka.admin import Admin
from seamark.kafka.clients import effective_client_config, max_poll_records
from seamark.kafka.consumer import RecordConsumer
from seamark.kafka.producer import RecordProducer
from seamark.kafka.topics import TopicCreation

log = logging.getLogger(__name__)

ATTEMPT_S = 1.0  # what a task waits for before it looks whether to stop
RETRY_S = 0.1


def run_partition(index: int, specs: Iterator[str]) -> Iterator[str]:
    """Entry point of a Spark partition; yields how each of its tasks ended."""
    from pyspark import TaskContext

    context = TaskContext.get()
    # Unique in the Spark application and growing: whichever attempt was started later has the higher one.
    attempt = 0 if context is None else context.taskAttemptId()
    for spec in specs:
        yield DirectTask(TaskSpec.from_json(spec), attempt).run()


class DirectTask:
    """One attempt at one task of one epoch."""

    def __init__(self, spec: TaskSpec, attempt: int) -> None:
        self._spec, self._attempt = spec, attempt
        self._worker = WorkerConfig(spec.worker).for_connector(spec.config)
        self._plugins = Plugins(spec.plugin_path)
        self._progress = TaskProgress(spec.task)
        self._topics: TopicCreator | None = None
        self._errors = ErrorCounts()
        self._source: SourceLoop | None = None
        self._sink: SinkLoop | None = None

    def run(self) -> str:
        """Run to the end; returns it as JSON."""
        lease = LeaseClient(self._spec.lease, self._attempt, self._report)
        try:
            lease.acquire()
        except LeaseLostError as error:
            log.warning("[%s|task-%d] not started: %s", self._spec.connector, self._spec.task, error)
            return json.dumps({"task": self._spec.task, "result": "lost"})
        if lease.should_end:  # the epoch was over before this task got a slot
            return self._end(lease, "stopped")
        try:
            with contextlib.ExitStack() as stack:
                (self._run_source if self._spec.kind == "source" else self._run_sink)(lease, stack)
            return self._end(lease, "stopped")
        except LeaseLostError as error:
            log.warning("[%s|task-%d] ended: %s", self._spec.connector, self._spec.task, error)
            lease.abandon()
            return json.dumps({"task": self._spec.task, "result": "lost"})
        except FencedError as error:
            return self._end(lease, "fenced", str(error), retriable=True)
        except KafkaError as error:
            return self._end(lease, "failed", traceback.format_exc(), retriable=error.retriable)
        except Exception:
            return self._end(lease, "failed", traceback.format_exc())

    def _end(self, lease: LeaseClient, result: str, error: str | None = None, retriable: bool = False) -> str:
        self._progress.state, self._progress.error = result, error
        lease.release(result, error, retriable)
        return json.dumps({"task": self._spec.task, "result": result})

    def _report(self) -> tuple[TaskProgress, int]:
        self._progress.updated_ms = int(time.time() * 1000)
        self._progress.errors = asdict(self._errors)
        if self._topics is not None:
            self._progress.topics = self._topics.topics
        if self._source is not None:
            self._progress.metrics = self._source.metrics()
            return self._progress, self._source.idle_ms
        if self._sink is not None:
            return self._progress, int((time.monotonic() - self._sink.last_record_at) * 1000)
        return self._progress, 0

    def _client(self, role: Any) -> dict[str, str]:
        spec = self._spec
        return effective_client_config(role, spec.worker, spec.config, connector_name=spec.connector, task=spec.task)

    def _run_source(self, lease: LeaseClient, stack: contextlib.ExitStack) -> None:
        spec = self._spec
        converters = Converters.of(self._plugins, spec.config, self._worker)
        pipeline = SourcePipeline(converters, self._transforms(stack), self._tolerance(lease, stack, describe_source))
        task_class: type[SourceTask] = self._plugins.load(spec.task_class, spec.plugin_path)
        producer: RecordProducer | None = None
        make_transactional = functools.partial(
            self._make_producer,
            stack,
            reports_successes=wants_reports(task_class),
            on_wait=lease.check,
            shows_identity=pipeline.keeps_bytes and task_class.copies,
        )
        if spec.exactly_once:
            producer = make_transactional()
            # From here on no older task of this id can commit; only then is it safe to ask where to start.
            self._patiently(lease, "initialise transactions", functools.partial(producer.init_transactions, ATTEMPT_S))
        answer = self._patiently(lease, "read the committed offsets", functools.partial(lease.call, "offsets"))
        if lease.should_end:
            return
        offsets = Offsets((entry["partition"], entry["offset"]) for entry in answer["offsets"])
        raw_keys = {SourcePartition(entry["partition"]): b64decode(entry["key"]) for entry in answer["raw_keys"]}

        boundary = transaction_boundary(spec.config)
        transaction = (
            TransactionContext() if producer is not None and boundary is TransactionBoundary.CONNECTOR else None
        )
        task = task_class()
        shared = None if producer is None else TaskTransaction(producer, make_transactional, lease)
        copying = Copying(self._client("producer"), shared) if pipeline.keeps_bytes and transaction is None else None
        task.context = SourceTaskContext(spec.connector, spec.task, transaction, copying)
        stack.callback(self._quietly, task.stop)
        with connector_code(spec.connector, "start"):
            task.start(spec.task_config, offsets)
        self._progress.state = "running"
        topics = self._topics = TopicCreator(self._topic_creation(), lambda: Admin(self._client("admin")))
        make_producer = functools.partial(self._make_producer, stack)
        parts = CommitterParts(spec.connector, task, make_producer, pipeline, topics, lease, self._progress, raw_keys)
        committer: Committer
        if producer is None:
            committer = self._at_least_once(parts)
        else:
            committer = self._exactly_once(parts, producer, boundary)
            if shared is not None:
                shared.committer = committer
        self._source = SourceLoop(spec.connector, task, committer, lease)
        self._source.run()

    def _transforms(self, stack: contextlib.ExitStack) -> TransformChain:
        chain = TransformChain.of(self._plugins, self._spec.config)
        stack.callback(self._quietly, chain.close)
        return chain

    def _tolerance(self, lease: LeaseClient, stack: contextlib.ExitStack, describe: Callable[[Any], str]) -> Tolerance:
        spec, policy, counts = self._spec, ErrorPolicy.from_config(self._spec.config), self._errors
        reporters: list[ErrorReporter] = []
        if policy.logs:
            reporters.append(LogReporter(f"{spec.connector}-{spec.task}", policy, counts, describe))
        if policy.dead_letter_topic and spec.kind == "sink":
            producer = {**self._client("producer"), "client.id": f"connector-dlq-producer-{spec.connector}-{spec.task}"}
            reporters.append(DeadLetters(spec.connector, spec.task, policy, counts, producer, self._client("admin")))
        tolerance = Tolerance(policy, reporters, counts, is_stopping=lambda: lease.should_end)
        stack.callback(self._quietly, tolerance.close)
        return tolerance

    def _quietly(self, clean_up: Callable[[], None]) -> None:
        try:
            clean_up()
        except Exception:
            # The task's work is done and decided; a failing clean-up must not undo it.
            log.exception("[%s|task-%d] cleaning up failed", self._spec.connector, self._spec.task)

    def _patiently(self, lease: LeaseClient, what: str, attempt: Callable[[], Any]) -> Any:
        """Try again while Kafka is away, for as long as tasks are retried; None if told to stop meanwhile."""
        patience_s = self._worker["seamark.retry.timeout.ms"] / 1000
        deadline = time.monotonic() + patience_s
        while not lease.should_end:
            try:
                answer = attempt()
                self._progress.error = None
                return answer
            except FencedError:
                raise
            except KafkaError as error:
                if not error.retriable or time.monotonic() >= deadline:
                    raise
                log.warning("[%s|task-%d] could not %s yet: %s", self._spec.connector, self._spec.task, what, error)
                self._progress.error = str(error)
                time.sleep(RETRY_S)
        return None

    def _make_producer(
        self,
        stack: contextlib.ExitStack,
        *,
        reports_successes: bool,
        on_wait: Callable[[], None],
        shows_identity: bool = False,
    ) -> RecordProducer:
        producer = RecordProducer(
            self._client("producer"),
            self._spec.transactional_id,
            reports_successes=reports_successes,
            on_wait=on_wait,
            shows_identity=shows_identity,
        )
        stack.callback(producer.close)
        return producer

    def _topic_creation(self) -> TopicCreation:
        return TopicCreation.from_config(self._spec.config, self._spec.worker)

    def _at_least_once(self, parts: CommitterParts) -> Committer:
        worker = self._worker
        return AtLeastOnceCommitter(
            parts,
            worker.offset_flush_interval_ms,
            worker.offset_flush_timeout_ms,
            patience_ms=worker["seamark.retry.timeout.ms"],
        )

    def _exactly_once(
        self, parts: CommitterParts, producer: RecordProducer, boundary: TransactionBoundary
    ) -> ExactlyOnceCommitter:
        return ExactlyOnceCommitter(
            parts,
            producer,
            offsets_topic=self._spec.offsets_topic or self._worker.offset_storage_topic,
            has_secondary=self._spec.has_secondary,
            boundary=boundary,
            interval_ms=transaction_boundary_interval_ms(self._spec.config, self._worker),
            transaction=parts.task.context.transaction,
        )

    def _run_sink(self, lease: LeaseClient, stack: contextlib.ExitStack) -> None:
        spec = self._spec
        converters = Converters.of(self._plugins, spec.config, self._worker)
        tolerance = self._tolerance(lease, stack, describe_consumed)
        pipeline = SinkPipeline(converters, self._transforms(stack), tolerance)
        errant = ErrantRecords(tolerance, converters) if tolerance.reporters else None
        start = {TopicPartition(topic, partition): offset for topic, partition, offset in spec.assignment}
        task: SinkTask = self._plugins.load(spec.task_class, spec.plugin_path)()
        task.context = SinkTaskContext(spec.connector, spec.task, errant)
        task.context.assignment = frozenset(start)
        stack.callback(self._quietly, task.stop)
        with connector_code(spec.connector, "start"):
            task.start(spec.task_config)
        settings = self._client("consumer")
        consumer = RecordConsumer(settings)
        stack.callback(consumer.close)
        with connector_code(spec.connector, "open"):
            task.open(sorted(start))
        consumer.assign(start)
        self._progress.state = "running"
        limits = SinkLimits(
            min(self._worker.batch_max_records, max_poll_records(settings) or PUT_RECORDS),
            self._worker.offset_flush_interval_ms / 1000,
            self._worker["seamark.retry.timeout.ms"] / 1000,
        )
        self._sink = SinkLoop(spec.connector, task, consumer, pipeline, lease, self._progress, limits, start, errant)
        stack.callback(self._quietly, functools.partial(task.close, sorted(start)))
        self._sink.run()
