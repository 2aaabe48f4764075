"""`seamark context`: the clusters of workers that commands can be sent to, kept in a file.

The file is ``$SEAMARK_CONFIG``, else ``seamark/config.yaml`` in ``$XDG_CONFIG_HOME`` or ``~/.config``::

    version: 1
    current: dev
    contexts:
      dev:
        url: http://localhost:8083
      prod:
        url: https://connect.example.com
        username: me
        password_env: PROD_PASSWORD    # the variable that has it; or password_file, a file; or password, kept here
        ca: /etc/ssl/ours.pem
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from seamark.cli.certificates import Certificates
from seamark.cli.credentials import read_secret
from seamark.cli.exits import RefusedError, UnknownError
from seamark.errors import DataError
from seamark.formats import VERSION, check_version

if TYPE_CHECKING:
    from seamark.client import Settings

CONTEXTS_VERSION: Final = 1
_MINE_ONLY: Final = 0o600


@dataclass(frozen=True, slots=True)
class Context:
    """How to reach the workers of a cluster."""

    url: str
    username: str | None = None
    password: str | None = None
    password_env: str | None = None
    password_file: str | None = None
    token: str | None = None
    token_env: str | None = None
    token_file: str | None = None
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    insecure: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)

    def settings(self) -> Settings:
        """For the client.

        Raises:
            RefusedError: a variable or a file that it needs is not there.
        """
        from seamark.client import Settings

        headers = dict(self.headers)
        token = _secret(self.token, self.token_env, self.token_file)
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        auth = None
        if self.username is not None:
            auth = (self.username, _secret(self.password, self.password_env, self.password_file) or "")
        return Settings(self.url, auth=auth, headers=headers, verify=self.certificates.verify())

    @property
    def certificates(self) -> Certificates:
        """What is trusted and shown."""
        return Certificates(self.ca, self.certificate, self.key, self.insecure)


@dataclass(slots=True)
class Contexts:
    """The file's content."""

    path: Path
    current: str | None = None
    contexts: dict[str, Context] = field(default_factory=dict)

    def get(self, name: str) -> Context:
        """Raises UnknownError, which lists the known ones."""
        if name not in self.contexts:
            known = ", ".join(sorted(self.contexts)) or "none"
            raise UnknownError(f"There is no context {name!r} in {self.path}; there are: {known}")
        return self.contexts[name]

    def save(self) -> None:
        """Write the file; nobody else may read it, since it can have passwords."""
        import yaml

        shown = {name: _given(context) for name, context in sorted(self.contexts.items())}
        fields = {VERSION: CONTEXTS_VERSION, "current": self.current, "contexts": shown}
        content = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_name(f"{self.path.name}.{os.getpid()}.new")
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _MINE_ONLY), "w", encoding="utf-8") as file:
            file.write(content)
        new.replace(self.path)


def contexts_path() -> Path:
    """Where the contexts are kept."""
    named = os.environ.get("SEAMARK_CONFIG")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "seamark" / "config.yaml"


def read_contexts(path: Path | None = None) -> Contexts:
    """The contexts; none if there is no file.

    Raises:
        RefusedError: the file cannot be understood.
    """
    from yaml import SafeLoader

    from seamark.cli.yaml_texts import YamlTextError, documents

    path = path or contexts_path()
    try:
        content = documents(path.read_text(encoding="utf-8"), SafeLoader)
    except FileNotFoundError:
        return Contexts(path)
    except (OSError, UnicodeDecodeError, YamlTextError) as error:
        raise RefusedError(f"The contexts in {path} cannot be read: {error}") from error
    if len(content) > 1:
        raise RefusedError(f"The file {path} should have one document, and has {len(content)}")
    if not content or content[0] is None:
        return Contexts(path)
    content = content[0]
    if not isinstance(content, dict) or not isinstance(content.get("contexts") or {}, dict):
        raise RefusedError(f"The file {path} should have an object 'contexts', with an object per context")
    try:
        check_version(content, CONTEXTS_VERSION, f"The file {path}")
    except DataError as error:
        raise RefusedError(str(error)) from error
    current = content.get("current")
    found = {str(name): _context(path, str(name), each) for name, each in (content.get("contexts") or {}).items()}
    return Contexts(path, None if current is None else str(current), found)


def _context(path: Path, name: str, content: Any) -> Context:
    valid = {each.name for each in fields(Context)}
    where = f"Context {name!r} in {path}"
    if not isinstance(content, dict) or not isinstance(content.get("url"), str):
        raise RefusedError(f"{where} has no url, as in 'url: http://localhost:8083'")
    unknown = sorted(set(map(str, content)) - valid)
    if unknown:
        raise RefusedError(
            f"{where} has {', '.join(unknown)}, which means nothing. Valid are {', '.join(sorted(valid))}"
        )
    headers, insecure = content.get("headers", {}), content.get("insecure", False)
    if not isinstance(headers, dict) or not isinstance(insecure, bool):
        raise RefusedError(f"{where}: 'headers' must be an object and 'insecure' true or false")
    texts = {key: str(value) for key, value in content.items() if key not in ("headers", "insecure")}
    return Context(**texts, insecure=insecure, headers={str(key): str(value) for key, value in headers.items()})


def _secret(value: str | None, variable: str | None, file: str | None) -> str | None:
    if file is not None:
        return read_secret(Path(file))
    if variable is None:
        return value
    if variable not in os.environ:
        raise RefusedError(f"The context wants a secret from the environment variable {variable}, which is not set")
    return os.environ[variable]


def _given(context: Context) -> dict[str, Any]:
    """What is not as it would be anyway."""
    values = {each.name: getattr(context, each.name) for each in fields(Context)}
    return {name: dict(value) if name == "headers" else value for name, value in values.items() if value}


# commands


def register(app: typer.Typer) -> None:
    """Add the commands."""
    commands = typer.Typer(help="Clusters of workers that commands are sent to.", no_args_is_help=True)
    commands.command("list")(list_contexts)
    commands.command("use")(use)
    commands.command("set")(set_context)
    commands.command("remove")(remove)
    app.add_typer(commands, name="context")


def list_contexts() -> None:
    """Show all contexts; a star marks the one that is used."""
    from seamark.cli.shown import print_table

    found = read_contexts()
    rows = [
        ("*" if name == found.current else "", name, context.url, context.username or "")
        for name, context in sorted(found.contexts.items())
    ]
    print_table(("", "NAME", "URL", "USER"), rows, empty=f"There is no context in {found.path}.")


def use(name: Annotated[str, typer.Argument(help="The context.")]) -> None:
    """Send commands to another cluster from now on."""
    found = read_contexts()
    found.get(name)
    found.current = name
    found.save()
    typer.echo(f"context {name} is used from now on")


def set_context(
    name: Annotated[str, typer.Argument(help="The context.")],
    url: Annotated[str, typer.Option(help="REST address of a worker, or of what is in front of the workers.")],
    username: Annotated[str | None, typer.Option(help="For basic authentication.")] = None,
    password_env: Annotated[str | None, typer.Option(help="The environment variable with the password.")] = None,
    password_file: Annotated[str | None, typer.Option(help="The file with the password.")] = None,
    token_env: Annotated[str | None, typer.Option(help="The environment variable with a bearer token.")] = None,
    token_file: Annotated[str | None, typer.Option(help="The file with a bearer token.")] = None,
    ca: Annotated[str | None, typer.Option(help="Certificates to trust, PEM.")] = None,
    certificate: Annotated[str | None, typer.Option(help="Our own certificate, PEM.")] = None,
    key: Annotated[str | None, typer.Option(help="The key of our certificate, PEM.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Do not check the worker's certificate.")] = False,
) -> None:
    """Add a context or replace it; the first one is used at once."""
    found = read_contexts()
    found.contexts[name] = Context(
        url,
        username=username,
        password_env=password_env,
        password_file=password_file,
        token_env=token_env,
        token_file=token_file,
        ca=ca,
        certificate=certificate,
        key=key,
        insecure=insecure,
    )
    found.current = found.current or name
    found.save()
    typer.echo(f"context {name} is {url}" + ("; it is used from now on" if found.current == name else ""))


def remove(name: Annotated[str, typer.Argument(help="The context.")]) -> None:
    """Forget a context."""
    found = read_contexts()
    found.get(name)
    del found.contexts[name]
    found.current = None if found.current == name else found.current
    found.save()
    typer.echo(f"context {name} is removed")
