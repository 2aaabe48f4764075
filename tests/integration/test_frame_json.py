"""JSON that Spark writes for a frame source is what the converter writes, byte for byte."""

from __future__ import annotations

import datetime
import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from seamark.engine.arrow_records import RowConverter
from seamark.engine.converters.json import JsonConverter
from seamark.engine.frame_json import escaped, with_json_values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = (
    "id long, small tinyint, short smallint, number int, text string, is_new boolean, amount double, ratio float, "
    "day date, at timestamp, local timestamp_ntz, `with space` string"
)
_AT = datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001 - a time without a zone
TEXTS = [
    "",
    "plain",
    'quote " and \\ and /',
    "line\nbreak\ttab\x00\x1f\x7f",
    "äöü €",
    "\u2028\u2029",
    "😀",
    "</script>",
]
DOUBLES = [
    0.0,
    -0.0,
    1.0,
    0.1,
    1e7,
    1e-3,
    1e-4,
    123456789.125,
    1.7976931348623157e308,
    5e-324,
]
NUMBERS = [*DOUBLES, math.nan, math.inf, -math.inf]


def frame_of(spark: SparkSession) -> DataFrame:
    rows: list[tuple[Any, ...]] = [(None,) * 12]
    for number, amount in enumerate(NUMBERS):
        text = TEXTS[number % len(TEXTS)]
        ratio = amount if abs(amount) < 1e8 or not math.isfinite(amount) else 3.5
        at = datetime.datetime(2026, 1, 2, 3, 4, 5, number * 1001, tzinfo=datetime.UTC)
        day = datetime.date(1960 + number, 2, 28)
        rows.append(
            (2**63 - 1 - number, -number, number, -(2**31), text, number % 2 == 0, amount, ratio, day, at, _AT, text)
        )
    data = spark.createDataFrame(rows, SCHEMA)
    return data.selectExpr("struct(*) AS value")


def both(frame: DataFrame, converter: JsonConverter) -> tuple[list[bytes | None], list[bytes | None]]:
    pushed = with_json_values(frame, converter)
    assert pushed.schema["value"].dataType.simpleString() == "string"
    batches = [escaped(batch) for batch in pushed.toArrow().to_batches()]
    texts = [text for batch in batches for text in batch.column("value").to_pylist()]
    by_spark = [None if text is None else text.encode() for text in texts]
    rows = RowConverter(converter, converter, "t")
    by_converter = [
        value for batch in frame.toArrow().to_batches() for part in rows.convert(batch) for value in part.values
    ]
    return by_spark, by_converter


@pytest.mark.parametrize("schemas", ["true", "false"])
def test_spark_writes_what_the_converter_writes(spark: SparkSession, schemas: str) -> None:
    converter = JsonConverter()
    converter.configure({"schemas.enable": schemas})
    by_spark, by_converter = both(frame_of(spark), converter)
    assert by_spark == by_converter
    assert len(by_spark) == len(NUMBERS) + 1


def test_a_row_without_a_value_stays_a_tombstone(spark: SparkSession) -> None:
    frame = spark.sql("SELECT CAST(NULL AS struct<id: int>) AS value UNION ALL SELECT struct(7) AS value")
    frame = frame.selectExpr("CAST(value AS struct<id: int>) AS value")
    converter = JsonConverter()
    by_spark, by_converter = both(frame, converter)
    assert by_spark == by_converter
    assert None in by_spark


def test_what_is_not_sure_to_come_out_the_same_is_left_to_the_converter(spark: SparkSession) -> None:
    class Other(JsonConverter):
        """Anybody's."""

    plain = spark.sql("SELECT struct(1 AS id) AS value")
    assert with_json_values(plain, Other()) is plain
    for kind in ("CAST(1 AS decimal(10, 2))", "X'00'", "map('a', 1)", "array(1)", "struct(1 AS deep)"):
        frame = spark.sql(f"SELECT struct({kind} AS one) AS value")
        assert with_json_values(frame, JsonConverter()) is frame, kind
    text = spark.sql("SELECT 'text' AS value")
    assert with_json_values(text, JsonConverter()) is text


def test_digits_that_depend_on_the_version_of_java_stand_for_the_same_number(spark: SparkSession) -> None:
    numbers = [2e23, 9.999999999999999e22, 2.0**-44, 1.1e-308]
    frame = spark.createDataFrame([(number,) for number in numbers], "amount double").selectExpr("struct(*) AS value")
    converter = JsonConverter()
    converter.configure({"schemas.enable": "false"})
    by_spark, by_converter = both(frame, converter)
    assert [json.loads(text or b"")["amount"] for text in by_spark] == numbers
    assert [json.loads(text or b"")["amount"] for text in by_converter] == numbers
