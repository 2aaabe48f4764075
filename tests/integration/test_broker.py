"""The embedded broker as a process: starting, stopping, crashing, and never being left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from seamark.errors import BrokerError
from seamark.kafka.broker import EmbeddedBroker
from seamark.testing.waiting import eventually

# Starts a broker in a thread that ends right away, forks a child that keeps every descriptor open, and waits.
OWNER = """
import os, sys, threading, time
from pathlib import Path
from seamark.kafka.broker import EmbeddedBroker
broker = EmbeddedBroker(Path(sys.argv[1]))
starter = threading.Thread(target=broker.start)
starter.start()
starter.join()
child = os.fork()
if child:
    print(broker.bootstrap_servers, broker.pid, child, flush=True)
time.sleep(600)
"""


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    """A broker of this test's own, to be stopped and killed; not started."""
    broker = EmbeddedBroker(tmp_path / "broker")
    yield broker
    broker.kill()


def produce(bootstrap: str, topic: str, *values: str, transactional_id: str | None = None) -> None:
    config = {"bootstrap.servers": bootstrap}
    producer = Producer({**config, "transactional.id": transactional_id} if transactional_id else config)
    if transactional_id:
        producer.init_transactions(30)
        producer.begin_transaction()
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(30) == 0
    if transactional_id:
        producer.commit_transaction(30)


def values_of(bootstrap: str, topic: str, count: int) -> list[str]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "isolation.level": "read_committed"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        values: list[str] = []

        def read() -> bool:
            message = consumer.poll(1)
            if message is not None and message.error() is None:
                values.append(message.value().decode())
            return len(values) >= count

        eventually(read, 30, f"{count} records in {topic}")
        return values
    finally:
        consumer.close()


def has_ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def refuses_connections(bootstrap: str) -> bool:
    host, port = bootstrap.split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) != 0


def test_transactions_and_topic_creation_work_as_soon_as_start_returns(broker: EmbeddedBroker, topic_name: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(topic_name, 1, 1)])[topic_name].result(30)
    produce(broker.bootstrap_servers, topic_name, "a", "b", transactional_id=topic_name)
    assert values_of(broker.bootstrap_servers, topic_name, 2) == ["a", "b"]


def test_clean_stop_and_restart_keep_port_and_records(own_broker: EmbeddedBroker, topic_name: str) -> None:
    own_broker.start()
    address, pid = own_broker.bootstrap_servers, own_broker.pid
    assert pid is not None
    produce(address, topic_name, "kept")
    own_broker.stop()
    assert has_ended(pid)
    assert not own_broker.is_running
    assert refuses_connections(address)
    assert (own_broker.data_dir / "data" / ".kafka_cleanshutdown").exists()
    own_broker.stop()  # stopping twice is fine

    again = EmbeddedBroker(own_broker.data_dir)
    with again:
        assert again.bootstrap_servers == address
        assert values_of(address, topic_name, 1) == ["kept"]


def test_recovers_after_kill(own_broker: EmbeddedBroker, topic_name: str) -> None:
    own_broker.start()
    address = own_broker.bootstrap_servers
    produce(address, topic_name, "committed", transactional_id=topic_name)
    own_broker.kill()
    assert refuses_connections(address)
    assert not (own_broker.data_dir / "data" / ".kafka_cleanshutdown").exists()
    own_broker.start()
    assert own_broker.bootstrap_servers == address
    produce(address, topic_name, "after", transactional_id=topic_name)
    assert values_of(address, topic_name, 2) == ["committed", "after"]


def test_second_broker_on_the_same_directory_is_refused(broker: EmbeddedBroker) -> None:
    with pytest.raises(BrokerError) as refused:
        EmbeddedBroker(broker.data_dir).start()
    assert str(broker.data_dir) in str(refused.value)
    assert str(os.getpid()) in str(refused.value)
    assert broker.is_running
    with pytest.raises(BrokerError, match="running already"):
        broker.start()


def test_given_port_is_used_and_a_taken_one_refused(broker: EmbeddedBroker, tmp_path: Path) -> None:
    with pytest.raises(BrokerError, match=str(broker.port)):
        EmbeddedBroker(tmp_path / "taken", port=broker.port).start()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with EmbeddedBroker(tmp_path / "given", port=port) as given:
        assert given.bootstrap_servers == f"127.0.0.1:{port}"


def test_failed_start_quotes_the_log(own_broker: EmbeddedBroker) -> None:
    broken = EmbeddedBroker(own_broker.data_dir, extra_properties={"num.io.threads": "many"})
    with pytest.raises(BrokerError, match="exit code 1") as failed:
        broken.start()
    assert "Invalid value many for configuration num.io.threads" in str(failed.value)
    assert not broken.is_running
    own_broker.start()  # the directory is as good as new


def test_a_directory_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BrokerError, match="file"):
        EmbeddedBroker(tmp_path / "file" / "broker").start()


def test_no_broker_is_left_when_its_owner_is_killed(tmp_path: Path) -> None:
    data_dir = tmp_path / "broker"
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(data_dir)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    address, java, forked = owner.stdout.readline().split()
    try:
        assert not refuses_connections(address)  # the thread that started it is gone, the broker is not
        owner.kill()
        owner.wait()
        # Without waiting for the old one: the directory is handed over.
        with EmbeddedBroker(data_dir) as next_one:
            assert has_ended(int(java))
            assert next_one.bootstrap_servers == address
    finally:
        os.kill(int(forked), signal.SIGKILL)
        owner.stdout.close()


def test_java_ends_when_its_supervisor_is_killed(own_broker: EmbeddedBroker) -> None:
    own_broker.start()
    java = own_broker.pid
    assert java is not None
    supervisor = psutil.Process(java).ppid()
    os.kill(supervisor, signal.SIGKILL)
    eventually(lambda: has_ended(java), 20, f"java ({java}) is still there")
    eventually(lambda: not own_broker.is_running, 5)
    own_broker.start()


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_broker_command_prints_the_address_and_stops_on_a_signal(tmp_path: Path, ending: signal.Signals) -> None:
    command = [sys.executable, "-m", "seamark.cli.main", "broker", "--data-dir", str(tmp_path / "broker")]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    address = running.stdout.readline().strip()
    assert not refuses_connections(address)
    assert values_round_trip(address) == ["through the command"]
    running.send_signal(ending)
    out, err = running.communicate(timeout=30)
    assert running.returncode == 0, err
    assert out == ""
    assert "Traceback" not in err
    assert refuses_connections(address)
    assert (tmp_path / "broker" / "data" / ".kafka_cleanshutdown").exists()


def values_round_trip(address: str) -> list[str]:
    produce(address, "round-trip", "through the command")
    return values_of(address, "round-trip", 1)


def test_broker_command_says_what_is_wrong_in_one_line(broker: EmbeddedBroker) -> None:
    command = [sys.executable, "-m", "seamark.cli.main", "broker", "--data-dir", str(broker.data_dir)]
    failed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert failed.stdout == ""
    assert failed.stderr.startswith("error: Another broker is running on")
    assert failed.stderr.count("\n") == 1


def test_version_is_printed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "seamark.cli.main", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[0] == "seamark"
