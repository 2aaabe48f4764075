"""Passes over ResetOffset: five steps, each written to the status as it ends.

1. map the reference to topics and a group
2. find the connectors that consume as that group, and plan: until here nothing is changed
3. stop them all
4. move the offsets, once
5. start what was stopped, as it was

What may be interrupted is written down before it is done: which connectors are stopped and what state they had, and
from where to where offsets are moved. After an interruption the offsets themselves tell whether they have been moved.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any, Final

from seamark.client import ClientError, NotFound, Unsupported
from seamark.config.position_plans import Partition
from seamark.errors import ConnectError, KafkaError
from seamark.operator import log_positions, reset_plans, reset_refs, reset_states, worker_plans
from seamark.operator.context import Context
from seamark.operator.kafka_connectors import NoSuchResourceError
from seamark.operator.kinds import CONNECTOR, RESET_OFFSET, Key, name_of
from seamark.operator.leases import GroupLease, LeaseHeldError
from seamark.operator.passes import GONE, delay_after
from seamark.operator.reset_objects import GoneError, ResetObject, StepFailedError
from seamark.operator.reset_offsets import Positions
from seamark.operator.reset_plans import Move
from seamark.operator.reset_refs import Consumer, Target
from seamark.operator.reset_states import ACQUIRED, REF_MAPPED, STARTED, STOPPED, SUCCEEDED, UPDATED, Held

_log = logging.getLogger(__name__)
FIRST_DELAY_S: Final = 0.5
LONGEST_DELAY_S: Final = 1000.0
_TURN_S: Final = 1.0
"""How often to ask whether another ResetOffset is done with the group."""
_STOP_S: Final = 60.0
_START_S: Final = 60.0


class _UnclearError(ConnectError):
    """Whether offsets have been moved is not known, because the worker does not answer."""


class Resets:
    """Carries out ResetOffset resources."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._failures: dict[Key, int] = {}

    async def work(self, key: Key) -> float | None:
        """A pass."""
        context = self._context
        resource = await context.kube.find(RESET_OFFSET, key.namespace, key.name)
        if resource is None:
            self._failures.pop(key, None)
            context.forget(key)
            return GONE
        context.last_seen[key] = resource
        reset = ResetObject(context, resource)
        run = _Run(context, reset)
        if resource["metadata"].get("deletionTimestamp"):
            return await self._finalise(key, reset, run)
        if reset.is_done(SUCCEEDED):
            await reset.remove_finalizer()
            await reset.tell("Normal", "ResetOffsetSkipped", "Skipped previously successful ResetOffset")
            return None
        try:
            await run.carry_out()
        except LeaseHeldError as error:
            _log.info("%s waits: %s", key, error)
            return _TURN_S
        except GoneError:
            return 0.0
        except StepFailedError as error:
            self._failures[key] = self._failures.get(key, 0) + 1
            delay = delay_after(self._failures[key], FIRST_DELAY_S, LONGEST_DELAY_S)
            _log.warning("%s: %s: %s; again in %g s", key, error.step, error, delay)
            await reset.tell("Warning", "InternalError", reset_states.event_message(error.step, error.message))
            return delay
        self._failures.pop(key, None)
        await reset.remove_finalizer()
        await reset.tell("Normal", "ResetOffsetReconciled", "Reconciled successfully")
        return None

    async def _finalise(self, key: Key, reset: ResetObject, run: _Run) -> float | None:
        """A ResetOffset is to go: what it has stopped goes on."""
        if not reset.has_finalizer:
            return None
        lease = reset.own_lease()
        try:
            await run.start_again()
        except StepFailedError as error:
            self._failures[key] = self._failures.get(key, 0) + 1
            await reset.tell("Warning", "InternalError", reset_states.event_message(error.step, error.message))
            return delay_after(self._failures[key], FIRST_DELAY_S, LONGEST_DELAY_S)
        if lease is not None:
            await lease.give_back()
        await reset.remove_finalizer()
        await reset.tell("Normal", "ResetOffsetFinalized", "Finalized successfully")
        return None


class _Run:
    """One attempt."""

    def __init__(self, context: Context, reset: ResetObject) -> None:
        self._context, self._object = context, reset

    async def carry_out(self) -> None:
        """All steps that are still to be done.

        Raises:
            StepFailedError: one has failed.
            LeaseHeldError: another ResetOffset is at it.
        """
        await self._object.write(
            conditions=reset_states.initialised(self._object.status.get("conditions") or [], self._object.now),
            observedGeneration=self._object.resource["metadata"]["generation"],
        )
        if self._object.is_done(UPDATED):
            # Another one may have the group by now; then it is waited for.
            async with AsyncExitStack() as stack:
                lease = self._object.own_lease()
                if lease is not None:
                    await stack.enter_async_context(lease)
                await self._start()
            return
        try:
            target = await self._map()
            consumers, logs = await self._acquire(target)
            lease = GroupLease(self._context.kube, consumers[0].namespace, target.group, self._object.holder)
            async with AsyncExitStack() as stack:
                async with self._object.step(ACQUIRED, ConnectError):
                    await stack.enter_async_context(lease)
                await self._reposition(target, consumers, logs, lease)
                try:
                    await self._start()
                except StepFailedError:
                    lease.keep = True  # another one may have the group when this one has not come back in time
                    raise
        except StepFailedError as error:
            if error.step != STARTED and not self._object.status.get("updating"):
                await self._start_after_failure()
            raise

    # the steps

    async def _map(self) -> Target:
        async with self._object.step(REF_MAPPED, ConnectError):
            target = await reset_refs.map_reference(self._context, reset_refs.reference_of(self._object.resource))
        changes: dict[str, Any] = {"group": target.group}
        if not self._object.status.get("topic") or not self._object.is_done(ACQUIRED):
            changes["topic"] = target.topic_text
        await self._object.done(REF_MAPPED, **changes)
        return target

    async def _acquire(self, target: Target) -> tuple[list[Consumer], reset_plans.Logs | None]:
        """The connectors, and what Kafka says; None if that has to be left to the worker."""
        async with self._object.step(ACQUIRED, ConnectError):
            consumers = await target.consumers(self._context)
            first = consumers[0]
            for each in consumers:
                await self._context.workers.at(each.url).status(each.connector)
            known = await self._positions(target, first).current()
            logs: reset_plans.Logs | None = None
            try:
                logs = await self._read_logs(target, first, {topic for topic, _ in known})
            except (log_positions.KafkaUnknownError, KafkaError) as unknown:
                if target.is_mirror:  # its own configuration says where Kafka is
                    raise
                try:
                    await self._plan(target, first, None, known, time=reset_plans.LATEST)
                except Unsupported:
                    raise unknown from None
        topic = target.topic_text if logs is None else ",".join(logs.topics)
        await self._object.done(ACQUIRED, topic=topic or target.topic_text)
        return consumers, logs

    async def _plan(
        self,
        target: Target,
        consumer: Consumer,
        logs: reset_plans.Logs | None,
        current: Mapping[Partition, int],
        time: str | None = None,
    ) -> list[Move]:
        """Where every partition goes."""
        if logs is not None:
            return reset_plans.plan(time or self._object.time, logs, current)
        topics = target.topics(consumer, {topic for topic, _ in current})
        client = self._context.workers.at(consumer.url)
        named = topics if isinstance(topics, list) else None
        return await worker_plans.plan(client, consumer.connector, time or self._object.time, named, current)

    async def _reposition(
        self, target: Target, consumers: Sequence[Consumer], logs: reset_plans.Logs | None, lease: GroupLease
    ) -> None:
        positions = self._positions(target, consumers[0])
        if self._object.status.get("updating"):
            # Interrupted while offsets were moved.
            moves = reset_plans.moves_of(self._object.status.get("partitions") or [])
            async with self._object.step(UPDATED, ClientError):
                current = await positions.current()
            if positions.are_old(moves, current) and not positions.are_new(moves, current):
                async with self._object.step(STOPPED, ConnectError):
                    await self._stop_all(consumers)
                    current = await positions.current()
            if not positions.are_old(moves, current) or positions.are_new(moves, current):
                await self._settle(positions, moves, current)
                return
        else:
            async with self._object.step(UPDATED, ConnectError):
                reset_plans.require_past(self._object.time, self._object.resource["metadata"]["creationTimestamp"])
                moves = await self._plan(target, consumers[0], logs, await positions.current())
                positions.check(moves)
            moves = await self._stop(consumers, moves, positions)
        async with self._object.step(UPDATED, ConnectError):
            await lease.require()
            await self._move(positions, moves)
        await self._object.done(UPDATED, updating=None, partitions=[move.entry(positions.beginning) for move in moves])

    async def _stop(self, consumers: Sequence[Consumer], moves: list[Move], positions: Positions) -> list[Move]:
        async with self._object.step(STOPPED, ConnectError), AsyncExitStack() as stack:
            for each in sorted(consumers, key=Consumer.sort_key):
                await stack.enter_async_context(self._context.workers.lock(*each.sort_key()))
            known = {(held.namespace, held.connector): held for held in reset_states.held(self._object.status)}
            held = []
            for each in consumers:
                before = known.get((each.namespace, each.connector))
                # What an interrupted attempt has stopped had another state before.
                state = before.state if before is not None else await self._state(each)
                held.append(Held(each.namespace, each.cluster, each.connector, state, url=each.named_url))
            await self._object.add_finalizer()
            await self._object.write(
                consumers=[each.entry() for each in held],
                partitions=[move.entry(positions.beginning) for move in moves],
            )
            await self._stop_all(consumers)
            # Consumers have gone on since the plan was made.
            moves = reset_plans.with_old(moves, await positions.current())
        await self._object.done(STOPPED, partitions=[move.entry(positions.beginning) for move in moves], updating=True)
        return moves

    async def _move(self, positions: Positions, moves: list[Move]) -> None:
        """Move offsets, all of them or none; whether it was done is told by the offsets, not by the answer."""
        failure: ClientError | None = None
        try:
            await positions.move(moves)
        except ClientError as error:
            failure = error
        try:
            current = await positions.current()
            if positions.are_new(moves, current):
                return
            is_partial = not positions.are_old(moves, current)
            if is_partial:
                await positions.undo(moves)
        except ClientError as error:
            # Consumers stay stopped until it is known; `updating` stays in the status.
            raise _UnclearError(f"{(failure or error).message} (whether they were moved is not known yet)") from error
        await self._object.write(updating=None)
        reason = failure.message if failure is not None else "some are not where they were moved to"
        raise ConnectError(f"{reason}; all are where they were")

    async def _settle(self, positions: Positions, moves: list[Move], current: Mapping[Any, int]) -> None:
        """Offsets that were being moved when the operator was interrupted are not where they were."""
        by = {(move.topic, move.partition): move for move in moves}
        mixed = any(current.get(where) == move.old != move.new for where, move in by.items())
        is_partial = mixed and all(current.get(where) in (move.old, move.new) for where, move in by.items())
        if is_partial:
            async with self._object.step(UPDATED, ConnectError):
                await positions.undo(moves)
                await self._object.write(updating=None)
                raise ConnectError("only some were moved when the operator was interrupted; all are where they were")
        # Either they are where they should go, or somebody let the consumers go on from there. Never twice.
        entries = [move.entry(positions.beginning) for move in moves]
        if not self._object.is_done(STOPPED):
            await self._object.done(STOPPED)
        await self._object.done(UPDATED, updating=None, partitions=entries)

    async def _start(self) -> None:
        """Give every connector that was stopped the state that it had; those that have it again are left alone."""
        held = reset_states.held(self._object.status)
        problems = []
        for number, each in enumerate(held):
            if each.started:
                continue
            try:
                await self._start_one(each)
            except ConnectError as error:
                problems.append(f"{each.connector}: {error.message}")
                continue
            held[number] = replace(each, started=True)
            await self._object.write(consumers=[one.entry() for one in held])
        self._wake(held)
        if problems:
            message = "; ".join(problems)
            await self._object.failed(STARTED, message)
            raise StepFailedError(STARTED, message)
        await self._object.done(STARTED)

    async def _start_one(self, held: Held) -> None:
        url = await reset_refs.url_of(self._context, held)
        client = self._context.workers.at(url)
        async with self._context.workers.lock(url, held.connector):
            if held.state == "STOPPED":
                return
            if held.state == "PAUSED":
                await client.pause(held.connector)
                await client.await_state(held.connector, "PAUSED", _START_S)
                return
            await client.resume(held.connector)
            if held.state != "FAILED":
                await client.await_state(held.connector, "RUNNING", _START_S)

    # after a failure

    async def start_again(self) -> None:
        """Start what is stopped, because the resource is to be deleted.

        Raises:
            StepFailedError: some could not be started.
        """
        problems = []
        held = reset_states.held(self._object.status)
        for each in held:
            try:
                if not each.started and not self._object.is_done(SUCCEEDED):
                    await self._start_one(each)
            except (NoSuchResourceError, NotFound) as error:
                _log.info("%s cannot be started: %s", each.connector, error)
            except ConnectError as error:
                problems.append(f"{each.connector}: {error.message}")
        if problems:
            raise StepFailedError(STARTED, "; ".join(problems))
        await self._object.write(consumers=None)
        self._wake(held)

    async def _start_after_failure(self) -> None:
        """Let consumers go on from where they were; conditions stay as they are."""
        if not self._object.status.get("consumers"):
            return
        try:
            await self.start_again()
        except StepFailedError as error:
            _log.warning("%s: consumers could not be started again: %s", name_of(self._object.resource), error)

    def _wake(self, held: Sequence[Held]) -> None:
        """Their own resources may want something else by now."""
        for each in held:
            self._context.wake(Key(CONNECTOR.kind, each.namespace, each.connector))

    # workers and Kafka

    def _positions(self, target: Target, consumer: Consumer) -> Positions:
        client = self._context.workers.at(consumer.url)
        return Positions(client, consumer.connector, consumer.config, target.is_mirror)

    async def _read_logs(self, target: Target, consumer: Consumer, known: set[str]) -> reset_plans.Logs:
        if target.is_mirror:
            settings = log_positions.mirror_settings(consumer.config)
        else:
            resources = self._object.resource, consumer.resource, consumer.connect
            settings = log_positions.sink_settings(consumer.config, *resources)
        settings = await log_positions.resolved(self._context.kube, consumer.namespace, settings)
        try:
            at_ms = reset_plans.parse_time(self._object.time)
        except reset_plans.ResetRefusedError:
            at_ms = None  # is told when the plan is made
        return await asyncio.to_thread(log_positions.read_logs, settings, target.topics(consumer, known), at_ms)

    async def _state(self, consumer: Consumer) -> str:
        return (await self._context.workers.at(consumer.url).status(consumer.connector)).connector.state

    async def _stop_all(self, consumers: Sequence[Consumer]) -> None:
        await _all(self._context.workers.at(each.url).stop(each.connector) for each in consumers)
        await _all(
            self._context.workers.at(each.url).await_state(each.connector, "STOPPED", _STOP_S) for each in consumers
        )


async def _all(calls: Iterable[Awaitable[Any]]) -> None:
    """Do all at once, wait for all, and tell all that went wrong."""
    results = await asyncio.gather(*calls, return_exceptions=True)
    errors = [each for each in results if isinstance(each, BaseException)]
    others = [each for each in errors if not isinstance(each, ConnectError)]
    if others:
        raise others[0]
    if errors:
        raise ConnectError("; ".join(str(each) for each in errors))
