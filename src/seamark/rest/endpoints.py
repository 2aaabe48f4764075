"""What an endpoint is: a function from a `Call` to an `Answer`, with what routing and documentation must know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from seamark.rest.answers import Answer, Call
from seamark.rest.identity import Role, role_by_method


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter, for the OpenAPI document."""

    name: str
    schema: Mapping[str, Any]
    description: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one path.

    Attributes:
        method: GET, POST, PUT, PATCH or DELETE; a GET answers HEAD too.
        path: with parameters in braces.
        handle: answers a request; runs in a thread and may block.
        summary: one line for the documentation.
        responses: status -> model of the body (None: no body); errors that every endpoint may give are added.
        body: model of the request's body; an endpoint without one does not read it.
        parameters: of the query.
        checks_content_type: whether a body that says to be something other than JSON is refused.
        checks_accept: whether a client that does not accept JSON is refused.
        is_light: answered even while all threads are busy.
        tag: groups endpoints in the documentation.
        role: what a user needs to be; by default a viewer for GET and an editor for everything else.
        role_of: for an endpoint that does several things, what this request needs; at least `role`.
    """

    method: str
    path: str
    handle: Callable[[Call], Answer]
    summary: str
    responses: Mapping[int, Any]
    body: Any = None
    parameters: tuple[Parameter, ...] = ()
    checks_content_type: bool = True
    checks_accept: bool = True
    is_light: bool = False
    tag: str = field(default="connectors")
    role: Role | None = None
    role_of: Callable[[Call], Role] | None = None

    @property
    def needs(self) -> Role:
        """The least role with which it may be asked."""
        return self.role or role_by_method(self.method)
