"""JSON Schema for Connect's data, as Confluent's `JsonSchemaConverter` maps it.

`from_connect` and `to_connect` map schemas in both directions, `data` reads and writes values, `converter` puts them
together with a schema registry.
"""
