"""MirrorMaker 2's three connectors, its formats and its rules.

Connectors: `MirrorSourceConnector`, `MirrorCheckpointConnector` and `MirrorHeartbeatConnector`. Topics, records and
offsets are those of MirrorMaker 2, so that a flow can be handed over in both directions.
"""
