"""Users for tests of access: cheap hashes, so that no test waits for them."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from seamark.config.passwords import User, write_users

PASSWORDS = {"vera": "viewer", "olga": "operator", "eda": "editor"}
"""User -> role; the password is the name with ``-pw``."""


def cheap_hash(password: str) -> str:
    salt = b"0123456789abcdef"
    key = hashlib.scrypt(password.encode(), salt=salt, n=16, r=8, p=1, dklen=32)
    return f"scrypt$16$8$1${base64.b64encode(salt).decode()}${base64.b64encode(key).decode()}"


def write(path: Path, users: dict[str, str] | None = None) -> Path:
    """A file of users, each with a role."""
    roles = PASSWORDS if users is None else users
    write_users(path, {name: User(name, role, cheap_hash(f"{name}-pw")) for name, role in roles.items()})
    return path


def login(name: str) -> tuple[str, str]:
    return name, f"{name}-pw"


def settings(path: Path) -> dict[str, str]:
    """Worker settings with these users."""
    return {"seamark.auth.type": "basic", "seamark.auth.basic.users.file": str(path)}
