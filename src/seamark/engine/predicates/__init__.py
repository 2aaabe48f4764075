"""Connect's own predicates."""
