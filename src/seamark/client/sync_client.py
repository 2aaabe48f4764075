"""The client that waits for its answers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

import httpx

from seamark.client import (
    access,
    models,
    observation,
    observation_models,
    offset_view_models,
    offset_views,
    operation_models,
    operations,
)
from seamark.client.errors import ClientError, NotFound
from seamark.client.exchange import DEFAULT_URL, LOOK_S, Attempts, Settings, Waiting, result_of

T = TypeVar("T")


class ConnectClient:
    """A worker's REST API, of Seamark or of Kafka Connect.

    Each method is one request, named after what it is for; `seamark.client.operations` says which. Refusals are raised
    as subclasses of `ClientError` with the worker's own message. What a rebalance is in the way of is repeated.

    To be closed, or used in a `with` statement. It may be used by several threads.
    """

    def __init__(self, settings: Settings | str = DEFAULT_URL) -> None:
        self.settings = Settings(settings) if isinstance(settings, str) else settings
        self._http = httpx.Client(**self.settings.http_options())
        self._capabilities: models.Capabilities | None = None

    @property
    def url(self) -> str:
        """Of the worker."""
        return self.settings.url

    def close(self) -> None:
        """Let go of connections."""
        self._http.close()

    def __enter__(self) -> ConnectClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def capabilities(self) -> models.Capabilities:
        """What the worker can do beyond Kafka Connect; asked once."""
        if self._capabilities is None:
            self._capabilities = self._do(operations.capabilities())
        return self._capabilities

    def await_state(self, name: str, state: str, timeout_s: float = 60.0) -> None:
        """Wait until a connector is in a state; when it is STOPPED, until its tasks are gone.

        Raises:
            StateNotReached: it has failed, or did not get there in time.
        """
        waiting = Waiting(name, state, timeout_s)
        while not waiting.is_over(self._status_if_any(name)):
            time.sleep(LOOK_S)

    def _status_if_any(self, name: str) -> models.ConnectorStatus | None:
        try:
            return self.status(name)
        except NotFound:  # a connector that was only just created
            return None

    def _do(self, operation: operations.Operation[T]) -> T:
        attempts = Attempts(self.settings.retry)
        while True:
            try:
                answer = self._http.request(**self.settings.request(operation))
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise self.settings.unreachable(error) from error
            result = result_of(operation, answer)
            if not isinstance(result, ClientError):
                return result
            time.sleep(attempts.pause_after(result))

    # the worker

    def server_info(self) -> models.WorkerInfo:
        return self._do(operations.server_info())

    def health(self) -> models.WorkerHealth:
        return self._do(operations.health())

    def whoami(self) -> access.WhoAmI:
        return self._do(access.whoami())

    # connectors

    def connectors(self) -> list[str]:
        return self._do(operations.connectors())

    def expanded(self, *, info: bool = True, status: bool = True) -> dict[str, models.ExpandedConnector]:
        return self._do(operations.expanded(info=info, status=status))

    def create(
        self,
        name: str,
        config: Mapping[str, str | None],
        initial_state: str | None = None,
        start: Mapping[str, Any] | None = None,
    ) -> models.ConnectorInfo:
        return self._do(operations.create(name, config, initial_state, start))

    def connector(self, name: str) -> models.ConnectorInfo:
        return self._do(operations.connector(name))

    def delete(self, name: str, *, include_offsets: bool = False) -> None:
        return self._do(operations.delete(name, include_offsets=include_offsets))

    def config(self, name: str) -> dict[str, str | None]:
        return self._do(operations.config(name))

    def put_config(self, name: str, config: Mapping[str, str | None]) -> models.PutResult:
        return self._do(operations.put_config(name, config))

    def patch_config(self, name: str, patch: Mapping[str, str | None]) -> models.ConnectorInfo:
        return self._do(operations.patch_config(name, patch))

    def status(self, name: str) -> models.ConnectorStatus:
        return self._do(operations.status(name))

    def tasks(self, name: str) -> list[models.TaskInfo]:
        return self._do(operations.tasks(name))

    def task_status(self, name: str, task: int) -> models.TaskState:
        return self._do(operations.task_status(name, task))

    def topics(self, name: str) -> list[str]:
        return self._do(operations.topics(name))

    def reset_topics(self, name: str) -> None:
        return self._do(operations.reset_topics(name))

    # states

    def pause(self, name: str) -> None:
        return self._do(operations.change_state(name, "pause"))

    def resume(self, name: str) -> None:
        return self._do(operations.change_state(name, "resume"))

    def stop(self, name: str) -> None:
        return self._do(operations.change_state(name, "stop"))

    def restart(
        self, name: str, *, include_tasks: bool = False, only_failed: bool = False
    ) -> models.ConnectorStatus | None:
        return self._do(operations.restart(name, include_tasks=include_tasks, only_failed=only_failed))

    def restart_task(self, name: str, task: int) -> None:
        return self._do(operations.restart_task(name, task))

    # offsets

    def offsets(self, name: str) -> list[models.ConnectorOffset]:
        return self._do(operations.offsets(name))

    def alter_offsets(self, name: str, changed: Sequence[models.ConnectorOffset]) -> str:
        return self._do(operations.alter_offsets(name, changed))

    def reset_offsets(self, name: str) -> str:
        return self._do(operations.reset_offsets(name))

    # operations on offsets

    def preview_change(self, name: str, change: Mapping[str, Any]) -> operation_models.OffsetPreview:
        return self._do(operations.preview_change(name, change))

    def change_offsets(
        self, name: str, change: Mapping[str, Any], reason: str | None = None
    ) -> operation_models.OffsetOperation:
        return self._do(operations.change_offsets(name, change, reason))

    def undo_offsets(
        self, name: str, entry: str | None = None, reason: str | None = None
    ) -> operation_models.OffsetOperation:
        return self._do(operations.undo_offsets(name, entry, reason))

    def migrate(
        self, name: str, where: Mapping[str, Any], reason: str | None = None
    ) -> operation_models.OffsetOperation:
        return self._do(operations.migrate(name, where, reason))

    def offset_history(self, name: str) -> list[operation_models.OffsetOperation]:
        return self._do(operations.offset_history(name))

    def operation(self, operation_id: str) -> operation_models.OffsetOperation:
        return self._do(operations.operation(operation_id))

    def operations(self, connector: str | None = None) -> list[operation_models.OffsetOperation]:
        return self._do(operations.all_operations(connector))

    def progress(self, name: str) -> models.ConnectorProgress:
        return self._do(operations.progress(name))

    # views of offsets

    def offset_table(
        self,
        name: str,
        *,
        with_times: bool = True,
        topic: str | None = None,
        offset: int = 0,
        limit: int | None = None,
    ) -> offset_view_models.OffsetTable:
        return self._do(offset_views.offset_table(name, with_times=with_times, topic=topic, offset=offset, limit=limit))

    def offset_timeline(
        self, name: str, topic: str | None = None, points: int = 60
    ) -> offset_view_models.OffsetTimeline:
        return self._do(offset_views.offset_timeline(name, topic, points))

    def offset_records(
        self,
        name: str,
        topic: str,
        partition: int,
        offset: int,
        *,
        before: int = 5,
        after: int = 5,
        max_bytes: int = 2000,
    ) -> offset_view_models.OffsetRecords:
        return self._do(
            offset_views.offset_records(name, topic, partition, offset, before=before, after=after, max_bytes=max_bytes)
        )

    # plugins and loggers

    def plugins(self, *, connectors_only: bool = True) -> list[models.Plugin]:
        return self._do(operations.plugins(connectors_only=connectors_only))

    def plugin_config(self, plugin: str, version: str | None = None) -> list[models.ConfigKey]:
        return self._do(operations.plugin_config(plugin, version))

    def validate(self, plugin: str, config: Mapping[str, str | None]) -> models.Validation:
        return self._do(operations.validate(plugin, config))

    def loggers(self) -> dict[str, models.LoggerLevel]:
        return self._do(operations.loggers())

    def logger(self, name: str) -> models.LoggerLevel:
        return self._do(operations.logger(name))

    def set_logger(self, name: str, level: str) -> list[str]:
        return self._do(operations.set_logger(name, level))

    def set_cluster_logger(self, name: str, level: str) -> None:
        return self._do(operations.set_cluster_logger(name, level))

    # mirrors

    def mirrors(self) -> list[models.MirrorSummary]:
        return self._do(operations.mirrors())

    def mirror(self, name: str) -> models.Mirror:
        return self._do(operations.mirror(name))

    def mirror_groups(self, name: str) -> models.MirrorGroups:
        return self._do(operations.mirror_groups(name))

    def sync_mirror_groups(self, name: str) -> models.SyncedGroups:
        return self._do(operations.sync_mirror_groups(name))

    # observation

    def worker(self) -> observation_models.WorkerLoad:
        return self._do(observation.worker())

    def cluster(self) -> observation_models.Cluster:
        return self._do(observation.cluster())

    def overview(self) -> observation_models.Overview:
        return self._do(observation.overview())

    def series(self, name: str, minutes: int = 60) -> observation_models.Series:
        return self._do(observation.series(name, minutes))

    def logs(self, name: str, limit: int = 200, level: str = "INFO") -> list[observation_models.LogLine]:
        return self._do(observation.logs(name, limit, level))

    def events(self, name: str, limit: int = 100) -> list[observation_models.ConnectorEvent]:
        return self._do(observation.events(name, limit))

    def ready(self) -> observation_models.Readiness:
        return self._do(observation.ready())

    # anything else

    def request(
        self, method: str, path: str, body: Any = None, query: Mapping[str, str | Sequence[str]] | None = None
    ) -> Any:
        """Any request: the answer's JSON as it is, None if there is none."""
        return self._do(operations.raw(method, path, body, query or {}))
