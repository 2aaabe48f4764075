"""Passes over KafkaConnect: its workers, and connectors whose KafkaConnector is gone."""

from __future__ import annotations

from typing import Any

from seamark.client import AsyncConnectClient, ClientError
from seamark.operator import conditions, connectors, workloads
from seamark.operator.conditions import NotReady
from seamark.operator.context import Context
from seamark.operator.created_connectors import created_connectors, delete_connectors
from seamark.operator.kinds import (
    CLUSTER_LABEL,
    CONNECT,
    CONNECTOR,
    USE_CONNECTOR_RESOURCES,
    Key,
    Resource,
    annotations_of,
    labels_of,
    name_of,
)
from seamark.operator.mirror_specs import InvalidResourceError
from seamark.operator.reconcilers import Reconciler
from seamark.operator.workers import given_url, service_url

COMPONENT = "connect"


def url_of(resource: Resource) -> str:
    """Where the workers of a KafkaConnect are."""
    return given_url(resource) or service_url(resource, COMPONENT)


def has_workers(resource: Resource) -> bool:
    """Whether there are any; those outside of the cluster are not ours to count."""
    return given_url(resource) is not None or int(resource["spec"].get("replicas", 1)) > 0


def uses_connector_resources(resource: Resource) -> bool:
    """Whether its connectors are KafkaConnector resources."""
    return annotations_of(resource).get(USE_CONNECTOR_RESOURCES, "").lower() == "true"


class ConnectClusters(Reconciler):
    """Brings workers to what KafkaConnect resources say."""

    kind = CONNECT

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._workloads = workloads.Applied(context.kube)

    async def clean_up(self, key: Key) -> None:
        """Its workers go with it, by their owner references."""
        self._workloads.forget(key)

    async def reconcile(self, key: Key, resource: dict[str, Any]) -> float | None:
        """Bring it about."""
        context = self._context
        status: dict[str, Any] = {"observedGeneration": resource["metadata"]["generation"]}
        problem: NotReady | None = None
        try:
            if given_url(resource) is None:
                settings = workloads.connect_workers(resource)
                status["replicas"] = await self._workloads.apply(key, workloads.manifests(settings))
                status["labelSelector"] = settings.selector_text
            if has_workers(resource):
                status["url"] = url_of(resource)
                client = context.workers.at(url_of(resource))
                status["connectorPlugins"] = await _plugins(client)
                await self._delete_orphans(resource, client)
            else:
                status["url"] = None
        except (InvalidResourceError, workloads.NotAppliedError) as error:
            problem = NotReady(error.reason, error.message)
        except ClientError as error:
            problem = connectors.unreachable(error)
        status["conditions"] = conditions.build(problem, [])
        await context.write_status(CONNECT, resource, status)
        return context.next_pass(key, is_settled=problem is None or problem.reason == InvalidResourceError.reason)

    async def _delete_orphans(self, resource: dict[str, Any], client: AsyncConnectClient) -> None:
        """Delete what was created for a KafkaConnector that is gone, or belongs elsewhere now."""
        if not uses_connector_resources(resource) or not created_connectors(resource):
            return
        namespace = resource["metadata"]["namespace"]
        async with self._context.workers.lock(url_of(resource)):
            resource = await self._context.kube.get(CONNECT, namespace, name_of(resource))
            known = await self._context.kube.all(CONNECTOR, namespace, f"{CLUSTER_LABEL}={name_of(resource)}")
            created, wanted = created_connectors(resource), {name_of(each) for each in known}
            left = [name for name in created if name not in wanted]
            if left:
                moved = [name for name in left if await self._hand_over(resource, name)]
                await delete_connectors(client, [name for name in left if name not in moved])
                await self._context.write_status(
                    CONNECT, resource, {"createdConnectors": [name for name in created if name in wanted]}
                )

    async def _hand_over(self, resource: Resource, connector: str) -> bool:
        """Whether a connector belongs to another KafkaConnect of the same workers now, which is noted down there."""
        namespace = resource["metadata"]["namespace"]
        known = await self._context.kube.find(CONNECTOR, namespace, connector)
        name = None if known is None else labels_of(known).get(CLUSTER_LABEL)
        other = await self._context.kube.find(CONNECT, namespace, name) if name else None
        if other is None or url_of(other) != url_of(resource):
            return False
        created = sorted({*created_connectors(other), connector})
        await self._context.write_status(CONNECT, other, {"createdConnectors": created})
        return True


async def remember_created(context: Context, cluster: Resource, connector: str) -> None:
    """Note down, before it is created, that a connector is the operator's."""
    async with context.workers.lock(url_of(cluster)):
        fresh = await context.kube.get(CONNECT, cluster["metadata"]["namespace"], name_of(cluster))
        created = created_connectors(fresh)
        if connector not in created:
            await context.write_status(CONNECT, fresh, {"createdConnectors": sorted([*created, connector])})


async def _plugins(client: AsyncConnectClient) -> list[dict[str, Any]]:
    found = await client.plugins()
    return [
        {"class": each.class_name, "type": each.type, **({"version": each.version} if each.version else {})}
        for each in sorted(found, key=lambda plugin: plugin.class_name)
    ]
