"""The transforms of a frame connector: runs of record transforms, and the queries between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from seamark.engine.frame_records import PipelineSpec
from seamark.engine.frame_sql import Query
from seamark.engine.frame_steps import Step, StepReport, StepSpec
from seamark.engine.plugins import Plugins
from seamark.engine.stage import StageEnvironment
from seamark.engine.transform_chain import TransformChain
from seamark.engine.transform_config import PREDICATE, TRANSFORMS
from seamark.engine.transforms.spark_sql import SparkSql, refuse_in_direct_stage
from seamark.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Segment:
    """Neighbouring record transforms, perhaps none, and the query after them, if one follows."""

    aliases: tuple[str, ...] = ()
    sql_alias: str = ""
    sql: SparkSql | None = None


@dataclass(frozen=True, slots=True)
class FrameChain:
    """All transforms of a frame connector. The last segment has no query."""

    segments: tuple[Segment, ...] = (Segment(),)

    def __bool__(self) -> bool:
        return len(self.segments) > 1 or bool(self.segments[0].aliases)

    @property
    def has_queries(self) -> bool:
        """Whether a batch must be looked at as a whole."""
        return len(self.segments) > 1

    @staticmethod
    def of(plugins: Plugins, config: Mapping[str, str]) -> FrameChain:
        """The chain that a connector's config describes.

        Raises:
            ConfigError: the config is wrong.
        """
        chain = TransformChain.of(plugins, config)
        chain.close()
        segments: list[Segment] = []
        aliases: list[str] = []
        for stage in chain.stages:
            if isinstance(stage.transformation, SparkSql):
                segments.append(Segment(tuple(aliases), stage.alias, stage.transformation))
                aliases = []
            else:
                aliases.append(stage.alias)
        return FrameChain((*segments, Segment(tuple(aliases))))


def check_transforms(plugins: Plugins, config: Mapping[str, str], *, connector: str, is_frame: bool) -> None:
    """Refuse transforms that this connector cannot have.

    Args:
        plugins: Where classes are found.
        config: The connector's.
        connector: What to call the connector's class.
        is_frame: Whether it works on DataFrames.

    Raises:
        ConfigError: a transform cannot be used, with what to do instead.
    """
    chain = TransformChain.of(plugins, config)
    chain.close()
    for stage in chain.stages:
        if not isinstance(stage.transformation, SparkSql):
            continue
        if not is_frame:
            raise refuse_in_direct_stage(stage.alias, connector)
        if stage.predicate is not None:
            raise ConfigError(
                f"Transform '{stage.alias}' is SparkSql, which takes no predicate: it gets all records of a batch. Say "
                "which ones it applies to in the query, with WHERE.",
                key=f"{TRANSFORMS.key}.{stage.alias}.{PREDICATE}",
                value=config.get(f"{TRANSFORMS.key}.{stage.alias}.{PREDICATE}"),
            )


@dataclass(slots=True)
class Transformed:
    """A batch after all transforms, or all but the last ones."""

    frame: DataFrame
    keeps_partitions: bool = True
    """Whether each row comes from rows of the same Spark partition alone."""
    first: StepReport | None = None
    """What the first step found."""
    errors: dict[int, dict[str, int]] = field(default_factory=dict)
    """Task -> counts of failures."""


class FrameTransforms:
    """Runs a chain on the batches of one connector. Not thread-safe."""

    def __init__(self, environment: StageEnvironment, *, is_sink: bool) -> None:
        self.chain = FrameChain.of(environment.plugins, environment.config)
        self._environment, self._is_sink = environment, is_sink
        self._steps: list[Step] = []

    def spec(self, aliases: tuple[str, ...]) -> PipelineSpec:
        """What a Spark task is told about some of the transforms."""
        environment = self._environment
        config = {key: value for key, value in environment.config.items() if key != TRANSFORMS.key}
        if aliases:
            config[TRANSFORMS.key] = ",".join(aliases)
        plugin_path = environment.worker.for_connector(environment.config).plugin_path
        return PipelineSpec(environment.name, config, environment.worker.raw, plugin_path)

    def sink(self, frame: DataFrame, *, encodes: bool) -> Transformed:
        """Records of topics through the whole chain.

        Args:
            frame: As Spark's Kafka source has it.
            encodes: Whether keys and values of the result are to be bytes again, else of the types that they have.

        Raises:
            FailedStepError: a record cannot be processed, and that is not tolerated.
            DataError: a query cannot be run on this batch.
        """
        result = Transformed(frame)
        origin = "topics"
        for segment in self.chain.segments:
            is_last = segment.sql is None
            if origin == "topics" or segment.aliases or (is_last and encodes):
                step = self._step(StepSpec(self.spec(segment.aliases), origin, encodes and is_last), result)
                if segment.sql is not None and self._is_void(segment.sql, step):
                    return self._nothing(result, encodes)
            if segment.sql is not None:
                self._query(segment, result)
            origin = "query"
        return result

    def source(self, frame: DataFrame) -> Transformed:
        """Rows of a source through the chain, up to its last query: what follows is left to the writers.

        Raises:
            FailedStepError: a record cannot be processed, and that is not tolerated.
            DataError: a query cannot be run on this batch.
        """
        result = Transformed(frame)
        for segment in self.chain.segments[:-1]:
            if segment.aliases:
                step = self._step(StepSpec(self.spec(segment.aliases), "source"), result)
                if segment.sql is not None and self._is_void(segment.sql, step):
                    result.frame = result.frame.limit(0)
                    result.keeps_partitions = False
                    return result
            self._query(segment, result)
        return result

    @property
    def last_aliases(self) -> tuple[str, ...]:
        """The record transforms behind the last query: all of them without one."""
        return self.chain.segments[-1].aliases

    def release(self) -> None:
        """Let Spark forget the batch."""
        steps, self._steps = self._steps, []
        for step in steps:
            step.release()

    def _step(self, spec: StepSpec, result: Transformed) -> Step:
        step = Step(result.frame, spec)
        self._steps.append(step)
        result.frame = step.frame()
        result.first = result.first or step.report
        for task, counts in step.report.errors.items():
            add_counts(result.errors.setdefault(task, {}), counts)
        return step

    def _query(self, segment: Segment, result: Transformed) -> None:
        assert segment.sql is not None  # noqa: S101 - for the type checker
        query = Query(segment.sql_alias, segment.sql, result.frame, is_sink=self._is_sink)
        result.frame = query.records()
        result.keeps_partitions = result.keeps_partitions and query.keeps_partitions()

    @staticmethod
    def _is_void(sql: SparkSql, step: Step) -> bool:
        """Whether no record has a value, so that what columns the query could name is not known."""
        return not step.has_values and sql.schema is None and not sql.queries_nulls

    @staticmethod
    def _nothing(result: Transformed, encodes: bool) -> Transformed:
        from pyspark.sql import functions as F

        result.frame = result.frame.limit(0)
        if encodes:
            result.frame = result.frame.withColumns(dict.fromkeys(("key", "value"), F.lit(None).cast("binary")))
        return result


def add_counts(total: dict[str, int], counts: Mapping[str, int]) -> None:
    """Add counts of failures to those of earlier batches; a time is the last one."""
    for name, count in counts.items():
        combine: Callable[[int, int], int] = max if name.endswith("timestamp") else int.__add__
        total[name] = combine(total.get(name, 0), count)
