"""How to reach the API server: a kubeconfig, or the ServiceAccount of the pod."""

from __future__ import annotations

import base64
import dataclasses
import os
import ssl
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import kopf

from seamark.errors import ConfigError


def log_in(kubeconfig: Path | None = None) -> kopf.ConnectionInfo:
    """What is there: the file that is named, else the pod's ServiceAccount, else `KUBECONFIG` or ``~/.kube/config``.

    Raises:
        ConfigError: there is nothing.
    """
    settings = kopf.OperatorSettings()
    try:
        found = None if kubeconfig else kopf.login_with_service_account(settings=settings)
        if found is None:
            if kubeconfig is not None:
                os.environ["KUBECONFIG"] = str(kubeconfig)
            found = kopf.login_with_kubeconfig(settings=settings)
    except (OSError, KeyError, ValueError, kopf.LoginError) as error:
        raise ConfigError(f"{kubeconfig or 'The kubeconfig'} cannot be used: {error!r}") from error
    if found is None:
        raise ConfigError("There is no way to reach Kubernetes: name a file with --kubeconfig, or run in a pod.")
    return _with_absolute_paths(found)


def _with_absolute_paths(info: kopf.ConnectionInfo) -> kopf.ConnectionInfo:
    """Paths in a kubeconfig are relative to it."""
    first = os.environ.get("KUBECONFIG", "~/.kube/config").split(os.pathsep)[0]
    home = Path(first).expanduser().absolute().parent
    paths: dict[str, Any] = {}
    for field in ("ca_path", "certificate_path", "private_key_path"):
        value = getattr(info, field)
        if value:
            paths[field] = str(home / os.fsdecode(value))
    return dataclasses.replace(info, **paths)


def tls_of(info: kopf.ConnectionInfo) -> ssl.SSLContext | bool:
    """For an HTTP client; False for a server that speaks no TLS."""
    if info.server.startswith("http://"):
        return False
    ca_data = _decoded(info.ca_data)
    context = ssl.create_default_context(
        cafile=os.fsdecode(info.ca_path) if info.ca_path else None,
        cadata=ca_data.decode() if ca_data else None,
    )
    if info.insecure:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    certificate, key = _decoded(info.certificate_data), _decoded(info.private_key_data)
    if info.certificate_path and info.private_key_path:
        context.load_cert_chain(os.fsdecode(info.certificate_path), os.fsdecode(info.private_key_path))
    elif certificate and key:
        # Python reads certificates of clients from files only.
        with TemporaryDirectory() as directory:
            files = Path(directory) / "certificate", Path(directory) / "key"
            for file, content in zip(files, (certificate, key), strict=True):
                file.touch(0o600)
                file.write_bytes(content)
            context.load_cert_chain(*files)
    return context


def _decoded(data: str | bytes | None) -> bytes | None:
    if not data:
        return None
    raw = data.encode() if isinstance(data, str) else data
    return raw if raw.startswith(b"-----BEGIN") else base64.b64decode(raw)
