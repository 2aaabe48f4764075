"""Passes over KafkaMirrorMaker2."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from seamark.client import AsyncConnectClient, ClientError, Unreachable
from seamark.operator import (
    auto_restarts,
    conditions,
    connector_specs,
    connectors,
    mirror_specs,
    offset_actions,
    offset_requests,
    workloads,
)
from seamark.operator.conditions import NotReady, Warning_
from seamark.operator.connector_specs import ConnectorSpec
from seamark.operator.connectors import Outcome, Steps
from seamark.operator.context import Context
from seamark.operator.created_connectors import created_connectors, delete_connectors, delete_left_behind
from seamark.operator.kinds import (
    MIRROR_MAKER,
    RESTART_CONNECTOR,
    RESTART_CONNECTOR_TASK,
    RESTART_TASK,
    Key,
    annotations_of,
)
from seamark.operator.mirror_specs import InvalidResourceError, MirrorMaker
from seamark.operator.offset_requests import Action, OffsetRequest
from seamark.operator.reconcilers import Reconciler
from seamark.operator.workers import given_url, service_url

_log = logging.getLogger(__name__)
COMPONENT = "mirrormaker2"


class MirrorMakers(Reconciler):
    """Brings workers and connectors to what KafkaMirrorMaker2 resources say."""

    kind = MIRROR_MAKER

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._workloads = workloads.Applied(context.kube)

    async def reconcile(self, key: Key, resource: dict[str, Any]) -> float | None:
        """Bring it about."""
        return await _Pass(self._context, self._workloads, key, resource).run()

    async def clean_up(self, key: Key) -> None:
        """Delete what the operator has created on workers that do not go with the resource."""
        self._workloads.forget(key)
        await delete_left_behind(self._context, key)


class _Pass:
    def __init__(self, context: Context, applied: workloads.Applied, key: Key, resource: dict[str, Any]) -> None:
        self._context, self._applied, self._key, self._resource = context, applied, key, resource
        self._annotations = annotations_of(resource)
        self._status: Mapping[str, Any] = resource.get("status") or {}
        self._created = set(created_connectors(resource))
        self._served: set[str] = set()
        """Connectors for which what the annotations ask for is done."""
        self._is_done: OffsetRequest | None = None

    async def run(self) -> float:
        """Everything; the status is written in any case."""
        context, resource = self._context, self._resource
        status: dict[str, Any] = {"observedGeneration": resource["metadata"]["generation"]}
        problem: NotReady | None = None
        warnings: list[Warning_] = []
        is_settled, restarts = True, False
        try:
            maker = mirror_specs.parse(resource.get("spec"))
        except InvalidResourceError as error:
            problem = NotReady(error.reason, error.message)
            request = offset_requests.mirror_request(self._annotations, [], self._key)
            warnings = [request] if isinstance(request, Warning_) else []
        else:
            restarts = any(spec.restarts for spec in maker.connectors)
            outcomes, problem, warnings = await self._bring_about(maker, status)
            is_settled = problem is None and not warnings and all(each.is_settled for each in outcomes.values())
            status |= _connector_status(maker, outcomes, self._status)
            if problem is None and any(each.live_state == "FAILED" for each in outcomes.values()):
                problem = NotReady("ConnectorFailed", "One or more connectors are in FAILED state")
        status["conditions"] = conditions.build(problem, warnings)
        await context.write_status(MIRROR_MAKER, resource, status)
        if self._is_done is not None:
            served = self._is_done.served
            if not await offset_actions.remove_annotations(context.kube, MIRROR_MAKER, resource, served):
                _log.info("%s: another request came before the last one was over", self._key)
        return context.next_pass(self._key, is_settled=is_settled, may_fail=restarts)

    async def _bring_about(
        self, maker: MirrorMaker, status: dict[str, Any]
    ) -> tuple[dict[str, Outcome], NotReady | None, list[Warning_]]:
        names = [spec.name for spec in maker.connectors]
        request = offset_requests.mirror_request(self._annotations, names, self._key)
        warnings: list[Warning_] = [request] if isinstance(request, Warning_) else []
        request = request if isinstance(request, OffsetRequest) else None
        url = given_url(self._resource)
        if url is None:
            try:
                replicas = await self._apply_workers(maker, status)
            except workloads.NotAppliedError as error:
                asked = request.connectors if request is not None else ()
                warnings += [request.failure(name, error.message) for name in asked if request is not None]
                return {}, NotReady(error.reason, error.message), warnings
            if replicas == 0:
                status["url"] = None
                return {}, None, warnings
            url = service_url(self._resource, COMPONENT)
        status["url"] = url
        client = self._context.workers.at(url)
        outcomes: dict[str, Outcome] = {}
        problem: NotReady | None = None
        try:
            for spec in maker.connectors:
                outcomes[spec.name] = outcome = await self._connector(client, spec, request, maker.connectors)
                problem = problem or outcome.problem
                warnings += outcome.warnings
            await self._delete_others(client, names)
        except Unreachable as error:  # there is no use in asking for the others
            problem = connectors.unreachable(error)
            if request is not None:
                left = [name for name in request.connectors if name not in self._served]
                warnings += [request.failure(name, error.message) for name in left]
        except ClientError as error:
            problem = problem or connectors.unreachable(error)
        warnings += self._unclear_restarts(names)
        if request is not None and self._served >= set(request.connectors):
            self._is_done = request
        return outcomes, problem, warnings

    async def _connector(
        self,
        client: AsyncConnectClient,
        spec: ConnectorSpec,
        request: OffsetRequest | None,
        specs: Sequence[ConnectorSpec],
    ) -> Outcome:
        is_meant = request is not None and request.applies_to(spec.name)

        async def offsets() -> Warning_ | None:
            if request is None:
                return None
            warning = _collision(spec, specs, request) or await offset_actions.serve(
                self._context.kube, client, self._resource, spec, request
            )
            if warning is None:
                self._served.add(spec.name)
            return warning

        steps = Steps(
            offsets if is_meant else None,
            lambda: self._restart(client, spec),
            auto_restarts.parse(_entry(self._status.get("autoRestartStatuses"), spec.name)),
        )
        try:
            # Not all connectors at once: a worker may have many of others.
            config = await connectors.live_config(client, spec.name)
            outcome = await connectors.reconcile(
                client, spec, config, steps, lambda: self._remember_created(spec.name), self._context.now
            )
        except Unreachable:
            raise
        except ClientError as error:
            outcome = Outcome(problem=connectors.unreachable(error), is_settled=False, restarts=steps.restarts)
            if is_meant and request is not None and spec.name not in self._served:
                outcome.warnings.append(request.failure(spec.name, error.message))
        if is_meant and spec.name not in self._served:
            outcome.is_settled = False
        return outcome

    async def _restart(self, client: AsyncConnectClient, spec: ConnectorSpec) -> Warning_ | None:
        """What `restart-connector`, `restart-connector-task` and the shorter `restart-task` ask for."""
        wanted = connector_specs.mirror_restart(self._annotations.get(RESTART_CONNECTOR, ""))
        if wanted is not None and wanted[0] == spec.name:
            warning = await connectors.restart(client, spec.name, wanted[1])
            if warning is not None:
                return warning
            await self._done(RESTART_CONNECTOR)
        for annotation in (RESTART_CONNECTOR_TASK, RESTART_TASK):
            task = connector_specs.task_restart(self._annotations.get(annotation, ""))
            if task is not None and task[0] == spec.name:
                warning = await connectors.restart_task(client, *task)
                if warning is not None:
                    return warning
                await self._done(annotation)
        return None

    def _unclear_restarts(self, names: Sequence[str]) -> list[Warning_]:
        found = []
        value = self._annotations.get(RESTART_CONNECTOR)
        if value is not None:
            wanted = connector_specs.mirror_restart(value)
            if wanted is None:
                found.append(Warning_(conditions.RESTART_CONNECTOR, "Invalid annotation format"))
            elif wanted[0] not in names:
                found.append(
                    Warning_(conditions.RESTART_CONNECTOR, f"Failed to restart connector {wanted[0]}. There is none")
                )
        return found

    async def _done(self, annotation: str) -> None:
        served = {annotation: self._annotations[annotation]}
        await offset_actions.remove_annotations(self._context.kube, MIRROR_MAKER, self._resource, served)

    async def _apply_workers(self, maker: MirrorMaker, status: dict[str, Any]) -> int:
        settings = workloads.mirror_maker_workers(self._resource, maker)
        replicas = await self._applied.apply(self._key, workloads.manifests(settings))
        status |= {"replicas": replicas, "labelSelector": settings.selector_text}
        return settings.replicas

    async def _remember_created(self, name: str) -> None:
        """Before it is created: what is deleted later is only what is listed here."""
        if name not in self._created:
            self._created.add(name)
            await self._context.write_status(MIRROR_MAKER, self._resource, {"createdConnectors": sorted(self._created)})

    async def _delete_others(self, client: AsyncConnectClient, names: Sequence[str]) -> None:
        """Connectors of mirrors that are no longer in the resource."""
        left = [name for name in self._created if name not in names]
        if left:
            await delete_connectors(client, left)
            self._created.difference_update(left)
            await self._context.write_status(MIRROR_MAKER, self._resource, {"createdConnectors": sorted(self._created)})


def _collision(spec: ConnectorSpec, specs: Sequence[ConnectorSpec], request: OffsetRequest) -> Warning_ | None:
    """Two connectors whose offsets would be in the same entry of the same ConfigMap."""
    if request.action is Action.RESET:
        return None
    is_list = request.action is Action.LIST
    places = {each.name: (str(each.list_to if is_list else each.alter_from), each.key) for each in specs}
    others = offset_requests.colliding(places, spec.name)
    if not others or not (spec.list_to if is_list else spec.alter_from):
        return None
    return Warning_(
        conditions.MANAGE_OFFSETS,
        f"Failed to {request.action.value} the connector offsets for {spec.name}: {', '.join(others)} has the same "
        f"entry {spec.key} in ConfigMap {places[spec.name][0]}; name another ConfigMap for one of them",
    )


def _connector_status(maker: MirrorMaker, outcomes: Mapping[str, Outcome], old: Mapping[str, Any]) -> dict[str, Any]:
    """The part of the status that is about connectors."""
    known = {each.get("name"): each for each in old.get("connectors") or []}
    statuses = []
    for spec in maker.connectors:
        outcome = outcomes.get(spec.name)
        found = outcome.status if outcome is not None and outcome.status else known.get(spec.name)
        if found:
            statuses.append(found)
    remembered = old.get("autoRestartStatuses") or []
    restarts = [dict(each) for each in remembered if each.get("connectorName") not in outcomes]  # not looked at now
    restarts += [
        auto_restarts.entry_of(name, outcome.restarts) for name, outcome in outcomes.items() if outcome.restarts
    ]
    names = {spec.name for spec in maker.connectors}
    restarts = [each for each in restarts if each["connectorName"] in names]
    return {
        "connectors": sorted(statuses, key=lambda each: str(each.get("name"))),
        "autoRestartStatuses": sorted(restarts, key=lambda each: str(each["connectorName"])) or None,
    }


def _entry(entries: Sequence[Mapping[str, Any]] | None, name: str) -> Mapping[str, Any] | None:
    return next((each for each in entries or [] if each.get("connectorName") == name), None)
