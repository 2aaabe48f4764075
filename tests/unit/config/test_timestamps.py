from __future__ import annotations

import pytest

from seamark.config.timestamps import parse_timestamp_ms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-05-01T12:00:00Z", 1_777_636_800_000),
        ("2026-05-01T14:00:00+02:00", 1_777_636_800_000),
        ("2026-05-01t12:00:00.250z", 1_777_636_800_250),
        ("2026-05-01 12:00:00Z", 1_777_636_800_000),
        ("1969-12-31T23:59:59.999Z", -1),
    ],
)
def test_rfc_3339(text: str, expected: int) -> None:
    assert parse_timestamp_ms(text) == expected


@pytest.mark.parametrize("text", ["", "now", "2026-05-01", "2026-05-01T12:00:00", "2026-13-01T12:00:00Z", "1746100800"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="RFC 3339"):
        parse_timestamp_ms(text)
