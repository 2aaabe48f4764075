"""The REST API: Kafka Connect's, over a herder."""
