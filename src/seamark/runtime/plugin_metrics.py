"""Which plugins tasks use, for Prometheus: classes and versions of tasks, converters, transforms and predicates."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from prometheus_client.core import InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from seamark.config.connector import converter_settings
from seamark.engine.plugins import Plugins
from seamark.engine.transform_config import aliases
from seamark.errors import ConnectError
from seamark.runtime.abstract_herder import AbstractHerder, java_task_class
from seamark.runtime.metrics import Metrics
from seamark.runtime.plugin_catalog import plugin_version
from seamark.runtime.runner import ConnectorRunner

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Used:
    """Labels of what a connector's tasks use."""

    task: dict[str, str] = field(default_factory=dict)
    transforms: dict[str, dict[str, str]] = field(default_factory=dict)
    predicates: dict[str, dict[str, str]] = field(default_factory=dict)


def register(metrics: Metrics, herder: AbstractHerder) -> None:
    """Add the plugins of what runs on this worker to its metrics."""
    metrics.registry.register(PluginMetrics(herder))


class PluginMetrics(Collector):
    """Collects classes and versions; they are looked up once for each start of a connector."""

    def __init__(self, herder: AbstractHerder) -> None:
        self._herder = herder
        self._known: dict[str, tuple[ConnectorRunner, _Used]] = {}

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        labels, prefix = ["connector", "task"], "kafka_connect_connector"
        tasks = InfoMetricFamily(f"{prefix}_task", "Classes and versions of a task and its converters.", labels=labels)
        transforms = InfoMetricFamily(f"{prefix}_transform", "A transform.", labels=[*labels, "transform"])
        predicates = InfoMetricFamily(f"{prefix}_predicate", "A predicate.", labels=[*labels, "predicate"])
        known, self._known = self._known, {}
        for name in self._herder.local.names():
            runner = self._herder.local.runner(name)
            if runner is None:
                continue
            before = known.get(name)
            used = before[1] if before is not None and before[0] is runner else self._look(runner)
            self._known[name] = runner, used
            for task in runner.status().tasks:
                at = [name, str(task.id)]
                tasks.add_metric(at, used.task)
                for family, found in ((transforms, used.transforms), (predicates, used.predicates)):
                    for alias, described in found.items():
                        family.add_metric([*at, alias], described)
        yield from (tasks, transforms, predicates)

    def _look(self, runner: ConnectorRunner) -> _Used:
        worker, config = self._herder.worker, runner.config
        plugins = worker.plugins
        try:
            connector = worker.connector_class(config)
            task = _described("task", connector.task_class) | {"task_class": java_task_class(connector)}
            finders: dict[str, Callable[[str], type]] = {
                "key": plugins.converter_class,
                "value": plugins.converter_class,
                "header": plugins.header_converter_class,
            }
            for kind, find in finders.items():
                named = converter_settings(kind, config, worker.config)[0]
                task |= _described(f"{kind}_converter", find(named))
            return _Used(
                task,
                {
                    alias: _described("transform", plugins.transformation_class(config[f"transforms.{alias}.type"]))
                    for alias in aliases(config, "transforms")
                },
                {
                    alias: _described("predicate", plugins.predicate_class(config[f"predicates.{alias}.type"]))
                    for alias in aliases(config, "predicates")
                },
            )
        except (ConnectError, KeyError) as error:  # it cannot run, and says why itself
            log.debug("The plugins of %s are not known: %s", runner.name, error)
            return _Used()


def _described(what: str, plugin: type) -> dict[str, str]:
    return {f"{what}_class": Plugins.java_name(plugin), f"{what}_version": plugin_version(plugin) or "undefined"}
