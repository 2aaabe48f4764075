"""Which source offsets may be committed without exactly-once: those of the longest acknowledged prefix per source
partition.

Records of one source partition are submitted in order; they are acknowledged by Kafka in any order (they may go to
several topic partitions). The offset of a record may be stored only when every record before it is acknowledged too.
Pure bookkeeping, no I/O.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from typing import Any

from seamark.connector.offsets import SourceOffset, SourcePartition, as_partition


class Submission:
    """A record, or a batch of them, that was handed to the producer."""

    __slots__ = ("is_acknowledged", "offset", "partition")

    def __init__(self, partition: SourcePartition | None, offset: SourceOffset | None) -> None:
        self.partition, self.offset = partition, offset
        self.is_acknowledged = False

    def acknowledge(self) -> None:
        """Kafka has it, or its failure was tolerated. Any thread."""
        self.is_acknowledged = True


class SubmittedRecords:
    """Submissions per source partition, in order. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queues: dict[SourcePartition, deque[Submission]] = {}
        self._unplaced: deque[Submission] = deque()  # without a source partition; they delay nobody

    def submit(self, partition: Mapping[str, Any] | None, offset: SourceOffset | None) -> Submission:
        """Note a record before it is sent."""
        submission = Submission(None if partition is None else as_partition(partition), offset)
        with self._lock:
            if submission.partition is None:
                self._unplaced.append(submission)
            else:
                self._queues.setdefault(submission.partition, deque()).append(submission)
        return submission

    def drop(self, submission: Submission) -> None:
        """Forget a submission that was not sent after all; it must be the last of its partition."""
        with self._lock:
            queue = self._unplaced if submission.partition is None else self._queues[submission.partition]
            if queue and queue[-1] is submission:
                queue.pop()

    def take_committable(self) -> dict[SourcePartition, SourceOffset | None]:
        """The offset of the last record of each acknowledged prefix; those records are forgotten."""
        committable: dict[SourcePartition, SourceOffset | None] = {}
        with self._lock:
            while self._unplaced and self._unplaced[0].is_acknowledged:
                self._unplaced.popleft()
            for partition, queue in list(self._queues.items()):
                while queue and queue[0].is_acknowledged:
                    committable[partition] = queue.popleft().offset
                if not queue:
                    del self._queues[partition]
        return committable

    def __len__(self) -> int:
        """How many submissions are not yet taken."""
        with self._lock:
            return len(self._unplaced) + sum(len(queue) for queue in self._queues.values())
