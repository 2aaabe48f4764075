"""What a user would write by hand instead: Structured Streaming jobs, each with a checkpoint or a stored position.

Started as a program with a JSON order on its command line; runs until it is ended.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def main() -> None:
    order = json.loads(sys.argv[1])
    spark = _session(order)
    query = (_database_to_topic if "jdbc.url" in order else _topic_to_table)(spark, order)
    query.awaitTermination()


def _session(order: dict[str, Any]) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("by hand")
    for key, value in order["spark"].items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _topic_to_table(spark: SparkSession, order: dict[str, Any]) -> Any:
    from pyspark.sql import functions as F

    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", order["bootstrap.servers"])
        .option("subscribe", order["topic"])
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", order["batch"])
        .load()
    )
    rows = records.select(F.from_json(F.col("value").cast("string"), order["schema"]).alias("row")).select("row.*")
    writer = rows.writeStream.format(order["format"]).outputMode("append")
    return writer.option("checkpointLocation", order["checkpoint"]).start(order["path"])


def _database_to_topic(spark: SparkSession, order: dict[str, Any]) -> Any:
    """A tick each second; each reads all that is new, a batch at a time, and then stores how far it got."""
    position = Path(order["checkpoint"]) / "position"
    Path(order["checkpoint"]).mkdir(parents=True, exist_ok=True)

    def drain(_: DataFrame, __: int) -> None:
        last = int(position.read_text()) if position.exists() else 0
        while (reached := _copy(spark, order, last)) is not None:
            beside = position.with_suffix(".new")
            beside.write_text(str(reached))
            os.replace(beside, position)
            last = reached

    ticks = spark.readStream.format("rate").option("rowsPerSecond", 1).load()
    return ticks.writeStream.foreachBatch(drain).option("checkpointLocation", f"{order['checkpoint']}/ticks").start()


def _copy(spark: SparkSession, order: dict[str, Any], last: int) -> int | None:
    """The rows of a batch behind `last`; how far they go, None if there are none."""
    from pyspark.sql import functions as F

    login = {"url": order["jdbc.url"], "user": order["jdbc.user"], "password": order["jdbc.password"]}
    table = order["table"]
    next_ids = f"SELECT id FROM {table} WHERE id > {last} ORDER BY id LIMIT {order['batch']}"
    ends = f"SELECT MIN(id) AS low, MAX(id) AS high FROM ({next_ids}) AS ids"
    bounds = spark.read.format("jdbc").options(**login, query=ends).load().head()
    if bounds is None or bounds.high is None:
        return None
    rows = spark.read.format("jdbc").options(
        **login,
        fetchsize="10000",
        dbtable=f"(SELECT * FROM {table} WHERE id > {last} AND id <= {bounds.high}) AS rows",
        partitionColumn="id",
        lowerBound=str(bounds.low),
        upperBound=str(bounds.high + 1),
        numPartitions=str(order["tasks"]),
    )
    values = rows.load().select(F.to_json(F.struct("*")).alias("value"))
    kafka = values.write.format("kafka").option("kafka.bootstrap.servers", order["bootstrap.servers"])
    kafka.option("topic", order["topic"]).save()
    return int(bounds.high)


if __name__ == "__main__":
    main()
