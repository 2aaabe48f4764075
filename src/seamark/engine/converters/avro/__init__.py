"""Avro for Connect's data, as Confluent's `AvroConverter` maps it.

`types` knows Avro's schemas, `from_connect` and `to_connect` map schemas in both directions, `encoding` and `decoding`
compile a pair of schemas into functions for the binary form, `converter` puts them together with a schema registry,
`plain` with a schema from the settings.
"""
