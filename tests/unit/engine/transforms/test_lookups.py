from __future__ import annotations

import pytest

from seamark.engine.transforms.lookups import Lookup, parse_lookups
from seamark.engine.transforms.spark_sql import SparkSql
from seamark.errors import ConfigError

SQL = {"sql": "SELECT * FROM records"}


def test_a_lookup_is_a_table_of_the_catalog_or_what_sparks_reader_takes() -> None:
    config = {
        "lookup.a.table": "lake.db.a",
        "lookup.b.format": "jdbc",
        "lookup.b.option.url": "jdbc:x",
        "lookup.c.format": "delta",
        "lookup.c.path": "/c",
    }
    assert parse_lookups(["a", "b", "c"], config) == (
        Lookup("a", table="lake.db.a"),
        Lookup("b", format="jdbc", options={"url": "jdbc:x"}),
        Lookup("c", format="delta", path="/c"),
    )


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({}, "lookup.a.table"),
        ({"lookup.a.table": "x", "lookup.a.format": "y"}, "lookup.a.table"),
        ({"lookup.a.table": "x", "lookup.a.path": "/y"}, "lookup.a.table"),
        ({"lookup.a.tabel": "x"}, "lookup.a.tabel"),
    ],
)
def test_one_that_is_not_described_is_refused(settings: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError) as error:
        SparkSql().configure({**SQL, "lookups": "a", **settings})
    assert error.value.key == key


@pytest.mark.parametrize("names", ["a b", "records"])
def test_names_must_be_usable_in_the_query(names: str) -> None:
    with pytest.raises(ConfigError) as error:
        SparkSql().configure({**SQL, "lookups": names, f"lookup.{names}.table": "t"})
    assert error.value.key == "lookups"
