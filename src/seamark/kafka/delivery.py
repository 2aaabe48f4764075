"""What a producer reports, and what is left of it when it is closed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from seamark.errors import KafkaError


@dataclass(frozen=True, slots=True)
class DeliveryReport:
    """What became of one record: where it was written, or why it was not."""

    topic: str
    partition: int
    offset: int
    error: KafkaError | None


OnDelivery = Callable[[DeliveryReport], None]


class ClosedProducer:
    """Stands in for the library's producer after it was closed."""

    def __getattr__(self, name: str) -> Any:
        raise KafkaError("The producer is closed.")

    def __len__(self) -> int:
        return 0
