from __future__ import annotations

import re
from pathlib import Path

from scripts.sbom import document

ROOT = Path(__file__).parents[3]


def test_everything_that_is_locked_is_listed_once() -> None:
    made = document()
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.5")
    found = [each["purl"] for each in made["components"]]
    assert len(found) == len(set(found))
    locked = re.findall(r"^([A-Za-z0-9._-]+)(?:\[.*?\])?==", (ROOT / "requirements/runtime.lock").read_text(), re.M)
    assert locked
    assert {each["name"] for each in made["components"] if each["purl"].startswith("pkg:pypi/")} == set(locked)
    jar = next(each for each in made["components"] if each["name"] == "kafka_2.13")
    assert jar["purl"] == "pkg:maven/org.apache.kafka/kafka_2.13@4.2.0"
    assert len(jar["hashes"][0]["content"]) == 64
    assert document() == made
