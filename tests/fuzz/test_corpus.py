"""Every parser on every input that is kept, and on some new ones."""

from __future__ import annotations

import functools
import logging
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz import corpus
from fuzz.judge import DefectError, judge
from fuzz.mutations import mutated, noise
from fuzz.search import search
from fuzz.target import Target
from fuzz.targets import TARGETS
from seamark.errors import ConfigError

NEW_INPUTS = 20
"""For each target: enough to find what nearly every change breaks. `make fuzz` is for the rest."""


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Most inputs would be worth a warning."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("name", TARGETS)
def test_inputs_of_the_corpus(name: str) -> None:
    verdicts = {path.name: judge(TARGETS[name], path.read_bytes()) for path in corpus.files(name)}
    wrong = [file for file, is_accepted in verdicts.items() if is_accepted != expected(file, is_accepted)]
    assert not wrong, f"{name}: accepted although bad, or refused although valid: {wrong}"
    assert verdicts, f"there is no corpus for {name}"


def expected(file: str, otherwise: bool) -> bool:
    """What the name of a file says: those that are ``odd``, ``empty`` or ``found`` may be either."""
    kind = file.partition("-")[0]
    return {"valid": True, "bad": False}.get(kind, otherwise)


def test_every_folder_of_the_corpus_has_its_target() -> None:
    assert {path.name for path in corpus.FOLDER.iterdir()} == set(TARGETS)


@functools.cache
def seeds(name: str) -> list[bytes]:
    return corpus.inputs(name)


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=NEW_INPUTS)
@given(data=st.data())
def test_new_inputs(name: str, data: st.DataObject) -> None:
    target, kept = TARGETS[name], st.sampled_from(seeds(name))
    kind = data.draw(st.integers(0, 9))
    if kind == 0:
        judge(target, data.draw(st.binary(max_size=100)))
    elif kind == 1:
        judge(target, data.draw(st.text(max_size=50)).encode("utf-8", "surrogatepass"))
    else:
        chance = random.Random(data.draw(st.integers(0, 2**32 - 1)))
        if kind == 2:
            judge(target, noise(chance, target.tokens))
        else:
            judge(target, mutated(chance, data.draw(kept), data.draw(kept), target.tokens))


# that a fuzzer finds nothing proves something only if it finds what is there


def careful(data: bytes) -> bytes:
    if data.startswith(b"!"):
        raise ConfigError("no exclamation marks")
    return data


def test_a_documented_error_is_a_refusal_and_anything_else_is_accepted() -> None:
    target = Target("careful", careful, (ConfigError,))
    assert [judge(target, data) for data in (b"!", b"x")] == [False, True]


def crashing(data: bytes) -> str:
    return data.decode()


@pytest.mark.parametrize("errors", [(), (ValueError,)], ids=["none allowed", "its base allowed"])
def test_an_error_that_is_not_documented_is_a_defect(errors: tuple[type[Exception], ...]) -> None:
    with pytest.raises(DefectError, match=r"crashed on .* UnicodeDecodeError"):
        judge(Target("crashing", crashing, errors), b"\xff")


def test_an_error_without_a_reason_is_a_defect() -> None:
    def silent(data: bytes) -> None:
        raise ConfigError(" ")

    with pytest.raises(DefectError, match="without a reason"):
        judge(Target("silent", silent, (ConfigError,)), b"")


def test_what_is_accepted_and_should_not_be_is_a_defect() -> None:
    def check(data: bytes, found: bytes) -> None:
        assert found != b"x", "an x"

    with pytest.raises(DefectError, match="accepted b'x': an x"):
        judge(Target("lax", careful, (ConfigError,), check), b"x")


def test_a_parser_that_does_not_end_is_a_defect() -> None:
    def endless(data: bytes) -> None:
        while True:
            try:
                sum(range(1000))
            except Exception:  # it handles everything, and goes on
                continue

    with pytest.raises(DefectError, match=r"hangs on b'x'.* 0\.2 s"):
        judge(Target("endless", endless), b"x", limit_s=0.2)


def test_a_search_finds_a_defect_makes_it_small_and_keeps_it(tmp_path: Path) -> None:
    def brittle(data: bytes) -> None:
        if b"{}" in data:
            raise KeyError(data)

    corpus.keep("brittle", b"a" * 50, tmp_path)
    told: list[str] = []
    tallies = search([Target("brittle", brittle)], 0.5, 7, folder=tmp_path, tell=told.append)
    assert len(tallies["brittle"].defects) == len(told) == 1
    ((path, error),) = tallies["brittle"].defects.values()
    assert path.read_bytes() == b"{}"
    assert isinstance(error.__cause__, KeyError)


def test_the_same_seed_tries_the_same_inputs() -> None:
    kept = [b'{"a": 1}', b"[2]"]

    def tried(seed: int) -> list[bytes]:
        chance = random.Random(seed)
        return [mutated(chance, *chance.choices(kept, k=2)) for _ in range(200)]

    assert tried(1) == tried(1) != tried(2)
    assert len(set(tried(1))) > 150
