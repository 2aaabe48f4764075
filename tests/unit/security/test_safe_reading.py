"""What comes from topics, files and requests is data, never code."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import seamark
from seamark.storage.cluster_state import ConfigLogReducer
from seamark.storage.file_offsets import FileOffsetStore

SOURCE = Path(seamark.__file__).parent
# Spark's own closures, which travel from a driver to its executors and nowhere else.
ALLOWED = {("connectors/datasource.py", "cloudpickle.loads")}
MODULES = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "jsonpickle", "joblib"}
CALLS = {"eval", "exec", "cloudpickle.loads", "cloudpickle.load", "yaml.load", "yaml.unsafe_load", "yaml.full_load"}


def unsafe_uses() -> Iterator[tuple[str, str]]:
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from ((name, each.name) for each in node.names if each.name.partition(".")[0] in MODULES)
            elif isinstance(node, ast.ImportFrom):
                yield from [(name, node.module)] if (node.module or "").partition(".")[0] in MODULES else []
            elif isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                yield from [(name, called)] if called in CALLS else []


def test_nothing_is_unpickled_or_evaluated() -> None:
    assert set(unsafe_uses()) == ALLOWED


class Harm:
    """Unpickling it leaves a trace."""

    def __init__(self, trace: Path) -> None:
        self._trace = trace

    def __reduce__(self) -> Any:
        return Path.touch, (self._trace,)


@pytest.fixture
def harmful(tmp_path: Path) -> Iterator[bytes]:
    """A pickle that does something when it is read; it must not have at the end."""
    trace, proof = tmp_path / "trace", tmp_path / "proof"
    pickle.loads(pickle.dumps(Harm(proof)))
    assert proof.exists(), "it does do something"
    yield pickle.dumps(Harm(trace))
    assert not trace.exists()


def test_a_pickle_in_the_config_topic_does_nothing(harmful: bytes) -> None:
    reducer = ConfigLogReducer()
    for key in ("connector-x", "task-x-0", "commit-x", "target-state-x", "session-key", "placement-x", "whatever"):
        assert reducer.apply(key, harmful, 1) == []
    assert not reducer.snapshot().connectors


def test_a_pickle_in_the_offsets_file_does_nothing(harmful: bytes, tmp_path: Path) -> None:
    file = tmp_path / "offsets"
    file.write_bytes(harmful)
    with pytest.raises(Exception, match=str(file)):
        FileOffsetStore(file).start()
