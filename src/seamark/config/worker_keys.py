"""The worker's configuration keys: Kafka Connect's, and Seamark's own under ``seamark.``.

Keys that are not listed here are kept: ``spark.*`` goes to Spark; client settings (``security.protocol``, ``sasl.*``,
``ssl.*``, ``producer.*``, ``consumer.*``, ``admin.*``) go to Kafka clients.
"""

from __future__ import annotations

from seamark.config.access_keys import define_access
from seamark.config.configdef import Check, ConfigDef, Importance, NonEmptyString, Range, Type, ValidList, ValidString
from seamark.config.override_policies import policy_name
from seamark.config.rest_keys import PROTOCOLS, check_admin_listeners, check_header_rules, check_listeners
from seamark.config.tls_keys import define_tls

JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
SIMPLE_HEADER_CONVERTER = "org.apache.kafka.connect.storage.SimpleHeaderConverter"

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
POSITIVE, NOT_NEGATIVE = Range.at_least(1), Range.at_least(0)
SPARK_PACKAGES = ("delta", "iceberg", "postgresql")
WORKER_ONLY = frozenset({"seamark.local.slots", "seamark.spark.packages"})  # they shape the one Spark of a worker


def check_override_policy(name: str, value: object) -> None:
    """Validator of `connector.client.config.override.policy`."""
    policy_name(str(value), name)


def _common(definition: ConfigDef) -> None:
    group = "Worker"
    definition.define(
        "bootstrap.servers",
        Type.LIST,
        None,
        importance=HIGH,
        group=group,
        doc="Brokers to connect to first, as `host:port`, comma-separated. Without it an embedded broker is started.",
    ).define(
        "group.id",
        Type.STRING,
        "seamark",
        validator=NonEmptyString(),
        importance=HIGH,
        group=group,
        doc="Names the cluster of workers. Also the start of the transactional ids of source tasks.",
    ).define(
        "key.converter",
        Type.CLASS,
        JSON_CONVERTER,
        importance=HIGH,
        group=group,
        doc="How record keys become bytes and back, for connectors that do not say. "
        "Keys starting with `key.converter.` configure it.",
    ).define(
        "value.converter",
        Type.CLASS,
        JSON_CONVERTER,
        importance=HIGH,
        group=group,
        doc="How record values become bytes and back, for connectors that do not say. "
        "Keys starting with `value.converter.` configure it.",
    ).define(
        "header.converter",
        Type.CLASS,
        SIMPLE_HEADER_CONVERTER,
        importance=LOW,
        group=group,
        doc="How header values become bytes and back, for connectors that do not say.",
    ).define(
        "plugin.path",
        Type.LIST,
        None,
        importance=LOW,
        group=group,
        doc="Directories with Python modules and packages that hold connectors and converters, comma-separated.",
    ).define(
        "seamark.plugins.allow",
        Type.LIST,
        [],
        importance=MEDIUM,
        group=group,
        doc="Full names of connectors, converters, transforms and predicates that may be used, comma-separated, with "
        "`*` for any characters: `org.apache.kafka.connect.*,shop.connectors.*`. Others are not even imported. "
        "Empty: all.",
    ).define(
        "task.shutdown.graceful.timeout.ms",
        Type.LONG,
        5000,
        validator=NOT_NEGATIVE,
        importance=LOW,
        group=group,
        doc="How long all tasks together have to commit and end when the worker stops.",
    ).define(
        "config.providers",
        Type.LIST,
        [],
        importance=LOW,
        group=group,
        doc="Names of config providers, comma-separated: values may then refer to them, as `${name:path:key}`. Each is "
        "described with `config.providers.<name>.class` and `config.providers.<name>.param.*`.",
    ).define(
        "seamark.log.format",
        Type.STRING,
        "text",
        validator=ValidString.of("text", "json"),
        importance=LOW,
        group=group,
        doc="Log lines as text, or each a JSON object.",
    ).define(
        "seamark.tracing.endpoint",
        Type.STRING,
        None,
        importance=LOW,
        group=group,
        doc="Where traces go, over OTLP/HTTP, as in `http://collector:4318`; needs `seamark[tracing]`. By default "
        "there are none.",
    ).define(
        "connector.client.config.override.policy",
        Type.STRING,
        "All",
        importance=MEDIUM,
        group=group,
        validator=Check(check_override_policy, "`All`, `None`, `Principal` or `Allowlist`, or Kafka's class of it"),
        doc="Which client settings a connector may override: `All`, `None`, `Principal` (who it logs in as), or "
        "`Allowlist` (those of `connector.client.config.override.allowlist`).",
    ).define(
        "connector.client.config.override.allowlist",
        Type.LIST,
        [],
        importance=MEDIUM,
        group=group,
        doc="With `Allowlist`: the client settings that connectors may override, comma-separated, without a prefix.",
    ).define(
        "topic.creation.enable",
        Type.BOOLEAN,
        True,
        importance=LOW,
        group=group,
        doc="Whether topics of source connectors with `topic.creation.*` settings are created by their tasks.",
    ).define(
        "topic.tracking.enable",
        Type.BOOLEAN,
        True,
        importance=LOW,
        group=group,
        doc="Whether the topics that a connector uses are tracked.",
    ).define(
        "topic.tracking.allow.reset",
        Type.BOOLEAN,
        True,
        importance=LOW,
        group=group,
        doc="Whether the tracked topics of a connector may be reset by request.",
    )


def _rest(definition: ConfigDef) -> None:
    group = "REST"
    definition.define(
        "listeners",
        Type.LIST,
        ["http://:8083"],
        validator=Check(
            check_listeners,
            "comma-separated `http://host:port` or `https://host:port`; without a host all interfaces, port 0 any free "
            "one",
        ),
        importance=LOW,
        group=group,
        doc="Where the REST API listens. With https the `ssl.*` keys say with which certificate.",
    ).define(
        "admin.listeners",
        Type.LIST,
        None,
        validator=Check(check_admin_listeners, "as `listeners`, or empty"),
        importance=LOW,
        group=group,
        doc="Where `/admin/loggers` is served. Default: with the rest of the API. Empty: nowhere.",
    ).define(
        "rest.advertised.host.name",
        Type.STRING,
        None,
        importance=LOW,
        group=group,
        doc="Host name under which other workers reach this one. Default: the host of the listener, or the address of "
        "this machine if it has none.",
    ).define(
        "rest.advertised.port",
        Type.INT,
        None,
        importance=LOW,
        group=group,
        doc="Port under which other workers reach this one. Default: the port of the listener.",
    ).define(
        "rest.advertised.listener",
        Type.STRING,
        None,
        validator=ValidString.of_ignoring_case(*PROTOCOLS),
        importance=LOW,
        group=group,
        doc="Protocol of the listener that other workers use. Default: http if a listener has it, else https.",
    ).define(
        "access.control.allow.origin",
        Type.STRING,
        "",
        importance=LOW,
        group=group,
        doc="Origins from which a browser may use the API (CORS), comma-separated; may have `*`. Empty: none.",
    ).define(
        "access.control.allow.methods",
        Type.STRING,
        "",
        importance=LOW,
        group=group,
        doc="Methods that other origins may use, comma-separated. Empty: GET, POST and HEAD.",
    ).define(
        "response.http.headers.config",
        Type.STRING,
        "",
        validator=Check(
            check_header_rules, "comma-separated `action name:value`, in double quotes if there is a comma in one"
        ),
        importance=LOW,
        group=group,
        doc="Headers of every answer. Actions: `set`, `add`, `setDate` and `addDate` (value: milliseconds from now).",
    ).define(
        "seamark.rest.max.request.bytes",
        Type.INT,
        16 * 1024 * 1024,
        validator=POSITIVE,
        importance=LOW,
        group=group,
        doc="The longest body of a request; a longer one is answered with 413.",
    ).define(
        "seamark.rest.requests.per.second",
        Type.INT,
        0,
        validator=NOT_NEGATIVE,
        importance=LOW,
        group=group,
        doc="How many requests one address may send to the REST API, for two seconds at once; more are answered with "
        "429 and `Retry-After`. `/health` and `/ready` do not count. Other workers and the web page of this one are "
        "addresses, too. 0: no limit.",
    ).define(
        "seamark.rest.peek",
        Type.BOOLEAN,
        True,
        importance=LOW,
        group=group,
        doc="Whether `GET /connectors/{connector}/offsets/records` shows records, which are data, to everyone who may "
        "look at connectors. Otherwise it is answered with 403.",
    )


def _offsets(definition: ConfigDef) -> None:
    group = "Offsets"
    definition.define(
        "offset.flush.interval.ms",
        Type.LONG,
        60000,
        validator=POSITIVE,
        importance=LOW,
        group=group,
        doc="How often tasks commit offsets.",
    ).define(
        "offset.flush.timeout.ms",
        Type.LONG,
        5000,
        validator=POSITIVE,
        importance=LOW,
        group=group,
        doc="How long a commit may take before it is given up and tried again at the next interval. "
        "Has no effect on source connectors with exactly-once support.",
    ).define(
        "exactly.once.source.support",
        Type.STRING,
        "disabled",
        validator=ValidString.of_ignoring_case("disabled", "preparing", "enabled"),
        importance=HIGH,
        group=group,
        doc="Whether source connectors write records and their offsets in one transaction. "
        "To change a running cluster, set all workers to `preparing` first, then all to `enabled`.",
    ).define(
        "offset.storage.file.filename",
        Type.STRING,
        None,
        importance=HIGH,
        group=group,
        doc="File for source offsets, instead of a topic. Standalone mode only.",
    )
    topics = [("offset", "source offsets", 25), ("config", "connector configurations", None), ("status", "statuses", 5)]
    names = {"offset": "offsets", "config": "configs", "status": "status"}
    for prefix, what, partitions in topics:
        definition.define(
            f"{prefix}.storage.topic",
            Type.STRING,
            None,
            validator=NonEmptyString(),
            importance=HIGH,
            group=group,
            doc=f"The compacted topic that keeps {what}. Default: `<group.id>-{names[prefix]}`.",
        ).define(
            f"{prefix}.storage.replication.factor",
            Type.SHORT,
            3,
            importance=LOW,
            group=group,
            doc=f"Replicas of the topic of {what} when it is created; -1 takes the broker's default. "
            "With the embedded broker the default is 1.",
        )
        if partitions is not None:
            definition.define(
                f"{prefix}.storage.partitions",
                Type.INT,
                partitions,
                importance=LOW,
                group=group,
                doc=f"Partitions of the topic of {what} when it is created; -1 takes the broker's default.",
            )


def _group(definition: ConfigDef) -> None:
    group = "Cluster"
    definition.define(
        "session.timeout.ms",
        Type.INT,
        10000,
        validator=POSITIVE,
        importance=HIGH,
        group=group,
        doc="A worker that is not heard of for so long is taken for dead, and its connectors run elsewhere. Must be "
        "within the broker's `group.min.session.timeout.ms` and `group.max.session.timeout.ms`.",
    ).define(
        "heartbeat.interval.ms",
        Type.INT,
        1000,
        validator=POSITIVE,
        importance=HIGH,
        group=group,
        doc="How often a worker tells the group's coordinator that it is alive, and learns of a rebalance: so long "
        "can it take until the connectors of a worker that stops run elsewhere. Lower than `session.timeout.ms`. "
        "Kafka Connect's default is 3000.",
    ).define(
        "rebalance.timeout.ms",
        Type.INT,
        60000,
        validator=POSITIVE,
        importance=HIGH,
        group=group,
        doc="How long a worker may take to stop the connectors that it has to hand over, before it is put out of the "
        "group.",
    ).define(
        "seamark.auto.restart.enabled",
        Type.BOOLEAN,
        False,
        importance=LOW,
        group=group,
        doc="Whether connectors and tasks that have failed are restarted, again and again with growing delays. "
        "A status then says how often that was done and when it will be next.",
    ).define(
        "seamark.auto.restart.max.attempts",
        Type.INT,
        7,
        importance=LOW,
        group=group,
        doc="After so many restarts in a row a connector stays FAILED; -1 for no limit.",
    ).define(
        "seamark.auto.restart.delay.ms",
        Type.LONG,
        1000,
        validator=POSITIVE,
        importance=LOW,
        group=group,
        doc="The delay of the first restart; each further one in a row waits twice as long as the one before.",
    ).define(
        "seamark.auto.restart.delay.max.ms",
        Type.LONG,
        600000,
        validator=POSITIVE,
        importance=LOW,
        group=group,
        doc="The longest delay. A connector that has run for so long without a failure starts to count anew.",
    ).define(
        "seamark.history.storage.topic",
        Type.STRING,
        None,
        importance=LOW,
        group=group,
        doc="The topic in which operations on offsets, and so the history of offsets, are kept; compacted, with one "
        "partition. It is made when offsets are changed for the first time. The default is `<config.storage.topic>-"
        "history`; a standalone worker has a file beside its `offset.storage.file.filename` instead.",
    ).define(
        "seamark.migration.urls",
        Type.STRING,
        "https?://.*",
        importance=LOW,
        group=group,
        doc="A regular expression that the address of a worker must match as a whole before a connector is migrated "
        "to it (`POST /connectors/{connector}/migrate`): this worker sends requests there.",
    ).define(
        "seamark.static.membership",
        Type.BOOLEAN,
        False,
        importance=LOW,
        group=group,
        doc="Whether the group knows the worker by its advertised REST address. A worker that is restarted within "
        "`session.timeout.ms`, also after a crash, then gets its connectors back at once. Each worker must have an "
        "address of its own that stays the same.",
    ).define(
        "inter.worker.key.generation.algorithm",
        Type.STRING,
        "HmacSHA256",
        importance=LOW,
        group=group,
        doc="How the key that signs requests between workers is generated: an HMAC algorithm by Java's name.",
    ).define(
        "inter.worker.key.size",
        Type.INT,
        None,
        importance=LOW,
        group=group,
        doc="Bits of that key. Default: what is usual for the algorithm.",
    ).define(
        "inter.worker.key.ttl.ms",
        Type.INT,
        3600000,
        validator=NOT_NEGATIVE,
        importance=LOW,
        group=group,
        doc="After this time the leader replaces that key; 0 stands for never.",
    ).define(
        "inter.worker.signature.algorithm",
        Type.STRING,
        "HmacSHA256",
        importance=LOW,
        group=group,
        doc="The algorithm with which this worker signs its requests to others.",
    ).define(
        "inter.worker.verification.algorithms",
        Type.LIST,
        ["HmacSHA256"],
        importance=LOW,
        group=group,
        doc="The algorithms whose signatures this worker accepts; the one that it signs with must be among them.",
    )


def engine_config_def() -> ConfigDef:
    """Seamark's own keys. A connector's config may override each of them except those in `WORKER_ONLY`."""
    group = "Engine"
    return (
        ConfigDef()
        .define(
            "seamark.epoch.ms",
            Type.LONG,
            300000,
            validator=POSITIVE,
            importance=LOW,
            group=group,
            doc="How long one Spark job of a connector runs before the next one follows.",
        )
        .define(
            "seamark.idle.ms",
            Type.LONG,
            5000,
            validator=NOT_NEGATIVE,
            importance=MEDIUM,
            group=group,
            doc="How long a connector without records keeps its Spark slots.",
        )
        .define(
            "seamark.idle.release",
            Type.STRING,
            "auto",
            validator=ValidString.of("auto", "always", "never"),
            importance=MEDIUM,
            group=group,
            doc="Whether an idle connector gives its Spark slots back. `auto`: only if the connector can tell "
            "cheaply whether there is work; `always`: others too, they are run again every `seamark.idle.poll.ms`; "
            "`never`: no connector does.",
        )
        .define(
            "seamark.spark.release.ms",
            Type.LONG,
            60_000,
            validator=Range.at_least(-1),
            importance=MEDIUM,
            group=group,
            doc="After how long without a running connector the worker gives its Spark back, executors and memory "
            "included; the next connector that runs waits until it is started again. -1: never.",
        )
        .define(
            "seamark.idle.poll.ms",
            Type.LONG,
            10000,
            validator=POSITIVE,
            importance=LOW,
            group=group,
            doc="How often a connector that gave its slots back is run again if it cannot tell whether there is work. "
            "Connectors that can tell are looked at twice a second and run only when there is.",
        )
        .define(
            "seamark.retry.timeout.ms",
            Type.LONG,
            60000,
            validator=POSITIVE,
            importance=MEDIUM,
            group=group,
            doc="How long tasks are run again after failures that may pass by themselves (Kafka away, an executor "
            "lost, another driver in the way) before they are FAILED.",
        )
        .define(
            "seamark.lease.ms",
            Type.LONG,
            10000,
            validator=POSITIVE,
            importance=LOW,
            group=group,
            doc="A task that gets no answer from its worker for so long aborts its transaction and ends.",
        )
        .define(
            "seamark.lease.interval.ms",
            Type.LONG,
            1000,
            validator=POSITIVE,
            importance=LOW,
            group=group,
            doc="How often a task reports its progress and asks whether to go on.",
        )
        .define(
            "seamark.batch.max.records",
            Type.LONG,
            100000,
            validator=POSITIVE,
            importance=MEDIUM,
            group=group,
            doc="The most records in one batch of a frame connector. One `put` of a sink task has no more, and no more "
            "than `max.poll.records` of its consumer (2000 if that is not set).",
        )
        .define(
            "seamark.batch.max.bytes",
            Type.LONG,
            64 * 1024 * 1024,
            validator=POSITIVE,
            importance=MEDIUM,
            group=group,
            doc="The most bytes in one batch of a frame connector, as far as they can be told before it is read.",
        )
        .define(
            "seamark.batch.max.ms",
            Type.LONG,
            60000,
            validator=POSITIVE,
            importance=MEDIUM,
            group=group,
            doc="How long one batch of a frame connector should take at most: from how fast the last ones were, the "
            "next one gets as many records as fit into this time.",
        )
        .define(
            "seamark.local.slots",
            Type.INT,
            64,
            validator=POSITIVE,
            importance=LOW,
            group=group,
            doc="Task slots of `spark.master=local[*]`: more than cores, since tasks mostly wait.",
        )
        .define(
            "seamark.spark.packages",
            Type.LIST,
            [],
            validator=ValidList.of(*SPARK_PACKAGES),
            importance=MEDIUM,
            group=group,
            doc="What Spark is started with besides its own formats: `delta` and `iceberg` tables, and the JDBC driver "
            "`postgresql`. Downloaded once, like all jars. Other packages: `spark.jars.packages`.",
        )
    )


def worker_config_def() -> ConfigDef:
    """All keys of a worker."""
    definition = ConfigDef()
    _common(definition)
    _rest(definition)
    define_tls(definition)
    define_access(definition)
    _offsets(definition)
    _group(definition)
    return definition.extend(engine_config_def())


WORKER = worker_config_def()
ENGINE_KEYS = frozenset(engine_config_def().names()) - WORKER_ONLY
