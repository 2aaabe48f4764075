"""Running the Ivy that PySpark carries.

Ivy needs no installation of its own and its built-in public resolver needs no address from us. A file named by
``SEAMARK_IVY_SETTINGS`` replaces the resolver, for networks that have a mirror; proxies are taken from the usual
environment variables (``https_proxy`` and so on), which Java does not read by itself.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.sax.saxutils import quoteattr

from seamark.errors import JarError
from seamark.kafka.java import find_java

SETTINGS_ENV: Final = "SEAMARK_IVY_SETTINGS"
RETRIEVE_PATTERN: Final = "[organisation]/[module]/[revision]/[artifact].[ext]"

_FETCHED = re.compile(r"\[SUCCESSFUL \] (?P<organisation>[^#\s]+)#(?P<name>[^;\s]+);(?P<revision>[^!\s]+)!")
_ACCESS_ERROR = re.compile(r"Server access error at url (?P<url>\S+) \((?P<reason>.*)\)$")
_NOT_FOUND = re.compile(r":: (?P<module>[^#\s]+#[^;\s]+;[^:\s]+): (?P<reason>.+)$")


@dataclass(frozen=True, slots=True, order=True)
class Coordinate:
    """A Maven artifact: ``organisation:name:revision``."""

    organisation: str
    name: str
    revision: str

    @classmethod
    def parse(cls, text: str) -> Coordinate:
        parts = text.split(":")
        if len(parts) != 3 or not all(parts):
            raise JarError(f"{text!r} does not name a jar; expected organisation:name:revision")
        return cls(*parts)

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.revision}.jar"

    def __str__(self) -> str:
        return f"{self.organisation}:{self.name}:{self.revision}"


def spark_jars() -> Path:
    """The folder of jars inside the installed PySpark, found without importing it."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise JarError("PySpark is not installed, and the jars are resolved by the Ivy inside it; install pyspark")
    return Path(spec.submodule_search_locations[0]) / "jars"


def retrieve(
    coordinates: Sequence[Coordinate],
    into: Path,
    *,
    ivy_cache: Path,
    is_transitive: bool = False,
    fetched: Callable[[Coordinate], None] = lambda _: None,
) -> dict[Coordinate, Path]:
    """Download jars; returns where each of them is, somewhere under `into`.

    Args:
        coordinates: what to download.
        into: an existing folder; it also receives Ivy's settings and module file.
        ivy_cache: Ivy's own download cache.
        is_transitive: whether what the jars need at run time is downloaded too.
        fetched: called after each jar that came over the network.

    Raises:
        JarError: something could not be downloaded.
    """
    settings = os.environ.get(SETTINGS_ENV)
    if settings is None:
        settings = str(into / "ivysettings.xml")
        Path(settings).write_text(_settings_xml(uses_poms=is_transitive))
    elif not Path(settings).is_file():
        raise JarError(f"{SETTINGS_ENV} is {settings!r}, which is not a file; name an Ivy settings file or unset it")
    module = into / "ivy.xml"
    module.write_text(_module_xml(coordinates, is_transitive=is_transitive))
    ivy_jar = next(iter(sorted(spark_jars().glob("ivy-*.jar"))), None)
    if ivy_jar is None:
        raise JarError(f"No ivy-*.jar in {str(spark_jars())!r}; the PySpark installation is damaged: install it again")
    command = [find_java(JarError), *_proxy_options(), "-Xmx128m", "-cp", str(ivy_jar), "org.apache.ivy.Main"]
    command += ["-settings", settings, "-cache", str(ivy_cache), "-ivy", str(module), "-confs", "default"]
    command += ["-types", "jar", "bundle", "-retrieve", str(into / RETRIEVE_PATTERN)]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    lines: list[str] = []
    try:
        assert process.stdout is not None  # noqa: S101 - asked for with PIPE above
        for line in process.stdout:
            lines.append(line.rstrip())
            if match := _FETCHED.search(line):
                fetched(Coordinate(match["organisation"], match["name"], match["revision"]))
        code = process.wait()
    finally:
        # Reached with the process alive only when the caller is interrupted: Ivy must not go on without us.
        process.kill()
        process.wait()
    if code != 0:
        raise JarError(failure_sentence(lines))
    return {Coordinate(*path.relative_to(into).parts[:3]): path for path in into.glob("*/*/*/*.jar")}


def failure_sentence(lines: Sequence[str]) -> str:
    """What Ivy's output says about why it failed, in one sentence."""
    access = [match for line in lines if (match := _ACCESS_ERROR.search(line.strip()))]
    if access:
        jar = access[0]["url"].rsplit("/", 1)[-1]
        host = urllib.parse.urlsplit(access[0]["url"]).hostname
        more = f" and {len(access) - 1} more" if len(access) > 1 else ""
        reason = access[0]["reason"].removeprefix("java.net.")
        return f"Could not download {jar}{more}: {host} was not reached ({reason})"
    missing = [match for line in lines if (match := _NOT_FOUND.search(line.strip()))]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        return f"Could not download {missing[0]['module']}{more}: {missing[0]['reason']}"
    last = next((line for line in reversed(lines) if line.strip()), "it printed nothing")
    return f"Ivy failed: {last.strip()}"


def _settings_xml(*, uses_poms: bool) -> str:
    # Locked jars are named one by one, so their POMs (and the parents of those) need not be fetched: half the requests.
    return (
        '<ivysettings><settings defaultResolver="public"/><resolvers>'
        f'<ibiblio name="public" m2compatible="true" usepoms="{str(uses_poms).lower()}"/>'
        "</resolvers></ivysettings>\n"
    )


def _module_xml(coordinates: Sequence[Coordinate], *, is_transitive: bool) -> str:
    conf = "default->runtime(*),master(*)" if is_transitive else "default->master(*)"
    dependencies = "".join(
        f"<dependency org={quoteattr(c.organisation)} name={quoteattr(c.name)} rev={quoteattr(c.revision)}"
        f' force="true" transitive="{str(is_transitive).lower()}" conf="{conf}"/>\n'
        for c in coordinates
    )
    return (
        '<ivy-module version="2.0"><info organisation="seamark" module="jars"/>'
        '<configurations><conf name="default"/></configurations>'
        f"<dependencies>\n{dependencies}</dependencies></ivy-module>\n"
    )


def _proxy_options() -> list[str]:
    options = []
    for scheme, url in urllib.request.getproxies().items():
        parts = urllib.parse.urlsplit(url if "//" in url else f"//{url}")
        if scheme in ("http", "https") and parts.hostname:
            options += [f"-D{scheme}.proxyHost={parts.hostname}", f"-D{scheme}.proxyPort={parts.port or 80}"]
    return options
