"""Points in time as users write them: RFC 3339, for example ``2026-05-01T12:00:00Z``."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_FORM = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


def parse_timestamp_ms(text: str) -> int:
    """Milliseconds since 1970.

    Raises:
        ValueError: the text is no RFC 3339 time.
    """
    if not _FORM.fullmatch(text):
        raise ValueError(f"{text!r} is no RFC 3339 time, like 2026-05-01T12:00:00Z or 2026-05-01T14:00:00+02:00.")
    try:
        moment = datetime.fromisoformat(text.upper().replace(" ", "T"))
    except ValueError as error:
        raise ValueError(f"{text!r} is no RFC 3339 time: {error}.") from error
    return round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)
