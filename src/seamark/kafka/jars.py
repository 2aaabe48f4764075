"""The jars that Seamark runs and that Spark needs, downloaded once.

A *jar set* is what a lock file beside this module lists, one jar per line: ``sha256 size organisation:name:revision``,
sorted by coordinate. `ensure` downloads a set into the cache directory the first time and only looks whether it is
there afterwards, without network and without Java::

    <cache>/<set>-<digest of the lock>/*.jar   complete and verified whenever the folder exists
    <cache>/ivy/                               Ivy's own download cache
    <cache>/.lock                              held while something is downloaded

The folder is filled under another name and renamed when everything in it is verified, so there is no half-filled set.
``SEAMARK_CACHE`` moves the cache directory; ``python -m seamark.kafka.jars`` downloads ahead of time, and
``python -m seamark.kafka.jars lock`` renews the lock files after a version changed here.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from seamark.errors import JarError
from seamark.kafka import ivy
from seamark.kafka.ivy import Coordinate
from seamark.kafka.jar_progress import progress

CACHE_ENV: Final = "SEAMARK_CACHE"
KAFKA_VERSION: Final = "4.2.0"
SPARK_VERSION: Final = "4.0.0"
_LOCKS: Final = Path(__file__).parent
_PARTIAL: Final = ".partial-"


@dataclass(frozen=True, slots=True)
class LockedJar:
    """One line of a lock file."""

    coordinate: Coordinate
    sha256: str
    size: int

    @property
    def file_name(self) -> str:
        return self.coordinate.file_name

    def __str__(self) -> str:
        return f"{self.sha256}  {self.size}  {self.coordinate}"


@dataclass(frozen=True)
class JarSet:
    """Jars that are used together.

    Args:
        name: also the prefix of the folder in the cache.
        roots: what the set is for; the lock holds these and everything they need at run time.
        lock_file: the jars with their digests.
        is_for_spark: leave out of the lock what PySpark carries already.
    """

    name: str
    roots: tuple[str, ...]
    lock_file: Path
    is_for_spark: bool = False

    @cached_property
    def jars(self) -> tuple[LockedJar, ...]:
        """The locked jars, sorted by coordinate."""
        return tuple(_parse_lock(self.lock_file))

    @cached_property
    def digest(self) -> str:
        """Changes when a jar of the set does."""
        return hashlib.sha256(self.lock_file.read_bytes()).hexdigest()[:12]

    def folder(self, cache: Path | None = None) -> Path:
        """Where the jars of this set are once `ensure` has returned."""
        return (cache or cache_dir()) / f"{self.name}-{self.digest}"


def _kafka(*names: str) -> tuple[str, ...]:
    return tuple(f"org.apache.kafka:{name}:{KAFKA_VERSION}" for name in names)


SPARK_KAFKA: Final = JarSet(
    "spark-kafka",
    (f"org.apache.spark:spark-sql-kafka-0-10_2.13:{SPARK_VERSION}",),
    _LOCKS / "spark-kafka.lock",
    is_for_spark=True,
)
# slf4j-simple writes to stderr, which goes to broker.log, and starts half a second faster than log4j.
BROKER: Final = JarSet("broker", (*_kafka("kafka_2.13"), "org.slf4j:slf4j-simple:1.7.36"), _LOCKS / "broker.lock")
# The real Kafka Connect, which tests and benchmarks compare with; a Seamark worker never loads it.
CONNECT: Final = JarSet(
    "connect",
    (
        *_kafka("connect-runtime", "connect-file", "connect-mirror", "connect-json", "connect-transforms"),
        "org.apache.logging.log4j:log4j-slf4j-impl:2.25.3",
    ),
    _LOCKS / "connect.lock",
)
RUNTIME: Final = (SPARK_KAFKA, BROKER)


def _package(name: str, root: str) -> JarSet:
    return JarSet(name, (root,), _LOCKS / f"{name}.lock", is_for_spark=True)


# What Spark gets only if `seamark.spark.packages` of a worker says so.
PACKAGES: Final = {
    jar_set.name: jar_set
    for jar_set in (
        _package("delta", f"io.delta:delta-spark_2.13:{SPARK_VERSION}"),
        _package("iceberg", "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0"),
        _package("postgresql", "org.postgresql:postgresql:42.7.7"),
    )
}
ALL: Final = (*RUNTIME, CONNECT, *PACKAGES.values())


def cache_dir() -> Path:
    """``SEAMARK_CACHE``, or ``~/.cache/seamark/jars``."""
    configured = os.environ.get(CACHE_ENV)
    return Path(configured).absolute() if configured else Path.home() / ".cache" / "seamark" / "jars"


def ensure(jar_set: JarSet, *, cache: Path | None = None) -> list[Path]:
    """The jars of a set, downloaded first if this machine does not have them.

    Args:
        jar_set: which.
        cache: instead of the default cache directory.

    Raises:
        JarError: a jar could not be downloaded, or is not the one that was locked; nothing of the set is in the cache.
    """
    cache = cache or cache_dir()
    folder = jar_set.folder(cache)
    if not _is_complete(jar_set, folder):
        try:
            cache.mkdir(parents=True, exist_ok=True)
            with exclusive(cache):
                if not _is_complete(jar_set, folder):  # another process may have done it while we waited
                    _download(jar_set, folder, cache)
        except OSError as error:
            raise JarError(
                f"The jar cache {str(cache)!r} cannot be used: {error}; set {CACHE_ENV} to a writable directory"
            ) from error
    return [folder / jar.file_name for jar in jar_set.jars]


def classpath(jar_set: JarSet, *, cache: Path | None = None) -> str:
    """The jars of a set as Java's ``-cp`` takes them."""
    return os.pathsep.join(map(str, ensure(jar_set, cache=cache)))


def lock(jar_set: JarSet) -> None:
    """Resolve the roots of a set anew and write its lock file."""
    cache = cache_dir()
    cache.mkdir(parents=True, exist_ok=True)
    with exclusive(cache), _partial_folder(cache) as partial:
        roots = [Coordinate.parse(root) for root in jar_set.roots]
        retrieved = ivy.retrieve(roots, partial, ivy_cache=cache / "ivy", is_transitive=True)
        locked = [
            LockedJar(coordinate, _sha256(path), path.stat().st_size)
            for coordinate, path in sorted(retrieved.items())
            if not (jar_set.is_for_spark and _is_in_spark(coordinate))
        ]
    jar_set.lock_file.write_text("".join(f"{jar}\n" for jar in locked))


def _is_in_spark(coordinate: Coordinate) -> bool:
    # In any version: two of one library in one JVM is worse than an older one.
    return any(ivy.spark_jars().glob(f"{coordinate.name}-[0-9]*.jar"))


def _parse_lock(lock_file: Path) -> Iterator[LockedJar]:
    try:
        text = lock_file.read_text()
    except OSError as error:
        raise JarError(f"The lock file {str(lock_file)!r} cannot be read: {error}; install seamark again") from error
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split()
        if len(fields) != 3 or len(fields[0]) != 64 or not fields[1].isdigit():
            raise JarError(
                f"Line {number} of {str(lock_file)!r} is {line!r}; expected: sha256 size organisation:name:revision"
            )
        yield LockedJar(Coordinate.parse(fields[2]), fields[0], int(fields[1]))


def _is_complete(jar_set: JarSet, folder: Path) -> bool:
    # The digests were checked before the folder got its name; sizes are nearly free and notice a disk that was full.
    try:
        return all((folder / jar.file_name).stat().st_size == jar.size for jar in jar_set.jars)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _download(jar_set: JarSet, folder: Path, cache: Path) -> None:
    for leftover in cache.glob(f"{_PARTIAL}*"):  # of a process that was killed: we hold the lock, so nobody fills it
        shutil.rmtree(leftover)
    with _partial_folder(cache) as partial:
        sizes = {jar.coordinate: jar.size for jar in jar_set.jars}
        coordinates = [jar.coordinate for jar in jar_set.jars]
        with progress(f"Downloading the {jar_set.name} jars", sum(sizes.values())) as advance:
            retrieved = ivy.retrieve(
                coordinates, partial, ivy_cache=cache / "ivy", fetched=lambda jar: advance(sizes.get(jar, 0))
            )
        ready = partial / "ready"
        ready.mkdir()
        for jar in jar_set.jars:
            path = retrieved.get(jar.coordinate, partial / "missing")
            _verify(jar, path, cache / "ivy")
            path.rename(ready / jar.file_name)
        if folder.exists():
            folder.rename(partial / "damaged")
        ready.rename(folder)


def _verify(jar: LockedJar, path: Path, ivy_cache: Path) -> None:
    found = _sha256(path) if path.is_file() else "missing"
    if found != jar.sha256:
        # Ivy would hand out the same bytes for ever.
        shutil.rmtree(ivy_cache / jar.coordinate.organisation / jar.coordinate.name, ignore_errors=True)
        raise JarError(
            f"{jar.file_name} is not the jar that was locked (sha256 {found}, expected {jar.sha256}) and was thrown "
            "away; try again, and if it stays so, look at what stands between this machine and the registry"
        )


@contextmanager
def _partial_folder(cache: Path) -> Iterator[Path]:
    partial = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=cache))
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def exclusive(cache: Path) -> Iterator[None]:
    """Hold the lock of a cache directory; waits, and says so, while another process does."""
    with open(cache / ".lock", "w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"Waiting for another process that is filling {cache} ...", file=sys.stderr, flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _sha256(path: Path) -> str:
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def main(arguments: Sequence[str]) -> int:
    """``[lock] [set ...]``: download the named sets (by default those that Seamark runs), or renew lock files."""
    is_locking = arguments[:1] == ["lock"]
    names = set(arguments[1:] if is_locking else arguments)
    known = {jar_set.name for jar_set in ALL}
    if not names <= known:
        print(f"error: no jar set {sorted(names - known)}; there are {sorted(known)}", file=sys.stderr)
        return 2
    chosen = [jar_set for jar_set in ALL if jar_set.name in names] or (ALL if is_locking else RUNTIME)
    try:
        for jar_set in chosen:
            (lock if is_locking else ensure)(jar_set)
            print(f"{jar_set.name}: {len(list(_parse_lock(jar_set.lock_file)))} jars", file=sys.stderr)
    except JarError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
