"""Our transforms against Kafka Connect's own, in a JVM: the same records, results and errors."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest

from fixtures.transform_cases import CONFIG_CASES, TRANSFORM_CASES, random_case
from fixtures.transform_oracle import Case, java_answers, our_answer

pytestmark = pytest.mark.java

SEED = int(os.environ.get("SEAMARK_TEST_SEED", "4"))
CHAINS = 200


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """Connect's answers to all cases of this module, by name: one JVM for all of them."""
    chains = {f"chain {index}": case for index, case in enumerate(random_chains())}
    cases: dict[str, Case] = {**TRANSFORM_CASES, **CONFIG_CASES, **chains}
    return dict(zip(cases, java_answers(list(cases.values())), strict=True))


def random_chains() -> list[Case]:
    generator = random.Random(SEED)
    return [random_case(generator) for _ in range(CHAINS)]


def assert_equal(case: Case, ours: Any, java: Any, where: str) -> None:
    if "error" in java or "error" in ours:
        assert ours == java, f"{where}: {json.dumps(dict(case.config))}"
        return
    for index, (our_result, java_result) in enumerate(zip(ours["results"], java["results"], strict=True)):
        assert our_result == java_result, f"{where}, record {index}: {json.dumps(dict(case.config))}"


@pytest.mark.parametrize("name", TRANSFORM_CASES)
def test_a_transform_does_what_connects_own_does(name: str, answers: dict[str, Any]) -> None:
    case = TRANSFORM_CASES[name]
    assert len(case.records) >= 6
    assert_equal(case, our_answer(case), answers[name], name)


@pytest.mark.parametrize("name", CONFIG_CASES)
def test_a_config_is_refused_in_connects_words(name: str, answers: dict[str, Any]) -> None:
    case = CONFIG_CASES[name]
    assert "error" in answers[name]
    assert_equal(case, our_answer(case), answers[name], name)


def test_random_chains_do_what_connects_do(answers: dict[str, Any]) -> None:
    for index, case in enumerate(random_chains()):
        assert_equal(case, our_answer(case), answers[f"chain {index}"], f"chain {index} of seed {SEED}")
