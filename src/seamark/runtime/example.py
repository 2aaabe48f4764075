"""The example pipeline of `seamark up`: a file that grows, copied into Kafka, and from Kafka into Parquet."""

from __future__ import annotations

import json
import random
import threading
import time
from pathlib import Path

TOPIC = "example-orders"
SOURCE = "example-source"
SINK = "example-parquet"
_ITEMS = ("anchor", "buoy", "chart", "compass", "lantern", "sextant")


class ExamplePipeline:
    """Two connectors and something that writes lines for them."""

    def __init__(self, directory: Path, lines_per_second: float = 5.0) -> None:
        self.file = directory / "orders.jsonl"
        self.parquet = directory / "orders.parquet"
        self._interval_s = 1.0 / lines_per_second
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._write, name="example-orders", daemon=True)

    def connectors(self) -> dict[str, dict[str, str]]:
        """Their names and configs."""
        return {
            SOURCE: {
                "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
                "tasks.max": "1",
                "file": str(self.file),
                "topic": TOPIC,
                "key.converter": "org.apache.kafka.connect.storage.StringConverter",
                "value.converter": "org.apache.kafka.connect.storage.StringConverter",
                "topic.creation.default.partitions": "1",
                "topic.creation.default.replication.factor": "-1",
            },
            SINK: {
                "connector.class": "ParquetSink",
                "tasks.max": "1",
                "topics": TOPIC,
                "path": str(self.parquet),
                "value.format": "json",
                "schema": "id LONG, item STRING, quantity INT, price DOUBLE",
            },
        }

    def start(self) -> None:
        """Begin to write lines, after those of an earlier run."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self._thread.start()

    def stop(self) -> None:
        """Write no more."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(5)

    def lines(self) -> int:
        """How many lines the file has."""
        if not self.file.exists():
            return 0
        with self.file.open("rb") as lines:
            return sum(1 for _ in lines)

    def _write(self) -> None:
        number = self.lines()
        choose = random.Random(number)  # noqa: S311 - made-up data
        with self.file.open("a", encoding="utf-8") as lines:
            while not self._stopped.wait(self._interval_s):
                number += 1
                order = {
                    "id": number,
                    "item": choose.choice(_ITEMS),
                    "quantity": choose.randint(1, 9),
                    "price": round(choose.uniform(1, 500), 2),
                    "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                }
                lines.write(json.dumps(order) + "\n")
                lines.flush()
