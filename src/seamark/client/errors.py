"""What a worker refuses, as exceptions.

::

    ClientError              `status` of the answer, None if there was none; the message is the worker's own
    ├── BadRequest           400 and other 4xx: the request cannot be carried out as it is
    ├── Forbidden            401, 403: not allowed
    ├── NotFound             404: no connector, task, plugin or logger of that name
    ├── Unsupported          404 or 405 for something that only Seamark has: the worker is another one, or older
    ├── Conflict             409: it exists, or the workers are rebalancing and did not settle before the deadline
    ├── ServerError          5xx: the worker or a plugin failed
    │   └── UnexpectedAnswer the answer is not what the API says; perhaps it is not from a worker
    ├── Unreachable          no answer: nobody listens, TLS failed, or it took too long
    └── StateNotReached      a connector was waited for, and failed or did not get there in time

Those with a counterpart in `seamark.errors` are that, too, so that code on both sides of REST catches the same class.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from seamark.errors import BadRequestError, ConnectError, NotFoundError

ROUTE_NOT_FOUND: Final = "HTTP 404 Not Found"
_REBALANCING: Final = ("rebalance", "stale configuration", "conflicting operation", "zombie fencing", "Fencing failed")
# Java's plain reads answer 500 where its writes answer 409; the second is said where a repetition is known to be safe.
_PASSING: Final = ("a rebalance is expected", "can be safely retried")


class ClientError(ConnectError):
    """A request was not carried out."""

    def __init__(self, message: str, *, status: int | None = None, retriable: bool = False) -> None:
        super().__init__(message)
        self.status, self.retriable = status, retriable


class BadRequest(ClientError, BadRequestError):
    """The request cannot be carried out as it is."""


class Forbidden(ClientError):
    """The worker does not allow it, or wants to know who asks."""


class NotFound(ClientError, NotFoundError):
    """What was named does not exist."""


class Unsupported(ClientError):
    """The worker does not have this; it is no Seamark worker, or an older one."""


class Conflict(ClientError):
    """It exists, or the workers are rebalancing; then it is `retriable`."""


class ServerError(ClientError):
    """The worker or a plugin failed."""


class UnexpectedAnswer(ServerError):
    """The answer is not what the API says."""


class Unreachable(ClientError):
    """There was no answer."""


class StateNotReached(ClientError):
    """A connector has failed, or did not get into a state in time."""


def refusal(status: int, message: str, *, is_addition: bool = False) -> ClientError:
    """The error that stands for an answer.

    Args:
        status: of the answer.
        message: what the worker says.
        is_addition: whether a Java worker lacks the endpoint.
    """
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return Forbidden(message, status=status)
    is_unknown_route = status == HTTPStatus.METHOD_NOT_ALLOWED or message == ROUTE_NOT_FOUND
    if is_addition and is_unknown_route:
        return Unsupported("The worker does not support this: it is no Seamark worker, or an older one", status=status)
    if status == HTTPStatus.NOT_FOUND:
        return NotFound(message, status=status)
    if status == HTTPStatus.CONFLICT:
        return Conflict(message, status=status, retriable=any(word in message for word in _REBALANCING))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ServerError(message, status=status, retriable=any(word in message for word in _PASSING))
    return BadRequest(message, status=status)
