"""Charts, timelines and figures."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from seamark.web import charts, figures
from seamark.web.charts import Sample
from seamark.web.timelines import STEPS, Bucket, Pick, Timeline, axis, drawing, time_of_position

HOUR = 3_600_000
T0 = 1_777_636_800_000  # 2026-05-01T12:00:00Z


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.25, "0.25"), (9.53, "9.5"), (10, "10"), (950, "950"), (999.7, "1k"), (1234, "1.2k"), (3.4e7, "34M")],
)
def test_short_figures(value: float, text: str) -> None:
    assert figures.short(value) == text


def test_figures_in_words() -> None:
    assert figures.number(1234567) == "1,234,567"
    assert figures.number(None) == figures.short(None) == figures.moment(None) == "-"
    assert figures.count(1, "record") == "1 record"
    assert figures.count(2000, "record") == "2,000 records"
    assert figures.moment(T0) == "2026-05-01 12:00:00 UTC"
    assert figures.rfc3339(T0 + 5) == "2026-05-01T12:00:00.005Z"
    assert figures.ago(T0, T0 + 2 * HOUR + 300_000) == "2 h 5 min ago"
    assert figures.ago(T0, T0) == "just now"


@pytest.mark.parametrize(("value", "top"), [(0, 1), (0.3, 0.4), (7, 8), (10, 10), (11, 20), (99, 100), (450, 500)])
def test_axes_end_at_a_number_that_reads_well(value: float, top: float) -> None:
    assert charts.nice_ceiling(value) == pytest.approx(top)


def test_a_chart_has_gaps_where_nothing_is_known() -> None:
    values = [1.0, 2.0, None, 3.0, 4.0]
    svg = charts.line_chart([Sample(T0 + 10_000 * i, value) for i, value in enumerate(values)], "Lag <all>", " s")
    root = ElementTree.fromstring(svg)
    assert [each.get("class") for each in root.iter("path")] == ["sm-area", "sm-line"] * 2
    assert root.get("aria-label") == "Lag <all>: now 4 s, highest 4 s, lowest 1 s"


def test_a_chart_of_nothing_is_a_text() -> None:
    assert "No figures yet" in charts.line_chart([Sample(T0, None)], "Lag")


def test_peaks_survive_thinning() -> None:
    samples = [Sample(i, 100.0 if i == 777 else None if i % 2 else 1.0) for i in range(1_000)]
    found = charts.thinned(samples, 120)
    assert len(found) <= 120
    assert max(each.value or 0 for each in found) == 100.0


@pytest.fixture
def timeline() -> Timeline:
    buckets = [Bucket(T0 + i * HOUR, T0 + (i + 1) * HOUR, 100 * i) for i in range(4)]
    return Timeline(buckets, [T0 + 2 * HOUR, T0 + 2 * HOUR + 1])


def test_steps_of_the_slider_are_times(timeline: Timeline) -> None:
    assert timeline.time_of(0) == T0
    assert timeline.time_of(STEPS / 2) == T0 + 2 * HOUR
    assert timeline.time_of(STEPS + 1) is None
    for step in (0, 1, 17, STEPS, STEPS + 1):
        assert timeline.step_of(timeline.time_of(step)) == step
    assert timeline.step_of(T0 - HOUR) == 0


def test_steps_are_positions_as_the_api_takes_them(timeline: Timeline) -> None:
    assert timeline.position_of(0) == "earliest"
    assert timeline.position_of(STEPS / 2) == "2026-05-01T14:00:00.000Z"
    assert timeline.position_of(STEPS + 1) == "latest"


def test_records_from_a_time_are_estimated(timeline: Timeline) -> None:
    assert timeline.records == 600
    assert timeline.records_from(T0) == 600
    assert timeline.records_from(T0 + 2.5 * HOUR) == 400
    assert timeline.records_from(None) == 0


def test_a_timeline_shows_where_it_is_and_what_is_chosen(timeline: Timeline) -> None:
    root = ElementTree.fromstring(drawing(timeline, T0 + HOUR, is_chosen=True))
    names = [each.get("class") for each in root.iter() if each.get("class")]
    assert names.count("sm-mark") == 1  # both positions are at the same place
    assert names.count("sm-choice") == 1
    assert names.count("sm-bar sm-bar-read") == 3
    assert "chosen: 2026-05-01 13:00:00 UTC" in (root.get("aria-label") or "")
    assert axis(timeline)[1] == "600 records, highest bar 300"


def test_a_topic_whose_records_are_all_of_one_moment_can_be_drawn() -> None:
    timeline = Timeline([Bucket(T0, T0, 5)], [T0])
    assert ElementTree.fromstring(drawing(timeline)).get("class") == "sm-timeline"
    assert timeline.step_of(T0) == 0
    assert timeline.records_from(T0) == 5


def test_some_positions_are_about_a_time(timeline: Timeline) -> None:
    now = T0 + 4 * HOUR
    assert time_of_position("earliest", timeline, now) == T0
    assert time_of_position("2026-05-01T13:00:00Z", timeline, now) == T0 + HOUR
    assert time_of_position("-2h", timeline, now) == T0 + 2 * HOUR
    for other in ("latest", "+10", "42", "half past nine"):
        assert time_of_position(other, timeline, now) is None


def test_what_is_picked_is_as_the_api_takes_it() -> None:
    assert Pick("-2h").change == {"positions": "-2h", "clamp": True}
    assert Pick("-2h", "orders").change["positions"] == {"orders": "-2h"}
    assert Pick("42", "orders", 3).change["positions"] == {"orders:3": "42"}
