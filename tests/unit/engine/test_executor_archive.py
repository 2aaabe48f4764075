from __future__ import annotations

from pathlib import Path

import pytest

from seamark.engine import executor_archive
from seamark.errors import ConfigError


@pytest.mark.parametrize(
    ("name", "include", "told"),
    [
        ("seamark.rar", [], r"must end with one of \.tar\.gz"),
        ("seamark.tar", ["no-such-plugin"], "no distribution 'no-such-plugin'"),
        ("seamark.tar", ["editable-plugin"], "installed as a link"),
    ],
)
def test_what_cannot_be_packed_is_told_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, include: list[str], told: str
) -> None:
    about = tmp_path / "site" / "editable_plugin-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: editable-plugin\nVersion: 1\n")
    (about / "direct_url.json").write_text('{"url": "file:///src", "dir_info": {"editable": true}}')
    monkeypatch.syspath_prepend(str(about.parent))
    with pytest.raises(ConfigError, match=told):
        executor_archive.pack(tmp_path / "out" / name, include=include)
    assert not list(tmp_path.glob("out/*"))
