"""Passes over KafkaConnector."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seamark.client import AsyncConnectClient, ClientError
from seamark.errors import BadRequestError
from seamark.operator import (
    auto_restarts,
    conditions,
    connect_clusters,
    connector_specs,
    connectors,
    offset_actions,
    offset_requests,
    reset_states,
)
from seamark.operator.conditions import NotReady, Warning_
from seamark.operator.connectors import Outcome, Steps
from seamark.operator.context import Context
from seamark.operator.created_connectors import delete_left_behind
from seamark.operator.kinds import (
    CLUSTER_LABEL,
    CONNECT,
    CONNECTOR,
    RESET_OFFSET,
    RESTART,
    RESTART_TASK,
    Key,
    Resource,
    annotations_of,
    labels_of,
    name_of,
    namespace_of,
)
from seamark.operator.offset_requests import OffsetRequest
from seamark.operator.reconcilers import Reconciler
from seamark.operator.workers import given_url

_NO = re.compile(r"\s*|.*false.*", re.IGNORECASE)


class NoSuchResourceError(BadRequestError):
    """A resource refers to another one that is not there."""

    def __init__(self, message: str, reason: str = "NoSuchResourceException") -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Place:
    """Where a connector is: a worker's address, and the KafkaConnect that it belongs to, if it does."""

    url: str
    cluster: dict[str, Any] | None = None

    @property
    def is_of_cluster(self) -> bool:
        """Whether the KafkaConnect leads to that address by itself."""
        return self.cluster is not None and self.url == connect_clusters.url_of(self.cluster)


async def place_of(context: Context, resource: Resource, named: str | None = None) -> Place:
    """Where the connector of a KafkaConnector is.

    Args:
        context: of the pass.
        resource: the KafkaConnector.
        named: a worker's address that counts if the KafkaConnector itself has none.

    Raises:
        NoSuchResourceError: it cannot be told; the words are Strimzi's.
    """
    url = given_url(resource) or named
    namespace = namespace_of(resource)
    name = labels_of(resource).get(CLUSTER_LABEL)
    if name is None:
        if url is not None:
            return Place(url)
        raise NoSuchResourceError(
            f"Resource lacks label '{CLUSTER_LABEL}': No connect cluster in which to create this connector.",
            "InvalidResourceException",
        )
    cluster = await context.kube.find(CONNECT, namespace, name)
    if cluster is None:
        if url is not None:
            return Place(url)
        raise NoSuchResourceError(
            f"KafkaConnect resource '{name}' identified by label '{CLUSTER_LABEL}' does not exist in namespace "
            f"{namespace}."
        )
    if not connect_clusters.uses_connector_resources(cluster) and url is None:
        raise NoSuchResourceError(
            f"KafkaConnect {name} is not configured with annotation strimzi.io/use-connector-resources"
        )
    if not connect_clusters.has_workers(cluster) and url is None:
        raise NoSuchResourceError(
            f"Kafka Connect cluster '{name}' in namespace {namespace} has 0 replicas.", "RuntimeException"
        )
    return Place(url or connect_clusters.url_of(cluster), cluster)


class KafkaConnectors(Reconciler):
    """Brings connectors to what KafkaConnector resources say."""

    kind = CONNECTOR

    async def reconcile(self, key: Key, resource: dict[str, Any]) -> float | None:
        """Bring it about."""
        return await _Pass(self._context, key, resource).run()

    async def clean_up(self, key: Key) -> None:
        """Delete a connector that no KafkaConnect looks after; for the others their KafkaConnect is woken."""
        await delete_left_behind(self._context, key)


class _Pass:
    def __init__(self, context: Context, key: Key, resource: dict[str, Any]) -> None:
        self._context, self._key, self._resource = context, key, resource
        self._annotations = annotations_of(resource)
        self._status: Mapping[str, Any] = resource.get("status") or {}
        self._is_served = False

    async def run(self) -> float:
        """Everything; the status is written in any case."""
        context, resource = self._context, self._resource
        status: dict[str, Any] = {"observedGeneration": resource["metadata"]["generation"]}
        request = offset_requests.connector_request(self._annotations, self._key)
        warnings: list[Warning_] = [request] if isinstance(request, Warning_) else []
        request = request if isinstance(request, OffsetRequest) else None
        problem: NotReady | None = None
        is_settled = False
        try:
            place = await place_of(context, resource)
            outcome = await self._bring_about(place, request)
            warnings += outcome.warnings
            problem = outcome.problem or _failure(outcome)
            is_settled = outcome.is_settled and not warnings
            status |= await self._connector_status(place, outcome)
        except NoSuchResourceError as error:
            problem = NotReady(error.reason, error.message)
            if request is not None:
                warnings.append(request.failure(self._key.name, error.message))
            is_settled = not warnings
        except ClientError as error:
            problem = connectors.unreachable(error)
            if request is not None:
                warnings.append(request.failure(self._key.name, error.message))
        status["conditions"] = conditions.build(problem, warnings)
        await context.write_status(CONNECTOR, resource, status)
        if request is not None and self._is_served:
            await offset_actions.remove_annotations(context.kube, CONNECTOR, resource, request.served)
        may_fail = connector_specs.state_of(resource["spec"]) == connector_specs.RUNNING
        return context.next_pass(self._key, is_settled=is_settled, may_fail=may_fail)

    async def _bring_about(self, place: Place, request: OffsetRequest | None) -> Outcome:
        context = self._context
        client = context.workers.at(place.url)
        spec = connector_specs.kafka_connector(self._resource)

        async def offsets() -> Warning_ | None:
            if request is None:
                return None
            warning = await offset_actions.serve(context.kube, client, self._resource, spec, request)
            self._is_served = warning is None
            return warning

        async def creating() -> None:
            if place.is_of_cluster and place.cluster is not None:
                await connect_clusters.remember_created(context, place.cluster, spec.name)
            else:
                await context.write_status(CONNECTOR, self._resource, {"createdConnectors": [spec.name]})

        # A reset decides under the same lock, so neither undoes what the other has just done.
        async with context.workers.lock(place.url, spec.name):
            live = await connectors.live_config(client, spec.name)
            steps = Steps(
                None if request is None else offsets,
                lambda: self._restart(client),
                auto_restarts.parse(self._status.get("autoRestart")),
                await self._is_held(place),
            )
            outcome = await connectors.reconcile(client, spec, live, steps, creating, context.now)
        if request is not None and not self._is_served:
            outcome.is_settled = False
        return outcome

    async def _is_held(self, place: Place) -> bool:
        """Whether a ResetOffset has the connector stopped."""
        for reset in await self._context.list_all(RESET_OFFSET):
            if reset_states.holds(reset, namespace_of(self._resource), name_of(self._resource), place.url):
                return True
        return False

    async def _restart(self, client: AsyncConnectClient) -> Warning_ | None:
        """What `restart` and `restart-task` ask for."""
        name = self._key.name
        value = self._annotations.get(RESTART)
        if value is not None and not _NO.fullmatch(value):
            wanted = connector_specs.restart_of(value)
            if wanted is None:
                return Warning_(conditions.RESTART_CONNECTOR, "Invalid annotation format")
            warning = await connectors.restart(client, name, wanted)
            if warning is not None:
                return warning
            await self._done(RESTART, value)
        value = self._annotations.get(RESTART_TASK)
        if value is not None and value.isascii() and value.isdigit():
            warning = await connectors.restart_task(client, name, int(value))
            if warning is not None:
                return warning
            await self._done(RESTART_TASK, value)
        return None

    async def _done(self, annotation: str, value: str) -> None:
        await offset_actions.remove_annotations(self._context.kube, CONNECTOR, self._resource, {annotation: value})

    async def _connector_status(self, place: Place, outcome: Outcome) -> dict[str, Any]:
        topics: list[str] = []
        try:
            topics = sorted(await self._context.workers.at(place.url).topics(self._key.name))
        except ClientError:
            topics = list(self._status.get("topics") or [])
        tasks = self._resource["spec"].get("tasksMax")
        return {
            "connectorStatus": outcome.status or self._status.get("connectorStatus"),
            "tasksMax": tasks,
            "topics": topics,
            "autoRestart": auto_restarts.entry_of(self._key.name, outcome.restarts) if outcome.restarts else None,
        }


def _failure(outcome: Outcome) -> NotReady | None:
    if outcome.live_state == "FAILED":
        return NotReady("ConnectorFailed", "Connector has failed, see connectorStatus for more details.")
    failed = outcome.failed_tasks
    if failed:
        listed = ", ".join(map(str, failed))
        return NotReady(
            "ConnectorFailed", f"The following tasks have failed: {listed}, see connectorStatus for more details."
        )
    return None
