"""Metrics of mirrors: what Prometheus reads of the views of flows."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from seamark.mirror.views import FlowView, PartitionView
from seamark.runtime import mirror_metrics
from seamark.runtime.mirror_metrics import MirrorMetrics

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "metrics.md"
COUNT = "kafka_connect_mirror_mirrorsourceconnector_record_count"


def flow(position: int | None, lag: int | None = 2, lag_ms: int | None = 30, error: str | None = None) -> FlowView:
    partition = PartitionView("orders", "a.orders", 0, position, 0, 10, lag, lag_ms)
    return FlowView("m", "RUNNING", "a", "b", {}, [] if error else [partition], error=error)


def samples(metrics: MirrorMetrics) -> dict[str, tuple[dict[str, str], float]]:
    registry = CollectorRegistry()
    registry.register(metrics)
    families = text_string_to_metric_families(generate_latest(registry).decode())
    return {sample.name: (sample.labels, sample.value) for family in families for sample in family.samples}


def test_lag_and_labels() -> None:
    found = samples(MirrorMetrics(lambda: [flow(8)]))
    at = {"source": "a", "target": "b", "topic": "a.orders", "partition": "0"}
    assert found["seamark_mirror_lag_records"] == ({"connector": "m", **at}, 2)
    assert found["seamark_mirror_lag_ms"] == ({"connector": "m", **at}, 30)
    assert found["seamark_mirror_reachable"] == ({"connector": "m", "source": "a", "target": "b"}, 1)
    assert found[COUNT] == (at, 0)


def test_what_is_not_known_is_not_shown() -> None:
    found = samples(MirrorMetrics(lambda: [flow(None, None, None)]))
    assert "seamark_mirror_lag_records" not in found
    assert "seamark_mirror_lag_ms" not in found


def test_positions_that_move_are_counted_also_over_a_time_in_which_the_source_is_away() -> None:
    views = iter([flow(8), flow(11), flow(0, error="away"), flow(13), flow(3), flow(4)])
    metrics = MirrorMetrics(lambda: [next(views)], refresh_s=0)
    counts, reachable = [], []
    for _ in range(6):
        found = samples(metrics)
        counts.append(found[COUNT][1] if COUNT in found else None)
        reachable.append(found["seamark_mirror_reachable"][1])
    assert counts == [0, 3, None, 5, 5, 6]
    assert reachable == [1, 1, 0, 1, 1, 1]


def test_clusters_are_asked_at_most_once_per_interval() -> None:
    asked: list[int] = []
    metrics = MirrorMetrics(lambda: asked.append(1) or [flow(8)])  # type: ignore[func-returns-value]
    samples(metrics)
    samples(metrics)
    assert len(asked) == 1


def test_a_look_that_takes_long_holds_up_no_scrape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror_metrics, "WAIT_S", 0.05)
    release = threading.Event()

    def look() -> list[FlowView]:
        release.wait(30)
        return [flow(8)]

    metrics = MirrorMetrics(look)
    began = time.monotonic()
    assert samples(metrics) == {}
    assert time.monotonic() - began < 5
    release.set()
    monkeypatch.setattr(mirror_metrics, "WAIT_S", 30.0)
    assert "seamark_mirror_lag_records" in samples(metrics)


def test_a_look_that_fails_is_no_failed_scrape() -> None:
    def look() -> list[FlowView]:
        raise RuntimeError("broken")

    assert samples(MirrorMetrics(look)) == {}


def test_every_metric_is_documented() -> None:
    documented = set(re.findall(r"`([a-z_]+)`", DOCS.read_text()))
    shown = set(samples(MirrorMetrics(lambda: [flow(8)])))
    assert len(shown) == 5
    assert shown <= documented
