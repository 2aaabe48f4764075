"""What a change of offsets comes to, decided before anything is changed.

A worker of Kafka Connect takes offsets only as numbers, and does not tell where logs begin and end. So an offset and a
shift can be sent to any worker; `earliest`, `latest` and times are for a worker that knows its logs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from seamark.cli.exits import RefusedError, UnsupportedError
from seamark.cli.offset_views import OFFSET, PARTITION, TOPIC, key_of, sink_offset, topic_partition
from seamark.cli.shown import compact
from seamark.config.position_plans import listed, ranges
from seamark.config.positions import AtOffset, PositionRule, Selector, Shift
from seamark.errors import DataError
from seamark.formats import check_version

if TYPE_CHECKING:
    from seamark.client import ConnectorOffset

EXPORT_VERSION: Final = 1


def plan_sink_offsets(rules: Sequence[PositionRule], current: Sequence[ConnectorOffset]) -> list[ConnectorOffset]:
    """New offsets of a sink, whose partitions are known by what it has committed; others if they are named exactly.

    Raises:
        RefusedError: a rule applies to nothing, or there is no position to shift.
        UnsupportedError: a rule needs to know the log.
    """
    from seamark.client import ConnectorOffset

    for rule in rules:
        if not isinstance(rule.position, (AtOffset, Shift)):
            raise UnsupportedError(
                f"This worker cannot find {str(rule.position)!r}: it takes offsets like 42 and shifts like +10 or -10",
                "Where the log begins, ends, or was at a time, Kafka's own tools tell: kafka-get-offsets.sh --time.",
            )
    known = {where: sink_offset(each.offset) for each in current if (where := topic_partition(each.partition))}
    if current and not known:
        raise RefusedError(
            f"It is a source, whose partitions are like {compact(current[0].partition)} and offsets like "
            f"{compact(current[0].offset)}",
            "Name them with --partition JSON and --offset JSON.",
        )
    named = {
        (rule.selector.topic, rule.selector.partition)
        for rule in rules
        if rule.selector.topic is not None and rule.selector.partition is not None
    }
    planned = []
    problems = [text for rule in rules if (text := _applies_to_nothing(rule.selector, known)) is not None]
    for where in sorted({*known, *named}):
        fitting = [rule for rule in rules if rule.selector.selects(*where)]
        if not fitting:
            continue
        try:
            offset = _offset(max(fitting, key=lambda rule: rule.selector.exactness), known.get(where), where)
        except RefusedError as error:
            problems.append(error.message)
            continue
        planned.append(ConnectorOffset({TOPIC: where[0], PARTITION: where[1]}, {OFFSET: offset}))
    if problems:
        raise RefusedError("\n".join(problems))
    return planned


def _applies_to_nothing(selector: Selector, known: Mapping[tuple[str, int], int | None]) -> str | None:
    if selector.partition is not None or any(selector.selects(*where) for where in known):
        return None
    topics = listed(sorted({topic for topic, _ in known}))
    if selector.topic is None:
        return "It has no offsets yet: name each partition, as in --to orders:0=42"
    return f"It has no offsets of topic {selector.topic!r}, only of: {topics}. Name each partition, as in orders:0=42"


def _offset(rule: PositionRule, old: int | None, where: tuple[str, int]) -> int:
    if isinstance(rule.position, AtOffset):
        return rule.position.offset
    if old is None:
        raise RefusedError(f"{where[0]}:{where[1]} has no offset that could be shifted")
    by = rule.position.by if isinstance(rule.position, Shift) else 0
    if old + by < 0:
        raise RefusedError(f"{where[0]}:{where[1]} is at {old}: {rule.position} would be before the first offset")
    return old + by


def select_partitions(selectors: Sequence[Selector], current: Sequence[ConnectorOffset]) -> list[ConnectorOffset]:
    """Offsets of a sink to reset.

    Raises:
        RefusedError: there is none that is meant; lists those that there are.
    """
    from seamark.client import ConnectorOffset

    known = [where for each in current if (where := topic_partition(each.partition))]
    chosen = []
    for selector in selectors:
        fitting = [where for where in known if selector.selects(*where)]
        if not fitting:
            topics = sorted({topic for topic, _ in known})
            valid = "; ".join(
                f"{topic}: {ranges(number for each, number in known if each == topic)}" for topic in topics
            )
            raise RefusedError(f"It has no offset of {selector}. Valid: {valid or 'none'}")
        chosen += fitting
    return [ConnectorOffset({TOPIC: topic, PARTITION: number}) for topic, number in sorted(set(chosen))]


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is no JSON number")


def parse_object(text: str, what: str) -> dict[str, Any]:
    """A JSON object on the command line.

    Raises:
        RefusedError: it is none.
    """
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"{what} is not valid JSON: {error}; expected is an object, as in '{{\"a\": 1}}'") from error
    if not isinstance(value, dict):
        raise RefusedError(f"{what} should be a JSON object, as in '{{\"a\": 1}}', but is {text}")
    return value


def parse_export(text: str, name: str) -> list[ConnectorOffset]:
    """What `seamark offsets export` has written, or any object with ``offsets`` as the REST API has them.

    Raises:
        RefusedError: it is something else.
    """
    from seamark.client import ConnectorOffset

    try:
        content = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"{name} is not valid JSON: {error}") from error
    offsets = content.get("offsets") if isinstance(content, dict) else None
    if not isinstance(offsets, list) or not offsets:
        raise RefusedError(f'{name} should be an object with a list "offsets", as `seamark offsets export` writes it')
    try:
        check_version(content, EXPORT_VERSION, name)
    except DataError as error:
        raise RefusedError(str(error)) from error
    found: dict[str, ConnectorOffset] = {}
    for number, each in enumerate(offsets):
        is_fine = isinstance(each, dict) and isinstance(each.get("partition"), dict) and "offset" in each
        if not is_fine or not isinstance(each.get("offset"), (dict, type(None))):
            raise RefusedError(f'{name}: offsets[{number}] should have the objects "partition" and "offset"')
        if (
            found.setdefault(key_of(each["partition"]), made := ConnectorOffset(each["partition"], each["offset"]))
            != made
        ):
            raise RefusedError(f"{name}: offsets[{number}] has a partition that is there before with another offset")
    return list(found.values())


def without_unchanged(changed: Sequence[ConnectorOffset], current: Sequence[ConnectorOffset]) -> list[ConnectorOffset]:
    """Only what would move."""
    known = {key_of(each.partition): each.offset for each in current}
    return [each for each in changed if known.get(key_of(each.partition)) != each.offset]


def to_reset(changed: Sequence[ConnectorOffset], current: Sequence[ConnectorOffset]) -> list[ConnectorOffset]:
    """Partitions that the connector has and the change does not name."""
    from seamark.client import ConnectorOffset

    named = {key_of(each.partition) for each in changed}
    return [ConnectorOffset(each.partition) for each in current if key_of(each.partition) not in named]
