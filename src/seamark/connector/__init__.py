"""The public API for authors of connectors: one import serves them."""

from seamark.config.configdef import ConfigDef, ConfigValue, Importance, Range, ValidString
from seamark.config.configdef import Type as ConfigType
from seamark.connector.connector import Connector, ConnectorContext, ConnectorMemory
from seamark.connector.converter import Converter, HeaderConverter
from seamark.connector.frame import FrameSink, FrameSource, ReadLimit, SinkBatch
from seamark.connector.numbers import Float32, Int8, Int16, Int32
from seamark.connector.offsets import Offsets, SourceOffset, SourcePartition
from seamark.connector.positions import PositionLogs
from seamark.connector.records import (
    ConnectRecord,
    Header,
    RecordBatch,
    RecordMetadata,
    SchemaAndValue,
    SinkRecord,
    SourceRecord,
    TimestampType,
    ValueBatch,
)
from seamark.connector.schema import Field, Schema, Struct, Type
from seamark.connector.sink import ErrantRecordReporter, SinkConnector, SinkTask, SinkTaskContext, TopicPartition
from seamark.connector.source import (
    ConnectorTransactionBoundaries,
    ExactlyOnceSupport,
    SourceConnector,
    SourceTask,
    SourceTaskContext,
)
from seamark.connector.transactions import TransactionContext
from seamark.connector.transform import Predicate, Transformation
from seamark.errors import ConfigError, ConnectError, DataError, RetriableError

__all__ = [
    "ConfigDef",
    "ConfigError",
    "ConfigType",
    "ConfigValue",
    "ConnectError",
    "ConnectRecord",
    "Connector",
    "ConnectorContext",
    "ConnectorMemory",
    "ConnectorTransactionBoundaries",
    "Converter",
    "DataError",
    "ErrantRecordReporter",
    "ExactlyOnceSupport",
    "Field",
    "Float32",
    "FrameSink",
    "FrameSource",
    "Header",
    "HeaderConverter",
    "Importance",
    "Int16",
    "Int32",
    "Int8",
    "Offsets",
    "PositionLogs",
    "Predicate",
    "Range",
    "ReadLimit",
    "RecordBatch",
    "RecordMetadata",
    "RetriableError",
    "Schema",
    "SchemaAndValue",
    "SinkBatch",
    "SinkConnector",
    "SinkRecord",
    "SinkTask",
    "SinkTaskContext",
    "SourceConnector",
    "SourceOffset",
    "SourcePartition",
    "SourceRecord",
    "SourceTask",
    "SourceTaskContext",
    "Struct",
    "TimestampType",
    "TopicPartition",
    "TransactionContext",
    "Transformation",
    "Type",
    "ValidString",
    "ValueBatch",
]
