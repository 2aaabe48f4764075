"""The decisions about leases, and the signed protocol between worker and task over a real socket."""

from __future__ import annotations

import base64
import http.client
import json
import threading
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from seamark.engine import lease_server
from seamark.engine.lease_client import LeaseClient, LeaseTicket
from seamark.engine.lease_server import LeaseServer
from seamark.engine.leases import STARVING_AFTER_S, TURN_S, Directive, Epoch, Lease, LeaseState, LeaseTable
from seamark.engine.signatures import SIGNATURE_HEADER, sign
from seamark.engine.stage import Ending, TaskProgress
from seamark.errors import KafkaError, LeaseLostError
from seamark.testing.waiting import eventually


class Services:
    def __init__(self) -> None:
        self.commits: list[tuple[int, Any]] = []

    def read_offsets(self) -> dict[str, Any]:
        return {"offsets": [{"partition": {"file": "a"}, "offset": {"position": 7}}], "raw_keys": []}

    def write_offsets(self, task: int, body: Any) -> None:
        if body["offsets"] == "refuse":
            raise KafkaError("the store is away", retriable=True)
        self.commits.append((task, body["offsets"]))

    def commit_sink(self, task: int, body: Any) -> None:
        self.commits.append((task, body["offsets"]))


def epoch_of(tasks: int = 1, *, idle_ms: int | None = 1000, lease_ms: int = 10_000, now: float = 100.0) -> Epoch:
    leases = [Lease(f"e-{task}", task, TaskProgress(task)) for task in range(tasks)]
    return Epoch("e", "orders", Services(), leases, now, epoch_ms=300_000, lease_ms=lease_ms, idle_ms=idle_ms)


def table_of(epoch: Epoch) -> LeaseTable:
    table = LeaseTable()
    table.open(epoch)
    return table


def test_a_retried_attempt_takes_the_lease_and_the_former_one_is_refused() -> None:
    epoch = epoch_of()
    table = table_of(epoch)
    table.acquire("e-0", 0, 100.0)
    table.check("e-0", 0, "call", 1, 100.1)
    table.acquire("e-0", 1, 101.0)
    with pytest.raises(LeaseLostError, match="not held by attempt 0"):
        table.check("e-0", 0, "call", 2, 101.1)
    with pytest.raises(LeaseLostError, match="older"):
        table.acquire("e-0", 1, 101.2)
    table.check("e-0", 1, "call", 1, 101.2)


def test_a_request_cannot_be_replayed() -> None:
    table = table_of(epoch_of())
    table.acquire("e-0", 0, 100.0)
    table.check("e-0", 0, "call", 5, 100.0)
    with pytest.raises(LeaseLostError, match="answered before"):
        table.check("e-0", 0, "call", 5, 100.0)
    table.check("e-0", 0, "renew", 1, 100.0)  # channels are numbered apart


def test_a_lease_that_is_not_renewed_in_time_is_lost() -> None:
    epoch = epoch_of(lease_ms=2000)
    table = table_of(epoch)
    table.acquire("e-0", 0, 100.0)
    assert table.expire(epoch, 101.9) == []
    assert [lease.task for lease in table.expire(epoch, 102.1)] == [0]
    with pytest.raises(LeaseLostError):
        table.check("e-0", 0, "call", 1, 102.2)


def test_leases_of_a_closed_epoch_are_void() -> None:
    epoch = epoch_of()
    table = table_of(epoch)
    table.acquire("e-0", 0, 100.0)
    table.close(epoch)
    with pytest.raises(LeaseLostError, match="its epoch is over"):
        table.check("e-0", 0, "call", 1, 100.0)


def test_an_epoch_ends_only_when_every_task_is_idle() -> None:
    epoch = epoch_of(tasks=2)
    table = table_of(epoch)
    _, first = table.acquire("e-0", 0, 100.0)
    table.renew(first, TaskProgress(0), 5000, 100.0)
    assert epoch.decide(100.5, starving=False) is Directive.CONTINUE  # the other has not begun
    _, second = table.acquire("e-1", 0, 100.6)
    table.renew(second, TaskProgress(1), 200, 100.6)
    assert epoch.decide(100.7, starving=False) is Directive.CONTINUE
    table.renew(second, TaskProgress(1), 1000, 101.4)
    assert epoch.decide(101.5, starving=False) is Directive.STOP
    assert epoch.stop_reason is Ending.IDLE


def test_an_epoch_that_may_not_idle_goes_on_until_its_time_is_over() -> None:
    epoch = epoch_of(idle_ms=None)
    table = table_of(epoch)
    _, lease = table.acquire("e-0", 0, 100.0)
    table.renew(lease, TaskProgress(0), 60_000, 100.0)
    assert epoch.decide(399.0, starving=False) is Directive.CONTINUE
    assert epoch.decide(400.0, starving=False) is Directive.STOP
    assert epoch.stop_reason is Ending.WORKED


def test_a_request_to_stop_outweighs_any_other_reason() -> None:
    epoch = epoch_of()
    epoch.stop(Ending.IDLE)
    epoch.stop(Ending.WORKED)
    assert epoch.stop_reason is Ending.IDLE
    epoch.stop(Ending.STOPPED)
    assert epoch.stop_reason is Ending.STOPPED


def test_an_epoch_yields_its_turn_while_another_waits_for_slots() -> None:
    running, waiting = (
        epoch_of(idle_ms=None),
        replace(epoch_of(now=100.0), id="w", leases=[Lease("w-0", 0, TaskProgress(0))]),
    )
    table = table_of(running)
    table.open(waiting)
    table.acquire("e-0", 0, 100.0)
    assert not table.is_starving(100.0 + STARVING_AFTER_S)
    assert table.is_starving(100.1 + STARVING_AFTER_S)
    assert running.decide(100.0 + TURN_S - 1, starving=True) is Directive.CONTINUE
    assert running.decide(100.0 + TURN_S, starving=True) is Directive.STOP


def test_a_turn_begins_when_a_slot_was_had_not_while_waiting_for_one() -> None:
    late = epoch_of(idle_ms=None)
    table = table_of(late)
    now = 100.0 + 10 * TURN_S
    table.acquire("e-0", 0, now)
    assert late.decide(now + 1, starving=True) is Directive.CONTINUE
    assert late.decide(now + TURN_S, starving=True) is Directive.STOP
    assert late.has_yielded


def test_who_gives_way_can_tell_whether_others_still_wait() -> None:
    waiting = epoch_of(2, now=100.0)
    table = table_of(waiting)
    assert table.has_waiting(opened_before=101.0)
    assert not table.has_waiting(opened_before=100.0)  # they came later
    table.acquire("e-0", 0, 102.0)
    assert table.has_waiting(opened_before=101.0)
    table.acquire("e-1", 1, 103.0)
    assert not table.has_waiting(opened_before=101.0)


def test_a_task_that_got_its_slot_after_the_stop_was_not_served() -> None:
    epoch = epoch_of(2)
    table = table_of(epoch)
    table.acquire("e-0", 0, 100.0)
    epoch.stop(Ending.WORKED)
    table.acquire("e-1", 1, 101.0)
    assert [lease.was_served for lease in epoch.leases] == [True, False]


# over the wire


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[LeaseServer]:
    server = LeaseServer(has_tls=getattr(request, "param", "http") == "https")
    server.start()
    yield server
    server.stop()


def open_epoch(server: LeaseServer, **options: Any) -> Epoch:
    import time

    epoch = epoch_of(now=time.monotonic(), **options)
    server.open(epoch)
    return epoch


def client_of(server: LeaseServer, *, attempt: int = 0, lease_ms: int = 10_000) -> LeaseClient:
    ticket = LeaseTicket(server.url, "e-0", base64.b64encode(server.key).decode(), lease_ms, 1000, server.certificate)
    return LeaseClient(ticket, attempt, lambda: (TaskProgress(0, records=3), 0))


@pytest.mark.parametrize("server", ["http", "https"], indirect=True)
def test_a_task_reads_offsets_commits_and_releases(server: LeaseServer) -> None:
    epoch = open_epoch(server)
    client = client_of(server)
    client.acquire()
    assert client.call("offsets")["offsets"] == [{"partition": {"file": "a"}, "offset": {"position": 7}}]
    client.call("commit", {"offsets": ["x"], "store": "all"})
    assert epoch.services.commits == [(0, ["x"])]  # type: ignore[attr-defined]
    client.release("failed", "trace", retriable=True)
    lease = epoch.leases[0]
    assert (lease.state, lease.result, lease.error, lease.retriable) == (LeaseState.RELEASED, "failed", "trace", True)
    assert lease.progress.records == 3


@pytest.mark.parametrize("kind", ["http", "https"])
def test_the_end_of_a_task_that_asked_nothing_for_long_is_reported(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_server, "KEEP_ALIVE_S", 1)
    server = LeaseServer(has_tls=kind == "https")
    server.start()
    try:
        epoch = open_epoch(server, idle_ms=None)
        client = client_of(server)
        client.acquire()
        connection = client._calls._connection
        assert connection is not None
        assert not client._calls._is_dropped(connection)
        eventually(lambda: client._calls._is_dropped(connection), within_s=10)
        client.release("stopped")
        assert epoch.leases[0].state is LeaseState.RELEASED
    finally:
        server.stop()


def test_a_stop_reaches_a_waiting_task_at_once(server: LeaseServer) -> None:
    epoch = open_epoch(server, idle_ms=None)
    client = client_of(server)
    client.acquire()
    eventually(lambda: epoch.leases[0].progress.records == 3, within_s=5)  # the first renewal is held back by now
    epoch.stop(Ending.STOPPED)
    eventually(lambda: client.should_end, within_s=0.9)  # less than a renewal's interval
    client.release("stopped")


def test_another_config_reaches_a_running_task_once(server: LeaseServer) -> None:
    epoch = open_epoch(server, idle_ms=None)
    client = client_of(server)
    client.acquire()
    assert client.take_config() is None
    epoch.reconfigure([{"partitions": "0"}])
    epoch.reconfigure([{"partitions": "0,1"}])
    assert eventually(client.take_config, within_s=5) == {"partitions": "0,1"}
    renewed = epoch.leases[0].renewed_at
    eventually(lambda: epoch.leases[0].renewed_at > renewed, within_s=5)
    assert client.take_config() is None
    assert not client.should_end
    client.release("stopped")


def test_an_epoch_is_over_when_no_task_works_any_more() -> None:
    epoch = epoch_of(3)
    table = table_of(epoch)
    _, first = table.acquire("e-0", 0, 100.0)
    _, second = table.acquire("e-1", 0, 100.0)
    table.release(first, "stopped", None, False)
    assert not table.close_unless_held(epoch)  # the second one works
    table.expire(epoch, 200.0)
    assert second.state is LeaseState.LOST
    assert not table.close_unless_held(epoch)  # nobody knows what it does
    table.acquire("e-1", 1, 201.0)
    table.release(second, "stopped", None, False)
    assert table.close_unless_held(epoch)
    with pytest.raises(LeaseLostError, match="its epoch is over"):  # the third one came too late
        table.acquire("e-2", 0, 202.0)


def test_what_the_worker_could_not_do_is_said_with_its_reason(server: LeaseServer) -> None:
    open_epoch(server)
    client = client_of(server)
    client.acquire()
    with pytest.raises(KafkaError, match="the store is away") as caught:
        client.call("commit", {"offsets": "refuse", "store": "all"})
    assert caught.value.retriable
    client.release("stopped")


def test_a_zombie_can_commit_nothing(server: LeaseServer) -> None:
    epoch = open_epoch(server)
    zombie, successor = client_of(server, attempt=0), client_of(server, attempt=1)
    zombie.acquire()
    successor.acquire()
    with pytest.raises(LeaseLostError):
        zombie.call("commit", {"offsets": ["late"], "store": "all"})
    successor.call("commit", {"offsets": ["good"], "store": "all"})
    assert epoch.services.commits == [(0, ["good"])]  # type: ignore[attr-defined]
    eventually(lambda: zombie.should_end, within_s=5)
    zombie.abandon()
    successor.release("stopped")


def test_a_task_whose_worker_is_gone_loses_its_lease(server: LeaseServer) -> None:
    open_epoch(server, lease_ms=700)
    client = client_of(server, lease_ms=700)
    client.acquire()
    server.stop()
    eventually(lambda: client.should_end, within_s=10)
    with pytest.raises(LeaseLostError, match="not answered"):
        client.check()
    client.abandon()


def test_a_request_without_the_key_is_refused(server: LeaseServer) -> None:
    open_epoch(server)
    parts = urlsplit(server.url)
    body = json.dumps({"attempt": 0, "channel": "call", "sequence": 1, "progress": asdict(TaskProgress(0))}).encode()
    path = "/internal/leases/e-0/acquire"
    for signature in (None, "00", sign(b"another key", path, body), sign(server.key, path, body + b" ")):
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=5)
        connection.request("POST", path, body, {SIGNATURE_HEADER: signature} if signature else {})
        response = connection.getresponse()
        assert response.status == 403
        response.read()
        connection.close()
    assert server.table.acquire("e-0", 0, 0.0)[1].attempt == 0  # nobody got it meanwhile


def test_many_tasks_renew_at_once(server: LeaseServer) -> None:
    epoch = open_epoch(server, tasks=40, idle_ms=None)
    ticket = LeaseTicket(server.url, "", base64.b64encode(server.key).decode(), 10_000, 200)
    clients = [
        LeaseClient(replace(ticket, id=f"e-{task}"), 0, lambda task=task: (TaskProgress(task, records=task), 0))  # type: ignore[misc]
        for task in range(40)
    ]
    threads = [threading.Thread(target=client.acquire) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    eventually(lambda: [lease.progress.records for lease in epoch.leases] == list(range(40)), within_s=10)
    epoch.stop(Ending.STOPPED)
    eventually(lambda: all(client.should_end for client in clients), within_s=5)
    for client in clients:
        client.release("stopped")


def test_over_https_a_task_believes_its_own_worker_alone() -> None:
    server, impostor = LeaseServer(has_tls=True), LeaseServer(has_tls=True)
    for each in (server, impostor):
        each.start()
        open_epoch(each)
    assert server.url.startswith("https://")
    key = base64.b64encode(impostor.key).decode()
    ticket = LeaseTicket(impostor.url, "e-0", key, 10_000, 1000, server.certificate)
    with pytest.raises(LeaseLostError, match="CERTIFICATE_VERIFY_FAILED"):
        LeaseClient(ticket, 0, lambda: (TaskProgress(0), 0)).acquire()
    for each in (server, impostor):
        each.stop()
