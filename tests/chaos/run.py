"""One run: a cluster, its workload, faults, and what came of it."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos.checker import Findings, check
from chaos.cluster import Cluster, Disk
from chaos.evidence import Evidence, gather
from chaos.faults import Nemesis, chosen
from chaos.history import History, Outcome
from chaos.plan import rounds, strikes
from chaos.requests import Requests, path_of, state_of
from chaos.subjects import Sink, Source, Subject
from chaos.workload import Caretaker, Client, Feeder, Observer
from seamark.kafka import TopicSpec
from seamark.kafka.admin import Admin
from seamark.testing.waiting import eventually, patience

RECOVER_S = 180.0
PROGRESS_S = 10.0


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be run."""

    kind: str
    seed: int
    seconds: float
    faults: Sequence[str]
    workers: int = 3
    sources: int = 3
    sinks: int = 2
    per_second: int = 200


@dataclass(frozen=True, slots=True)
class Result:
    """What came of it."""

    order: Order
    findings: Findings
    strikes: dict[str, int]
    left_out: dict[str, Any]
    records: int
    requests: dict[str, int]
    recovery_s: float | None
    restarts: int = 0
    repeated: int = 0
    """Lines that sinks wrote more than once, which they may after a crash."""
    notes: list[str] = field(default_factory=list)


def run(order: Order, directory: Path) -> Result:
    """Run it; everything is kept in the directory: history, evidence, logs."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "order.json").write_text(json.dumps(_as_json(order)))
    history = History(directory / "history.jsonl")
    cluster = Cluster(
        directory,
        order.kind,
        order.seed,
        workers=order.workers,
        has_clocks="clock-step" in order.faults,
    )
    disk = Disk(directory / "files", "64m")
    try:
        faults, left_out = chosen(order.faults, cluster, disk)
        _say(f"{order.kind}: starting {order.workers} workers and a broker")
        cluster.start()
        subjects = _subjects(order, directory, disk.path, cluster)
        with _work(order, cluster, subjects, history):
            _strike(order, cluster, faults, history)
        recovery_s = _recover(cluster, subjects, history)
        shown = _look(cluster, subjects, history)
        workers = {worker.url.removeprefix("http://"): number for number, worker in enumerate(cluster.workers)}
        evidence = gather(subjects, cluster.target.bootstrap_servers, f"{cluster.target.group}-status", workers, shown)
    finally:
        cluster.close()
        disk_copy(disk, directory)
        history.close()
    evidence.save(directory / "evidence.json")
    return judge(order, history.events, evidence, recovery_s, left_out)


def judge(
    order: Order, events: Sequence[Any], evidence: Evidence, recovery_s: float | None, left_out: dict[str, Any]
) -> Result:
    """Check what was seen."""
    findings = check(events, evidence)
    findings.check("recovers", recovery_s is not None, lambda: f"not within {RECOVER_S:g} s: {evidence.states}")
    struck = [event for event in events if event.what == "strike" and event.details["struck"] is not None]
    requests: dict[str, int] = {}
    for event in events:
        if event.who in evidence.fed and event.outcome is not None:
            requests[str(event.outcome)] = requests.get(str(event.outcome), 0) + 1
    return Result(
        order,
        findings,
        {name: sum(event.details["fault"] == name for event in struck) for name in order.faults},
        left_out,
        sum(map(len, evidence.written.values())) + sum(map(len, evidence.lines.values())),
        requests,
        recovery_s,
        sum(event.what == "restart-failed" for event in events),
        findings.repeated,
        [f"{name}: {count} records misplaced by the run itself" for name, count in evidence.misplaced.items() if count],
    )


def _subjects(order: Order, directory: Path, small: Path, cluster: Cluster) -> list[Subject]:
    sources = [Source(f"source{number}", directory) for number in range(order.sources)]
    sinks = [Sink(f"sink{number}", small) for number in range(order.sinks)]
    with Admin({"bootstrap.servers": cluster.target.bootstrap_servers}) as admin:
        stamped = {"message.timestamp.type": "LogAppendTime"}
        admin.create_topics([TopicSpec(each.topic, 1, 1, stamped) for each in (*sources, *sinks)])
    return [*sources, *sinks]


@contextlib.contextmanager
def _work(order: Order, cluster: Cluster, subjects: list[Subject], history: History) -> Iterator[None]:
    """Records and requests until the end of the block, and no longer than a request takes."""
    stopped, urls, servers = threading.Event(), cluster.target.urls, cluster.target.bootstrap_servers
    threads: list[Any] = [
        *(Feeder(each, servers, order.per_second, stopped) for each in subjects if isinstance(each, Sink)),
        *(
            Client(each, rounds(order.seed, each.name), Requests(each.name, urls, history, stopped), history, stopped)
            for each in subjects
        ),
        Observer(subjects, Requests("observer", urls, history, stopped), stopped),
        Caretaker(subjects, Requests("caretaker", urls, history, stopped), stopped),
    ]
    files = [each.file for each in subjects if isinstance(each, Source)]
    for file in files:
        file.start(order.per_second)
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for file in files:
            file.stop()
        stopped.set()
        for thread in threads:
            thread.join(patience(90))
    stuck = [thread.name for thread in threads if thread.is_alive()]
    failed = [thread.failure for thread in threads if getattr(thread, "failure", None)]
    if stuck or failed:
        raise RuntimeError(f"the run itself failed: {stuck} {failed}")


def _strike(order: Order, cluster: Cluster, faults: Sequence[str], history: History) -> None:
    nemesis = Nemesis(cluster, strikes(order.seed, faults) if faults else iter(()), history)
    nemesis.start()
    until = time.monotonic() + order.seconds
    while time.monotonic() < until and nemesis.failure is None:
        time.sleep(min(PROGRESS_S, max(0.0, until - time.monotonic())))
        done = sum(event.outcome is Outcome.DONE for event in list(history.events))
        struck = [event.details["fault"] for event in list(history.events) if event.what == "strike"]
        left_s = max(0.0, until - time.monotonic())
        _say(f"{order.kind}: {left_s:.0f} s left, {done} requests done, {len(struck)} faults, the last {struck[-1:]}")
    nemesis.stopped.set()
    nemesis.join(patience(180))
    if nemesis.failure is not None or nemesis.is_alive():
        raise RuntimeError("a fault could not be struck or mended") from nemesis.failure


def _recover(cluster: Cluster, subjects: list[Subject], history: History) -> float | None:
    """Mend what is broken and wait until everything has been carried; how long that took, None if it was too long."""
    began = time.monotonic()
    for number in range(len(cluster.workers)):
        if not cluster.is_alive(number):
            Nemesis(cluster, iter(()), history).note_dead(number)
            cluster.start_worker(number)
    requests = Requests("caretaker", cluster.target.urls, history, threading.Event())
    caretaker = Caretaker(subjects, requests, threading.Event())
    ends = {each.name: each.fed for each in subjects}

    def is_done() -> bool:
        caretaker.care()
        for each in subjects:
            code, status = requests.look(f"{path_of(each.name)}/status")
            if code == 404:
                requests.once("create-again", "POST", "/connectors", {"name": each.name, "config": each.config})
            elif code == 200 and state_of(status)[0] in ("STOPPED", "PAUSED"):
                requests.once("resume-again", "PUT", f"{path_of(each.name)}/resume", of=each.name)
        return all(_is_carried(requests, each, ends[each.name]) for each in subjects)

    try:
        eventually(is_done, RECOVER_S)
    except AssertionError:
        return None
    finally:
        requests.close()
    return time.monotonic() - began


def _is_carried(requests: Requests, subject: Subject, end: int) -> bool:
    code, answer = requests.look(f"{path_of(subject.name)}/offsets")
    rows = answer["offsets"] if code == 200 else []
    if not rows or rows[0]["offset"] is None or subject.number(rows[0]["offset"]) < end:
        return False
    code, status = requests.look(f"{path_of(subject.name)}/status")
    return code == 200 and state_of(status) == ("RUNNING", ["RUNNING"])


def _look(cluster: Cluster, subjects: list[Subject], history: History) -> dict[str, Any]:
    requests = Requests("observer", cluster.target.urls, history, threading.Event())
    found: dict[str, Any] = {"configs": {}, "states": {}}
    for each in subjects:
        code, answer = requests.look(f"{path_of(each.name)}/config")
        found["configs"][each.name] = answer if code == 200 else None
        code, answer = requests.look(f"{path_of(each.name)}/status")
        found["states"][each.name] = answer if code == 200 else None
    requests.close()
    return found


def disk_copy(disk: Disk, directory: Path) -> None:
    """Unmount a small disk; the files that sinks wrote there are kept."""
    kept = directory / "sinks"
    kept.mkdir(exist_ok=True)
    for path in disk.path.glob("*.out"):
        (kept / path.name).write_bytes(path.read_bytes())
    disk.close()


def _as_json(order: Order) -> dict[str, Any]:
    return {name: getattr(order, name) for name in order.__slots__}


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
