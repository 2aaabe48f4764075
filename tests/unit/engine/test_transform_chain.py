from __future__ import annotations

import textwrap
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from seamark.config.configdef import ConfigDef
from seamark.connector import DataError, SourceRecord, Transformation
from seamark.connector.transform import Record
from seamark.engine.plugins import Plugins
from seamark.engine.transform_chain import TransformChain
from seamark.engine.transform_config import enriched
from seamark.errors import ConfigError, ConnectorCodeError

T = "org.apache.kafka.connect.transforms."


class Counting(Transformation):
    """Counts its calls, fails on "bad", drops "drop"."""

    calls: ClassVar[list[Any]] = []
    closed: ClassVar[list[str]] = []

    def configure(self, config: Mapping[str, Any]) -> None:
        self.name = config.get("name", "")
        if self.name == "broken":
            raise RuntimeError("no such thing")

    def apply(self, record: Record) -> Record | None:
        self.calls.append(record.value)
        if record.value == "bad":
            raise DataError("bad value")
        return None if record.value == "drop" else record

    def close(self) -> None:
        self.closed.append(self.name)
        if self.name == "sticky":
            raise OSError("will not close")


COUNTING = f"{__name__}:Counting"


@pytest.fixture(autouse=True)
def nothing_counted() -> None:
    Counting.calls.clear()
    Counting.closed.clear()


def chain(**config: str) -> TransformChain:
    settings = {key.replace("__", "."): value for key, value in config.items()}
    return TransformChain.of(Plugins(), settings)


def hoist(alias: str, field: str) -> dict[str, str]:
    return {f"transforms__{alias}__type": f"{T}HoistField$Value", f"transforms__{alias}__field": field}


def test_without_transforms_records_pass_as_they_are() -> None:
    empty = chain()
    record = SourceRecord("t", "v")
    assert not empty
    assert empty.apply(record) is record
    assert not chain(transforms="")


def test_transforms_apply_in_order() -> None:
    both = chain(transforms="b, a", **hoist("a", "outer"), **hoist("b", "inner"))
    result = both.apply(SourceRecord("t", "v"))
    assert result is not None
    assert result.value == {"outer": {"inner": "v"}}
    assert [(stage.alias, stage.class_name) for stage in both.stages] == [
        ("b", f"{T}HoistField$Value"),
        ("a", f"{T}HoistField$Value"),
    ]


def test_transforms_of_keys_and_values_mix() -> None:
    mixed = chain(
        transforms="a,k,l,b",
        **hoist("a", "v"),
        **hoist("b", "w"),
        transforms__k__type=f"{T}HoistField$Key",
        transforms__k__field="k",
        transforms__l__type=f"{T}ExtractField$Key",
        transforms__l__field="k",
    )
    result = mixed.apply(SourceRecord("t", "value", "key"))
    assert result is not None
    assert (result.key, result.value) == ("key", {"w": {"v": "value"}})


@pytest.mark.parametrize(("negate", "topics"), [("false", ["b"]), ("true", ["aa"])])
def test_a_predicate_says_which_records_a_transform_applies_to(negate: str, topics: list[str]) -> None:
    filtering = chain(
        transforms="f",
        transforms__f__type="Filter",
        transforms__f__predicate="p",
        transforms__f__negate=negate,
        predicates="p",
        predicates__p__type="TopicNameMatches",
        predicates__p__pattern="a+",
    )
    kept = [filtering.apply(SourceRecord(topic)) for topic in ("aa", "b")]
    assert [record.topic for record in kept if record is not None] == topics


def test_nothing_sees_a_record_that_was_dropped() -> None:
    dropping = chain(transforms="a,b", transforms__a__type=COUNTING, transforms__b__type=COUNTING)
    assert dropping.apply(SourceRecord("t", "drop")) is None
    assert Counting.calls == ["drop"]


def test_a_failure_names_its_stage_and_the_chain_goes_on_behind_it() -> None:
    failing = chain(
        transforms="a,e,b,c",
        **hoist("a", "x"),
        transforms__e__type=f"{T}ExtractField$Value",
        transforms__e__field="x",
        transforms__b__type=COUNTING,
        **hoist("c", "z"),
    )
    with pytest.raises(DataError, match="bad value"):
        failing.apply(SourceRecord("t", "bad"))
    failed = failing.failed
    assert failed is not None
    assert (failed.stage.alias, failed.index, failed.record.value) == ("b", 2, "bad")
    assert Counting.calls == ["bad"]  # a transform that failed is not run again just to find it
    result = failing.resume(failed, failed.record.with_(value="good"))
    assert result is not None
    assert result.value == {"z": "good"}


def test_the_failing_one_of_several_transforms_that_run_as_one_is_found() -> None:
    fused = chain(
        transforms="a,m,c",
        **hoist("a", "x"),
        transforms__m__type=f"{T}Cast$Value",
        transforms__m__spec="x:int8",
        **hoist("c", "z"),
    )
    with pytest.raises(DataError, match="was out of range"):
        fused.apply(SourceRecord("t", "text"))
    assert fused.failed is not None
    assert (fused.failed.stage.alias, fused.failed.record.value) == ("m", {"x": "text"})
    result = fused.apply(SourceRecord("t", "5"))
    assert result is not None
    assert result.value == {"z": {"x": 5}}


def test_closing_reaches_all_even_if_one_fails() -> None:
    closing = chain(
        transforms="a,b",
        transforms__a__type=COUNTING,
        transforms__a__name="sticky",
        transforms__b__type=COUNTING,
        transforms__b__name="other",
    )
    with pytest.raises(OSError, match="will not close"):
        closing.close()
    assert Counting.closed == ["sticky", "other"]


def test_a_predicate_that_is_not_defined_is_named() -> None:
    with pytest.raises(ConfigError, match="'p', which is not defined") as caught:
        chain(transforms="f", transforms__f__type="Filter", transforms__f__predicate="p")
    assert caught.value.key == "transforms.f.predicate"


def test_a_transform_that_cannot_be_configured_is_named() -> None:
    with pytest.raises(ConnectorCodeError, match="Connector 'c' failed in configure of transform a"):
        chain(name="c", transforms="a", transforms__a__type=COUNTING, transforms__a__name="broken")


def test_validation_reports_on_all_keys_of_transforms_and_predicates() -> None:
    config = {
        "transforms": "good,unknown",
        "transforms.good.type": f"{T}Cast$Value",
        "transforms.good.spec": "a:nope",
        "transforms.unknown.type": "nope",
        "predicates": "p",
        "predicates.p.type": "HasHeaderKey",
    }
    with pytest.raises(ConfigError, match="Class nope could not be found"):
        enriched(ConfigDef(), Plugins(), config)
    definition = enriched(ConfigDef(), Plugins(), config, lenient=True)
    reports = {report.name: report.errors for report in definition.validate(config)}
    assert reports["transforms.good.replace.null.with.default"] == []
    assert "Invalid type found in casting spec: nope" in reports["transforms.good.spec"][0]
    assert reports["predicates.p.name"] == [
        'Missing required configuration "predicates.p.name" which has no default value.'
    ]
    assert reports["transforms.good.predicate"] == []
    key = definition.key("transforms.good.spec")
    assert key is not None
    assert key.group == "Transforms: good"


def test_a_transform_of_ones_own_is_found_on_the_plugin_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setattr(sys, "path", list(sys.path))
    name = f"own{uuid.uuid4().hex[:8]}"
    (tmp_path / f"{name}.py").write_text(
        textwrap.dedent(
            f"""
            from seamark.connector import Predicate, Transformation

            class {name.capitalize()}(Transformation):
                def apply(self, record):
                    return record.with_(value=record.value.upper())

            class Odd{name}(Predicate):
                def test(self, record):
                    return len(record.value) % 2 == 1
            """
        )
    )
    plugins = Plugins(str(tmp_path))
    own = TransformChain.of(
        plugins,
        {
            "transforms": "u",
            "transforms.u.type": name.capitalize(),
            "transforms.u.predicate": "odd",
            "predicates": "odd",
            "predicates.odd.type": f"Odd{name}",
        },
    )
    results = [own.apply(SourceRecord("t", value)) for value in ("abc", "ab")]
    assert [result.value for result in results if result is not None] == ["ABC", "ab"]
    assert [info.class_name for info in plugins.transformations() if name in info.reference] == [
        f"{name}.{name.capitalize()}"
    ]
    assert own.stages[0].class_name == f"{name}.{name.capitalize()}"


def test_all_of_connects_own_are_listed() -> None:
    plugins = Plugins()
    names = [info.class_name for info in plugins.transformations()]
    assert len([name for name in names if name.startswith("org.apache.kafka.connect.transforms.")]) == 26
    assert {info.kind for info in plugins.transformations()} == {"transformation"}
    assert [info.class_name.rpartition(".")[2] for info in plugins.predicates()] == [
        "HasHeaderKey",
        "RecordIsTombstone",
        "TopicNameMatches",
    ]
