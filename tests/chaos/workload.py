"""What goes on while faults strike: records are written, and each connector has a client that moves it about."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

from chaos.history import History, Outcome
from chaos.lines import line
from chaos.plan import Round
from chaos.requests import Requests, path_of, state_of
from chaos.subjects import Sink, Subject
from seamark.kafka.producer import RecordProducer
from seamark.testing.waiting import patience

INSIST_S = patience(60.0)
STOPPED_S = patience(60.0)
PAUSED_S = patience(30.0)
LOOK_S = 0.1
SAMPLE_S = 0.4
CARE_S = 2.0


class Client(threading.Thread):
    """Creates a connector and goes through rounds with it until it is told to stop."""

    def __init__(
        self, subject: Subject, rounds: Iterator[Round], requests: Requests, history: History, stopped: threading.Event
    ) -> None:
        super().__init__(name=f"client-{subject.name}", daemon=True)
        self._subject, self._rounds, self._requests, self._history = subject, rounds, requests, history
        self._path = path_of(subject.name)
        self.config = dict(subject.config)
        self.stopped = stopped
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            self._create("RUNNING")
            for each in self._rounds:
                if self.stopped.wait(each.wait_s):
                    return
                self._requests.at(each.worker)
                getattr(self, f"_{each.what}")(each)
        except BaseException as error:  # shown by the run, which fails then
            self.failure = error

    # rounds

    def _move(self, each: Round) -> None:
        if self._insist("stop", "PUT", "/stop") and self._await_stopped():
            self._change(each)
        self._insist("resume", "PUT", "/resume")

    def _recreate(self, each: Round) -> None:
        if not self._insist("delete", "DELETE", "", also="not found") or not self._await_gone():
            return
        self._create(each.state)
        if each.state == "STOPPED" and self._await_stopped():
            self._change(each)
        if each.state != "RUNNING":
            self._insist("resume", "PUT", "/resume")

    def _restart(self, each: Round) -> None:
        self._requests.once("restart", "POST", f"{self._path}/restart?includeTasks=true&onlyFailed=false")

    def _pause(self, each: Round) -> None:
        if self._insist("pause", "PUT", "/pause"):
            self._await("paused", lambda state, tasks: state == "PAUSED", PAUSED_S)
        self._insist("resume", "PUT", "/resume")

    def _configure(self, each: Round) -> None:
        self.config["errors.log.enable"] = "false" if self.config.get("errors.log.enable") == "true" else "true"
        self._insist("configure", "PUT", "/config", self.config, config=dict(self.config))

    # steps

    def _create(self, state: str) -> None:
        body = {"name": self._subject.name, "config": self.config, "initial_state": state}
        self._requests.insist(
            "create",
            "POST",
            "/connectors",
            body,
            also="already exists",
            within_s=INSIST_S,
            state=state,
            config=dict(self.config),
        )

    def _change(self, each: Round) -> None:
        first, second = (int(place * self._subject.fed) for place in each.places)
        goes_on = each.worker % 3 == 0  # an answer that does not come is not always waited for
        if each.move.startswith("reset"):
            self._reset(goes_on)
        if each.move.startswith("alter") or each.move.endswith("alter"):
            self._alter(first, goes_on)
        if each.move == "alter-twice":
            self._alter(second, goes_on)
        self._requests.once("offsets", "GET", f"{self._path}/offsets")

    def _alter(self, number: int, goes_on: bool) -> None:
        rows = [{"partition": self._subject.partition, "offset": self._subject.offset(number)}]
        self._offsets("alter", "PATCH", {"offsets": rows}, goes_on, to=number)

    def _reset(self, goes_on: bool) -> None:
        self._offsets("reset", "DELETE", None, goes_on, to=0)

    def _offsets(self, what: str, method: str, body: Any, goes_on: bool, **details: Any) -> None:
        deadline = time.monotonic() + INSIST_S
        while True:
            facts = self._subject.facts()  # nothing can be written until the request ends: it does not run
            event = self._requests.once(what, method, f"{self._path}/offsets", body, **details, **facts)
            is_open = event.outcome is Outcome.UNKNOWN and not goes_on
            is_over = event.outcome is Outcome.DONE or not (is_open or event.outcome is Outcome.REFUSED)
            if is_over or time.monotonic() > deadline or self.stopped.wait(LOOK_S):
                return

    def _insist(self, what: str, method: str, end: str, body: Any = None, **more: Any) -> bool:
        event = self._requests.insist(what, method, f"{self._path}{end}", body, within_s=INSIST_S, **more)
        return event.outcome is Outcome.DONE

    def _await_stopped(self) -> bool:
        return self._await("stopped", lambda state, tasks: state == "STOPPED" and not tasks, STOPPED_S)

    def _await(self, what: str, is_there: Any, within_s: float) -> bool:
        began, deadline, last = time.time(), time.monotonic() + within_s, None
        while time.monotonic() < deadline and not self.stopped.is_set():
            code, last = self._requests.look(f"{self._path}/status")
            if code == 200 and is_there(*state_of(last)):
                self._history.add(self._subject.name, what, began, **self._subject.facts())
                return True
            time.sleep(LOOK_S)
        if not self.stopped.is_set():
            self._history.add(self._subject.name, what, began, Outcome.UNKNOWN, last=last)
        return False

    def _await_gone(self) -> bool:
        began, deadline = time.time(), time.monotonic() + INSIST_S
        while time.monotonic() < deadline and not self.stopped.is_set():
            if self._requests.look(self._path)[0] == 404:
                self._history.add(self._subject.name, "gone", began)
                return True
            time.sleep(LOOK_S)
        return False


class Feeder(threading.Thread):
    """Fills the topic of a sink with numbered records; each is in it once, and has the offset of its number."""

    def __init__(self, sink: Sink, bootstrap_servers: str, per_second: int, stopped: threading.Event) -> None:
        super().__init__(name=f"feed-{sink.name}", daemon=True)
        self._sink, self._per_second, self.stopped = sink, per_second, stopped
        self.failure: BaseException | None = None
        self._producer = RecordProducer(
            {
                "bootstrap.servers": bootstrap_servers,
                "enable.idempotence": "true",
                "acks": "all",
                "delivery.timeout.ms": "600000",
                "linger.ms": "5",
            }
        )

    def run(self) -> None:
        at_once, sent = max(1, self._per_second // 20), 0
        try:
            while not self.stopped.wait(at_once / self._per_second):
                for _ in range(at_once):
                    self._producer.send(self._sink.topic, line(self._sink.name, sent), None, partition=0)
                    sent += 1
                self._producer.flush(600.0)
                self._sink.acknowledged = sent
        except BaseException as error:  # shown by the run, which fails then
            self.failure = error
        finally:
            self._producer.close()


class Observer(threading.Thread):
    """Looks at offsets all the time, at every worker in turn."""

    def __init__(self, subjects: list[Subject], requests: Requests, stopped: threading.Event) -> None:
        super().__init__(name="observer", daemon=True)
        self._subjects, self._requests, self.stopped = subjects, requests, stopped

    def run(self) -> None:
        turn = 0
        while not self.stopped.wait(SAMPLE_S):
            subject = self._subjects[turn % len(self._subjects)]
            turn += 1
            self._requests.at(turn // len(self._subjects) + turn)
            self._requests.once("sample", "GET", f"{path_of(subject.name)}/offsets", of=subject.name)


class Caretaker(threading.Thread):
    """Does what an operator does: restarts what has failed."""

    def __init__(self, subjects: list[Subject], requests: Requests, stopped: threading.Event) -> None:
        super().__init__(name="caretaker", daemon=True)
        self._subjects, self._requests, self.stopped = subjects, requests, stopped

    def run(self) -> None:
        while not self.stopped.wait(CARE_S):
            self.care()

    def care(self) -> None:
        for subject in self._subjects:
            path = path_of(subject.name)
            code, status = self._requests.look(f"{path}/status")
            if code == 200 and "FAILED" in (status["connector"]["state"], *(each["state"] for each in status["tasks"])):
                traces = [status["connector"].get("trace"), *(each.get("trace") for each in status["tasks"])]
                why = next((trace for trace in traces if trace), "")
                restart = f"{path}/restart?includeTasks=true&onlyFailed=true"
                self._requests.once("restart-failed", "POST", restart, of=subject.name, trace=why[:2000])
