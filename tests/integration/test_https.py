"""A cluster whose workers, tasks and clients talk over TLS, each with a certificate."""

from __future__ import annotations

from pathlib import Path

import httpx

from fixtures.authority import Authority, Issued
from fixtures.herders import MakeCluster
from seamark.kafka.broker import EmbeddedBroker
from seamark.testing.waiting import eventually

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


def test_a_connector_runs_on_workers_that_all_ask_for_certificates(
    make_cluster: MakeCluster, broker: EmbeddedBroker, authority: Authority, worker_identity: Issued, tmp_path: Path
) -> None:
    cluster = make_cluster(
        "distributed",
        2,
        listeners="https://127.0.0.1:0",
        ssl__keystore__location=str(worker_identity.p12),
        ssl__keystore__type="PKCS12",
        ssl__keystore__password="st0re-w0rd",
        ssl__truststore__location=str(authority.file),
        ssl__truststore__type="PEM",
        ssl__client__auth="required",
    )
    lines = tmp_path / "lines"
    lines.write_text("one\ntwo\n")
    follower = cluster.other()
    assert follower.worker._leases.url.startswith("https://")
    config = {"connector.class": SOURCE, "tasks.max": "1", "file": str(lines), "topic": f"{cluster.group}-lines"}
    verify = authority.client(authority.issue("client"))
    with httpx.Client(base_url=follower.server.url, verify=verify, trust_env=False, timeout=100) as client:

        def created() -> bool:
            answer = client.post("/connectors", json={"name": "lines", "config": config})
            assert answer.status_code == 201, answer.text
            return True

        eventually(created)

        def read() -> bool:
            answer = client.get("/connectors/lines/offsets")
            assert answer.status_code == 200, answer.text
            assert [each["offset"] for each in answer.json()["offsets"]] == [{"position": 8}]
            return True

        eventually(read, 60)
        workers = client.get("/cluster").json()["workers"]
        assert [each["error"] for each in workers] == [None, None]
        assert all(each["url"].startswith("https://") for each in workers)
        assert client.delete("/connectors/lines").status_code == 204
