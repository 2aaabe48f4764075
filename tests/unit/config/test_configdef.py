from __future__ import annotations

import pickle

import pytest

from seamark.config.configdef import (
    NO_DEFAULT,
    AllOf,
    ConfigDef,
    Importance,
    NonEmptyString,
    NonEmptyStringWithoutControlChars,
    Password,
    Range,
    Type,
    ValidList,
    ValidString,
    parse_type,
)
from seamark.errors import ConfigError


def error_of(definition: ConfigDef, config: dict[str, object]) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        definition.parse(config)
    return caught.value


def test_missing_required_key_is_reported_with_kafkas_words() -> None:
    error = error_of(ConfigDef().define("file", Type.STRING), {})
    assert error.message == 'Missing required configuration "file" which has no default value.'
    assert error.key == "file"


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Type.STRING, "  a b ", "a b"),
        (Type.INT, " +12 ", 12),
        (Type.INT, "-2147483648", -(2**31)),
        (Type.LONG, "9223372036854775807", 2**63 - 1),
        (Type.SHORT, "-32768", -32768),
        (Type.DOUBLE, "1e3", 1000.0),
        (Type.DOUBLE, "2.5f", 2.5),
        (Type.DOUBLE, "Infinity", float("inf")),
        (Type.BOOLEAN, " TRUE", True),
        (Type.BOOLEAN, "false", False),
        (Type.LIST, " a , b,,c ", ["a", "b", "", "c"]),
        (Type.LIST, "  ", []),
        (Type.CLASS, " org.x.Y ", "org.x.Y"),
        (Type.PASSWORD, " secret ", Password("secret")),
    ],
)
def test_texts_become_typed_values(kind: Type, text: str, value: object) -> None:
    parsed = parse_type("key", text, kind)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        (Type.INT, "x", "Not a number of type INT"),
        (Type.INT, "2147483648", "Not a number of type INT"),
        (Type.INT, "1_000", "Not a number of type INT"),
        (Type.INT, 1.5, "Expected value to be a 32-bit integer, but it was a java.lang.Double"),
        (Type.SHORT, "40000", "Not a number of type SHORT"),
        (Type.SHORT, True, "Expected value to be a 16-bit integer (short), but it was a java.lang.Boolean"),
        (Type.LONG, [], "Expected value to be a 64-bit integer (long), but it was a java.util.ArrayList"),
        (Type.DOUBLE, "nan", "Not a number of type DOUBLE"),
        (Type.DOUBLE, {}, "Expected value to be a double, but it was a java.util.LinkedHashMap"),
        (Type.BOOLEAN, "yes", "Expected value to be either true or false"),
        (Type.STRING, 3, "Expected value to be a string, but it was a java.lang.Integer"),
        (Type.LIST, 3, "Expected a comma separated list."),
        (Type.CLASS, 3, "Expected a Class instance or class name."),
    ],
)
def test_values_of_another_type_are_refused(kind: Type, value: object, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_type("key", value, kind)
    shown = {True: "true"}.get(value, value) if isinstance(value, bool) else value
    assert caught.value.message == f"Invalid value {shown} for configuration key: {reason}"
    assert (caught.value.key, caught.value.value) == ("key", value)


@pytest.mark.parametrize(
    ("validator", "kind", "text", "reason"),
    [
        (Range.at_least(1), Type.INT, "0", "Value must be at least 1"),
        (Range.between(0, 2), Type.INT, "3", "Value must be no more than 2"),
        (ValidString.of("a", "b"), Type.STRING, "c", "String must be one of: a, b"),
        (
            ValidString.of_ignoring_case("a", "b"),
            Type.STRING,
            "c",
            "String must be one of (case insensitive): A, B",
        ),
        (ValidList.of("a"), Type.LIST, "a,z", "String must be one of: a"),
        (NonEmptyString(), Type.STRING, " ", "String must be non-empty"),
        (NonEmptyStringWithoutControlChars(), Type.STRING, "", "String may not be empty"),
        (
            NonEmptyStringWithoutControlChars(),
            Type.STRING,
            "a\x07b",
            "String may not contain control sequences but had the following ASCII chars: 7",
        ),
        (AllOf(Range.at_least(0), Range.between(0, 1)), Type.INT, "2", "Value must be no more than 1"),
    ],
)
def test_validators_refuse_with_kafkas_words(validator: object, kind: Type, text: str, reason: str) -> None:
    definition = ConfigDef().define("key", kind, validator=validator)  # type: ignore[arg-type]
    assert error_of(definition, {"key": text}).message.endswith(f"for configuration key: {reason}")


def test_a_case_insensitive_choice_keeps_the_text() -> None:
    definition = ConfigDef().define("key", Type.STRING, validator=ValidString.of_ignoring_case("poll"))
    assert definition.parse({"key": "POLL"}) == {"key": "POLL"}


def test_unknown_keys_are_left_out_and_defaults_filled_in() -> None:
    definition = ConfigDef().define("a", Type.INT, 1).define("b", Type.LIST, ["x"])
    assert definition.parse({"c": "3"}) == {"a": 1, "b": ["x"]}
    definition.parse({})["b"].append("changed")
    assert definition.parse({})["b"] == ["x"]


def test_an_optional_key_may_be_left_out_whatever_its_validator_says() -> None:
    definition = ConfigDef().define("a", Type.INT, None, validator=Range.at_least(1))
    assert definition.parse({}) == {"a": None}
    assert definition.validate({})[0].errors == []
    assert "at least 1" in error_of(definition, {"a": "0"}).message


def test_validate_reports_on_every_key_and_never_raises() -> None:
    definition = (
        ConfigDef()
        .define("good", Type.INT, 5)
        .define("missing", Type.INT, validator=Range.at_least(1))
        .define("bad", Type.BOOLEAN, False)
    )
    reports = {report.name: report for report in definition.validate({"bad": "maybe"})}
    assert list(reports) == ["good", "missing", "bad"]
    assert (reports["good"].value, reports["good"].errors) == (5, [])
    assert reports["missing"].errors == [
        'Missing required configuration "missing" which has no default value.',
        "Invalid value null for configuration missing: Value must be non-null",
    ]
    assert reports["bad"].value is None
    assert len(reports["bad"].errors) == 1


def test_recommenders_see_the_other_values() -> None:
    class OnlyWithTls:
        def valid_values(self, name: str, parsed: object) -> list[str]:
            return ["a", "b"]

        def visible(self, name: str, parsed: dict[str, object]) -> bool:
            return parsed["tls"] is True

    definition = ConfigDef().define("tls", Type.BOOLEAN, False, dependents=["store"])
    definition.define("store", Type.STRING, None, recommender=OnlyWithTls())
    for tls in (True, False):
        store = definition.validate({"tls": str(tls)})[1]
        assert (store.recommended_values, store.visible) == (["a", "b"], tls)


def test_a_dependent_that_is_not_defined_is_an_error() -> None:
    definition = ConfigDef().define("a", Type.INT, 1, dependents=["b"])
    assert "not defined: b" in error_of(definition, {}).message
    assert definition.validate({})[1].errors == ["b is referred in the dependents, but not defined."]


def test_a_key_cannot_be_defined_twice_and_defaults_are_checked() -> None:
    definition = ConfigDef().define("a", Type.INT, 1)
    with pytest.raises(ConfigError, match="Configuration a is defined twice"):
        definition.define("a", Type.INT, 2)
    with pytest.raises(ConfigError, match="Value must be at least 1"):
        definition.define("b", Type.INT, 0, validator=Range.at_least(1))


def test_extending_keeps_what_is_there_and_adds_a_prefix() -> None:
    base = ConfigDef().define("x.a", Type.INT, 1)
    base.extend(ConfigDef().define("a", Type.INT, 2).define("b", Type.INT, 3), prefix="x.")
    assert base.parse({}) == {"x.a": 1, "x.b": 3}
    copy = ConfigDef(base).define("c", Type.INT, 4)
    assert "c" in copy
    assert "c" not in base


def test_passwords_do_not_show_themselves() -> None:
    value = ConfigDef().define("p", Type.PASSWORD).parse({"p": "secret"})["p"]
    assert (str(value), repr(value), f"{value}") == ("[hidden]", "[hidden]", "[hidden]")
    assert value.value == "secret"
    definition = ConfigDef().define("p", Type.PASSWORD, "secret")
    assert "secret" not in definition.markdown()


def test_no_default_survives_pickling_as_itself() -> None:
    assert pickle.loads(pickle.dumps(NO_DEFAULT)) is NO_DEFAULT


def test_markdown_lists_required_keys_first_and_escapes_bars() -> None:
    definition = (
        ConfigDef()
        .define("b", Type.INT, 1, validator=Range.at_least(0), doc="one | two")
        .define("a", Type.STRING, importance=Importance.HIGH, doc="first")
        .define("hidden", Type.STRING, "", internal=True)
    )
    lines = definition.markdown().splitlines()
    assert lines[2] == "| `a` | string | **required** |  | high | first |"
    assert lines[3] == "| `b` | int | `1` | [0,...] | medium | one \\| two |"
    assert len(lines) == 4
