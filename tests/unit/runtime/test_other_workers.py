"""Questions to other workers: those that are slow or away hold nobody up."""

from __future__ import annotations

import json
import socket
import time

from seamark.runtime import other_workers
from seamark.runtime.other_workers import OtherWorkers
from seamark.testing.waiting import eventually
from unit.client.scripted import scripted


def test_answers_and_errors_by_worker() -> None:
    others = OtherWorkers()
    with scripted((200, json.dumps({"id": "a"}))) as good, scripted((403, "no")) as bad:
        found = others.ask([good.url, bad.url], "/worker", lambda url: {"x-who": url})
        assert found[good.url].content == {"id": "a"}
        assert found[bad.url].error == "it answered 403: no"
        assert good.asked[0][1] == "/worker"
        assert good.asked[0][3]["x-who"] == f"{good.url}/worker"
    others.close()


def test_one_that_takes_too_long_is_left_out() -> None:
    others = OtherWorkers(patience_s=0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        began = time.monotonic()
        said = others.ask([url], "/worker", lambda url: {})[url]
        assert said.error is not None
        assert time.monotonic() - began < 5
    others.close()


def test_what_was_said_a_moment_ago_is_answered_at_once_and_asked_for_anew() -> None:
    others = OtherWorkers()
    with scripted((200, "1"), (200, "2")) as worker:
        assert others.ask([worker.url], "/p", lambda url: {})[worker.url].content == 1
        assert others.ask([worker.url], "/p", lambda url: {})[worker.url].content == 1
        assert len(worker.asked) == 1
        others._said[(worker.url, "/p")] = (
            time.monotonic() - other_workers.FRESH_S,
            others._said[(worker.url, "/p")][1],
        )
        assert others.ask([worker.url], "/p", lambda url: {})[worker.url].content == 1
        eventually(lambda: others._said[(worker.url, "/p")][1].content == 2)
        assert others.ask([worker.url], "/p", lambda url: {})[worker.url].content == 2
    others.close()
