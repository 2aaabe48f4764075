"""Checkpoints of Spark's Structured Streaming: where their Kafka sources are, and moving them without deleting them.

Seamark's own pipelines have none (their offsets are Kafka Connect's); these belong to queries of others. Files are
reached through `seamark.checkpoint.files.Files`, on local disk without Spark.
"""
