"""Which certificates a command trusts and shows: options of `seamark` itself, else the environment, else the context.

``SEAMARK_CA`` names a PEM file with certificates to trust; ``SEAMARK_CERTIFICATE`` and ``SEAMARK_KEY`` one's own, for
workers that ask for it. A key in the file of the certificate needs no ``SEAMARK_KEY``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seamark.cli.exits import RefusedError

if TYPE_CHECKING:
    import ssl


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files, all PEM."""

    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    is_insecure: bool = False

    def __bool__(self) -> bool:
        return bool(self.ca or self.certificate or self.key or self.is_insecure)

    def verify(self) -> ssl.SSLContext | bool:
        """As a client wants it.

        Raises:
            RefusedError: a file cannot be read, or a key has no certificate.
        """
        if self.key is not None and self.certificate is None:
            raise RefusedError("A key goes with its certificate: give --certificate (SEAMARK_CERTIFICATE), too")
        if self.is_insecure and self.certificate is None:
            return False
        if self.ca is None and self.certificate is None:
            return True
        import ssl

        try:
            made = ssl.create_default_context(cafile=self.ca)
            if self.is_insecure:
                made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
            if self.certificate is not None:
                made.load_cert_chain(self.certificate, self.key)
        except OSError as error:
            files = ", ".join(path for path in (self.ca, self.certificate, self.key) if path)
            raise RefusedError(f"The certificates ({files}) cannot be read: {error}") from error
        return made


_given: list[Certificates] = []


def remember(given: Certificates) -> None:
    """What the command line says."""
    _given[:] = [given]


def of_command_line() -> Certificates:
    """Those of the command line; empty if it has none."""
    return _given[0] if _given else Certificates()


def of_environment() -> Certificates:
    """Those of the environment; empty if it has none."""
    names = ("SEAMARK_CA", "SEAMARK_CERTIFICATE", "SEAMARK_KEY")
    ca, certificate, key = (os.environ.get(name) or None for name in names)
    return Certificates(ca, certificate, key)
