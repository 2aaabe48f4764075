"""Waiting for a condition instead of sleeping."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

POLL_S: Final = 0.05
FACTOR: Final = float(os.environ.get("SEAMARK_WAIT_FACTOR", "1"))
_LONG_S: Final = 20.0


def patience(within_s: float) -> float:
    """How long to wait for what should come within that time.

    Waits that are only there so that a test ends are longer by `SEAMARK_WAIT_FACTOR`, for machines with too much to do;
    shorter ones say how quick something must be, and stay.
    """
    return within_s * FACTOR if within_s >= _LONG_S else within_s


def eventually(fn: Callable[[], T], within_s: float = 30.0, message: str = "") -> T:
    """Call `fn` until it returns something true, and return that.

    An exception that `fn` raises counts as "not yet".

    Raises:
        AssertionError: it did not within `within_s` seconds; says what `fn` returned or raised last.
    """
    within_s = patience(within_s)
    deadline = time.monotonic() + within_s
    while True:
        failure: Exception | None = None
        value: T | None = None
        try:
            value = fn()
        except Exception as error:
            failure = error
        else:
            if value:
                return value
        if time.monotonic() >= deadline:
            last = f"it raised {failure!r}" if failure is not None else f"the last value was {value!r}"
            raise AssertionError(
                f"{message or 'the condition did not hold'} within {within_s:g} s; {last}"
            ) from failure
        time.sleep(POLL_S)
