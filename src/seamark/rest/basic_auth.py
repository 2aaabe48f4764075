"""Names and passwords: from our own file of users, or from the file of Kafka Connect's basic authentication."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import logging
import os
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

from seamark.config import passwords
from seamark.config.access_keys import BASIC_AUTH_EXTENSION
from seamark.config.jaas import jaas_file_of_environment, read_jaas
from seamark.config.properties import read_properties
from seamark.config.worker import WorkerConfig
from seamark.errors import ConfigError
from seamark.rest.identity import Identity, Role

log = logging.getLogger(__name__)

LOOK_S: Final = 1.0
"""How often a file is looked at."""
REMEMBERED_S: Final = 60.0
MOST_REMEMBERED: Final = 10_000
PROPERTY_FILE_MODULE: Final = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule"
JAAS_ENTRY: Final = "KafkaConnect"

T = TypeVar("T")


class PasswordSource(Protocol):
    """Knows users and their passwords."""

    def check(self, user: str, password: str) -> Identity | None:
        """The user, if the password is right; takes as long for a user that is not known."""

    def current(self, identity: Identity) -> Identity | None:
        """The user as it is now; None if it is gone or its password is another one."""

    def role_of(self, user: str) -> Role | None:
        """The role of a user as it is now; None if there is none of that name."""


class _Watched(Generic[T]):
    """What a file holds, read again when it changes; while it cannot be read, what it held before."""

    def __init__(self, path: Path, read: Callable[[Path], T]) -> None:
        self._path, self._read = path, read
        self._lock = threading.Lock()
        self._looked_at = time.monotonic()
        self._mark = self._now()
        self._value = read(path)

    def get(self) -> T:
        with self._lock:
            if time.monotonic() - self._looked_at >= LOOK_S:
                self._look()
            return self._value

    def _look(self) -> None:
        self._looked_at = time.monotonic()
        mark = self._now()
        if mark == self._mark:
            return
        try:
            self._value = self._read(self._path)
        except ConfigError as error:
            log.error("Users stay as they were: %s", error)
        else:
            log.info("Users are read again from %s", self._path)
        self._mark = mark

    def _now(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


class UsersFile:
    """The file that `seamark auth add-user` writes.

    Raises:
        ConfigError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._users = _Watched(path, passwords.read_users)

    def check(self, user: str, password: str) -> Identity | None:
        """As `PasswordSource` says."""
        users = self._users.get()
        found = users.get(user)
        # Something is checked for users that are not known, too, so that time does not tell them from others.
        like = next((each.hash for each in users.values()), None)
        is_right = passwords.is_password(password, passwords.unmatchable(like) if found is None else found.hash)
        return self._identity(found) if found is not None and is_right else None

    def current(self, identity: Identity) -> Identity | None:
        """As `PasswordSource` says."""
        found = self._users.get().get(identity.user or "")
        now = None if found is None else self._identity(found)
        return now if now is not None and hmac.compare_digest(now.stamp, identity.stamp) else None

    def role_of(self, user: str) -> Role | None:
        """As `PasswordSource` says."""
        found = self._users.get().get(user)
        return None if found is None else Role(found.role)

    def _identity(self, user: passwords.User) -> Identity:
        return Identity(user.name, Role(user.role), "basic", _stamp(user.hash))


class CredentialsFile:
    """The file of Kafka Connect's `PropertyFileLoginModule`: ``user=password``. All of its users are editors.

    While it is empty everybody is let in, as a Java worker does.

    Raises:
        ConfigError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._has_users = False
        self._users = _Watched(path, self._read)
        self._salt = secrets.token_bytes(16)
        if not self._users.get():
            log.warning("Credential properties file '%s' is empty; all requests will be permitted", path)

    def _read(self, path: Path) -> dict[str, str]:
        users = read_properties(path)
        if not users and self._has_users:  # it is being written, or the disk is full: no reason to open the door
            raise ConfigError(f"Credential properties file '{path}' is empty now")
        self._has_users = bool(users)
        return users

    @property
    def lets_all_in(self) -> bool:
        """Whether nobody needs a password."""
        return not self._users.get()

    def check(self, user: str, password: str) -> Identity | None:
        """As `PasswordSource` says."""
        known = self._users.get()
        expected = known.get(user)
        is_right = hmac.compare_digest(self._digest(password), self._digest(expected or ""))
        return self._identity(user, expected) if expected is not None and is_right else None

    def current(self, identity: Identity) -> Identity | None:
        """As `PasswordSource` says."""
        user = identity.user or ""
        expected = self._users.get().get(user)
        now = None if expected is None else self._identity(user, expected)
        return now if now is not None and hmac.compare_digest(now.stamp, identity.stamp) else None

    def role_of(self, user: str) -> Role | None:
        """As `PasswordSource` says."""
        return Role.EDITOR if user in self._users.get() else None

    def _identity(self, user: str, password: str) -> Identity:
        return Identity(user, Role.EDITOR, "basic", _stamp(self._digest(password).hex()))

    def _digest(self, password: str) -> bytes:
        return hmac.digest(self._salt, password.encode("utf-8", "surrogatepass"), "sha256")


class Remembered:
    """Passwords that were right a moment ago, so that not each of 200 requests a second costs a fifth of a second.

    No password is kept, only a keyed digest of it; a user that has been changed since is asked again.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._found: OrderedDict[bytes, tuple[float, PasswordSource, Identity]] = OrderedDict()

    def get(self, user: str, password: str) -> Identity | None:
        """The user, if this password was right lately and it is the same user still."""
        mark = self._mark(user, password)
        with self._lock:
            until, source, identity = self._found.get(mark, (0.0, None, None))
        if source is None or identity is None or self._clock() >= until:
            return None
        now = source.current(identity)
        if now is None:
            with self._lock:
                self._found.pop(mark, None)
        return now

    def put(self, user: str, password: str, source: PasswordSource, identity: Identity) -> None:
        """This password is right."""
        with self._lock:
            self._found[self._mark(user, password)] = (self._clock() + REMEMBERED_S, source, identity)
            while len(self._found) > MOST_REMEMBERED:
                self._found.popitem(last=False)

    def _mark(self, user: str, password: str) -> bytes:
        return hmac.digest(self._key, f"{user}\0{password}".encode("utf-8", "surrogatepass"), "sha256")


class BasicAuth:
    """Names and passwords of all sources that the worker is configured with."""

    def __init__(self, users: UsersFile | None, extension: CredentialsFile | None) -> None:
        self.extension = extension
        self._sources: list[PasswordSource] = [source for source in (users, extension) if source is not None]
        self._remembered = Remembered()

    @classmethod
    def of(cls, config: WorkerConfig) -> BasicAuth | None:
        """As the worker's settings say; None without basic authentication.

        Raises:
            ConfigError: a setting or a file is missing or wrong.
        """
        users = _users_file(config) if "basic" in config["seamark.auth.type"] else None
        extension = _extension_file(config) if config["rest.extension.classes"] else None
        return None if users is None and extension is None else cls(users, extension)

    @property
    def lets_all_in(self) -> bool:
        """Whether nobody needs a password: only with an empty file of Kafka Connect's, and no users of our own."""
        return self.extension is not None and len(self._sources) == 1 and self.extension.lets_all_in

    def remembered(self, user: str, password: str) -> Identity | None:
        """The user, if that is known without any work."""
        return self._remembered.get(user, password)

    def check(self, user: str, password: str) -> Identity | None:
        """The user, if the password is right; takes its time."""
        for source in self._sources:
            identity = source.check(user, password)
            if identity is not None:
                self._remembered.put(user, password, source, identity)
                return identity
        return None

    def current(self, identity: Identity) -> Identity | None:
        """The user of a session as it is now; None if it may not come in any more."""
        return next((now for source in self._sources if (now := source.current(identity)) is not None), None)

    def role_of(self, user: str) -> Role | None:
        """The role of a user as it is now; None if there is none of that name."""
        return next((role for source in self._sources if (role := source.role_of(user)) is not None), None)


def credentials_of(header: str) -> tuple[str, str] | None:
    """Name and password of an ``Authorization`` header; None if it has none that can be read."""
    kind, _, encoded = header.partition(" ")
    if kind.lower() != "basic":
        return None
    try:
        user, colon, password = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return None
    return (user, password) if colon and user else None


def _users_file(config: WorkerConfig) -> UsersFile:
    path = config["seamark.auth.basic.users.file"]
    if not path:
        raise ConfigError(
            "seamark.auth.type has basic, so seamark.auth.basic.users.file must name the file of users; "
            "`seamark auth add-user FILE USER --role ROLE` makes it",
            key="seamark.auth.basic.users.file",
        )
    return UsersFile(Path(path))


def _extension_file(config: WorkerConfig) -> CredentialsFile:
    file = config["seamark.auth.jaas.file"] or jaas_file_of_environment()
    if not file:
        raise ConfigError(
            f"{BASIC_AUTH_EXTENSION} needs a JAAS file: set seamark.auth.jaas.file, or "
            "KAFKA_OPTS=-Djava.security.auth.login.config=<file>",
            key="rest.extension.classes",
        )
    modules = read_jaas(file).get(JAAS_ENTRY, [])
    known = [module for module in modules if module.class_name == PROPERTY_FILE_MODULE]
    if len(modules) != 1 or len(known) != 1:
        raise ConfigError(f"The JAAS file {file} should have an entry {JAAS_ENTRY} with {PROPERTY_FILE_MODULE} alone")
    path = known[0].options.get("file", "").strip()
    if not path:
        raise ConfigError("Property Credentials file must be specified")
    return CredentialsFile(Path(path))


def _stamp(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
