"""KIP-875 from the inside: what the hook of a connector is asked when, and where tasks go on.

The connectors are made to be observed, on herders in this process. What any client can see of FileStream connectors is
in tests/compat.
"""

from __future__ import annotations

import inspect
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from fixtures.herders import KINDS, MakeCase, Rows
from fixtures.offset_changes import (
    CALLS,
    DOCS,
    MOODY,
    REFUSAL,
    UNHOOKED,
    covered,
    not_covered,
    read_by,
    stopped,
)
from fixtures.worker import Topics
from seamark.connector import SinkConnector, SourceConnector, TopicPartition
from seamark.testing.waiting import eventually

# --- the hook ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("K875-36")
@pytest.mark.parametrize("base", [SourceConnector, SinkConnector])
def test_the_hook_is_optional_and_says_no_by_default(base: type[Any]) -> None:
    assert list(inspect.signature(base.alter_offsets).parameters) == ["self", "config", "offsets"]
    assert "alter_offsets" not in base.__abstractmethods__
    assert base.alter_offsets(object(), {}, {}) is False


@pytest.mark.requirement("K875-38")
@pytest.mark.parametrize("base", [SourceConnector, SinkConnector])
def test_the_documentation_of_the_hook_says_what_it_should_not_do(base: type[Any]) -> None:
    text = " ".join((base.alter_offsets.__doc__ or "").split())
    assert "NotImplementedError" in text
    assert "should not clear data" in text
    assert "may be called twice" in text


@pytest.mark.requirement("K875-08")
@pytest.mark.requirement("K875-09")
@pytest.mark.requirement("K875-10")
@pytest.mark.requirement("K875-16")
@pytest.mark.requirement("K875-38")
@pytest.mark.requirement("K875-45")
@pytest.mark.parametrize("kind", MOODY)
@pytest.mark.parametrize("cluster", KINDS)
def test_what_the_hook_does_decides_the_answer(make_case: MakeCase, topics: Topics, cluster: str, kind: str) -> None:
    offsets = stopped(make_case, topics, cluster, kind, MOODY)
    case = offsets.case
    failures = {
        "unsupported": f"Failed to modify offsets for connector {case.name} because it doesn't support external "
        "modification of offsets",
        "refuse": REFUSAL,
        "raise": f"Failed to modify offsets for {kind} connector {case.name}",
    }
    for verb in CALLS:
        for says, message in failures.items():
            case.say("hook.says", says)
            assert offsets.change(verb) == (500, message), (verb, says)
            assert offsets.stored() == offsets.before, f"{verb}, {says}: something was changed"
    left = {"alter": offsets.after, "reset": []}
    for verb in CALLS:
        for says, message in {"true": covered(verb), "false": not_covered(verb)}.items():
            case.say("hook.says", says)
            assert offsets.change(verb) == (200, message), (verb, says)
            assert offsets.stored() == left[verb]


@pytest.mark.requirement("K875-09")
@pytest.mark.requirement("K875-43")
@pytest.mark.requirement("K875-45")
@pytest.mark.parametrize("kind", UNHOOKED)
@pytest.mark.parametrize("cluster", KINDS)
def test_connector_without_a_hook(make_case: MakeCase, topics: Topics, cluster: str, kind: str) -> None:
    offsets = stopped(make_case, topics, cluster, kind, UNHOOKED)
    assert offsets.change("alter") == (200, not_covered("alter"))
    assert offsets.stored() == offsets.after
    assert offsets.change("reset") == (200, not_covered("reset"))
    assert offsets.stored() == []


@pytest.mark.requirement("K875-16")
@pytest.mark.requirement("K875-17")
@pytest.mark.requirement("K875-36")
@pytest.mark.requirement("K875-37")
@pytest.mark.parametrize("kind", MOODY)
@pytest.mark.parametrize("cluster", KINDS)
def test_the_hook_is_asked_before_anything_is_changed(
    make_case: MakeCase, topics: Topics, cluster: str, kind: str
) -> None:
    offsets = stopped(make_case, topics, cluster, kind, MOODY)
    case = offsets.case
    asked = len(case.observed.calls("alter_offsets"))
    given = {"alter": offsets.hook_rows(8), "reset": offsets.hook_rows(None, None)}
    left = {"alter": offsets.after, "reset": []}
    before = offsets.before
    with ThreadPoolExecutor(1) as pool:
        for number, verb in enumerate(CALLS):
            case.say("hook.blocks", verb)
            answer = pool.submit(offsets.change, verb)
            calls = case.observed.wait_for("alter_offsets", lambda calls, n=number: len(calls) > asked + n)  # type: ignore[misc]
            assert offsets.stored() == before, "changed before the hook had agreed"
            assert not answer.done()
            case.observed.release(verb)
            assert answer.result(60) == (200, covered(verb))
            assert offsets.stored() == left[verb]
            before = left[verb]
            assert sorted(map(str, calls[-1]["offsets"])) == sorted(map(str, given[verb]))
            types = {"source": ["SourcePartition", "dict"], "sink": ["TopicPartition", "int"]}[kind]
            assert calls[-1]["types"] == ([types[0], types[1]] if verb == "alter" else ["NoneType", types[0]])
    case.say("hook.blocks", "")
    assert offsets.change("reset") == (200, covered("reset")), "the same once more"
    assert [call["was_started"] for call in case.observed.calls("alter_offsets")] == [False] * (asked + 3)
    assert len(case.observed.instances(None)) == 0, "a stopped connector was started"


@pytest.mark.requirement("K875-39")
@pytest.mark.requirement("K875-16")
def test_the_format_of_sink_offsets_is_checked_before_the_hook(make_case: MakeCase, topics: Topics) -> None:
    offsets = stopped(make_case, topics, "distributed", "sink", MOODY)
    case, asked = offsets.case, len(offsets.case.observed.calls("alter_offsets"))
    good = offsets.after[0][0]
    for partition, offset in [({}, None), ({**good, "kafka_partition": "x"}, None), (good, {"kafka_offset": "1.5"})]:
        assert case.connect.alter(case.name, offsets.after[0], (partition, offset))[0] == 400
    assert len(case.observed.calls("alter_offsets")) == asked
    assert offsets.stored() == offsets.before


@pytest.mark.requirement("K875-13")
@pytest.mark.parametrize("cluster", ["distributed", "exactly-once"])
def test_refused_while_the_config_topic_has_tasks(make_case: MakeCase, topics: Topics, cluster: str) -> None:
    offsets = stopped(make_case, topics, cluster, "source", MOODY)
    case = offsets.case
    asked = len(case.observed.calls("alter_offsets"))
    configs = case.cluster.nodes[0].herder._configs
    configs.put_task_configs(case.name, [{"task.class": "x"}])
    for verb in CALLS:
        status, message = offsets.change(verb)
        assert status == 400
        assert message.startswith("Connectors must be in the STOPPED state before their offsets can be modified.")
        assert f"'/connectors/{case.name}/stop'" in message
    assert len(case.observed.calls("alter_offsets")) == asked
    configs.put_task_configs(case.name, [])
    assert offsets.change("alter")[0] == 200


# --- what tasks see ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement("K875-01")
@pytest.mark.requirement("K875-40")
@pytest.mark.requirement("K875-44")
@pytest.mark.requirement("K875-47")
@pytest.mark.parametrize("cluster", KINDS)
def test_source_goes_on_where_it_was_put(make_case: MakeCase, topics: Topics, cluster: str) -> None:
    case = make_case(cluster, MOODY["source"], max__messages=6, has__work="auto")
    topics.create(case.topic)
    case.create()
    at_end: Rows = [({"source": "0"}, {"seq": 6})]
    eventually(lambda: case.connect.offsets(case.name) == at_end, 60)
    assert case.connect.status(case.name)["connector"]["state"] == "RUNNING"
    case.connect.stop(case.name)
    assert case.connect.alter(case.name, ({"source": "0"}, {"seq": 4}))[0] == 200
    assert case.connect.offsets(case.name) == [({"source": "0"}, {"seq": 4})]
    case.connect.resume(case.name)
    eventually(lambda: case.connect.offsets(case.name) == at_end, 60)
    assert case.observed.calls("start", task=0)[-1]["offsets"] == [[{"source": "0"}, {"seq": 4}]]
    case.connect.stop(case.name)
    assert case.connect.reset(case.name)[0] == 200
    case.connect.resume(case.name)
    eventually(lambda: case.connect.offsets(case.name) == at_end, 60)
    assert case.observed.calls("start", task=0)[-1]["offsets"] == []
    numbers = [int(value.rpartition("-")[2]) for value in topics.values(case.topic)]
    assert numbers == [1, 2, 3, 4, 5, 6, 5, 6, 1, 2, 3, 4, 5, 6]


@pytest.mark.requirement("K875-01")
@pytest.mark.requirement("K875-40")
@pytest.mark.requirement("K875-44")
@pytest.mark.requirement("K875-47")
@pytest.mark.requirement("K875-49")
@pytest.mark.parametrize("cluster", ["standalone", "distributed"])
def test_sink_goes_on_where_it_was_put(make_case: MakeCase, topics: Topics, cluster: str) -> None:
    case = make_case(cluster, MOODY["sink"])
    group = case.config["consumer.override.group.id"] = f"group-of-{case.name}"
    topics.create(case.topic)
    topics.send(case.topic, [f"r{number}" for number in range(6)])
    case.create()
    where = {"kafka_partition": 0, "kafka_topic": case.topic}
    eventually(lambda: case.connect.offsets(case.name) == [(where, {"kafka_offset": 6})], 60)
    assert topics.group_offsets(group) == {TopicPartition(case.topic, 0): 6}
    assert topics.group_offsets(f"connect-{case.name}") == {}
    case.connect.stop(case.name)
    assert case.connect.alter(case.name, (where, {"kafka_offset": 4}))[0] == 200
    assert topics.group_offsets(group) == {TopicPartition(case.topic, 0): 4}
    case.connect.resume(case.name)
    eventually(lambda: read_by(case) == [*range(6), 4, 5], 60)
    case.connect.stop(case.name)
    assert case.connect.reset(case.name)[0] == 200
    assert topics.group_offsets(group) == {}
    case.connect.resume(case.name)
    eventually(lambda: read_by(case) == [*range(6), 4, 5, *range(6)], 60)


# --- documentation ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("K875-43")
def test_the_documentation_names_the_extra_right() -> None:
    text = (DOCS / "guides" / "changing-offsets.md").read_text()
    assert "`<group.id>-<connector>-0`" in text
    assert "ACL" in text
