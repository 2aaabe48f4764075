"""Requests that are too long or too many."""

from __future__ import annotations

from typing import Any

from seamark.rest.rate_limit import MOST_ADDRESSES, Buckets


def test_a_body_that_is_too_long_is_refused(serve: Any) -> None:
    client = serve({"seamark.rest.max.request.bytes": "1000"})
    config = {"connector.class": "x" * 2000}
    answer = client.post("/connectors", json={"name": "long", "config": config})
    assert (answer.status_code, answer.json()["error_code"]) == (413, 413)
    assert "seamark.rest.max.request.bytes" in answer.json()["message"]
    assert client.get("/connectors").json() == []


def test_too_many_requests_are_refused_but_not_probes(serve: Any) -> None:
    client = serve({"seamark.rest.requests.per.second": "1"})
    answers = [client.get("/connectors") for _ in range(20)]
    assert answers[0].status_code == 200
    refused = next(each for each in answers if each.status_code == 429)
    assert int(refused.headers["retry-after"]) == 1
    assert "seamark.rest.requests.per.second" in refused.json()["message"]
    assert {client.get("/health").status_code for _ in range(20)} == {200}


def test_by_default_there_is_no_limit(client: Any) -> None:
    assert {client.get("/connectors").status_code for _ in range(50)} == {200}


def test_buckets_fill_again_and_are_forgotten() -> None:
    now = 0.0
    buckets = Buckets(10, lambda: now)
    assert [buckets.wait_s("a") for _ in range(20)] == [0.0] * 20
    assert 0 < buckets.wait_s("a") <= 0.1
    assert buckets.wait_s("b") == 0, "another address"
    now = 0.5
    assert [bool(buckets.wait_s("a")) for _ in range(6)] == [False] * 5 + [True]
    for number in range(MOST_ADDRESSES + 10):
        buckets.wait_s(str(number))
    assert len(buckets._buckets) <= MOST_ADDRESSES
