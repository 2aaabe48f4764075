"""The Kubernetes operator: Strimzi's KafkaMirrorMaker2, KafkaConnect and KafkaConnector, and Knative's ResetOffset.

It talks to workers over their REST API alone (`seamark.client`), so it drives Seamark and Kafka Connect alike. kopf
watches resources; a pass over a resource always begins with reading it, so nothing depends on which event came when.

- decisions, functions over values: `conditions`, `offset_requests`, `offset_forms`, `config_maps`, `mirror_specs`,
  `connector_specs`, `kafka_access`, `auto_restarts`, `workloads`, `reset_states`, `reset_plans`
- effects: `kube` (the API server), `workers` (REST), `log_positions` (Kafka, only looking), `worker_plans`,
  `offset_actions`, `connectors`, `leases`, `reset_refs`, `reset_objects`, `reset_offsets`
- passes over a resource: `mirror_makers`, `connect_clusters`, `kafka_connectors`, `resets`
- what runs them: `passes` (one at a time per resource, again after a while), `handlers` (kopf), `running`
"""
