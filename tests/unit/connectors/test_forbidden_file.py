"""A file that may not be read, also where the tests run as root."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

READ = """
import os, sys
from seamark.connectors.line_reader import LineReader
from seamark.errors import ConnectError
if os.geteuid() == 0:
    os.seteuid(65534)
try:
    LineReader(sys.argv[1], 0)
except ConnectError as error:
    print(error)
"""


def test_a_forbidden_file_is_a_clear_error(tmp_path: Path) -> None:
    file = tmp_path / "secret.txt"
    file.write_text("one\n")
    file.chmod(0)
    done = subprocess.run([sys.executable, "-c", READ, str(file)], capture_output=True, text=True, check=True)
    assert "Permission denied" in done.stdout
    assert str(file) in done.stdout
