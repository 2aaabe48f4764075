"""What is better asked through kafka-python's admin client than through librdkafka's.

Requests to a group's coordinator: librdkafka ends the whole process when a broker is lost while one is under way (its
issue 4605), and who asks every few seconds meets such moments; it also asks for one group at a time. And ACLs: its
Python binding shows a refusal, or a cluster without an authorizer, as an empty list. What kafka-python cannot log in
with (`can_serve`) is left to librdkafka.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from seamark.errors import KafkaError
from seamark.kafka.errors import timeout_error
from seamark.kafka.group_members import kafka_python
from seamark.kafka.security import kafka_python_config, security_settings
from seamark.kafka.topic_partitions import TopicPartition

_T = TypeVar("_T")
_RETRY_S: Final = 0.1
_REQUEST_S: Final = 10.0  # of one attempt: a lost broker is noticed by the next one
_CLOSE_S: Final = 1.0
_GROUPS_PER_REQUEST: Final = 100
_NOT_THERE: Final = "UNKNOWN_TOPIC_OR_PART"  # a topic to commit for has to exist already
_CODES: Final = {"UNKNOWN_TOPIC_OR_PARTITION": _NOT_THERE}  # codes are librdkafka's names, whichever library was asked
_DEAD: Final = "DEAD"
_NO_SUCH_GROUP: Final = "GroupIdNotFoundError"
_ERROR_CODE: Final = re.compile(r"\[Error (-?[0-9]+)\]")  # as errors are shown in descriptions of groups
_NO_AUTHORIZER: Final = "SECURITY_DISABLED"
_LOGIN: Final = frozenset({"SASL_AUTHENTICATION_FAILED", "UNSUPPORTED_SASL_MECHANISM", "ILLEGAL_SASL_STATE"})
_MECHANISMS: Final = frozenset({"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"})


@dataclass(frozen=True, slots=True)
class GroupOffset:
    """A committed offset: the next record to read, and what the consumer noted with it."""

    offset: int
    metadata: str = ""


GroupOffsetsByPartition = dict[TopicPartition, GroupOffset | None]
"""None for a partition whose offset was reset to a negative one, as some clients do."""


def can_serve(java_config: Mapping[str, str]) -> bool:
    """Whether kafka-python can log in with these settings."""
    settings = security_settings(java_config)
    return settings.get("sasl.mechanism", "PLAIN").upper() in _MECHANISMS and "ssl.keystore.location" not in settings


class PythonAdmin:
    """Asks coordinators and controllers. Thread-safe; its connection is kept."""

    def __init__(self, java_config: Mapping[str, str]) -> None:
        self._java = dict(java_config)
        self._brokers = self._java.get("bootstrap.servers", "")
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._client: Any = None

    def offsets(
        self, groups: Iterable[str], timeout_s: float
    ) -> tuple[dict[str, GroupOffsetsByPartition], dict[str, KafkaError]]:
        """All committed offsets of each group, and why those of others could not be read.

        Raises:
            KafkaError: no group could be asked for: brokers cannot be reached, or refuse the client.
        """
        names = list(dict.fromkeys(groups))
        found: dict[str, GroupOffsetsByPartition] = {}
        failed: dict[str, KafkaError] = {}
        deadline = time.monotonic() + timeout_s
        for start in range(0, len(names), _GROUPS_PER_REQUEST):
            some = names[start : start + _GROUPS_PER_REQUEST]
            try:
                found.update(self._read(some, deadline, timeout_s))
            except KafkaError as error:
                if self._concerns_all(error):
                    raise
                if len(some) == 1:
                    failed[some[0]] = error
                    continue
                for group in some:  # the answer of one group hides those of all others
                    try:
                        found.update(self._read([group], deadline, timeout_s))
                    except KafkaError as own:
                        if self._concerns_all(own):
                            raise
                        failed[group] = own
        return found, failed

    def alter(self, group: str, offsets: Mapping[TopicPartition, GroupOffset], timeout_s: float) -> None:
        """Commit offsets for a group without members.

        Raises:
            KafkaError: with code UNKNOWN_MEMBER_ID, the group has members; otherwise the coordinator refused, or did
                not answer in time.
        """
        if not offsets:
            return
        kafka = kafka_python()
        action = f"alter the offsets of consumer group {group!r}"
        wanted = {
            kafka.TopicPartition(where.topic, where.partition): kafka.OffsetAndMetadata(each.offset, each.metadata, -1)
            for where, each in offsets.items()
        }

        def commit(client: Any) -> None:
            for where, kind in client.alter_group_offsets(group, wanted).items():
                if kind.errno:
                    raise kind(f"{where.topic}-{where.partition}")

        self._repeat(action, commit, time.monotonic() + timeout_s, timeout_s)

    def delete_group(self, group: str, timeout_s: float) -> None:
        """Delete a group and its offsets; one that does not exist is no error.

        Raises:
            KafkaError: with code NON_EMPTY_GROUP, the group has members; otherwise the coordinator refused, or did not
                answer in time.
        """

        def delete(client: Any) -> None:
            answer = client.delete_groups([group])[group]  # OK, or the name of an error's class
            if answer not in ("OK", _NO_SUCH_GROUP):
                raise getattr(kafka_python().errors, answer)(group)

        self._repeat(f"delete consumer group {group!r}", delete, time.monotonic() + timeout_s, timeout_s)

    def group_exists(self, group: str, timeout_s: float) -> bool:
        """Whether there is such a group, with or without members.

        Raises:
            KafkaError: the coordinator refused, or did not answer in time.
        """

        def look(client: Any) -> bool:
            found = client.describe_groups([group])[group]
            error = _ERROR_CODE.search(str(found.get("error") or ""))
            if error is not None:
                kind = kafka_python().errors.for_code(int(error[1]))
                if kind.__name__ == _NO_SUCH_GROUP:
                    return False
                raise kind(group)
            return str(found.get("group_state")).upper() != _DEAD

        return self._repeat(f"describe consumer group {group!r}", look, time.monotonic() + timeout_s, timeout_s)

    def topic_acls(self, timeout_s: float) -> list[tuple[str, str, str, str, str]] | None:
        """Topic, principal, host, operation and permission of each ACL of a topic by its exact name.

        None if the cluster has no authorizer.

        Raises:
            KafkaError: the cluster refused, or did not answer in time.
        """
        kafka_python()  # without its warnings
        from kafka import admin as names

        every = names.ACLFilter(
            principal=None,
            host=None,
            operation=names.ACLOperation.ANY,
            permission_type=names.ACLPermissionType.ANY,
            resource_pattern=names.ResourcePatternFilter(
                names.ResourceType.TOPIC, None, names.ACLResourcePatternType.LITERAL
            ),
        )
        try:
            acls, _ = self._repeat(
                "read the ACLs of topics",
                lambda client: client.describe_acls(every),
                time.monotonic() + timeout_s,
                timeout_s,
            )
        except KafkaError as error:
            if error.code == _NO_AUTHORIZER:
                return None
            raise
        return [
            (
                each.resource_pattern.resource_name,
                each.principal,
                each.host,
                each.operation.name,
                each.permission_type.name,
            )
            for each in acls
        ]

    def close(self) -> None:
        """Release the connection; a request that is under way is the last, and does it itself if it takes long."""
        self._closed.set()
        if self._lock.acquire(timeout=_CLOSE_S):
            try:
                self._drop()
            finally:
                self._lock.release()

    def _concerns_all(self, error: KafkaError) -> bool:
        return error.retriable or error.code in _LOGIN or self._closed.is_set()

    def _read(self, groups: list[str], deadline: float, timeout_s: float) -> dict[str, GroupOffsetsByPartition]:
        shown = ", ".join(groups[:5]) + (f" and {len(groups) - 5} more" if len(groups) > 5 else "")
        answer = self._repeat(
            f"read the offsets of consumer groups {shown}",
            lambda client: client.list_group_offsets(dict.fromkeys(groups)),
            deadline,
            timeout_s,
        )
        return {
            group: {
                TopicPartition(where.topic, where.partition): (
                    GroupOffset(each.offset, each.metadata or "") if each.offset >= 0 else None
                )
                for where, each in offsets.items()
            }
            for group, offsets in answer.items()
        }

    def _repeat(self, action: str, call: Callable[[Any], _T], deadline: float, timeout_s: float) -> _T:
        kafka = kafka_python()
        while True:
            with self._lock:
                if self._closed.is_set():
                    raise KafkaError(f"Could not {action}: the admin client is closed.")
                try:
                    if self._client is None:
                        self._client = self._connect(kafka, min(_REQUEST_S, max(1.0, deadline - time.monotonic())))
                    return call(self._client)
                except (kafka.Error, OSError) as error:
                    self._drop()  # it may know a coordinator that is none any more
                    ours = self._ours(error, action)
                    if not ours.retriable or ours.code == _NOT_THERE:
                        raise ours from error
                    if time.monotonic() + _RETRY_S >= deadline or self._closed.is_set():
                        late = timeout_error(action, self._brokers, timeout_s)
                        late.message = f"{late.message} Last error: {ours.message}"
                        raise late from error
                finally:
                    if self._closed.is_set():
                        self._drop()
            time.sleep(_RETRY_S)

    def _connect(self, kafka: Any, timeout_s: float) -> Any:
        ms = int(timeout_s * 1000)
        return kafka.AdminClient(request_timeout_ms=ms, bootstrap_timeout_ms=ms, **kafka_python_config(self._java))

    def _drop(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _ours(self, error: BaseException, action: str) -> KafkaError:
        code = str(getattr(error, "message", "") or type(error).__name__)
        code = _CODES.get(code, code)
        text = str(getattr(error, "description", "") or error)
        is_retriable = isinstance(error, OSError) or bool(getattr(error, "retriable", False))
        return KafkaError(f"Could not {action} at {self._brokers}: {text} ({code})", retriable=is_retriable, code=code)
