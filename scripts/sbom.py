"""What a worker is made of, as a CycloneDX document on stdout: Python packages and jars, each with its digest.

It is made from the locks alone, without a network, and is the same each time for the same locks.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
import uuid
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_PACKAGE = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(?:\[[^]]*\])?==(?P<version>[^ ;\\]+)")


def packages(lock: str) -> list[dict[str, Any]]:
    """Of a lock of Python packages. Its digests are those of all files of a package, so none is named as its own."""
    found = [match for line in lock.splitlines() if (match := _PACKAGE.match(line))]
    return [
        _component(each["name"], each["version"], f"pkg:pypi/{each['name'].lower()}@{each['version']}")
        for each in found
    ]


def jars(lock: str) -> list[dict[str, Any]]:
    """Of a lock of jars: digest, size and coordinates in each line."""
    components = []
    for line in lock.splitlines():
        digest, _, coordinates = line.split()
        group, name, version = coordinates.split(":")[:3]
        component = _component(name, version, f"pkg:maven/{group}/{name}@{version}")
        components.append({**component, "group": group, "hashes": [{"alg": "SHA-256", "content": digest}]})
    return components


def document(root: Path = ROOT) -> dict[str, Any]:
    """The whole."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    found = packages((root / "requirements/runtime.lock").read_text())
    for lock in sorted((root / "src/seamark/kafka").glob("*.lock")):
        found += jars(lock.read_text())
    components = sorted({each["purl"]: each for each in found}.values(), key=lambda each: str(each["purl"]))
    whole = _component(project["name"], project["version"], f"pkg:pypi/{project['name']}@{project['version']}")
    content = json.dumps(components, sort_keys=True)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, content)}",
        "version": 1,
        "metadata": {
            "component": {**whole, "type": "application", "licenses": [{"license": {"id": project["license"]}}]}
        },
        "components": components,
    }


def _component(name: str, version: str, purl: str) -> dict[str, Any]:
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


if __name__ == "__main__":
    json.dump(document(), sys.stdout, indent=2)
    sys.stdout.write("\n")
