"""Clients that expect one certificate and no other."""

from __future__ import annotations

import ssl


def pinned_context(certificate_pem: str) -> ssl.SSLContext:
    """For a client that knows the very certificate that it will be shown, whatever name is in it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=certificate_pem)
    return context
