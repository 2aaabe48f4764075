"""Java names of Connect's own transforms and predicates, and references to ours that do the same; and our own."""

from __future__ import annotations

_JAVA = "org.apache.kafka.connect.transforms"
_OURS = "seamark.engine"
# A class for the key and one for the value each.
_PARTS = {
    "cast": "Cast",
    "extract_field": "ExtractField",
    "flatten": "Flatten",
    "header_from": "HeaderFrom",
    "hoist_field": "HoistField",
    "insert_field": "InsertField",
    "mask_field": "MaskField",
    "replace_field": "ReplaceField",
    "set_schema_metadata": "SetSchemaMetadata",
    "timestamp_converter": "TimestampConverter",
}
_WHOLE = {
    "drop_headers": "DropHeaders",
    "filter_": "Filter",
    "insert_header": "InsertHeader",
    "regex_router": "RegexRouter",
    "timestamp_router": "TimestampRouter",
    "value_to_key": "ValueToKey",
}
_PREDICATES = {
    "has_header_key": "HasHeaderKey",
    "record_is_tombstone": "RecordIsTombstone",
    "topic_name_matches": "TopicNameMatches",
}

JAVA_TRANSFORMS = {
    f"{_JAVA}.{name}${part}": f"{_OURS}.transforms.{module}:{name}{part}"
    for module, name in _PARTS.items()
    for part in ("Key", "Value")
} | {f"{_JAVA}.{name}": f"{_OURS}.transforms.{module}:{name}" for module, name in _WHOLE.items()}

TRANSFORMS = JAVA_TRANSFORMS | {"seamark.transforms.SparkSql": f"{_OURS}.transforms.spark_sql:SparkSql"}

JAVA_PREDICATES = {
    f"{_JAVA}.predicates.{name}": f"{_OURS}.predicates.{module}:{name}" for module, name in _PREDICATES.items()
}
