"""Failed logins: told in the log, and slowed down for the address that they come from."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

log = logging.getLogger(__name__)

FREE_FAILURES: Final = 3
"""So many in a row cost nothing: people mistype."""
FIRST_DELAY_S: Final = 0.25
LONGEST_DELAY_S: Final = 4.0
FORGOTTEN_S: Final = 300.0
MOST_ADDRESSES: Final = 10_000


class Failures:
    """Counts failed logins by address. Thread-safe, and bounded however many addresses there are."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._found: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def delay_s(self, address: str) -> float:
        """How long a login from there has to wait before it is looked at."""
        with self._lock:
            count = self._count(address)
        if count < FREE_FAILURES:
            return 0.0
        return float(min(LONGEST_DELAY_S, FIRST_DELAY_S * 2 ** min(count - FREE_FAILURES, 16)))

    def failed(self, address: str, user: str | None, why: str) -> None:
        """A login has failed."""
        with self._lock:
            count = self._count(address) + 1
            self._found[address] = (count, self._clock())
            self._found.move_to_end(address)
            while len(self._found) > MOST_ADDRESSES:
                self._found.popitem(last=False)
        # The name is what a stranger has typed, perhaps a password in the wrong field.
        log.warning("Login failed from %s as %.64r: %s (%d in a row)", address, user, why, count)

    def succeeded(self, address: str) -> None:
        """A login has succeeded: what was before is forgotten."""
        with self._lock:
            self._found.pop(address, None)

    def _count(self, address: str) -> int:
        count, at = self._found.get(address, (0, 0.0))
        return count if self._clock() - at < FORGOTTEN_S else 0
