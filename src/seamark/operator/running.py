"""Runs the operator until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Final

import kopf

from seamark.operator.context import Context
from seamark.operator.credentials import log_in
from seamark.operator.handlers import Watcher
from seamark.operator.kinds import WATCHED
from seamark.operator.kube import Kube, KubeError
from seamark.operator.workers import Workers

_log = logging.getLogger(__name__)
_SOON_S: Final = (0.5, 1, 1, 2, 2, 3, 3)
_LATER_S: Final = 5
_TOLD_S: Final = 0.2  # how long until the operator notices that it shall stop
_LOOK_S: Final = 2.0  # between looks for definitions that are missing
_THREADS: Final = 32
"""For looking up names, and into Kafka: where that does not answer, it must not keep the others waiting."""


class Backoffs:
    """Between attempts to reach an API server that is away: for ever, since it comes back."""

    def __iter__(self) -> Any:
        return chain(_SOON_S, repeat(_LATER_S))


def run(
    kubeconfig: Path | None,
    namespaces: Sequence[str],
    stopping: threading.Event,
    workers: Workers | None = None,
) -> None:
    """Run the operator.

    Args:
        kubeconfig: how to reach the API server; by default the pod's ServiceAccount, else the user's own.
        namespaces: to serve; none for all.
        stopping: ends it.
        workers: how workers are reached; by default without credentials.
    """
    log_in(kubeconfig)  # a mistake is told at once
    asyncio.run(_run(kubeconfig, tuple(dict.fromkeys(namespaces)), stopping, workers or Workers()))


async def _run(
    kubeconfig: Path | None, namespaces: tuple[str, ...], stopping: threading.Event, workers: Workers
) -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS, "operator"))
    kube = Kube(lambda: log_in(kubeconfig))
    watcher = Watcher(Context(kube, workers, namespaces))
    where = ", ".join(namespaces) or "all namespaces"
    try:
        # Once, unless definitions come later: then kopf begins anew, as it does not notice all of them by itself.
        while not stopping.is_set():
            served = await _served(kube, stopping)
            kube.served = {kind.kind: served.get(kind.kind, kind.versions[0]) for kind in WATCHED}
            registry = kopf.OperatorRegistry()
            kopf.on.login(registry=registry)(lambda **_: log_in(kubeconfig))
            watcher.register(registry, kube.served)
            _log.info("The operator serves %s", where)
            ending = asyncio.Event()
            watching = asyncio.create_task(_end_when_needed(kube, served, stopping, ending))
            try:
                await kopf.operator(
                    registry=registry,
                    settings=_settings(),
                    standalone=True,
                    clusterwide=not namespaces,
                    namespaces=namespaces,
                    stop_flag=ending,
                )
            finally:
                watching.cancel()
            if not ending.is_set():
                return  # kopf was told to end by a signal
    finally:
        await watcher.passes.aclose()
        await workers.aclose()
        await kube.aclose()


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.networking.error_backoffs = Backoffs()
    settings.networking.connect_timeout = 10
    settings.watching.connect_timeout = 10
    settings.queueing.exit_timeout = 1
    return settings


async def _end_when_needed(
    kube: Kube, served: Mapping[str, str], stopping: threading.Event, ending: asyncio.Event
) -> None:
    """Set `ending` when the operator shall stop, or when a kind is served that was not when it began."""
    looked_at = time.monotonic()
    while not stopping.is_set():
        await asyncio.sleep(_TOLD_S)
        if len(served) == len(WATCHED) or time.monotonic() - looked_at < _LOOK_S:
            continue
        try:
            now = await _kinds(kube)
        except KubeError as error:
            _log.warning("%s", error)
        else:
            if now.keys() - served.keys():
                break
        looked_at = time.monotonic()
    ending.set()


async def _served(kube: Kube, stopping: threading.Event) -> dict[str, str]:
    """Of each kind that is served the version to watch; waits for the API server."""
    delays = iter(Backoffs())
    while not stopping.is_set():
        try:
            return await _kinds(kube)
        except KubeError as error:
            _log.warning("%s", error)
            await asyncio.sleep(next(delays))
    return {}


async def _kinds(kube: Kube) -> dict[str, str]:
    found: dict[str, str] = {}
    for group in dict.fromkeys(kind.group for kind in WATCHED):
        for version in await kube.versions(group):
            plurals = await kube.plurals(group, version)
            for kind in WATCHED:
                if kind.group != group or kind.plural not in plurals or version not in kind.versions:
                    continue
                known = found.get(kind.kind)
                if known is None or kind.versions.index(version) < kind.versions.index(known):
                    found[kind.kind] = version
    return found
