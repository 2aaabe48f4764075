from __future__ import annotations

import gc

import pytest

from seamark.connector.schema import INT32_SCHEMA, STRING_SCHEMA, Schema, Type
from seamark.engine.transforms.errors import SchemaBuilderError
from seamark.engine.transforms.schemas import EQUAL_SCHEMAS, SAME_SCHEMAS, changed, schema_cache, with_default


def test_equal_schemas_share_what_was_made() -> None:
    made = schema_cache(lambda schema: [schema])
    first, second = Schema(Type.STRING, name="a"), Schema(Type.STRING, name="a")
    assert made(first) is made(second)
    assert made(first) is not made(Schema(Type.STRING, name="b"))


def test_the_cache_forgets_the_schemas_that_were_not_used_for_longest() -> None:
    calls: list[str | None] = []
    made = schema_cache(lambda schema: calls.append(schema.name))
    for number in range(SAME_SCHEMAS + EQUAL_SCHEMAS):
        made(Schema(Type.STRING, name=str(number)))
        gc.collect(0)
    made(Schema(Type.STRING, name=str(SAME_SCHEMAS)))
    assert len(calls) == SAME_SCHEMAS + EQUAL_SCHEMAS
    made(Schema(Type.STRING, name="0"))
    assert calls[-1] == "0"


def test_a_changed_schema_keeps_what_describes_it_but_not_whether_it_is_optional() -> None:
    source = Schema(Type.INT64, True, 5, "n", 2, "d", {"p": "q"})
    assert changed(source, Type.STRING) == Schema(Type.STRING, False, None, "n", 2, "d", {"p": "q"})


def test_impossible_schemas_are_refused() -> None:
    with pytest.raises(SchemaBuilderError, match="Cannot create field because of field name duplication a"):
        changed(INT32_SCHEMA, Type.STRUCT, fields=[("a", STRING_SCHEMA), ("a", STRING_SCHEMA)])
    with pytest.raises(SchemaBuilderError, match="Invalid default value"):
        with_default(STRING_SCHEMA, 5)
