"""What load and soak compute from what they see."""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from load.paced import Latencies, paced
from load.plots import plot
from load.results import Results
from load.soak import Sample, growth, write_report


def test_growth_is_that_of_a_line_through_all_points() -> None:
    assert growth([0, 1, 2, 3], [100, 100, 100, 100]) == 0
    assert growth([0, 1, 2, 3], [100, 110, 120, 130]) == pytest.approx(30 / 115)
    assert growth([0, 1, 2, 3], [130, 120, 110, 100]) == pytest.approx(-30 / 115)
    assert abs(growth(list(range(100)), [100 + each % 2 for each in range(100)])) < 0.01


def samples(memory_per_hour: float) -> list[Sample]:
    return [Sample(20 * n, 1000 + memory_per_hour * n / 180, 300, 90, 12, 0.5, 100 * n, 0) for n in range(180)]


@pytest.mark.parametrize(("leak_mb_per_hour", "is_flat"), [(0, True), (50, True), (500, False)])
def test_a_report_says_whether_memory_leaks(tmp_path: Path, leak_mb_per_hour: float, is_flat: bool) -> None:
    assert write_report(samples(leak_mb_per_hour), tmp_path) is is_flat
    text = (tmp_path / "soak.md").read_text()
    assert "Memory of three workers, MB" in text
    for name in ("memory", "files", "threads", "cpu"):
        assert f"soak-{name}.svg" in text
        ElementTree.fromstring((tmp_path / f"soak-{name}.svg").read_text())


def test_a_plot_holds_its_points() -> None:
    drawing = plot("Cores", [0, 1, 2], [1, 2, 3])
    points = drawing.partition('points="')[2].partition('"')[0].split()
    heights = [float(point.split(",")[1]) for point in points]
    assert len(points) == 3
    assert heights == sorted(heights, reverse=True)


def test_quantiles() -> None:
    taken = Latencies([each / 100 for each in range(100)])
    assert (taken.quantile(0.5), taken.quantile(0.99), taken.quantile(1.0)) == (0.5, 0.99, 0.99)


class _Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        time.sleep(0.2)
        self.send_response(404 if self.path == "/gone" else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Slow)
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{served.server_address[1]}"
    served.shutdown()
    served.server_close()


def test_slow_answers_hold_up_nobody_and_errors_count(server: str) -> None:
    began = time.monotonic()
    taken = paced([server], ["/", "/gone"], 50, 1.0)
    assert taken.sent == 50
    assert time.monotonic() - began < 8  # one after the other they would take ten seconds
    assert 0 < taken.failed < 50
    assert taken.failures == {"404": taken.failed}
    assert taken.quantile(0.5) >= 0.2


def test_results_are_a_table() -> None:
    results = Results()
    results.add("created", 1234.5, "s")
    results.add("ratio", 0.5)
    results.add("files", 12_000)
    assert results.table().splitlines()[2:] == ["| created | 1,234 s |", "| ratio | 0.50 |", "| files | 12,000 |"]
