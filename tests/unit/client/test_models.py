"""The models, and what a worker's own document says of its answers."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from seamark.client import Mirror, MirrorGroup, MirrorPartition, encode, models, observation_models, operation_models
from seamark.client.decoding import DecodingError, decode
from seamark.rest import mirror_schemas, observation_schemas, operation_schemas, schemas
from unit.client.conftest import Ask
from unit.client.scripted import scripted

OBSERVED = (
    *("SparkState", "WorkerLoad", "ClusterWorker", "Cluster", "OverviewConnector", "Overview"),
    *("SeriesPoint", "Series", "LogLine", "ConnectorEvent", "Readiness"),
)


@pytest.mark.parametrize(
    ("model", "schema"),
    [
        (models.WorkerInfo, schemas.ServerInfo),
        (models.WorkerHealth, schemas.WorkerStatus),
        (models.TaskId, schemas.ConnectorTaskId),
        (models.ConnectorInfo, schemas.ConnectorInfo),
        (models.ConnectorState, schemas.ConnectorState),
        (models.TaskState, schemas.TaskState),
        (models.AutoRestart, schemas.AutoRestart),
        (models.ConnectorStatus, schemas.ConnectorStateInfo),
        (models.ExpandedConnector, schemas.Expanded),
        (models.TaskInfo, schemas.TaskInfo),
        (models.ConnectorOffset, schemas.ConnectorOffset),
        (models.PartitionProgress, schemas.PartitionProgress),
        (models.ConnectorProgress, schemas.ConnectorProgress),
        (models.Plugin, schemas.PluginInfo),
        (models.ConfigKey, schemas.ConfigKeyInfo),
        (models.ConfigValue, schemas.ConfigValueInfo),
        (models.ConfigEntry, schemas.ConfigInfo),
        (models.Validation, schemas.ConfigInfos),
        (models.LoggerLevel, schemas.LoggerLevel),
        (models.MirrorSummary, mirror_schemas.MirrorSummary),
        (models.MirrorTotals, mirror_schemas.MirrorTotals),
        (models.LastSync, mirror_schemas.LastSync),
        (models.MirrorPartition, mirror_schemas.MirrorPartition),
        (models.Mirror, mirror_schemas.Mirror),
        (models.TranslatedPartition, mirror_schemas.MovedPartition),
        (models.MirrorGroup, mirror_schemas.MovedGroup),
        (models.MirrorGroups, mirror_schemas.MirrorGroups),
        (models.SyncedPartition, mirror_schemas.SyncedPartition),
        (models.SyncedGroup, mirror_schemas.SyncedGroup),
        (models.SyncedGroups, mirror_schemas.SyncedGroups),
        *((getattr(observation_models, name), getattr(observation_schemas, name)) for name in OBSERVED),
        (operation_models.OffsetMove, operation_schemas.OffsetMove),
        (operation_models.OffsetPreview, operation_schemas.Preview),
        (operation_models.OperationStep, operation_schemas.Step),
        (operation_models.OffsetOperation, operation_schemas.Operation),
    ],
)
def test_models_have_what_the_document_has(model: type, schema: type[BaseModel]) -> None:
    fields = {each.name for each in dataclasses.fields(model)}
    assert fields == set(schema.model_fields)


def test_a_mirror_is_read(ask: Ask) -> None:
    partition = {"topic": "t", "remote_topic": "a.t", "partition": 0, "position": None, "start": 0, "end": 9}
    group = {"group": "g", "partitions": [{"remote_topic": "a.t", "partition": 0, "upstream": 5, "downstream": 4}]}
    found = {
        "connector": "m->n",
        "state": "RUNNING",
        "enabled": True,
        "source": "a",
        "target": "b",
        "tasks": {"RUNNING": 2},
        "error": None,
        "source_cluster_id": "x",
        "totals": {"topics": 1, "partitions": 1, "lag": 9, "lag_ms": None},
        "partitions": [{**partition, "lag": 9, "lag_ms": 5, "last_sync": {"upstream": 1, "downstream": 2}}],
        "groups": [group],
        "what a later worker adds": [1],
    }
    with scripted((200, json.dumps(found))) as worker:
        mirror = ask(worker.url, lambda client: client.mirror("m->n"))
    assert worker.asked[0][1] == "/mirrors/m-%3En"
    assert isinstance(mirror, Mirror)
    expected = MirrorPartition("t", "a.t", 0, 0, 9, None, 9, 5, models.LastSync(1, 2))
    assert mirror.partitions == [expected]
    assert mirror.groups == [MirrorGroup("g", [models.TranslatedPartition("a.t", 0, 5, 4)])]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, r"\$ has no 'connector'"),
        ({"connector": "a", "task": "0"}, r"\$\.task should be int"),
        ({"connector": "a", "task": True}, r"\$\.task should be int"),
        ({"connector": None, "task": 0}, r"\$\.connector should be str"),
        ([], r"\$ should be an object"),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(value: object, words: str) -> None:
    with pytest.raises(DecodingError, match=words):
        decode(models.TaskId, value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), JSON), st.dictionaries(st.text(), JSON) | st.none())
def test_offsets_come_back_as_they_were_sent(partition: dict[str, object], offset: dict[str, object] | None) -> None:
    sent = models.ConnectorOffset(partition, offset)
    assert decode(models.ConnectorOffset, json.loads(json.dumps(encode(sent)))) == sent


@given(JSON)
def test_any_json_is_decoded_or_refused(value: object) -> None:
    for kind in (models.ConnectorStatus, models.Validation, list[models.Plugin], dict[str, models.LoggerLevel]):
        try:
            decode(kind, value)
        except DecodingError:
            continue
