"""Python's search for cycles of garbage, which costs a task that moves many records as much as reading them does."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# Python's own is 700, of which a batch of records has hundreds: each of them, still in use, is looked at again and
# again, together with all that was ever imported.
_NEW_OBJECTS: Final = 50_000


@contextmanager
def seldom_searched() -> Iterator[None]:
    """Search less often, and not among the objects that are there already. For the loop of a task."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
