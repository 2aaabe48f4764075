"""Sockets of the REST API, and the address that other workers are told."""

from __future__ import annotations

import errno
import socket
from collections.abc import Sequence
from typing import Final

from seamark.config.rest_keys import Listener
from seamark.config.worker import WorkerConfig
from seamark.errors import ConfigError, ConnectError

_BACKLOG: Final = 1024
_USUAL_PORTS: Final = {"http": 80, "https": 443}


def open_listener(listener: Listener) -> socket.socket:
    """A socket that listens.

    Raises:
        ConnectError: the address is taken, or not one of this machine.
    """
    try:
        opened = _open(listener)
    except OSError as error:
        hint = "; another process, maybe another worker, listens there" if error.errno == errno.EADDRINUSE else ""
        reason = error.strerror or str(error)
        raise ConnectError(f"Cannot listen at {listener.text} for the REST API: {reason}{hint}") from error
    # Accepted connections inherit it. asyncio would set it only on sockets that say which protocol they use, and
    # without it every answer waits 40 ms for the client's acknowledgement of its headers.
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return opened


def _open(listener: Listener) -> socket.socket:
    if listener.host:
        family = socket.getaddrinfo(listener.host, listener.port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((listener.host, listener.port), family=family, backlog=_BACKLOG)
    if socket.has_dualstack_ipv6():
        address = ("", listener.port)
        return socket.create_server(address, family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True)
    return socket.create_server(("", listener.port), backlog=_BACKLOG)


def advertised_address(config: WorkerConfig, listeners: Sequence[tuple[Listener, int]]) -> tuple[str, int]:
    """Host and port that other workers are told.

    Args:
        config: of the worker.
        listeners: each with the port that it got.

    Raises:
        ConfigError: none of them has the protocol that other workers are to use.
    """
    host, port, protocol = (
        config["rest.advertised.host.name"],
        config["rest.advertised.port"],
        config.advertised_protocol,
    )
    found = next((each for each in listeners if each[0].protocol == protocol), None)
    if found is None:  # something in front of the worker speaks it
        if not host:
            raise ConfigError(
                f"rest.advertised.listener={protocol} needs a listener with {protocol}, or rest.advertised.host.name "
                "of what is in front of the worker",
                key="rest.advertised.listener",
                value=protocol,
            )
        return host, _USUAL_PORTS[protocol] if port is None else int(port)
    return host or found[0].host or _own_address(), found[1] if port is None else int(port)


def host_and_port(host: str, port: int) -> str:
    """As in a URL: IPv6 addresses in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _own_address() -> str:
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
