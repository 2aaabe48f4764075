"""librdkafka ends a process that destroys a client in one of its own threads, where results are handed over."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from seamark.kafka.broker import EmbeddedBroker

PROGRAM = """
import sys, threading
from confluent_kafka.admin import AdminClient
from seamark.kafka.client_keeper import KEEPER
from seamark.kafka.clients import make_client

held, done = [], threading.Event()

def ask():
    held.append(make_client(AdminClient, {"bootstrap.servers": sys.argv[1]}))
    future = held[0].describe_cluster()
    future.add_done_callback(forget)

def forget(_):
    print("forgotten in", threading.current_thread().name)
    held.clear()  # as if the one who waited for the result had let go of the client before this thread did
    done.set()

ask()
assert done.wait(60)
while len(KEEPER):
    KEEPER.drop_unused()
print("alive")
"""


def test_a_client_that_is_forgotten_in_its_own_thread_does_no_harm(broker: EmbeddedBroker, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), broker.bootstrap_servers]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "forgotten in Dummy" in done.stdout, "not a thread of librdkafka"
    assert "alive" in done.stdout
