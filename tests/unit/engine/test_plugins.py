from __future__ import annotations

import subprocess
import sys
import textwrap
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from seamark.connectors.file_sink import FileStreamSinkConnector
from seamark.connectors.file_source import FileStreamSourceConnector
from seamark.engine.converters.json import JsonConverter
from seamark.engine.converters.simple_header import SimpleHeaderConverter
from seamark.engine.converters.string import StringConverter
from seamark.engine.plugins import Plugins
from seamark.errors import PluginError

CONNECTOR = """
from seamark.connector import SourceConnector, SourceTask

class {name}Task(SourceTask):
    def start(self, config, offsets): ...
    def poll(self): return None

class {name}Connector(SourceConnector):
    version = "7"
    task_class = {name}Task
    def task_configs(self, max_tasks): return [{{}}]
"""


@pytest.fixture
def unique() -> str:
    return f"p{uuid.uuid4().hex[:8]}"


@pytest.fixture(autouse=True)
def same_import_path() -> Iterator[None]:
    before = list(sys.path)
    yield
    sys.path[:] = before


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return path


@pytest.mark.parametrize(
    "name",
    [
        "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "FileStreamSourceConnector",
        "FileStreamSource",
        " FileStreamSource ",
        "seamark.connectors.file_source:FileStreamSourceConnector",
        "seamark.connectors.file_source.FileStreamSourceConnector",
    ],
)
def test_a_connector_has_many_names(name: str) -> None:
    assert Plugins().connector_class(name) is FileStreamSourceConnector


@pytest.mark.parametrize("name", ["org.apache.kafka.connect.json.JsonConverter", "JsonConverter", "Json"])
def test_a_converter_has_many_names(name: str) -> None:
    assert Plugins().converter_class(name) is JsonConverter


def test_a_program_is_no_plugin() -> None:
    with pytest.raises(PluginError, match="SystemExit"):
        Plugins().connector_class("unittest.__main__.x")


def test_an_unknown_connector_lists_those_there_are() -> None:
    with pytest.raises(PluginError) as caught:
        Plugins().connector_class("org.example.Nope")
    assert caught.value.message.startswith(
        "Failed to find any class that implements Connector and which name matches org.example.Nope, "
        "available connectors are: "
    )
    assert "org.apache.kafka.connect.file.FileStreamSinkConnector" in caught.value.known


def test_an_unknown_converter_lists_those_there_are() -> None:
    with pytest.raises(
        PluginError, match="implements Converter and which name matches Nope, available converters are:"
    ):
        Plugins().converter_class("Nope")


def test_a_class_of_another_kind_is_refused() -> None:
    with pytest.raises(PluginError, match="does not extend Connector"):
        Plugins().connector_class("seamark.engine.converters.json:JsonConverter")
    with pytest.raises(PluginError, match="does not extend Connector"):
        Plugins().connector_class("seamark.engine.converters.json.JsonConverter")
    with pytest.raises(PluginError, match="implements Converter and which name matches SimpleHeader"):
        Plugins().converter_class("SimpleHeader")


def test_converters_come_configured() -> None:
    plugins = Plugins()
    converter = plugins.converter("JsonConverter", {"schemas.enable": "false"}, is_key=True)
    assert converter.from_connect_data("t", None, [1]) == b"[1]"
    header = plugins.header_converter("org.apache.kafka.connect.storage.SimpleHeaderConverter", {})
    assert isinstance(header, SimpleHeaderConverter)
    assert isinstance(plugins.header_converter("StringConverter", {}), StringConverter)


def test_modules_packages_and_plugin_directories_are_found(tmp_path: Path, unique: str) -> None:
    write(tmp_path / f"{unique}_single.py", CONNECTOR.format(name="Single"))
    write(tmp_path / f"{unique}_package" / "__init__.py", "")
    write(tmp_path / f"{unique}_package" / "inner" / "__init__.py", "")
    write(tmp_path / f"{unique}_package" / "inner" / "deep.py", CONNECTOR.format(name="Deep"))
    write(tmp_path / "one-plugin-directory" / f"{unique}_own.py", CONNECTOR.format(name="Own"))
    plugins = Plugins(f" {tmp_path} , {tmp_path}")
    for alias in ("Single", "Deep", "Own"):
        assert plugins.connector_class(alias).__name__ == f"{alias}Connector"
    deep = f"{unique}_package.inner.deep.DeepConnector"
    assert plugins.connector_class(deep).version == "7"
    listed = {info.class_name: info for info in plugins.connectors()}
    assert listed[deep].kind == "source"
    assert listed[deep].location.endswith("deep.py")
    assert plugins.problems() == Plugins().problems()


def test_a_class_is_listed_once_where_it_is_defined(tmp_path: Path, unique: str) -> None:
    write(tmp_path / f"{unique}_a.py", CONNECTOR.format(name="Alone"))
    write(tmp_path / f"{unique}_b.py", f"from {unique}_a import AloneConnector")
    assert [info.class_name for info in Plugins(str(tmp_path)).connectors() if "Alone" in info.class_name] == [
        f"{unique}_a.AloneConnector"
    ]


def test_a_broken_module_is_reported_and_does_not_stop_others(tmp_path: Path, unique: str) -> None:
    broken = write(tmp_path / f"{unique}_broken.py", "import nothing_of_that_name")
    leaving = write(tmp_path / f"{unique}_leaving.py", "raise SystemExit(3)")
    hiding = write(tmp_path / "json.py", "x = 1")
    write(tmp_path / f"{unique}_good.py", CONNECTOR.format(name="Good"))
    plugins = Plugins(f"{tmp_path},{tmp_path / 'missing'}")
    assert plugins.connector_class("Good").__name__ == "GoodConnector"
    problems = {problem.location: problem.reason for problem in plugins.problems()}
    assert "nothing_of_that_name" in problems[str(broken)]
    assert problems[str(leaving)] == "SystemExit: 3"
    assert "rename this one" in problems[str(hiding)]
    assert "not a directory" in problems[str(tmp_path / "missing")]


def test_two_classes_of_one_alias_must_be_told_apart(tmp_path: Path, unique: str) -> None:
    for module in ("a", "b"):
        write(tmp_path / f"{unique}_{module}.py", CONNECTOR.format(name="Twin"))
    plugins = Plugins(str(tmp_path))
    with pytest.raises(PluginError) as caught:
        plugins.connector_class("Twin")
    assert caught.value.message.startswith("More than one connector matches alias Twin. Please use full package")
    assert caught.value.known == (f"{unique}_a.TwinConnector", f"{unique}_b.TwinConnector")
    assert plugins.connector_class(f"{unique}_b.TwinConnector").__module__ == f"{unique}_b"


def test_an_import_that_fails_says_why(tmp_path: Path, unique: str) -> None:
    write(tmp_path / f"{unique}.py", "1 / 0")
    for name in (f"{unique}:X", f"{unique}.X"):
        with pytest.raises(PluginError, match="ZeroDivisionError: division by zero"):
            Plugins(str(tmp_path)).connector_class(name)
    with pytest.raises(PluginError, match="Failed to find Nope in module seamark"):
        Plugins.load("seamark.connectors.file_sink:Nope")
    with pytest.raises(PluginError, match=r"seamark\.connectors:VERSION is not a class but a str"):
        Plugins.load("seamark.connectors:VERSION")


def test_a_class_travels_as_a_name_to_a_process_that_knows_only_the_plugin_path(tmp_path: Path, unique: str) -> None:
    write(tmp_path / f"{unique}.py", CONNECTOR.format(name="Far"))
    reference = Plugins.reference(Plugins(str(tmp_path)).connector_class("Far"))
    assert reference == f"{unique}:FarConnector"
    code = f"from seamark.engine.plugins import Plugins; print(Plugins.load({reference!r}, {str(tmp_path)!r}).version)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "7"


def test_a_lookup_by_java_name_does_not_scan_the_plugin_path(tmp_path: Path, unique: str) -> None:
    witness = tmp_path / "imported"
    write(tmp_path / f"{unique}.py", f"open({str(witness)!r}, 'w').close()")
    plugins = Plugins(str(tmp_path))
    assert plugins.connector_class("org.apache.kafka.connect.file.FileStreamSinkConnector") is FileStreamSinkConnector
    assert not witness.exists()
    plugins.connectors()
    assert witness.exists()
