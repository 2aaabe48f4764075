"""The keys of connector configurations that are common to all connectors, to all sources and to all sinks."""

from __future__ import annotations

from enum import Enum
from typing import Any

from seamark.config.configdef import (
    Check,
    ConfigDef,
    Importance,
    NonEmptyString,
    NonEmptyStringWithoutControlChars,
    Range,
    Type,
    ValidString,
    Width,
)
from seamark.config.java_regex import valid_regex
from seamark.config.validators import distinct, invalid
from seamark.config.worker_keys import ENGINE_KEYS, engine_config_def

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
COMMON, ERRORS, EXACTLY_ONCE = "Common", "Error Handling", "Exactly Once Support"


class TransactionBoundary(Enum):
    """When a source task with exactly-once support ends a transaction."""

    POLL = "poll"
    INTERVAL = "interval"
    CONNECTOR = "connector"


def _unique(kind: str) -> Check:
    def check(name: str, value: Any) -> None:
        if value is None:
            raise invalid(name, "null", "entry must be non null")
        if len(set(value)) < len(value):
            raise invalid(name, value, "Duplicate alias provided.")

    return Check(check, f"unique {kind}")


def common_config_def() -> ConfigDef:
    """Keys of every connector."""
    definition = (
        ConfigDef()
        .define(
            "name",
            Type.STRING,
            validator=NonEmptyStringWithoutControlChars(),
            importance=HIGH,
            doc="The connector's name, unique in the cluster.",
            group=COMMON,
            width=Width.MEDIUM,
            display_name="Connector name",
        )
        .define(
            "connector.class",
            Type.STRING,
            importance=HIGH,
            doc="The connector's class: a Java class name of one of Connect's own connectors, an alias such as "
            "`FileStreamSink`, or a Python class as `module:Class` or `module.Class`.",
            group=COMMON,
            width=Width.LONG,
            display_name="Connector class",
        )
        .define(
            "connector.plugin.version",
            Type.STRING,
            None,
            importance=MEDIUM,
            doc="The version of the connector that is wanted, or a range such as `[4.0,5.0)`. "
            "Seamark has one version of each; a config that asks for another one is refused.",
            group=COMMON,
            width=Width.MEDIUM,
            display_name="Connector version",
        )
        .define(
            "tasks.max",
            Type.INT,
            1,
            validator=Range.at_least(1),
            importance=HIGH,
            doc="The most tasks that the connector may have; each is one partition of its Spark jobs.",
            group=COMMON,
            width=Width.SHORT,
            display_name="Tasks max",
        )
        .define(
            "tasks.max.enforce",
            Type.BOOLEAN,
            True,
            importance=LOW,
            doc="Whether a connector that asks for more tasks than `tasks.max` fails. Deprecated in Kafka Connect.",
            group=COMMON,
            width=Width.SHORT,
            display_name="Enforce tasks max",
        )
    )
    for kind in ("key", "value", "header"):
        definition.define(
            f"{kind}.converter",
            Type.CLASS,
            None,
            importance=LOW,
            doc=f"How {kind}s become bytes and back. Settings start with `{kind}.converter.`. "
            "Without it the worker's is used.",
            group=COMMON,
            width=Width.SHORT,
            display_name=f"{kind.capitalize()} converter class",
        ).define(
            f"{kind}.converter.plugin.version",
            Type.STRING,
            None,
            importance=LOW,
            doc=f"The version of the converter of {kind}s that is wanted, or a range.",
            group=COMMON,
            width=Width.SHORT,
            display_name=f"{kind.capitalize()} converter version",
        )
    # Kafka Connect numbers these keys on, whatever their group; forms show keys by these numbers.
    for key, what, order in (("transforms", "transformation", 12), ("predicates", "predicate", 13)):
        definition.define(
            key,
            Type.LIST,
            [],
            validator=_unique(f"{what} aliases"),
            importance=LOW,
            doc=f"Aliases of the {what}s, in order. Their settings start with `{key}.<alias>.`.",
            group=key.capitalize(),
            order=order,
            width=Width.LONG,
            display_name=key.capitalize(),
        )
    definition.define(
        "config.action.reload",
        Type.STRING,
        "restart",
        validator=ValidString.of("none", "restart"),
        importance=LOW,
        doc="What to do when a value from an external configuration provider changes.",
        group=COMMON,
        order=14,
        width=Width.MEDIUM,
        display_name="Reload Action",
    )
    return _define_errors(definition)


def _define_errors(definition: ConfigDef) -> ConfigDef:
    return (
        definition.define(
            "errors.retry.timeout",
            Type.LONG,
            0,
            importance=MEDIUM,
            doc="How long, in milliseconds, a failed operation is tried again; 0 not at all, -1 without end.",
            group=ERRORS,
            width=Width.MEDIUM,
            display_name="Retry Timeout for Errors",
        )
        .define(
            "errors.retry.delay.max.ms",
            Type.LONG,
            60000,
            importance=MEDIUM,
            doc="The longest pause between two tries.",
            group=ERRORS,
            width=Width.MEDIUM,
            display_name="Maximum Delay Between Retries for Errors",
        )
        .define(
            "errors.tolerance",
            Type.STRING,
            "none",
            validator=ValidString.of("none", "all"),
            importance=MEDIUM,
            doc="`none`: an error fails the task; `all`: the record is skipped.",
            group=ERRORS,
            width=Width.SHORT,
            display_name="Error Tolerance",
        )
        .define(
            "errors.log.enable",
            Type.BOOLEAN,
            False,
            importance=MEDIUM,
            doc="Whether tolerated errors are logged too.",
            group=ERRORS,
            width=Width.SHORT,
            display_name="Log Errors",
        )
        .define(
            "errors.log.include.messages",
            Type.BOOLEAN,
            False,
            importance=MEDIUM,
            doc="Whether logged errors show the record that caused them.",
            group=ERRORS,
            width=Width.SHORT,
            display_name="Log Error Details",
        )
    )


def source_config_def() -> ConfigDef:
    """Keys of every source connector."""
    return (
        common_config_def()
        .define(
            "topic.creation.groups",
            Type.LIST,
            [],
            validator=_unique("topic creation groups"),
            importance=LOW,
            doc="Groups of settings for topics that the connector creates; each is configured with "
            "`topic.creation.<group>.*`, the default one with `topic.creation.default.*`.",
            group="Topic Creation",
            width=Width.LONG,
            display_name="Topic Creation Groups",
        )
        .define(
            "exactly.once.support",
            Type.STRING,
            "requested",
            validator=ValidString.of_ignoring_case("required", "requested"),
            importance=MEDIUM,
            doc="`required`: refuse the connector if it does not state that it supports exactly-once with this config, "
            "or if the worker has it switched off.",
            group=EXACTLY_ONCE,
            order=2,
            width=Width.SHORT,
            display_name="Exactly once support",
        )
        .define(
            "transaction.boundary",
            Type.STRING,
            "poll",
            validator=ValidString.of_ignoring_case("interval", "poll", "connector"),
            importance=MEDIUM,
            doc="With exactly-once: `poll` commits after each batch of records, `interval` after a time, `connector` "
            "when the task asks for it.",
            group=EXACTLY_ONCE,
            order=3,
            width=Width.SHORT,
            display_name="Transaction Boundary",
        )
        .define(
            "transaction.boundary.interval.ms",
            Type.LONG,
            None,
            validator=Range.at_least(0),
            importance=LOW,
            doc="The time between commits with `transaction.boundary=interval`. Without it the worker's "
            "`offset.flush.interval.ms`.",
            group=EXACTLY_ONCE,
            order=4,
            width=Width.SHORT,
            display_name="Transaction boundary interval",
        )
        .define(
            "offsets.storage.topic",
            Type.STRING,
            None,
            validator=NonEmptyString(),
            importance=LOW,
            doc="A topic of its own for the connector's offsets, "
            "on the cluster that its records go to; created if missing.",
            group="offsets.topic",
            width=Width.LONG,
            display_name="Offsets topic",
        )
        .extend(_engine_overrides())
    )


def sink_config_def() -> ConfigDef:
    """Keys of every sink connector."""
    return (
        common_config_def()
        .define(
            "topics",
            Type.LIST,
            [],
            validator=Check(distinct, "each topic once"),
            importance=HIGH,
            doc="The topics to read, comma-separated.",
            group=COMMON,
            order=4,
            width=Width.LONG,
            display_name="Topics",
        )
        .define(
            "topics.regex",
            Type.STRING,
            "",
            validator=Check(valid_regex, "valid regex"),
            importance=HIGH,
            doc="A regular expression for the names of the topics to read, instead of `topics`.",
            group=COMMON,
            order=4,
            width=Width.LONG,
            display_name="Topics regex",
        )
        .define(
            "errors.deadletterqueue.topic.name",
            Type.STRING,
            "",
            importance=MEDIUM,
            doc="The topic for records that could not be processed; none if empty.",
            group=ERRORS,
            width=Width.MEDIUM,
            display_name="Dead Letter Queue Topic Name",
        )
        .define(
            "errors.deadletterqueue.topic.replication.factor",
            Type.SHORT,
            3,
            importance=MEDIUM,
            doc="Replicas of that topic when it is created.",
            group=ERRORS,
            width=Width.MEDIUM,
            display_name="Dead Letter Queue Topic Replication Factor",
        )
        .define(
            "errors.deadletterqueue.context.headers.enable",
            Type.BOOLEAN,
            False,
            importance=MEDIUM,
            doc="Whether records in that topic get headers that describe the error, named `__connect.errors.*`.",
            group=ERRORS,
            width=Width.MEDIUM,
            display_name="Enable Error Context Headers",
        )
        .extend(_engine_overrides())
    )


def _engine_overrides() -> ConfigDef:
    """The engine's keys as a connector may set them: no default, so that the worker's value holds."""
    overrides = ConfigDef()
    for key in engine_config_def().keys():
        if key.name in ENGINE_KEYS:
            overrides.define(
                key.name,
                key.type,
                None,
                validator=key.validator,
                importance=LOW,
                doc=f"Overrides the worker's `{key.name}`. {key.doc}",
                group="Engine",
            )
    return overrides


SOURCE, SINK = source_config_def(), sink_config_def()
