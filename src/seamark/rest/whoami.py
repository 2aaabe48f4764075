"""`/whoami`: an addition to Kafka Connect's API."""

from __future__ import annotations

from pydantic import BaseModel, Field

from seamark.rest.answers import Answer, Call, json_answer
from seamark.rest.endpoints import Endpoint


class WhoAmI(BaseModel):
    """The user that a request comes from."""

    user: str | None = Field(description="null if the worker asks nobody who they are")
    role: str = Field(description="`viewer`, `operator` or `editor`")
    auth: str = Field(description="`none`, `basic` or `oidc`")


def _whoami(call: Call) -> Answer:
    found = call.identity
    return json_answer({"user": found.user, "role": found.role.value, "auth": found.auth})


def endpoints() -> list[Endpoint]:
    """All endpoints of this module."""
    return [
        Endpoint(
            "GET",
            "/whoami",
            _whoami,
            "The user that asks, and what it may do",
            {200: WhoAmI},
            checks_content_type=False,
            is_light=True,
            tag="worker",
        )
    ]
