"""The keys of the three mirror connectors: MirrorMaker 2's, in its order and with its defaults, and two of our own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from seamark.config.configdef import Check, ConfigDef, Importance, Type, ValidString
from seamark.config.timestamps import parse_timestamp_ms
from seamark.config.validators import Validator, invalid
from seamark.kafka.client_keys import client_config_def
from seamark.mirror import filters, policies
from seamark.mirror.client_names import SECURITY_NAMES
from seamark.mirror.loading import JAVA_PACKAGE, load_class
from seamark.mirror.start_positions import explicit_offsets

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
EMIT_OFFSET_SYNCS: Final = "emit.offset-syncs.enabled"
EMIT_CHECKPOINTS: Final = "emit.checkpoints.enabled"
OFFSET_SYNCS_LOCATION: Final = "offset-syncs.topic.location"
ON_DATA_LOSS, START = "mirror.on.data.loss", "mirror.start"
_FORWARDING_ADMIN: Final = "org.apache.kafka.clients.admin.ForwardingAdmin"
_PROTOCOLS: Final = ("SASL_SSL", "PLAINTEXT", "SSL", "SASL_PLAINTEXT")


def _class_check(base: type[Any], known: dict[str, type[Any]]) -> Check:
    def check(name: str, value: Any) -> None:
        if value is not None:
            load_class(name, value, base, known)

    return Check(check, f"{', '.join(JAVA_PACKAGE + each for each in known)}, or module:Class")


def _forwarding_admin(name: str, value: Any) -> None:
    if value not in (None, _FORWARDING_ADMIN, "ForwardingAdmin"):
        raise invalid(name, value, f"only {_FORWARDING_ADMIN} can be used; classes of one's own need a Java worker")


def _start(name: str, value: Any) -> None:
    if not value or value in ("earliest", "latest"):
        return
    if value.startswith("{"):
        explicit_offsets(value)
        return
    try:
        parse_timestamp_ms(value)
    except ValueError as error:
        raise invalid(
            name,
            value,
            'use earliest, latest, a time such as 2026-05-01T12:00:00Z, or offsets such as {"orders": {"0": 17}}',
        ) from error


def _switch(definition: ConfigDef, name: str, default: bool, doc: str) -> None:
    definition.define(name, Type.BOOLEAN, default, importance=LOW, doc=doc)


def _periodic(definition: ConfigDef, name: str, seconds: int, doc: str, *, is_enabled: bool = True) -> None:
    """The two keys of something that is done again and again."""
    _switch(definition, f"{name}.enabled", is_enabled, f"Whether to {doc}, again and again.")
    definition.define(
        f"{name}.interval.seconds", Type.LONG, seconds, importance=LOW, doc=f"How often, in seconds, to {doc}."
    )


def _class(definition: ConfigDef, name: str, default: str, check: Validator, doc: str) -> None:
    definition.define(name, Type.CLASS, default, validator=check, importance=LOW, doc=doc)


def _replication_factor(definition: ConfigDef, name: str, what: str) -> None:
    definition.define(name, Type.SHORT, 3, importance=LOW, doc=f"The replication factor of the {what} topic.")


def _topic_filter_class(definition: ConfigDef) -> None:
    _class(
        definition,
        filters.TOPIC_FILTER_CLASS,
        f"{JAVA_PACKAGE}DefaultTopicFilter",
        _class_check(filters.TopicFilter, {"DefaultTopicFilter": filters.DefaultTopicFilter}),
        "The filter that selects topics.",
    )


def _offset_syncs_location(definition: ConfigDef) -> None:
    definition.define(
        OFFSET_SYNCS_LOCATION,
        Type.STRING,
        "source",
        validator=ValidString.of("source", "target"),
        importance=LOW,
        doc="The cluster that holds the topic of offset syncs.",
    )


def _poll_timeout(definition: ConfigDef) -> None:
    definition.define(
        "consumer.poll.timeout.ms",
        Type.LONG,
        1000,
        importance=LOW,
        doc="How long, in milliseconds, a poll of the source cluster may wait for records.",
    )


def base_config_def() -> ConfigDef:
    """Keys of all three connectors."""
    definition = ConfigDef()
    _switch(definition, "enabled", True, "Whether anything is replicated from source to target.")
    definition.define("source.cluster.alias", Type.STRING, importance=HIGH, doc="The name of the source cluster.")
    definition.define(
        "target.cluster.alias",
        Type.STRING,
        "target",
        importance=HIGH,
        doc="The name of the target cluster, as in metrics and names of internal topics.",
    )
    definition.define(
        "admin.timeout.ms",
        Type.LONG,
        60000,
        importance=LOW,
        doc="How long, in milliseconds, an administrative step may take, such as looking for new topics.",
    )
    _class(
        definition,
        policies.POLICY_CLASS,
        f"{JAVA_PACKAGE}DefaultReplicationPolicy",
        _class_check(policies.ReplicationPolicy, dict(policies.POLICIES)),
        "The class that says how remote topics are called.",
    )
    definition.define(
        policies.SEPARATOR,
        Type.STRING,
        policies.DEFAULT_SEPARATOR,
        importance=LOW,
        doc="What stands between the alias and the topic in the name of a remote topic.",
    )
    _switch(
        definition,
        policies.INTERNAL_SEPARATOR_ENABLED,
        True,
        "Whether the separator is used in the names of the topics of checkpoints and offset syncs too; `false` keeps "
        "the names with dots of versions before Kafka 3.6.",
    )
    _class(
        definition,
        "forwarding.admin.class",
        _FORWARDING_ADMIN,
        Check(_forwarding_admin, _FORWARDING_ADMIN),
        "The class that creates and changes topics. Accepted as it is in existing configurations.",
    )
    definition.define(
        "metric.reporters",
        Type.LIST,
        "org.apache.kafka.common.metrics.JmxReporter",
        validator=filters.DISTINCT,
        importance=LOW,
        doc="Java classes that report metrics. Accepted, without effect: metrics are read over HTTP.",
    )
    definition.define(
        "security.protocol",
        Type.STRING,
        "PLAINTEXT",
        validator=ValidString.of_ignoring_case(*_PROTOCOLS),
        importance=MEDIUM,
        doc=_security_doc("security.protocol"),
    )
    definition.define(
        "config.providers",
        Type.LIST,
        "",
        validator=filters.DISTINCT,
        importance=LOW,
        doc="Names of config providers. The worker's are used; this key is accepted.",
    )
    known = client_config_def("admin")
    for name in SECURITY_NAMES:
        key = known.key(name)
        if key is not None:
            validator = filters.DISTINCT if key.type is Type.LIST else None
            definition.add(replace(key, doc=_security_doc(name), validator=validator))
    return definition


def _security_doc(name: str) -> str:
    return f"Set `source.cluster.{name}` and `target.cluster.{name}` instead: without the prefix it reaches no client."


def source_config_def() -> ConfigDef:
    """Keys of MirrorSourceConnector."""
    definition = filters.topic_filter_def(base_config_def())
    filters.config_property_filter_def(definition)
    _topic_filter_class(definition)
    _class(
        definition,
        filters.CONFIG_PROPERTY_FILTER_CLASS,
        f"{JAVA_PACKAGE}DefaultConfigPropertyFilter",
        _class_check(
            filters.ConfigPropertyFilter, {"DefaultConfigPropertyFilter": filters.DefaultConfigPropertyFilter}
        ),
        "The filter that selects settings of topics.",
    )
    _poll_timeout(definition)
    _periodic(definition, "refresh.topics", 600, "look for new topics and partitions")
    _periodic(definition, "sync.topic.configs", 600, "give remote topics the settings of their source topics")
    _periodic(definition, "sync.topic.acls", 600, "give remote topics the ACLs of their source topics")
    definition.define(
        "replication.factor", Type.INT, 2, importance=LOW, doc="The replication factor of new remote topics."
    )
    _replication_factor(definition, "offset-syncs.topic.replication.factor", "offset syncs")
    definition.define(
        "offset.lag.max",
        Type.LONG,
        100,
        importance=LOW,
        doc="How many records of a partition may be copied before the next offset sync.",
    )
    _offset_syncs_location(definition)
    _switch(
        definition,
        EMIT_OFFSET_SYNCS,
        True,
        "Whether offset syncs are written. Without them MirrorCheckpointConnector can translate no offset.",
    )
    _switch(
        definition,
        "heartbeats.replication.enabled",
        True,
        "Whether heartbeats topics are replicated even if the topic filter does not select them.",
    )
    definition.define(
        ON_DATA_LOSS,
        Type.STRING,
        "fail",
        validator=ValidString.of("fail", "reset", "skip"),
        importance=MEDIUM,
        doc="What to do when the source no longer has the next record of a partition, because it was deleted before it "
        "was copied or because the topic was truncated or created again: `fail` the task, `reset` to the earliest "
        "record there is, or `skip` to the end. (Not a key of MirrorMaker 2, which does what the consumer's "
        "`auto.offset.reset` says.)",
    )
    definition.define(
        START,
        Type.STRING,
        "",
        validator=Check(_start, "earliest, latest, an RFC 3339 time or offsets as JSON"),
        importance=MEDIUM,
        doc="Where to begin with partitions of which nothing was copied yet: `earliest`, `latest`, a time such as "
        '`2026-05-01T12:00:00Z`, or offsets such as `{"orders": {"0": 17}}`. By default `auto.offset.reset` of the '
        "source consumer decides, which is `earliest` unless set. (Not a key of MirrorMaker 2.)",
    )
    return definition


def checkpoint_config_def() -> ConfigDef:
    """Keys of MirrorCheckpointConnector."""
    definition = base_config_def()
    _poll_timeout(definition)
    filters.group_filter_def(definition)
    _class(
        definition,
        filters.GROUP_FILTER_CLASS,
        f"{JAVA_PACKAGE}DefaultGroupFilter",
        _class_check(filters.GroupFilter, {"DefaultGroupFilter": filters.DefaultGroupFilter}),
        "The filter that selects consumer groups.",
    )
    _periodic(definition, "refresh.groups", 600, "look for new consumer groups")
    _periodic(definition, "emit.checkpoints", 60, "write where groups stand in terms of the target cluster")
    _periodic(
        definition,
        "sync.group.offsets",
        60,
        "commit translated offsets on the target cluster for groups without members there",
        is_enabled=False,
    )
    _replication_factor(definition, "checkpoints.topic.replication.factor", "checkpoints")
    _offset_syncs_location(definition)
    _topic_filter_class(definition)
    return definition


def heartbeat_config_def() -> ConfigDef:
    """Keys of MirrorHeartbeatConnector."""
    definition = base_config_def()
    _periodic(definition, "emit.heartbeats", 1, "write a heartbeat to the target cluster")
    _replication_factor(definition, "heartbeats.topic.replication.factor", "heartbeats")
    return definition
