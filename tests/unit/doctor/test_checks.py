"""No check holds up or breaks the others; what they look at without Kafka."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from seamark.config.providers import secrets
from seamark.doctor.checks import Check, run_check, run_checks, unchecked
from seamark.doctor.findings import Severity, counts, has_errors, ok
from seamark.doctor.tcp import split_address, try_addresses
from seamark.errors import ConnectError
from seamark.kafka import jars
from seamark.kafka.jar_cache import look_at_jars


def test_a_check_that_takes_too_long_is_left_behind() -> None:
    never = threading.Event()
    try:
        (finding,) = run_check(Check("slow", "waiting for nothing", lambda: [ok("slow", str(never.wait()))], 0.05))
    finally:
        never.set()
    assert finding.severity is Severity.WARNING
    assert "waiting for nothing" in finding.found


def test_errors_of_a_check_become_findings_and_the_next_one_runs() -> None:
    def refuse() -> list[object]:
        raise ConnectError("No way.")

    def break_down() -> list[object]:
        raise ZeroDivisionError("oh")

    begun: list[str] = []
    checks = [
        Check("first", "failing", refuse, 5),  # type: ignore[arg-type]
        Check("second", "breaking", break_down, 5, about="a->b"),  # type: ignore[arg-type]
        unchecked("third", "It was too late."),
        Check("fourth", "working", lambda: [ok("fourth", "Fine.")], 5),
    ]
    found = [each for _, some in run_checks(checks, lambda check: begun.append(check.name)) for each in some]
    assert begun == ["first", "second", "third", "fourth"]
    assert [(each.check, each.severity, each.found) for each in found] == [
        ("first", Severity.ERROR, "No way."),
        ("a->b: second", Severity.SKIPPED, "Could not be done: ZeroDivisionError: oh"),
        ("third", Severity.SKIPPED, "It was too late."),
        ("fourth", Severity.OK, "Fine."),
    ]
    assert has_errors(found)
    assert dict(counts(found)) == {
        Severity.OK: 1,
        Severity.WARNING: 0,
        Severity.ERROR: 1,
        Severity.SKIPPED: 2,
    }


def test_what_providers_have_given_is_not_shown() -> None:
    secrets.add(["very-secret-word"])
    check = Check("file", "reading", lambda: [ok("file", "It is very-secret-word.")], 5)
    ((_, (finding,)),) = run_checks([check], lambda check: None)
    assert finding.found == "It is [hidden]."


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("kafka:9092", ("kafka", 9092)),
        ("[::1]:9092", ("::1", 9092)),
        ("SASL_SSL://kafka:9093", ("kafka", 9093)),
        ("kafka", None),
        ("kafka:port", None),
    ],
)
def test_addresses(address: str, expected: tuple[str, int] | None) -> None:
    assert split_address(address) == expected


def test_why_an_address_cannot_be_connected_to() -> None:
    with socket.socket() as listening, socket.socket() as silent:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        silent.bind(("127.0.0.1", 0))
        live, dead = (f"127.0.0.1:{each.getsockname()[1]}" for each in (listening, silent))
        found = try_addresses([live, dead, "nonsense"], 5)
    assert found == {live: None, dead: "connection refused", "nonsense": "it is not of the form host:port"}


def test_jars_are_missing_until_they_have_their_size(tmp_path: Path) -> None:
    jar_set = jars.PACKAGES["postgresql"]
    (cached,) = look_at_jars((jar_set,), tmp_path).sets
    assert len(cached.missing) == cached.total > 0
    folder = jar_set.folder(tmp_path)
    folder.mkdir()
    for jar in jar_set.jars:
        with (folder / jar.file_name).open("wb") as file:
            file.truncate(jar.size)
    assert look_at_jars((jar_set,), tmp_path).sets[0].missing == ()
