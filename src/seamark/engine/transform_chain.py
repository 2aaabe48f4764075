"""The transforms of a connector, in order, each with its predicate.

Without transforms a chain gives every record back as it is; `bool` of it is False, so that callers can leave it out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from seamark.config.configdef import ConfigDef
from seamark.config.connector_keys import common_config_def
from seamark.connector.records import ValueBatch
from seamark.connector.transform import Predicate, Record, Transformation
from seamark.engine.converters.batches import by_field
from seamark.engine.plugins import Plugins
from seamark.engine.transform_config import (
    NEGATE,
    PREDICATE,
    PREDICATES,
    TRANSFORMS,
    aliases,
    enriched,
    plugin_class,
)
from seamark.engine.transforms.base import PartChange
from seamark.engine.transforms.copies import with_key, with_value
from seamark.errors import ConfigError, connector_code

_COMMON = common_config_def()


def _alias_keys() -> ConfigDef:
    definition = ConfigDef()
    for name in (TRANSFORMS.key, PREDICATES.key):
        key = _COMMON.key(name)
        if key is not None:
            definition.define(name, key.type, key.default, validator=key.validator)
    return definition


@dataclass(frozen=True, slots=True)
class TransformStage:
    """One transform of a chain."""

    alias: str
    class_name: str
    """As Connect names it in errors: the Java name of its own transforms."""
    transformation: Transformation
    predicate: Predicate | None
    negate: bool
    apply: Callable[[Record], Record | None]
    """The transform, if the predicate says so; the same record if not. None means that the record is dropped."""


@dataclass(frozen=True, slots=True)
class FailedStage:
    """Where a chain stopped."""

    stage: TransformStage
    index: int
    record: Record
    """As the stage got it."""


class TransformChain:
    """All transforms of a connector; belongs to one task.

    Transforms of Connect's own that follow each other and change only the value, or only the key, run without a
    record between them.
    """

    def __init__(self, stages: list[TransformStage]) -> None:
        self.stages = tuple(stages)
        self.failed: FailedStage | None = None
        """Which stage raised, after `apply` did."""
        self._steps = _steps(self.stages)
        self._changes = _changes_of_values(self.stages)

    @staticmethod
    def of(plugins: Plugins, config: Mapping[str, str]) -> TransformChain:
        """The chain that a connector's config describes.

        Raises:
            ConfigError: the config is wrong; in Connect's words.
        """
        if not aliases(config, TRANSFORMS.key):
            return TransformChain([])
        values = enriched(_alias_keys(), plugins, config).parse(config)
        return TransformChain(
            [
                _stage(
                    plugins,
                    config,
                    alias,
                    values[f"transforms.{alias}.predicate"],
                    values[f"transforms.{alias}.negate"],
                )
                for alias in values[TRANSFORMS.key]
            ]
        )

    def __bool__(self) -> bool:
        return bool(self._steps)

    def apply(self, record: Record) -> Record | None:
        """The record after all transforms; None if one of them dropped it.

        Raises:
            Exception: what a transform raised; `failed` then says which one, and `resume` goes on behind it.
        """
        current: Record | None = record
        for step in self._steps:
            try:
                current = step.apply(record)
            except Exception:
                self.failed = self._locate(step, record)
                raise
            if current is None:
                return None
            record = current
        return current

    @property
    def takes_batches(self) -> bool:
        """Whether many values at once can be taken through: nothing but the value is looked at or changed."""
        return self._changes is not None

    def change_batch(self, batch: ValueBatch) -> ValueBatch:
        """Many values after all transforms. Only for a chain that takes batches.

        Raises:
            Exception: one of them cannot be changed, or they are too different: each must be seen by itself.
        """
        for change in self._changes or ():
            batch = change.change_batch(by_field(batch))
        return batch

    def resume(self, failed: FailedStage, record: Record) -> Record | None:
        """Go on behind a stage that failed, with what took the place of its result. Raises as `apply` does."""
        current: Record | None = record
        for index in range(failed.index + 1, len(self.stages)):
            try:
                current = self.stages[index].apply(record)
            except Exception:
                self.failed = FailedStage(self.stages[index], index, record)
                raise
            if current is None:
                return None
            record = current
        return current

    def _locate(self, step: _Step, record: Record) -> FailedStage:
        """The stage of a step that failed. Several stages are in a step only if they can be run again safely."""
        for index in range(step.first, step.last):
            try:
                result = self.stages[index].apply(record)
            except Exception:  # the one that is looked for; it is raised to the caller
                return FailedStage(self.stages[index], index, record)
            if result is not None:
                record = result
        return FailedStage(self.stages[step.last], step.last, record)

    def close(self) -> None:
        """Release what the transforms and predicates hold. One that fails does not keep the others from it."""
        failures = []
        for stage in self.stages:
            for plugin in (stage.transformation, stage.predicate):
                try:
                    if plugin is not None:
                        plugin.close()
                except Exception as error:
                    failures.append(error)
        if failures:
            raise failures[0]


@dataclass(frozen=True, slots=True)
class _Step:
    """One stage, or several that run as one."""

    apply: Callable[[Record], Record | None]
    first: int
    last: int


def _steps(stages: tuple[TransformStage, ...]) -> list[_Step]:
    steps: list[_Step] = []
    group: list[PartChange] = []
    for index, stage in enumerate(stages):
        transformation = stage.transformation
        is_change = stage.predicate is None and isinstance(transformation, PartChange) and transformation.is_change_all
        if is_change and group and group[-1].of_key == cast("PartChange", transformation).of_key:
            group.append(cast("PartChange", transformation))
            steps[-1] = _Step(_fused(group), steps[-1].first, index)
            continue
        group = [cast("PartChange", transformation)] if is_change else []
        steps.append(_Step(stage.apply, index, index))
    return steps


def _changes_of_values(stages: tuple[TransformStage, ...]) -> list[PartChange] | None:
    """The transforms, if they only change values, each without a look at anything else of the record."""
    changes = []
    for stage in stages:
        change = stage.transformation
        if stage.predicate is not None or not isinstance(change, PartChange) or change.of_key:
            return None
        if not change.takes_batches:
            return None
        changes.append(change)
    return changes


def _fused(group: list[PartChange]) -> Callable[[Record], Record]:
    changes = [member.change for member in group]
    if group[0].of_key:

        def change_key(record: Record) -> Record:
            schema, key = record.key_schema, record.key
            for change in changes:
                schema, key = change(record, schema, key)
            return with_key(record, schema, key)

        return change_key

    def change_value(record: Record) -> Record:
        schema, value = record.value_schema, record.value
        for change in changes:
            schema, value = change(record, schema, value)
        return with_value(record, schema, value)

    return change_value


def _stage(
    plugins: Plugins, config: Mapping[str, str], alias: str, predicate_alias: str | None, negate: bool
) -> TransformStage:
    transformation: Transformation = plugin_class(plugins, config, TRANSFORMS, alias)()
    class_name = plugins.java_name(type(transformation))
    settings = _settings(config, f"{TRANSFORMS.key}.{alias}.")
    settings.pop(PREDICATE, None)
    settings.pop(NEGATE, None)
    with connector_code(config.get("name", ""), f"configure of transform {alias}"):
        transformation.configure(settings)
    if predicate_alias is None:
        return TransformStage(alias, class_name, transformation, None, False, transformation.apply)
    if predicate_alias not in aliases(config, PREDICATES.key):
        raise ConfigError(
            f"Transform '{alias}' has the predicate '{predicate_alias}', which is not defined: add it to 'predicates' "
            f"and set 'predicates.{predicate_alias}.type'.",
            key=f"{TRANSFORMS.key}.{alias}.{PREDICATE}",
            value=predicate_alias,
        )
    predicate: Predicate = plugin_class(plugins, config, PREDICATES, predicate_alias)()
    with connector_code(config.get("name", ""), f"configure of predicate {predicate_alias}"):
        predicate.configure(_settings(config, f"{PREDICATES.key}.{predicate_alias}."))
    apply = _unless(predicate, transformation) if negate else _if(predicate, transformation)
    return TransformStage(alias, class_name, transformation, predicate, negate, apply)


def _settings(config: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {key[len(prefix) :]: value for key, value in config.items() if key.startswith(prefix)}


def _if(predicate: Predicate, transformation: Transformation) -> Callable[[Record], Record | None]:
    test, transform = predicate.test, transformation.apply

    def apply(record: Record) -> Record | None:
        return transform(record) if test(record) else record

    return apply


def _unless(predicate: Predicate, transformation: Transformation) -> Callable[[Record], Record | None]:
    test, transform = predicate.test, transformation.apply

    def apply(record: Record) -> Record | None:
        return record if test(record) else transform(record)

    return apply
