"""A typed client of the REST API of Seamark and of Kafka Connect, for Python: one that waits, and one for asyncio.

::

    from seamark.client import ConnectClient, NotFound

    with ConnectClient("http://localhost:8083") as client:
        client.stop("orders")
        client.await_state("orders", "STOPPED")
        for each in client.offsets("orders"):
            print(each.partition, each.offset)

It works against real Kafka Connect, too; `capabilities` says whether the worker is Seamark and which endpoints it has,
and what a worker lacks is raised as `Unsupported`. Nothing of this package needs the rest of Seamark, Spark or Kafka.
"""

from seamark.client.access import WhoAmI
from seamark.client.async_client import AsyncConnectClient
from seamark.client.bearer_auth import BearerAuth
from seamark.client.decoding import encode
from seamark.client.errors import (
    BadRequest,
    ClientError,
    Conflict,
    Forbidden,
    NotFound,
    ServerError,
    StateNotReached,
    UnexpectedAnswer,
    Unreachable,
    Unsupported,
)
from seamark.client.exchange import DEFAULT_URL, Retry, Settings
from seamark.client.models import (
    AutoRestart,
    Capabilities,
    ConfigEntry,
    ConfigKey,
    ConfigValue,
    ConnectorInfo,
    ConnectorOffset,
    ConnectorProgress,
    ConnectorState,
    ConnectorStatus,
    ExpandedConnector,
    LastSync,
    LoggerLevel,
    Mirror,
    MirrorGroup,
    MirrorGroups,
    MirrorPartition,
    MirrorSummary,
    MirrorTotals,
    PartitionProgress,
    Plugin,
    PutResult,
    SyncedGroup,
    SyncedGroups,
    SyncedPartition,
    TaskId,
    TaskInfo,
    TaskState,
    TranslatedPartition,
    Validation,
    WorkerHealth,
    WorkerInfo,
)
from seamark.client.observation_models import (
    Cluster,
    ClusterWorker,
    ConnectorEvent,
    LogLine,
    Overview,
    OverviewConnector,
    Readiness,
    Series,
    SeriesPoint,
    SparkState,
    WorkerLoad,
)
from seamark.client.offset_view_models import (
    OffsetRecords,
    OffsetTable,
    OffsetTableRow,
    OffsetTimeline,
    OffsetTotals,
    PeekedRecord,
    TimelineBucket,
    TimelinePosition,
)
from seamark.client.operation_models import OffsetMove, OffsetOperation, OffsetPreview, OperationStep
from seamark.client.sync_client import ConnectClient

__all__ = [
    "Cluster",
    "ClusterWorker",
    "ConnectorEvent",
    "LogLine",
    "Overview",
    "OverviewConnector",
    "Readiness",
    "Series",
    "SeriesPoint",
    "SparkState",
    "WorkerLoad",
    "OffsetRecords",
    "OffsetTable",
    "OffsetTableRow",
    "OffsetTimeline",
    "OffsetTotals",
    "PeekedRecord",
    "TimelineBucket",
    "TimelinePosition",
    "OperationStep",
    "OffsetPreview",
    "OffsetOperation",
    "OffsetMove",
    "AsyncConnectClient",
    "BearerAuth",
    "AutoRestart",
    "BadRequest",
    "Capabilities",
    "ClientError",
    "ConfigEntry",
    "ConfigKey",
    "ConfigValue",
    "Conflict",
    "ConnectClient",
    "ConnectorInfo",
    "ConnectorOffset",
    "ConnectorProgress",
    "ConnectorState",
    "ConnectorStatus",
    "DEFAULT_URL",
    "ExpandedConnector",
    "Forbidden",
    "LastSync",
    "LoggerLevel",
    "Mirror",
    "MirrorGroup",
    "MirrorGroups",
    "MirrorPartition",
    "MirrorSummary",
    "MirrorTotals",
    "NotFound",
    "PartitionProgress",
    "Plugin",
    "PutResult",
    "Retry",
    "ServerError",
    "Settings",
    "StateNotReached",
    "SyncedGroup",
    "SyncedGroups",
    "SyncedPartition",
    "TaskId",
    "TaskInfo",
    "TaskState",
    "TranslatedPartition",
    "UnexpectedAnswer",
    "Unreachable",
    "Unsupported",
    "Validation",
    "WhoAmI",
    "WorkerHealth",
    "WorkerInfo",
    "encode",
]
