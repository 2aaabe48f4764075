"""Every error that Seamark raises on purpose.

::

    ConnectError                     root; `retriable` says whether trying the same again can help
    ├── RetriableError               raised by connectors: the runtime tries the same records again
    ├── ConfigError                  a configuration is wrong; names the key, the value and what is accepted
    ├── NotFoundError                a connector, task or plugin that does not exist
    ├── AlreadyExistsError           a connector of that name exists
    ├── BadRequestError              the request cannot be carried out as it is
    ├── DataError                    a record or an offset cannot be converted
    │   └── NewerFormatError         a newer Seamark has written it, in a way that this one does not know
    ├── PluginError                  a class or module cannot be found or loaded; lists what is known
    ├── ConnectorCodeError           a connector's, task's or converter's own code failed; the cause is kept
    ├── KafkaError                   the broker refused or did not answer
    │   ├── FencedError              a newer producer with the same transactional id took over
    │   └── KafkaTimeoutError        no answer in time
    ├── JarError                     a jar could not be resolved, or a downloaded one is not what was expected
    ├── BrokerError                  the embedded broker could not be started
    ├── OffsetStoreError             offsets could not be read or written
    └── LeaseLostError               a Spark task lost its lease: its work must not be committed

From a Spark executor only text returns, so a message must stand alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


class ConnectError(Exception):
    """Root of the errors that Seamark raises on purpose."""

    retriable = False

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        # Subclasses have constructors of their own; pickling must not call them.
        return _rebuild, (type(self), self.message, self.__dict__)

    def __str__(self) -> str:
        return self.message


def _rebuild(cls: type[ConnectError], message: str, state: dict[str, Any]) -> ConnectError:
    error = cls.__new__(cls)
    Exception.__init__(error, message)
    error.__dict__.update(state)
    return error


class RetriableError(ConnectError):
    """The same call may succeed later; the runtime repeats it with the same records."""

    retriable = True


class ConfigError(ConnectError):
    """A configuration value is missing or not acceptable."""

    def __init__(self, message: str, *, key: str | None = None, value: object = None) -> None:
        super().__init__(message)
        self.key, self.value = key, value


class NotFoundError(ConnectError):
    """What was named does not exist."""


class AlreadyExistsError(ConnectError):
    """What was to be created exists."""


class BadRequestError(ConnectError):
    """The request cannot be carried out as it is."""


class DataError(ConnectError):
    """A record, schema or offset cannot be converted."""


class NewerFormatError(DataError):
    """What was to be read is in a later version of one of Seamark's own formats; nothing of it was used."""

    def __init__(self, what: str, version: int, known: int) -> None:
        super().__init__(
            f"{what} was written by a newer Seamark: its format has version {version}, and this Seamark reads versions "
            f"up to {known}. Use the newer Seamark for it."
        )
        self.version, self.known = version, known


class PluginError(ConnectError):
    """A class or module cannot be found or loaded."""

    def __init__(self, message: str, *, known: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.known = tuple(known)


class ConnectorCodeError(ConnectError):
    """Code of a connector, task or converter failed; ours did not."""

    def __init__(self, connector: str, phase: str, cause: BaseException) -> None:
        super().__init__(f"Connector {connector!r} failed in {phase}: {type(cause).__name__}: {cause}")
        self.connector, self.phase = connector, phase


class KafkaError(ConnectError):
    """The broker refused a request or did not answer it."""

    def __init__(self, message: str, *, retriable: bool = False, code: str | None = None) -> None:
        super().__init__(message)
        self.retriable, self.code = retriable, code


class FencedError(KafkaError):
    """A newer producer with the same transactional id took over."""


class KafkaTimeoutError(KafkaError):
    """Kafka did not answer in time."""

    def __init__(self, message: str) -> None:
        super().__init__(message, retriable=True, code="_TIMED_OUT")


class JarError(ConnectError):
    """A jar could not be resolved."""


class BrokerError(ConnectError):
    """The embedded broker could not be started, or ended unexpectedly."""


class OffsetStoreError(ConnectError):
    """Offsets could not be read or written; those stored before are unchanged."""


class LeaseLostError(ConnectError):
    """A Spark task lost its lease; what it has not committed must be thrown away."""


def cause_of(trace: str) -> str:
    """The line of a Python or Java trace that says what was wrong."""
    lines = [line.strip() for line in trace.strip().splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"(Caused by: )?[\w.$]+(Error|Exception)\b", line)]
    return (named or lines or [""])[-1]


@contextmanager
def connector_code(connector: str, phase: str) -> Iterator[None]:
    """Turn whatever a connector's own code raises into `ConnectorCodeError`, its cause kept.

    `RetriableError` and errors that already say whose they are pass unchanged.
    """
    try:
        yield
    except ConnectError:
        raise
    except Exception as error:
        raise ConnectorCodeError(connector, phase, error) from error
