from __future__ import annotations

import pytest

from seamark.engine.frame_chain import FrameChain, Segment, add_counts, check_transforms
from seamark.engine.plugins import Plugins
from seamark.engine.transforms.spark_sql import SparkSql, check_query, check_schema, check_view, statement
from seamark.errors import ConfigError, ConnectError

T = "org.apache.kafka.connect.transforms."
SQL = {"type": "SparkSql", "sql": "SELECT * FROM records"}
HOIST = {"type": f"{T}HoistField$Value", "field": "x"}


def config(**chain: dict[str, str]) -> dict[str, str]:
    settings = {"name": "c", "transforms": ",".join(chain)}
    return settings | {f"transforms.{alias}.{key}": value for alias, own in chain.items() for key, value in own.items()}


def test_a_chain_is_cut_at_its_queries() -> None:
    chain = FrameChain.of(Plugins(), config(a=HOIST, b=HOIST, q=SQL, r=SQL, c=HOIST))
    assert [(segment.aliases, segment.sql_alias) for segment in chain.segments] == [
        (("a", "b"), "q"),
        ((), "r"),
        (("c",), ""),
    ]
    assert chain
    assert chain.has_queries
    assert isinstance(chain.segments[0].sql, SparkSql)
    alone = FrameChain.of(Plugins(), config(a=HOIST))
    assert alone.segments == (Segment(("a",)),)
    assert alone
    assert not alone.has_queries
    assert not FrameChain.of(Plugins(), {"name": "c"})


def test_the_class_is_found_by_all_its_names() -> None:
    for name in ("SparkSql", "seamark.transforms.SparkSql", "seamark.engine.transforms.spark_sql:SparkSql"):
        assert Plugins().transformation_class(name) is SparkSql
    assert Plugins.java_name(SparkSql) == "seamark.transforms.SparkSql"


def test_a_query_is_refused_where_records_go_one_by_one() -> None:
    with pytest.raises(ConfigError, match=r"'q' is SparkSql.*FileSink handles records one by one") as error:
        check_transforms(Plugins(), config(a=HOIST, q=SQL), connector="FileSink", is_frame=False)
    assert error.value.key == "transforms.q.type"
    check_transforms(Plugins(), config(a=HOIST), connector="FileSink", is_frame=False)
    check_transforms(Plugins(), config(a=HOIST, q=SQL), connector="ParquetSink", is_frame=True)
    transform = SparkSql()
    transform.configure(SQL)
    with pytest.raises(ConnectError, match="DataFrame of a batch"):
        transform.apply(None)  # type: ignore[arg-type]


def test_a_query_takes_no_predicate() -> None:
    settings = config(q={**SQL, "predicate": "p"}) | {"predicates": "p"}
    settings["predicates.p.type"] = f"{T}predicates.RecordIsTombstone"
    with pytest.raises(ConfigError, match="WHERE") as error:
        check_transforms(Plugins(), settings, connector="ParquetSink", is_frame=True)
    assert error.value.key == "transforms.q.predicate"


@pytest.mark.parametrize(
    "query",
    [
        "",
        " ; ",
        "-- only a comment",
        "DELETE FROM records",
        "INSERT INTO t SELECT 1",
        "SELECTED",
        "/* SELECT */ DROP TABLE t",
    ],
)
def test_only_a_query_is_accepted(query: str) -> None:
    with pytest.raises(ConfigError, match="SELECT"):
        check_query("sql", query)
    with pytest.raises(ConfigError, match="SELECT"):
        check_transforms(Plugins(), config(q={**SQL, "sql": query}), connector="ParquetSink", is_frame=True)


@pytest.mark.parametrize(
    "query", ["select 1", "-- why\n/* and\nhow */ SELECT\n1 ;\n", "WITH x AS (SELECT 1) SELECT * FROM x"]
)
def test_queries_may_have_comments_and_end_with_a_semicolon(query: str) -> None:
    check_query("sql", query)
    assert statement(query).lower().startswith(("select", "with"))
    assert not statement(query).endswith(";")


@pytest.mark.parametrize("name", ["", "1st", "a b", "a`b", "a.b"])
def test_a_view_needs_a_plain_name(name: str) -> None:
    with pytest.raises(ConfigError, match="letters"):
        check_view("view", name)
    check_view("view", "_batch2")
    check_schema("schema", None)


def test_unknown_ways_with_tombstones_are_refused() -> None:
    with pytest.raises(ConfigError, match="drop, query"):
        SparkSql().configure({**SQL, "null.values": "keep"})


def test_counts_add_up_and_the_last_time_stays() -> None:
    total: dict[str, int] = {}
    add_counts(total, {"total_retries": 2, "last_error_timestamp": 9})
    add_counts(total, {"total_retries": 3, "last_error_timestamp": 5})
    assert total == {"total_retries": 5, "last_error_timestamp": 9}
