"""How a task that defines its own transaction boundaries asks for them."""

from __future__ import annotations

from seamark.connector.records import SourceRecord


class TransactionContext:
    """Requests of a source task about the current transaction.

    Honoured after the records of the current `poll` were sent.
    """

    def __init__(self) -> None:
        self._commit = False
        self._abort = False
        self._commit_after: list[SourceRecord] = []
        self._abort_after: list[SourceRecord] = []

    def commit_transaction(self, record: SourceRecord | None = None) -> None:
        """Commit after the current batch, or after this record of it."""
        if record is None:
            self._commit = True
        else:
            self._commit_after.append(record)

    def abort_transaction(self, record: SourceRecord | None = None) -> None:
        """Drop what was sent since the transaction began: after the current batch, or after this record of it.

        Offsets of dropped records still count as about to be committed, as in Kafka Connect.
        """
        if record is None:
            self._abort = True
        else:
            self._abort_after.append(record)

    def take_batch_request(self) -> str | None:
        """``"commit"`` or ``"abort"`` if asked for after the current batch; asking clears it."""
        request = "abort" if self._abort else "commit" if self._commit else None
        self._commit = self._abort = False
        return request

    def take_record_request(self, record: SourceRecord) -> str | None:
        """``"commit"`` or ``"abort"`` if asked for after this record; asking clears it."""
        # Identity, not equality: two equal records of a batch are still two records.
        for requests, answer in ((self._abort_after, "abort"), (self._commit_after, "commit")):
            for index, candidate in enumerate(requests):
                if candidate is record:
                    del requests[index]
                    return answer
        return None
