"""`/mirrors`: how far the mirrors are, and where consumer groups of their sources go on."""

from __future__ import annotations

from seamark.rest import mirror_schemas, schemas
from seamark.rest.answers import Answer, Call, json_answer
from seamark.rest.endpoints import Endpoint
from seamark.runtime import mirror_views

MIRROR = "/mirrors/{connector}"


def _list(call: Call) -> Answer:
    return json_answer(mirror_views.mirrors(call.herder))


def _detail(call: Call) -> Answer:
    return json_answer(mirror_views.mirror(call.herder, call.connector))


def _groups(call: Call) -> Answer:
    return json_answer(mirror_views.mirror_groups(call.herder, call.connector))


def _sync_groups(call: Call) -> Answer:
    return json_answer(mirror_views.sync_mirror_groups(call.herder, call.connector))


def endpoints() -> list[Endpoint]:
    """All endpoints of this module."""
    unknown = {404: schemas.ErrorMessage}
    return [
        Endpoint(
            "GET",
            "/mirrors",
            _list,
            "How far each MirrorSourceConnector is",
            {200: mirror_schemas.Mirrors},
            tag="mirrors",
        ),
        Endpoint(
            "GET",
            MIRROR,
            _detail,
            "Positions, lags, offset syncs and checkpoints of a MirrorSourceConnector",
            {200: mirror_schemas.Mirror, **unknown},
            tag="mirrors",
        ),
        Endpoint(
            "GET",
            f"{MIRROR}/groups",
            _groups,
            "Where consumer groups of the source would go on at the target, as of now",
            {200: mirror_schemas.MirrorGroups, **unknown},
            tag="mirrors",
        ),
        Endpoint(
            "POST",
            f"{MIRROR}/groups/sync",
            _sync_groups,
            "Commit that on the target, for groups without members there; none is sent back",
            {200: mirror_schemas.SyncedGroups, **unknown},
            tag="mirrors",
        ),
    ]
