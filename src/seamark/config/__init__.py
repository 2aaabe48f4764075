"""Configuration: definitions of keys, properties files, the worker's settings and those common to all connectors."""
