"""Who has changed what: a line of JSON for every request that may change something, carried out or refused.

The lines go to the logger ``seamark.audit``. One request is one line: a request that is sent on to another worker is
told by the worker that carries it out. Neither bodies nor queries are in it, so no value of a configuration is.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from seamark.rest.endpoints import Endpoint
from seamark.rest.identity import Identity, Role
from seamark.runtime.herder import Herder

log = logging.getLogger(__name__)

AUDIT: Final = logging.getLogger("seamark.audit")
_REFUSED: Final = 400


def is_audited(endpoint: Endpoint) -> bool:
    """Whether an endpoint may change something for a user: what workers ask of each other is no user's doing."""
    return endpoint.needs in (Role.OPERATOR, Role.EDITOR)


class Audit:
    """Writes the lines, and notes what was carried out among the events of connectors."""

    def __init__(self, herder: Herder) -> None:
        self._herder = herder

    def note(
        self,
        identity: Identity,
        client: str,
        request_id: str,
        method: str,
        path: str,
        status: int,
        more: Mapping[str, Any],
    ) -> None:
        """A request is answered.

        Args:
            identity: of the user.
            client: the address that it came from, at first.
            request_id: of the request.
            method: of the request.
            path: without its query.
            status: of the answer.
            more: what else is worth to be known, such as the connector.
        """
        entry: dict[str, Any] = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "user": identity.user,
            "role": None if identity.role is Role.ANYONE else identity.role.value,
            "auth": identity.auth,
            "address": client,
            "method": method,
            "path": path,
            "status": status,
            "request_id": request_id,
            **more,
        }
        AUDIT.info("%s", json.dumps(entry, ensure_ascii=True))
        if status < _REFUSED:
            try:
                self._note_events(entry)
            except Exception:  # the request is carried out, and its line is written
                log.exception("The request %s is not among the events of its connector", request_id)

    def _note_events(self, entry: Mapping[str, Any]) -> None:
        seen = self._herder.observation
        if seen is None:
            return
        names = [entry["connector"]] if "connector" in entry else entry.get("connectors", ())
        done = f"{entry['action']}: " if "action" in entry else ""
        detail = {name: entry[name] for name in ("role", "address", "method", "path", "status", "request_id")}
        for name in names:
            said = f"{done}{entry['method']} {entry['path']} answered with {entry['status']}"
            seen.events.add(name, "audit", said, who=entry["user"] or entry["address"] or None, detail=detail)
