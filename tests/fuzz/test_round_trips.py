"""What is written is read back as it was."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.round_trips import ROUND_TRIPS, RoundTrip


@pytest.mark.parametrize("trip", ROUND_TRIPS, ids=lambda trip: trip.name)
@settings(max_examples=25)
@given(data=st.data())
def test_what_is_written_is_read_back(trip: RoundTrip, data: st.DataObject) -> None:
    value = data.draw(trip.values)
    assert trip.read(trip.write(value)) == value
