"""Whether addresses can be connected to at all."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

_ADDRESS = re.compile(r"^(?:[A-Za-z0-9_]+://)?(?:\[(?P<six>[^\]]+)\]|(?P<host>[^:/]+)):(?P<port>\d+)/?$")


def split_address(address: str) -> tuple[str, int] | None:
    """Host and port of ``host:port`` or ``[::1]:9092``, with or without a protocol; None of what is neither."""
    matched = _ADDRESS.match(address.strip())
    return None if matched is None else (matched["six"] or matched["host"], int(matched["port"]))


def try_addresses(addresses: Iterable[str], timeout_s: float) -> dict[str, str | None]:
    """By address, why it cannot be connected to; None where it can."""
    wanted = list(dict.fromkeys(each.strip() for each in addresses if each.strip()))
    if not wanted:
        return {}
    with ThreadPoolExecutor(min(16, len(wanted)), "doctor-connect") as pool:
        return dict(zip(wanted, pool.map(lambda each: try_address(each, timeout_s), wanted), strict=True))


def try_address(address: str, timeout_s: float) -> str | None:
    """Why an address cannot be connected to; None if it can."""
    where = split_address(address)
    if where is None:
        return "it is not of the form host:port"
    try:
        with socket.create_connection(where, timeout_s):
            return None
    except socket.gaierror as error:
        return f"the name {where[0]} is not known ({error.strerror})"
    except TimeoutError:
        return f"no answer within {timeout_s:g} s"
    except OSError as error:
        return (error.strerror or str(error)).lower()
