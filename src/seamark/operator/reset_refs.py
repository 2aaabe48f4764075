"""From the `ref` of a ResetOffset to topics, a group and the connectors that consume as that group.

A kind of reference is a `RefMapper`; to serve another one, add a mapper to `MAPPERS`.

=========================================  ==========================================  ==============================
reference                                  topic                                       group
=========================================  ==========================================  ==============================
KafkaConnector of a sink                   `topics` or `topics.regex` of its config    `consumer.override.group.id`, or
                                                                                       ``connect-<name>``
KafkaConnector of a MirrorSourceConnector  those that it has offsets of or names       its name
Subscription (messaging.knative.dev)       ``<channel's namespace>.<channel>``         ``kafka.<uid>``
=========================================  ==========================================  ==============================

Workers are those that resources lead to. The ResetOffset itself, and a Subscription, may name one more with the
annotation `seamark.dev/connect-url`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from seamark.client import AsyncConnectClient, ClientError, NotFound
from seamark.errors import BadRequestError, ConnectError
from seamark.operator import connect_clusters, connector_specs, log_positions
from seamark.operator.context import Context
from seamark.operator.kafka_connectors import NoSuchResourceError, Place, place_of
from seamark.operator.kinds import CONNECT, CONNECTOR, MIRROR_MAKER, SUBSCRIPTION, Kind, Resource, name_of, namespace_of
from seamark.operator.kube import KubeError
from seamark.operator.log_positions import SelectTopic
from seamark.operator.reset_states import Held
from seamark.operator.workers import given_url

_log = logging.getLogger(__name__)
_LOOK_S: Final = 15.0
"""How long to wait for a worker that may have connectors of a group, or not."""
_MIRROR: Final = "MirrorSourceConnector"
_GROUP: Final = "consumer.override.group.id"


class RefError(BadRequestError):
    """A reference does not lead to a consumer group."""


class DataPlaneError(ConnectError):
    """The connectors of a group cannot be found or reached."""


@dataclass(frozen=True, slots=True)
class Reference:
    """What a ResetOffset refers to; `url` is that of a worker, if the ResetOffset names one."""

    api_version: str
    kind: str
    namespace: str
    name: str
    url: str | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name} ({self.api_version})"

    @property
    def group(self) -> str:
        """Of its API."""
        return self.api_version.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Consumer:
    """A connector that consumes as a group.

    Attributes:
        namespace: of its resource.
        cluster: its KafkaConnect, empty if it has none.
        connector: its name.
        url: of a worker.
        config: as the worker has it.
        resource: its KafkaConnector, if it has one, or the resource that names its worker.
        connect: its KafkaConnect, if it has one.
        named_url: of the worker, if its KafkaConnect does not lead there; else empty.
    """

    namespace: str
    cluster: str
    connector: str
    url: str
    config: Mapping[str, str | None]
    resource: Resource | None = None
    connect: Resource | None = None
    named_url: str = ""

    def sort_key(self) -> tuple[str, str]:
        """Locks are taken in this order."""
        return self.url, self.connector


class Target(Protocol):
    """What a reference leads to."""

    @property
    def group(self) -> str:
        """The consumer group; of a mirror its name."""

    @property
    def topic_text(self) -> str:
        """Its topics, as far as they are known without asking anybody."""

    @property
    def is_mirror(self) -> bool:
        """Whether its offsets are those of a MirrorSourceConnector."""

    def topics(self, consumer: Consumer, known: Collection[str]) -> list[str] | SelectTopic:
        """By name, or which of all; `known` are those that the consumer has offsets of."""

    async def consumers(self, context: Context) -> list[Consumer]:
        """All connectors that consume as the group; the first one is asked for offsets.

        Raises:
            ConnectError: they cannot be found or reached.
        """


class RefMapper(Protocol):
    """Serves one kind of reference."""

    api_group: str
    kind: str

    async def map(self, context: Context, reference: Reference) -> Target:
        """What the reference leads to.

        Raises:
            RefError: nothing.
        """


def reference_of(resource: Resource) -> Reference:
    """What a ResetOffset refers to; without a namespace it is in its own."""
    ref = resource["spec"]["ref"]
    return Reference(
        str(ref["apiVersion"]),
        str(ref["kind"]),
        str(ref.get("namespace") or namespace_of(resource)),
        str(ref["name"]),
        given_url(resource),
    )


async def map_reference(context: Context, reference: Reference) -> Target:
    """What a reference leads to.

    Raises:
        RefError: nothing, or the kind is not served.
    """
    for mapper in MAPPERS:
        if (mapper.api_group, mapper.kind) == (reference.group, reference.kind):
            return await mapper.map(context, reference)
    served = ", ".join(f"{mapper.kind} ({mapper.api_group})" for mapper in MAPPERS)
    raise RefError(f"a reference to {reference} is not supported; supported are {served}")


def sink_group(name: str, config: Mapping[str, str | None]) -> str:
    """The consumer group of a sink."""
    return config.get(_GROUP) or f"connect-{name}"


# connectors


@dataclass(frozen=True, slots=True)
class ConnectorTarget:
    """The connector of a KafkaConnector."""

    resource: Resource
    spec: connector_specs.ConnectorSpec
    group: str
    topic_text: str
    is_mirror: bool
    url: str | None = None
    """Of its worker, if it does not say so itself."""

    def topics(self, consumer: Consumer, known: Collection[str]) -> list[str] | SelectTopic:
        """By name, or which of all."""
        if self.is_mirror:
            wanted = {*known, *_listed(consumer.config.get("topics") or "")}
            return lambda topic: topic in wanted
        return _sink_topics(consumer.config)

    async def consumers(self, context: Context) -> list[Consumer]:
        """This connector, and others on the same workers with the same group."""
        place = await place_of(context, self.resource, self.url)
        client = context.workers.at(place.url)
        try:
            config = await client.config(self.spec.name)
        except NotFound as error:
            raise DataPlaneError(f"{error.message} at {place.url}") from error
        first = _consumer(namespace_of(self.resource), place, self.spec.name, config, self.resource)
        if self.is_mirror:
            return [first]
        others = await _sinks_of_group(client, self.group)
        return [
            first,
            *(
                _consumer(first.namespace, place, name, other, None)
                for name, other in sorted(others.items())
                if name != self.spec.name
            ),
        ]


async def _referred(kind: Kind, context: Context, reference: Reference) -> Resource:
    try:
        resource = await context.kube.find(kind, reference.namespace, reference.name)
    except KubeError as error:
        raise RefError(f"failed to get {reference}: {error}") from error
    if resource is None:
        raise RefError(f"failed to get {reference}: there is none")
    return resource


class KafkaConnectorMapper:
    """Sinks and mirrors."""

    api_group, kind = CONNECTOR.group, CONNECTOR.kind

    async def map(self, context: Context, reference: Reference) -> Target:
        """What the reference leads to."""
        resource = await _referred(CONNECTOR, context, reference)
        spec = connector_specs.kafka_connector(resource)
        config = spec.config
        if config["connector.class"].endswith(_MIRROR):
            return ConnectorTarget(resource, spec, spec.name, config.get("topics", ".*"), True, reference.url)
        topics = config.get("topics") or config.get("topics.regex")
        if not topics:
            raise RefError(f"{reference} is neither a sink nor a {_MIRROR}: it has no consumer group")
        text = ",".join(_listed(topics)) if config.get("topics") else topics
        return ConnectorTarget(resource, spec, sink_group(spec.name, config), text, False, reference.url)


# Knative


@dataclass(frozen=True, slots=True)
class SubscriptionTarget:
    """The consumer group of a Subscription to a Kafka channel."""

    group: str
    topic_text: str
    subscription: Resource
    urls: Sequence[str] = ()
    """Of workers that the Subscription or the ResetOffset names."""
    is_mirror: bool = False

    def topics(self, consumer: Consumer, known: Collection[str]) -> list[str] | SelectTopic:
        """The channel's topic."""
        return [self.topic_text]

    async def consumers(self, context: Context) -> list[Consumer]:
        """All connectors that consume as the group, on all workers that resources name."""
        found: dict[tuple[str, str], Consumer] = {}
        for resource in await context.list_all(CONNECTOR):
            spec = connector_specs.kafka_connector(resource)
            if sink_group(spec.name, spec.config) == self.group:
                for each in await ConnectorTarget(resource, spec, self.group, self.topic_text, False).consumers(
                    context
                ):
                    found.setdefault(each.sort_key(), each)
        places = await self._places(context)
        answers = await asyncio.gather(*(self._look(context, place) for place, _ in places))
        unreachable = []
        for (place, known), sinks in zip(places, answers, strict=True):
            if sinks is None:
                unreachable.append(place.url)
                continue
            for name, config in sinks.items():
                each = _consumer(namespace_of(known), place, name, config, known)
                found.setdefault(each.sort_key(), each)
        silent = [url for url in self.urls if url in unreachable]
        if silent:
            raise DataPlaneError(f"no answer from {', '.join(silent)}, where connectors of group {self.group} may be")
        if not found:
            hint = f"; no answer from {', '.join(unreachable)}" if unreachable else ""
            raise DataPlaneError(f"no connector consumes as group {self.group}{hint}")
        return [found[key] for key in sorted(found)]

    async def _places(self, context: Context) -> list[tuple[Place, Resource]]:
        """Every worker once, with the resource that leads there."""
        found: dict[str, tuple[Place, Resource]] = {}
        for cluster in await context.list_all(CONNECT):
            if connect_clusters.has_workers(cluster):
                url = connect_clusters.url_of(cluster)
                found.setdefault(url, (Place(url, cluster), cluster))
        for maker in await context.list_all(MIRROR_MAKER):
            outside = given_url(maker)
            if outside is not None:
                found.setdefault(outside, (Place(outside), maker))
        for url in self.urls:
            found.setdefault(url, (Place(url), self.subscription))
        return list(found.values())

    async def _look(self, context: Context, place: Place) -> dict[str, Mapping[str, str | None]] | None:
        """The connectors of the group on a worker; None if it does not answer."""
        try:
            async with asyncio.timeout(_LOOK_S):
                return await _sinks_of_group(context.workers.at(place.url), self.group)
        except (ClientError, TimeoutError) as error:
            _log.info("Connectors of group %s are not looked for at %s: %s", self.group, place.url, error)
            return None


class SubscriptionMapper:
    """Subscriptions to Knative's Kafka channels, whose dispatcher is a sink connector here."""

    api_group, kind = SUBSCRIPTION.group, SUBSCRIPTION.kind

    async def map(self, context: Context, reference: Reference) -> Target:
        """What the reference leads to."""
        resource = await _referred(SUBSCRIPTION, context, reference)
        channel: Mapping[str, Any] = (resource.get("spec") or {}).get("channel") or {}
        if not channel.get("name"):
            raise RefError(f"failed to map {reference} to a topic: it has no channel")
        topic = f"{channel.get('namespace') or reference.namespace}.{channel['name']}"
        urls = [url for url in (given_url(resource), reference.url) if url is not None]
        return SubscriptionTarget(f"kafka.{resource['metadata']['uid']}", topic, resource, urls)


MAPPERS: list[RefMapper] = [KafkaConnectorMapper(), SubscriptionMapper()]


# inside


def _consumer(
    namespace: str, place: Place, connector: str, config: Mapping[str, str | None], resource: Resource | None
) -> Consumer:
    cluster = "" if place.cluster is None else name_of(place.cluster)
    named_url = "" if place.is_of_cluster else place.url
    return Consumer(namespace, cluster, connector, place.url, config, resource, place.cluster, named_url)


async def _sinks_of_group(client: AsyncConnectClient, group: str) -> dict[str, Mapping[str, str | None]]:
    found = await client.expanded(info=True, status=False)
    return {
        name: each.info.config
        for name, each in found.items()
        if each.info is not None and each.info.type == "sink" and sink_group(name, each.info.config) == group
    }


def _sink_topics(config: Mapping[str, str | None]) -> list[str] | SelectTopic:
    topics = config.get("topics")
    if topics:
        return _listed(topics)
    return log_positions.matching(config.get("topics.regex") or "")


def _listed(topics: str) -> list[str]:
    return [topic for each in topics.split(",") if (topic := each.strip())]


async def url_of(context: Context, held: Held) -> str:
    """Where a connector is that was stopped earlier.

    Raises:
        NoSuchResourceError: its resources are gone.
    """
    resource = await context.kube.find(CONNECTOR, held.namespace, held.connector)
    if resource is not None:
        return (await place_of(context, resource, held.url or None)).url
    if held.url:
        return held.url
    connect = await context.kube.find(CONNECT, held.namespace, held.cluster) if held.cluster else None
    if connect is None:
        raise NoSuchResourceError(
            f"KafkaConnector and KafkaConnect of {held.connector} in namespace {held.namespace} are gone"
        )
    return connect_clusters.url_of(connect)
