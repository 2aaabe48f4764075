"""The fault suite: sequenced records and requests, while faults strike; a checker judges what came of it.

``python -m chaos`` (or `make chaos`) runs it, against Seamark and, for comparison, against the real Kafka Connect.

- `plan`: what clients and faults do, drawn from a seed.
- `cluster`, `network`: a broker, workers, and a proxy between each worker and the broker.
- `faults`: what can go wrong, and how it is mended.
- `workload`, `requests`: files that grow, and clients that create, stop, move, resume and delete connectors.
- `history`: what clients did and were told, and what they saw; a file of JSON lines.
- `evidence`: what is in the topics and files at the end.
- `checker`: pure functions from history and evidence to violations of promises.
- `report`: the table.
"""
