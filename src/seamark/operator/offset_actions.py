"""List, alter and reset of a connector's offsets, as annotations ask. Nothing is done after the first failure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from seamark.client import AsyncConnectClient, ClientError, StateNotReached
from seamark.errors import BadRequestError
from seamark.operator import config_maps, offset_forms, offset_requests
from seamark.operator.conditions import Warning_
from seamark.operator.connector_specs import STOPPED, ConnectorSpec
from seamark.operator.kinds import CONFIG_MAP, Kind, Resource, annotations_of, name_of, namespace_of
from seamark.operator.kube import EditConflict, Kube, KubeError, Missing
from seamark.operator.offset_requests import Action, OffsetRequest
from seamark.operator.workers import connector_path, raw_offsets

_STOP_S: Final = 10.0
"""How long to wait for a connector to stop; then the next pass tries again."""


class RefusedError(BadRequestError):
    """What is asked for cannot be done as things are."""


async def serve(
    kube: Kube, client: AsyncConnectClient, resource: Resource, spec: ConnectorSpec, request: OffsetRequest
) -> Warning_ | None:
    """Do what is asked for with one connector; the Warning says why it was not done."""
    is_missing = {Action.LIST: spec.list_to, Action.ALTER: spec.alter_from, Action.RESET: ""}[request.action] is None
    if is_missing:
        return request.property_missing(spec.name, str(resource["kind"]))
    try:
        if request.action is Action.LIST:
            await _list(kube, client, resource, spec)
        elif request.action is Action.ALTER:
            await _alter(kube, client, resource, spec)
        else:
            await _require_stopped(client, spec, "reset")
            await client.reset_offsets(spec.name)
    except (ClientError, KubeError, BadRequestError) as error:
        return request.failure(spec.name, error.message)
    return None


async def remove_annotations(kube: Kube, kind: Kind, resource: Resource, served: Mapping[str, str]) -> bool:
    """Remove annotations, all in one step, each only if it still has the value that was served.

    Returns:
        Whether they are gone; False if somebody has written others in the meantime, which count now.
    """
    namespace, name = namespace_of(resource), name_of(resource)
    try:
        await kube.edit(kind, namespace, name, offset_requests.removal(served, served))
        return True
    except Missing:
        return True
    except EditConflict:
        pass
    # Another value, or one of them was removed by somebody: then what is left of ours goes.
    found = await kube.find(kind, namespace, name)
    if found is None:
        return True
    present = annotations_of(found)
    if any(present.get(key, value) != value for key, value in served.items()):
        return False
    steps = offset_requests.removal(served, present)
    try:
        if steps:
            await kube.edit(kind, namespace, name, steps)
    except EditConflict:
        return False
    return True


async def _list(kube: Kube, client: AsyncConnectClient, resource: Resource, spec: ConnectorSpec) -> None:
    content = await raw_offsets(client, spec.name)
    if spec.mirror is not None:
        content = {"offsets": offset_forms.shorten(spec.mirror, content.get("offsets") or [])}
    name = str(spec.list_to)
    template = config_maps.template(resource, name)
    await kube.set_entry(namespace_of(resource), name, spec.key, config_maps.text_of(content), template)


async def _alter(kube: Kube, client: AsyncConnectClient, resource: Resource, spec: ConnectorSpec) -> None:
    _require_wanted_stopped(spec, "altered")
    entry, what = await _entry(kube, namespace_of(resource), str(spec.alter_from), spec.key)
    rows = offset_forms.parse(entry, what)
    await _require_stopped(client, spec, "altered")
    if spec.mirror is None:
        body = {"offsets": offset_forms.plain(rows, what)}
        await client.request("PATCH", connector_path(spec.name, "/offsets"), body)
        return
    topics: list[str] = []
    if offset_forms.needs_topics(spec.mirror, rows):
        known: list[dict[str, Any]] = (await raw_offsets(client, spec.name)).get("offsets") or []
        topics = offset_forms.topics_of(known)
    await client.alter_offsets(spec.name, offset_forms.complete(spec.mirror, rows, topics, what))


async def _entry(kube: Kube, namespace: str, name: str, key: str) -> tuple[str, str]:
    found = await kube.find(CONFIG_MAP, namespace, name)
    if found is None:
        raise RefusedError(f"ConfigMap {namespace}/{name} does not exist, so there is no data field {key}")
    data = found.get("data") or {}
    if key not in data:
        raise RefusedError(f"Data field {key} is missing in ConfigMap {namespace}/{name}")
    return str(data[key]), f"Data field {key} of ConfigMap {namespace}/{name}"


def _require_wanted_stopped(spec: ConnectorSpec, what: str) -> None:
    if spec.state != STOPPED:
        raise RefusedError(
            f"Connector is not in STOPPED state: its state in the resource is {spec.state!r}, so its offsets cannot be "
            f"{what}. Set state: stopped"
        )


async def _require_stopped(client: AsyncConnectClient, spec: ConnectorSpec, what: str) -> None:
    _require_wanted_stopped(spec, what)
    try:
        await client.await_state(spec.name, "STOPPED", _STOP_S)
    except StateNotReached as error:
        raise RefusedError(
            f"Connector is not in STOPPED state, so its offsets cannot be {what}: {error.message}"
        ) from error
