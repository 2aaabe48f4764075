"""Which pages of browsers may send requests: those of this worker, and those of origins that are allowed.

A browser says with ``Origin`` whose page it acts for whenever a request may change something, and for every WebSocket.
Programs that are no browsers say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from seamark.rest.middleware import OriginPatterns


class Origins:
    """Origins whose pages may use this worker; `allowed` is ``access.control.allow.origin``."""

    def __init__(self, allowed: str) -> None:
        self._patterns = OriginPatterns(allowed)

    def allows(self, headers: Mapping[str, str]) -> bool:
        """Whether a request is from no browser, or from a page of an allowed origin or of this host."""
        origin = headers.get("origin")
        return origin is None or is_own(origin, headers.get("host", "")) or self._patterns.allows(origin)


def is_own(origin: str, host: str) -> bool:
    """Whether an origin is the host that the request is sent to. What is in front may have ended TLS: any scheme."""
    try:
        found = urlsplit(origin)
    except ValueError:
        return False
    if found.scheme not in ("http", "https") or not host:
        return False
    port = {"http": ":80", "https": ":443"}[found.scheme]
    return found.netloc.lower().removesuffix(port) == host.lower().removesuffix(port)
