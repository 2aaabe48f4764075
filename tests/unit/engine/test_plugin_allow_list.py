"""Plugins that a worker's `seamark.plugins.allow` does not list are neither found nor imported."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from seamark.engine.plugins import Plugins
from seamark.errors import PluginError

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


def test_only_listed_plugins_can_be_used() -> None:
    plugins = Plugins(allowed=["org.apache.kafka.connect.file.*", "seamark.engine.transforms.*"])
    found = plugins.connector_class(SOURCE)
    names = ("FileStreamSource", "seamark.connectors.file_source:FileStreamSourceConnector")
    assert all(plugins.connector_class(name) is found for name in names)
    for name in (
        "HttpSink",
        "seamark.connectors.http_sink:HttpSinkConnector",
        "seamark.connectors.http_sink.HttpSinkConnector",
    ):
        with pytest.raises(PluginError):
            plugins.connector_class(name)
    assert {info.class_name.rpartition(".")[2] for info in plugins.connectors()} == {
        "FileStreamSourceConnector",
        "FileStreamSinkConnector",
    }
    with pytest.raises(PluginError, match=r"seamark\.plugins\.allow"):
        plugins.converter_class("org.apache.kafka.connect.json.JsonConverter")
    assert plugins.transformations()


def test_what_is_not_listed_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "does_harm.py").write_text("raise SystemExit('it was imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    plugins = Plugins(allowed=["org.apache.kafka.connect.*"])
    for name in ("does_harm:Harm", "does_harm.Harm"):
        with pytest.raises(PluginError, match="may not be used"):
            plugins.connector_class(name)
        assert not plugins.is_known(name)
    assert "does_harm" not in sys.modules
    with pytest.raises(PluginError, match="it was imported"):
        Plugins().connector_class("does_harm:Harm")


def test_classes_that_keys_of_a_connector_name_are_looked_up_too() -> None:
    plugins = Plugins(allowed=["org.apache.kafka.connect.mirror.*", "seamark.connectors.*", "good.*"])
    mirror = plugins.connector_class("org.apache.kafka.connect.mirror.MirrorSourceConnector").config_def()
    own = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
    assert plugins.refused_classes(mirror, {"replication.policy.class": own}) == {}
    assert plugins.refused_classes(mirror, {"replication.policy.class": "good:Policy"}) == {}
    refused = plugins.refused_classes(mirror, {"replication.policy.class": "does_harm:Policy", "topics": "x:Y"})
    assert list(refused) == ["replication.policy.class"]
    assert "does_harm:Policy may not be used" in refused["replication.policy.class"]
    adapter = plugins.connector_class("DataSourceSource").config_def()
    assert list(plugins.refused_classes(adapter, {"datasource.class": "does_harm:Source"})) == ["datasource.class"]
    assert Plugins().refused_classes(adapter, {"datasource.class": "does_harm:Source"}) == {}
