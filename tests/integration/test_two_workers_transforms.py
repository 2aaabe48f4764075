"""Transforms and predicates in a real Kafka Connect worker and in ours: the same fate of each record."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fixtures.transform_cases import TRANSFORM_CASES, random_case
from fixtures.transform_oracle import Case
from fixtures.transform_records import HEADERS, on_topic, zoo
from fixtures.two_workers import TwoWorkers
from fixtures.worker_outcomes import (
    TRANSFORMS,
    Outcome,
    RawRecord,
    assert_same_fates,
    combined,
    is_encodable,
    raw,
    with_headers,
)
from seamark.connector.transform import Record
from seamark.engine.plugins import Plugins
from seamark.engine.transform_chain import TransformChain
from seamark.errors import ConnectError

pytestmark = [pytest.mark.java, pytest.mark.slow]

JSON = "org.apache.kafka.connect.json.JsonConverter"
WITH_SCHEMAS = {"key.converter": JSON, "value.converter": JSON}
LEGAL_TOPIC = re.compile(r"[\w.-]{1,150}", re.ASCII)
CHAINS_AT_ONCE = 50
PLAIN_CASES = {name: case for name, case in TRANSFORM_CASES.items() if "predicates" not in case.config}
PREDICATE_CASES = {name: case for name, case in TRANSFORM_CASES.items() if "predicates" in case.config}
NAMES = sorted({name.partition("(")[0].partition("$")[0] for name in PLAIN_CASES})
GROUPS = [NAMES[start::5] for start in range(5)]  # each in one connector


def cases_of(name: str) -> list[Case]:
    return [case for title, case in PLAIN_CASES.items() if title.partition("(")[0].partition("$")[0] == name]


def consume(workers: TwoWorkers, cases: Sequence[Case]) -> tuple[Outcome, Outcome]:
    """All cases in one sink: every record is delivered or becomes a dead letter."""
    chains = {f"c{number}": case.config for number, case in enumerate(cases)}
    records: list[RawRecord] = []
    told: dict[Any, str] = {}
    for number, case in enumerate(cases):
        for record in case.records:
            encoded = raw(with_headers(record, (f"c{number}", "")))
            if encoded is not None:
                told[len(records)] = f"{dict(case.config)}: {record}"
                records.append(encoded)
    java, ours = workers.consume(records, {**WITH_SCHEMAS, **combined(chains)})
    assert_same_fates(java, ours, told)
    return java, ours


def replay(workers: TwoWorkers, cases: Sequence[Case]) -> tuple[Outcome, Outcome]:
    """All cases in one source: every record becomes the same bytes, or none."""
    chains = {f"c{number}": case.config for number, case in enumerate(cases)}
    records: dict[str, Record] = {}
    for number, case in enumerate(cases):
        chain = TransformChain.of(Plugins(), case.config)
        for index, record in enumerate(case.records):
            marked = with_headers(record.with_(kafka_partition=(None, 0, 1, 2)[index % 4]), (f"c{number}", ""))
            if is_encodable(marked) and lands_on_legal_topic(chain, marked):
                records[f"{number}-{index}"] = marked
    java, ours = workers.replay(records, {**WITH_SCHEMAS, **combined(chains), "errors.tolerance": "all"})
    told = {
        identity.encode(): f"{dict(cases[int(identity.partition('-')[0])].config)}: {record}"
        for identity, record in records.items()
    }
    assert_same_fates(java, ours, told)
    return java, ours


def lands_on_legal_topic(chain: TransformChain, record: Record) -> bool:
    """Records for topics that cannot exist end the task, in both workers; and Kafka takes no negative timestamps."""
    if record.timestamp is not None and record.timestamp <= 0:
        return False
    try:
        result = chain.apply(record)
    except ConnectError:
        return LEGAL_TOPIC.fullmatch(record.topic) is not None
    return result is None or LEGAL_TOPIC.fullmatch(result.topic) is not None


@pytest.mark.parametrize("names", GROUPS, ids=" ".join)
def test_all_records_of_a_sink_have_the_same_fate(names: list[str], two_workers: TwoWorkers) -> None:
    consume(two_workers, [case for name in names for case in cases_of(name)])


@pytest.mark.parametrize("names", GROUPS, ids=" ".join)
def test_a_source_writes_the_same_bytes(names: list[str], two_workers: TwoWorkers) -> None:
    replay(two_workers, [case for name in names for case in cases_of(name)])


@pytest.mark.parametrize("name", NAMES)
def test_each_transform_has_at_least_six_cases(name: str) -> None:
    records = [record for case in cases_of(name) for record in case.records if raw(record) is not None]
    assert len(records) >= 6
    assert any(record.value is None for record in records)
    assert any(record.value_schema is not None for record in records)
    assert any(record.value_schema is None and record.value is not None for record in records)


def test_predicates_choose_the_same_records(two_workers: TwoWorkers) -> None:
    """One connector with all predicates: a record gets a header from each that holds for it."""
    config: dict[str, str] = {"transforms": "", "predicates": ""}
    for number, case in enumerate(PREDICATE_CASES.values()):
        config["transforms"] += f",t{number}" if number else f"t{number}"
        config["predicates"] += f",p{number}" if number else f"p{number}"
        config |= {
            key.replace("predicates.p.", f"predicates.p{number}."): value
            for key, value in case.config.items()
            if key.startswith("predicates.")
        }
        config |= {
            f"transforms.t{number}.type": f"{TRANSFORMS}.InsertHeader",
            f"transforms.t{number}.header": f"mark-{number}",
            f"transforms.t{number}.value.literal": "x",
            f"transforms.t{number}.predicate": f"p{number}",
            f"transforms.t{number}.negate": case.config["transforms.f.negate"],
        }
    found = [on_topic(record, topic) for record in zoo() for topic in ("topic", "top", "orders")]
    found += [record.with_(headers=HEADERS) for record in found]
    records = {
        str(index): record.with_(kafka_partition=None) for index, record in enumerate(found) if is_encodable(record)
    }
    java, ours = two_workers.replay(records, {**WITH_SCHEMAS, **config})
    assert_same_fates(java, ours, {identity.encode(): str(record) for identity, record in records.items()})
    marks = {name for message in java.delivered.values() for name, _ in message["headers"] if name.startswith("mark-")}
    assert len(marks) == len(PREDICATE_CASES)


@settings(
    max_examples=4,
    phases=[Phase.generate],  # shrinking would take a connector for each step
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(min_value=0, max_value=2**32))
def test_random_chains_have_the_same_results(seed: int, two_workers: TwoWorkers) -> None:
    generator = random.Random(seed)
    cases = []
    while len(cases) < CHAINS_AT_ONCE:
        case = random_case(generator)
        config = {key: value for key, value in case.config.items() if not key.endswith((".predicate", ".negate"))}
        cases.append(Case({key: value for key, value in config.items() if "predicates" not in key}, case.records))
    consume(two_workers, cases)
    replay(two_workers, cases)
