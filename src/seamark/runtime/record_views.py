"""Records as a person can look at them: text where it is text, shortened."""

from __future__ import annotations

import base64
from typing import Any

from seamark.connector.log_views import LogRecord


def shown_record(record: LogRecord, max_bytes: int) -> dict[str, Any]:
    """A record as REST shows it; of key, of value and of all headers together at most `max_bytes`."""
    key, key_encoding, is_key_cut = shown_bytes(record.key, max_bytes)
    value, value_encoding, is_value_cut = shown_bytes(record.value, max_bytes)
    headers, encodings, left, is_cut = [], [], max_bytes, is_key_cut or is_value_cut
    for name, data in record.headers:
        text, encoding, is_header_cut = shown_bytes(data, left)
        headers.append([name, text])
        encodings.append(encoding)
        left -= min(left, len(data or b""))
        is_cut = is_cut or is_header_cut
    return {
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "key": key,
        "value": value,
        "headers": headers,
        "key_encoding": key_encoding,
        "value_encoding": value_encoding,
        "header_encodings": encodings,
        "value_bytes": len(record.value or b""),
        "is_truncated": is_cut,
    }


def shown_bytes(data: bytes | None, max_bytes: int) -> tuple[str | None, str | None, bool]:
    """Text, how it stands for the bytes (``utf8`` or ``base64``), and whether it is shortened."""
    if data is None:
        return None, None, False
    part, is_cut = data[:max_bytes], len(data) > max_bytes
    try:
        data.decode()
    except UnicodeDecodeError:
        return base64.b64encode(part).decode(), "base64", is_cut
    # The cut may go through a character.
    return part.decode(errors="ignore"), "utf8", is_cut
