"""Connect's own transforms."""
