"""Passwords as scrypt hashes, and the file of users that holds them: a line ``user:role:hash`` per user.

A hash is ``scrypt$<n>$<r>$<p>$<salt>$<key>``, the last two in base64: what it takes to check a password stands with it,
so that stronger settings for new passwords leave the old ones valid.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from seamark.errors import ConfigError

ROLES: Final = ("viewer", "operator", "editor")
_N, _R, _P = 2**14, 8, 5  # 16 MB, and some 0.2 s of one core for each guess
_SALT_BYTES, _KEY_BYTES = 16, 32
_MOST_MEMORY: Final = 256 * 1024 * 1024
_MOST_WORK: Final = 2**24  # n * r * p: a file must not be able to keep a core busy for minutes
_SCHEME: Final = "scrypt"
_MINE_ONLY: Final = 0o600


@dataclass(frozen=True, slots=True)
class User:
    """A line of the file."""

    name: str
    role: str
    hash: str


@dataclass(frozen=True, slots=True)
class _Hash:
    n: int
    r: int
    p: int
    salt: bytes
    key: bytes


def hash_password(password: str) -> str:
    """A new hash of a password."""
    salt = secrets.token_bytes(_SALT_BYTES)
    found = _Hash(_N, _R, _P, salt, b"\0" * _KEY_BYTES)
    return _text(_Hash(_N, _R, _P, salt, _derived(password, found)))


def is_password(password: str, text: str) -> bool:
    """Whether a hash is that of a password; takes as long whether it is or not.

    Raises:
        ConfigError: the hash has another form.
    """
    found = _parsed(text)
    return hmac.compare_digest(_derived(password, found), found.key)


def unmatchable(like: str | None = None) -> str:
    """A hash of no password at all, which takes as long to check as the hash `like`."""
    found = _Hash(_N, _R, _P, b"", b"") if like is None else _parsed(like)
    return _text(_Hash(found.n, found.r, found.p, secrets.token_bytes(_SALT_BYTES), secrets.token_bytes(_KEY_BYTES)))


def parse_users(text: str, name: str) -> dict[str, User]:
    """The users of a file's content. Empty lines and those that begin with ``#`` are left out.

    Raises:
        ConfigError: a line has another form; names its number, and nothing of its content.
    """
    found: dict[str, User] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        user, _, rest = line.strip().partition(":")
        role, _, hashed = rest.partition(":")
        where = f"{name}, line {number}"
        if not user or role not in ROLES:
            raise ConfigError(f"{where}: should be user:role:hash, the role one of {', '.join(ROLES)}")
        try:
            check_user_name(user)
        except ConfigError:
            raise ConfigError(
                f"{where}: that cannot be the name of a user: no blank at its ends, no control characters"
            ) from None
        if user in found:
            raise ConfigError(f"{where}: there are two lines for this user")
        try:
            _parsed(hashed)
        except ConfigError as error:
            raise ConfigError(f"{where}: {error.message}") from None
        found[user] = User(user, role, hashed)
    return found


def read_users(path: Path) -> dict[str, User]:
    """The users of a file.

    Raises:
        ConfigError: it cannot be read or understood.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The file of users {path} cannot be read: {error}") from error
    return parse_users(text, str(path))


def write_users(path: Path, users: Mapping[str, User]) -> None:
    """Replace the file; its owner alone may read it."""
    content = "".join(f"{user.name}:{user.role}:{user.hash}\n" for user in users.values())
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _MINE_ONLY), "w", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def check_user_name(name: str) -> None:
    """Raises ConfigError for a name that neither the file nor basic authentication could hold."""
    if not name or name != name.strip() or ":" in name or name.startswith("#") or not name.isprintable():
        raise ConfigError(f"{name!r} cannot be the name of a user: no colon, no blank at its ends, no # before it")


def _derived(password: str, found: _Hash) -> bytes:
    secret = password.encode("utf-8", "surrogatepass")
    size = len(found.key)
    return hashlib.scrypt(secret, salt=found.salt, n=found.n, r=found.r, p=found.p, maxmem=_MOST_MEMORY, dklen=size)


def _parsed(text: str) -> _Hash:
    wrong = ConfigError("the hash should be scrypt$n$r$p$salt$key, as `seamark auth add-user` writes it")
    parts = text.split("$")
    if len(parts) != 6 or parts[0] != _SCHEME:
        raise wrong
    try:
        n, r, p = (_number(part) for part in parts[1:4])
        salt, key = (base64.b64decode(part, validate=True) for part in parts[4:])
    except (ValueError, binascii.Error):
        raise wrong from None
    is_sane = n > 1 and n & (n - 1) == 0 and r > 0 and p > 0 and len(salt) >= 8 and 16 <= len(key) <= 64
    if not is_sane or 128 * n * r + 128 * r * p >= _MOST_MEMORY or n * r * p > _MOST_WORK:
        raise wrong
    return _Hash(n, r, p, salt, key)


def _number(text: str) -> int:
    if re.fullmatch("[0-9]{1,20}", text) is None:
        raise ValueError(text)
    return int(text)


def _text(found: _Hash) -> str:
    salt, key = (base64.b64encode(part).decode() for part in (found.salt, found.key))
    return f"{_SCHEME}${found.n}${found.r}${found.p}${salt}${key}"
