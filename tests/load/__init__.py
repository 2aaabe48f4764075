"""Load and soak: how much a cluster of three workers bears, and what it costs after hours.

``python -m load`` (or `make load`) prints a table; ``python -m load soak --hours 2`` writes a report with plots.
"""
