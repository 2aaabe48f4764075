"""For tests of connectors and of Seamark itself: connectors made to be observed, and the reading of what they did."""

from seamark.testing.observed import Call, Observed, sequences

__all__ = ["Call", "Observed", "sequences"]
