"""Connectors that the operator has created: the only ones that it deletes. Their names are in the resource's status."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from seamark.client import AsyncConnectClient, ClientError, NotFound
from seamark.operator.context import Context
from seamark.operator.kinds import Key, Resource
from seamark.operator.workers import given_url

_log = logging.getLogger(__name__)
_GIVE_UP_S: Final = 600.0
"""For how long the workers of a resource that is gone are waited for."""


def created_connectors(resource: Resource) -> list[str]:
    """The connectors that the operator has created for a resource."""
    return [str(each) for each in (resource.get("status") or {}).get("createdConnectors") or []]


async def delete_connectors(client: AsyncConnectClient, names: Sequence[str]) -> None:
    """Delete connectors; those that are not there are no error."""
    for name in names:
        try:
            await client.delete(name)
        except NotFound:
            continue


async def delete_left_behind(context: Context, key: Key) -> None:
    """Delete what was created on workers that do not go with a resource that is gone.

    Raises:
        ClientError: they do not answer; but after a while they count as gone, too.
    """
    gone = context.last_seen.get(key)
    if gone is None:
        return
    url, names = given_url(gone), created_connectors(gone)
    if url is None or not names:
        return
    try:
        await delete_connectors(context.workers.at(url), names)
    except ClientError as error:
        if context.gone_s(key) < _GIVE_UP_S:
            raise
        _log.warning("%s is gone, but not its connectors %s at %s: %s", key, ", ".join(names), url, error.message)
