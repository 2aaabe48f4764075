"""Both clients: what they ask, and what they make of the answers."""

from __future__ import annotations

import inspect
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from seamark import client as package
from seamark import errors
from seamark.client import (
    AsyncConnectClient,
    BadRequest,
    Conflict,
    ConnectClient,
    ConnectorOffset,
    ConnectorProgress,
    ConnectorState,
    ConnectorStatus,
    Forbidden,
    LoggerLevel,
    NotFound,
    PartitionProgress,
    Plugin,
    Retry,
    ServerError,
    Settings,
    StateNotReached,
    TaskId,
    TaskState,
    UnexpectedAnswer,
    Unreachable,
    Unsupported,
    WorkerHealth,
)
from seamark.errors import AlreadyExistsError
from seamark.runtime.herder import CONFLICT, STALE_CONFIG, RestError
from unit.client.conftest import Ask
from unit.client.scripted import scripted
from unit.rest.herders import MemoryHerder

REBALANCE = f'{{"error_code":409,"message":"{CONFLICT}"}}'
NO_ROUTE = (404, '{"error_code":404,"message":"HTTP 404 Not Found"}')
CLASS = {"connector.class": "a.Source"}
SHORT = Retry(deadline_s=0.3, first_s=0.01, longest_s=0.05)
NO_RETRY = Retry(deadline_s=0)


# answers


def test_both_clients_have_the_same_methods() -> None:
    def methods(kind: type) -> dict[str, inspect.Signature]:
        found = {name: inspect.signature(each) for name, each in vars(kind).items() if inspect.isfunction(each)}
        return {name: signature for name, signature in found.items() if not name.startswith("_")}

    waiting, awaited = methods(ConnectClient), methods(AsyncConnectClient)
    del waiting["close"], awaited["aclose"]
    assert waiting == awaited
    assert len(waiting) > 45


def test_all_that_is_exported_is_listed() -> None:
    public = {name for name, each in vars(package).items() if not name.startswith("_") and not inspect.ismodule(each)}
    assert public == set(package.__all__)


@pytest.mark.parametrize(
    ("call", "called"),
    [
        (lambda c: c.connectors(), ("connectors",)),
        (lambda c: c.connector("c"), ("connector_info", "c")),
        (lambda c: c.config("c"), ("connector_config", "c")),
        (lambda c: c.tasks("c"), ("task_configs", "c")),
        (lambda c: c.topics("c"), ("topics", "c")),
        (lambda c: c.reset_topics("c"), ("reset_topics", "c")),
        (lambda c: c.delete("c"), ("delete", "c")),
        (lambda c: c.patch_config("c", {"a": None}), ("patch", "c", {"a": None})),
        (lambda c: c.pause("c"), ("pause", "c")),
        (lambda c: c.resume("c"), ("resume", "c")),
        (lambda c: c.stop("c"), ("stop_connector", "c")),
        (lambda c: c.restart("c"), ("restart", "c")),
        (lambda c: c.restart("c", include_tasks=True), ("restart_all", "c", True, False)),
        (lambda c: c.restart("c", only_failed=True), ("restart_all", "c", False, True)),
        (lambda c: c.reset_offsets("c"), ("reset_offsets", "c")),
        (lambda c: c.plugins(connectors_only=False), ("plugins", False)),
        (
            lambda c: c.validate("Source", {"connector.class": "a.Source"}),
            ("validate", {"connector.class": "a.Source"}),
        ),
        (lambda c: c.set_logger("root", "DEBUG"), ("set_level", "root", "DEBUG")),
        (lambda c: c.set_cluster_logger("root", "DEBUG"), ("set_cluster_level", "root", "DEBUG")),
        (lambda c: c.request("PUT", "/connectors/c/stop"), ("stop_connector", "c")),
    ],
)
def test_requests_reach_the_herder(
    ask: Ask, url: str, herder: MemoryHerder, call: Callable[[Any], Any], called: tuple[Any, ...]
) -> None:
    ask(url, call)
    assert called in herder.calls


def test_answers_are_typed(ask: Ask, url: str, herder: MemoryHerder) -> None:
    status = ask(url, lambda c: c.status("c"))
    running = TaskState(0, "RUNNING", "worker:8083", "4.2.0")
    failed = TaskState(1, "FAILED", "worker:8083", "4.2.0", "trace")
    assert status == ConnectorStatus("c", ConnectorState("RUNNING", "worker:8083"), [running, failed], "source")
    assert status.failed == [failed]
    expanded = ask(url, lambda c: c.expanded())
    assert expanded["c"].status == status
    assert expanded["c"].info.tasks == [TaskId("c", 0)]
    assert ask(url, lambda c: c.expanded(status=False))["c"].status is None
    assert ask(url, lambda c: c.restart("c", include_tasks=True)) == status
    assert ask(url, lambda c: c.restart("c")) is None
    assert ask(url, lambda c: c.task_status("c", 3)).id == 3
    assert ask(url, lambda c: c.topics("c")) == ["t"]
    assert ask(url, lambda c: c.server_info()).kafka_cluster_id == "cluster-1"
    assert ask(url, lambda c: c.plugins()) == [Plugin("a.Sink", "sink", "1")]
    assert ask(url, lambda c: c.loggers()) == {"root": LoggerLevel("INFO")}
    assert ask(url, lambda c: c.validate("Source", {"connector.class": "a.Source"})).errors == []
    assert ask(url, lambda c: c.progress("c")) == ConnectorProgress(
        "c", [{"task": 0, "records": 5}], [PartitionProgress({"p": 0}, {"o": 1}, {"o": 3}, 2, 1.5)]
    )
    assert ask(url, lambda c: c.mirrors()) == []


def test_offsets_go_and_come_as_they_are(ask: Ask, url: str, herder: MemoryHerder) -> None:
    assert ask(url, lambda c: c.offsets("c")) == [ConnectorOffset({"filename": "f"}, {"position": 6})]
    big = 2**53 + 1
    changed = [ConnectorOffset({"filename": "ä"}, {"position": big}), ConnectorOffset({"filename": "g"})]
    assert ask(url, lambda c: c.alter_offsets("c", changed)) == "altered"
    assert herder.calls[-1] == (
        "alter_offsets",
        "c",
        [({"filename": "ä"}, {"position": big}), ({"filename": "g"}, None)],
    )


def test_a_config_that_is_put_says_whether_it_was_new(ask: Ask, url: str, herder: MemoryHerder) -> None:
    config = {"connector.class": "a.Source"}
    name = "a->b ü+%41"
    assert ask(url, lambda c: c.put_config("d e", config)).created
    assert not ask(url, lambda c: c.put_config("d e", config)).created
    assert ask(url, lambda c: c.create("x->y", config, "STOPPED")).name == "x->y"
    with pytest.raises(BadRequest):  # a worker refuses a percent sign in a name's path
        ask(url, lambda c: c.connector(name))
    assert set(herder.configs) == {"c", "d e", "x->y"}


def test_health_is_an_answer_even_if_it_is_bad(ask: Ask, url: str, herder: MemoryHerder) -> None:
    assert ask(url, lambda c: c.health()).is_healthy
    herder.ready = False
    assert ask(url, lambda c: c.health()) == WorkerHealth("starting", "Worker is still starting up.")


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_would_be_another_url_is_not_sent(ask: Ask, url: str, herder: MemoryHerder, name: str) -> None:
    with pytest.raises(BadRequest):
        ask(url, lambda c: c.delete(name))
    assert herder.calls == []


# refusals


@pytest.mark.parametrize(
    ("failure", "kind", "also"),
    [
        (errors.NotFoundError("no c"), NotFound, errors.NotFoundError),
        (errors.BadRequestError("bad c"), BadRequest, errors.BadRequestError),
        (AlreadyExistsError("Connector c already exists"), Conflict, errors.ConnectError),
        (RestError(403, "Topic tracking is disabled."), Forbidden, errors.ConnectError),
        (RestError(500, "broken"), ServerError, errors.ConnectError),
    ],
)
def test_refusals_have_a_class_each_and_the_workers_words(
    ask: Ask, url: str, herder: MemoryHerder, failure: errors.ConnectError, kind: type[Exception], also: type[Exception]
) -> None:
    herder.failure = failure
    with pytest.raises(kind) as caught:
        ask(url, lambda c: c.connector("c"))
    assert isinstance(caught.value, also)
    assert str(caught.value) == failure.message
    assert herder.calls == [("connector_info", "c")], "it was asked once"


def test_what_a_rebalance_is_in_the_way_of_is_repeated(ask: Ask) -> None:
    stale = f'{{"error_code":409,"message":"{STALE_CONFIG}"}}'
    expected = '{"error_code":500,"message":"Request cannot be completed because a rebalance is expected"}'
    safe = '{"error_code":500,"message":"... this operation can be safely retried. If it does not ..."}'
    with scripted((409, REBALANCE), (409, stale), (500, expected), (500, safe), (200, '{"message":"done"}')) as worker:
        settings = Settings(worker.url, retry=Retry(first_s=0.001, longest_s=0.01))
        assert ask(settings, lambda c: c.alter_offsets("c", [ConnectorOffset({"a": 1})])) == "done"
    assert len(worker.asked) == 5
    assert {(method, body) for method, _, body, _ in worker.asked} == {
        ("PATCH", b'{"offsets":[{"partition":{"a":1},"offset":null}]}')
    }


def test_repetition_ends_at_the_deadline_with_the_refusal(ask: Ask) -> None:
    with scripted((409, REBALANCE)) as worker:
        began = time.monotonic()
        with pytest.raises(Conflict, match="conflicting operation") as caught:
            ask(Settings(worker.url, retry=SHORT), lambda c: c.stop("c"))
        assert 0.3 <= time.monotonic() - began < 5
        assert caught.value.retriable
        # Pauses of 10, 20, 40, 50, 50 ... ms.
        assert 3 <= len(worker.asked) <= 10
        worker.asked.clear()
        with pytest.raises(Conflict):
            ask(Settings(worker.url, retry=NO_RETRY), lambda c: c.stop("c"))
        assert len(worker.asked) == 1


def test_no_answer_is_unreachable(ask: Ask) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens on it
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(Unreachable, match=url):
            ask(url, lambda c: c.connectors())
        taken.listen()  # connections are taken, and nothing is said
        with pytest.raises(Unreachable, match=r"did not answer within 0\.2 s"):
            ask(Settings(url, timeout_s=0.2), lambda c: c.connectors())
    with pytest.raises(Unreachable):
        ask("no-url", lambda c: c.connectors())


@pytest.mark.parametrize(
    ("status", "content", "words"),
    [
        (200, "<html>a proxy</html>", "not JSON"),
        (200, '{"a": 1}', r"\$ should be a list"),
        (200, "[1]", r"\$\[0\] should be str"),
        (302, "", "302"),
    ],
)
def test_an_answer_of_something_else_is_not_believed(ask: Ask, status: int, content: str, words: str) -> None:
    with scripted((status, content)) as other, pytest.raises(UnexpectedAnswer, match=words):
        ask(other.url, lambda c: c.connectors())


def test_an_error_without_a_message_names_the_request(ask: Ask) -> None:
    with scripted((502, "<html>bad gateway</html>")) as proxy, pytest.raises(ServerError) as caught:
        ask(proxy.url, lambda c: c.status("c"))
    assert str(caught.value) == f"GET {proxy.url}/connectors/c/status was answered with 502 Bad Gateway"


def test_user_and_headers_are_sent(ask: Ask) -> None:
    with scripted((200, "[]")) as worker:
        settings = Settings(worker.url + "/connect/", auth=("u", "p"), headers={"X-A": "b"})
        ask(settings, lambda c: c.connectors())
    method, target, _, headers = worker.asked[0]
    assert (method, target) == ("GET", "/connect/connectors")
    assert headers["Authorization"] == "Basic dTpw"
    assert headers["X-A"] == "b"


# capabilities


def test_seamark_is_known_by_its_document(ask: Ask, url: str, herder: MemoryHerder) -> None:
    found = ask(url, lambda c: c.capabilities())
    assert found.is_seamark
    assert found.version
    assert found.has("GET", "/connectors/{connector}/progress")
    assert not found.has("POST", "/connectors/{connector}/progress")


@pytest.mark.parametrize(
    "answer",
    [NO_ROUTE, (404, "<html></html>"), (200, '{"info": []}')],
)
def test_others_are_not_taken_for_seamark(ask: Ask, answer: tuple[int, str]) -> None:
    with scripted(answer) as other:
        assert not ask(other.url, lambda c: c.capabilities()).is_seamark


def test_capabilities_are_asked_once() -> None:
    with (
        scripted(NO_ROUTE) as other,
        ConnectClient(other.url) as java,
    ):
        assert java.capabilities() is java.capabilities()
        assert len(other.asked) == 1


def test_what_a_java_worker_lacks_is_unsupported_and_not_unknown(ask: Ask, url: str, herder: MemoryHerder) -> None:
    with scripted(NO_ROUTE) as java:
        with pytest.raises(Unsupported):
            ask(java.url, lambda c: c.progress("c"))
        with pytest.raises(NotFound):
            ask(java.url, lambda c: c.status("c"))
    with pytest.raises(NotFound, match="Connector x not found"):
        ask(url, lambda c: c.progress("x"))


# waiting


def status_json(state: str, *tasks: str) -> tuple[int, str]:
    shown = ",".join(f'{{"id":{number},"state":"{each}","worker_id":"w"}}' for number, each in enumerate(tasks))
    row = f'{{"state":"{state}","worker_id":"w","version":null,"trace":"a\\nValueError: x"}}'
    return 200, f'{{"name":"c","connector":{row},"tasks":[{shown}],"type":"sink"}}'


def test_stopped_means_that_tasks_are_gone(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seamark.client.sync_client.LOOK_S", 0.001)
    monkeypatch.setattr("seamark.client.async_client.LOOK_S", 0.001)
    unknown = (404, '{"error_code":404,"message":"No status found for connector c"}')
    answers = (unknown, status_json("RUNNING", "RUNNING"), status_json("STOPPED", "RUNNING"), status_json("STOPPED"))
    with scripted(*answers) as worker:
        ask(worker.url, lambda c: c.await_state("c", "STOPPED"))
    assert len(worker.asked) == 4


def test_waiting_ends_when_it_is_in_vain(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seamark.client.exchange.STALE_S", 0.0)
    with scripted(status_json("FAILED")) as worker:
        with pytest.raises(StateNotReached, match="ValueError: x"):
            ask(worker.url, lambda c: c.await_state("c", "RUNNING"))
        with pytest.raises(StateNotReached, match="is FAILED with 0 tasks after 0 s, and should be STOPPED"):
            ask(worker.url, lambda c: c.await_state("c", "STOPPED", timeout_s=0))


def test_a_failure_of_before_is_not_believed_at_once(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seamark.client.sync_client.LOOK_S", 0.001)
    monkeypatch.setattr("seamark.client.async_client.LOOK_S", 0.001)
    with scripted(status_json("FAILED"), status_json("FAILED"), status_json("RUNNING")) as worker:
        ask(worker.url, lambda c: c.await_state("c", "RUNNING"))
    assert len(worker.asked) == 3
