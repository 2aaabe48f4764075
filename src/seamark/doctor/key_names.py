"""Keys of a worker's file that nothing reads, and what was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from seamark.config.worker_keys import WORKER
from seamark.kafka.client_keys import client_config_def
from seamark.kafka.overrides import Role

ROLES: Final[tuple[Role, ...]] = ("producer", "consumer", "admin")
_CLOSE: Final = 0.84
_FREE_PREFIXES: Final = (
    "spark.",
    "config.providers.",
    "key.converter.",
    "value.converter.",
    "header.converter.",
    "rest.extension.",
    "metrics.context.",
    "offset.storage.",
    "config.storage.",
    "status.storage.",
    "seamark.history.storage.",
    "internal.",
)
"""What follows these is for somebody else: Spark, a plugin, the settings of a topic."""
_TLS_PREFIXES: Final = ("listeners.https.", "admin.listeners.https.")
_OF_JAVA: Final = frozenset(
    """auto.include.jmx.reporter connect.protocol metric.reporters
    plugin.discovery rest.host.name rest.port scheduled.rebalance.max.delay.ms worker.sync.timeout.ms
    worker.unsync.backoff.ms""".split()
)
"""Keys of Kafka Connect's own worker that have no meaning here, and do no harm."""
_STORAGE: Final = ("topic", "partitions", "replication.factor")


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """A key that nothing reads; `meant` is the known key that looks like it, if one does."""

    name: str
    meant: str | None


def unknown_keys(properties: Mapping[str, str]) -> list[UnknownKey]:
    """The keys of a worker's file that neither the worker nor its clients know."""
    found = []
    for name in properties:
        known = _known_like(name)
        if name in known or (name.startswith(_FREE_PREFIXES) and not _is_near_miss(name)):
            continue
        close = closest(name, known)
        if close is None and name.startswith(tuple(f"{role}." for role in ROLES)):
            continue  # librdkafka has many settings of its own
        found.append(UnknownKey(name, close))
    return found


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known key that a name is most probably a misspelling of."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=_CLOSE)
    return close[0] if close else None


def _is_near_miss(name: str) -> bool:
    """Whether a key like ``offset.storage.topics`` is rather a misspelt one of the worker's than one of a topic's."""
    prefix, _, rest = name.partition(".storage.")
    if not rest or prefix not in ("offset", "config", "status"):
        return False
    return rest not in _STORAGE and closest(rest, _STORAGE) is not None


def _known_like(name: str) -> frozenset[str]:
    """The known keys among which a name has its place."""
    for role in ROLES:
        if name.startswith(f"{role}.") and not name.startswith("admin.listeners"):
            return frozenset(f"{role}.{key}" for key in client_config_def(role).names())
    for prefix in _TLS_PREFIXES:
        if name.startswith(prefix):
            return frozenset(prefix + key for key in WORKER.names() if key.startswith("ssl."))
    return worker_level_keys()


@cache
def worker_level_keys() -> frozenset[str]:
    """Keys that may be in a worker's file without a prefix."""
    clients = {name for role in ROLES for name in client_config_def(role).names()}
    return frozenset(WORKER.names()) | clients | _OF_JAVA | {"enable.ssl.certificate.verification"}
