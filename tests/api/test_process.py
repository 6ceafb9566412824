"""The process: its second listener, its way down, TLS from files, and ill-treatment."""

import asyncio
import json
import re
import signal
import socket
import time
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families
from tests.api.hostile import answered, drawn_requests
from tests.api.test_server import ADMIN, LIMIT_S, posted, process
from tests.api.test_tls import CA, pair, trusted
from tests.controlplane.plane import free_port

from passway.api.serve import serve
from passway.api.server import SHUTDOWN_S
from passway.model.errors import InvalidInput

pytestmark = pytest.mark.slow
BODY = {"devices": []}


def test_metrics_and_health_have_a_listener_that_is_no_way_to_the_api():
    port = free_port()
    with process("--metrics-port", str(port)) as (running, url):
        beside = f"http://127.0.0.1:{port}"
        httpx.get(f"{url}/api/v1/nodes", headers=ADMIN, timeout=LIMIT_S)
        told = httpx.get(f"{beside}/metrics")
        assert told.headers["content-type"].startswith("text/plain; version=0.0.4")
        found = {family.name for family in text_string_to_metric_families(told.text)}
        assert {"passway_build_info", "passway_cluster_synced", "passway_drift_findings"} <= found
        assert 'route="/api/v1/nodes",status="200"' in told.text
        assert httpx.get(f"{beside}/healthz").json() == {"status": "ok"}
        assert httpx.get(f"{beside}/readyz").json() == {"status": "ready"}
        assert httpx.get(f"{beside}/api/v1/nodes", headers=ADMIN).status_code == 404
        assert httpx.post(f"{beside}/metrics").status_code == 404
        assert httpx.get(f"{url}/metrics", headers=ADMIN).status_code == 404
        running.terminate()
        assert running.wait(LIMIT_S) == 0


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


def half_sent(url: str) -> tuple[socket.socket, bytes]:
    """A connection with a request whose body is not whole, and the rest of it."""
    data = posted(None, BODY).replace(b"/api/vms", b"/api/v1/devices/preflight")
    raw = socket.create_connection(("127.0.0.1", port_of(url)), timeout=LIMIT_S)
    raw.sendall(data[:-5])
    return raw, data[-5:]


def test_on_a_signal_readiness_goes_first_and_running_requests_end():
    with process("--drain-seconds", "1.5") as (running, url):
        with httpx.Client(base_url=url, timeout=LIMIT_S) as client:
            raw, rest = half_sent(url)
            assert client.get("/readyz").status_code == 200
            running.send_signal(signal.SIGTERM)
            wait_for(lambda: client.get("/readyz").status_code == 503)
            assert client.get("/readyz").json()["code"] == "SHUTTING_DOWN"
            assert client.get("/healthz").status_code == 200
            assert client.get("/api/v1/nodes", headers=ADMIN).status_code == 200
            time.sleep(2)  # nothing new is accepted now
            with pytest.raises(OSError):
                socket.create_connection(("127.0.0.1", port_of(url)), timeout=1)
            assert running.poll() is None
            raw.sendall(rest)
            assert raw.recv(65536).startswith(b"HTTP/1.1 200")
            raw.close()
        assert running.wait(LIMIT_S) == 0


@pytest.mark.parametrize("signals", [1, 2])
def test_a_request_that_does_not_end_holds_nobody_up_for_long(signals):
    with process() as (running, url):
        raw, _ = half_sent(url)
        httpx.get(f"{url}/healthz", timeout=LIMIT_S)
        begun = time.monotonic()
        for _ in range(signals):
            running.send_signal(signal.SIGTERM)
            time.sleep(0.3)
        assert running.wait(LIMIT_S) == 0
        taken = time.monotonic() - begun
        raw.close()
    assert taken < (SHUTDOWN_S + 5 if signals == 1 else 5)


def wait_for(condition) -> None:
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_host_that_others_reach_is_served_with_tls(tmp_path):
    cert, key = pair(tmp_path)
    command = ["--host", "0.0.0.0", "--tls-cert", str(cert), "--tls-key", str(key)]
    with process(*command) as (running, url):
        assert re.fullmatch(r"https://0\.0\.0\.0:\d+", url)
        found = httpx.get(f"https://127.0.0.1:{port_of(url)}/healthz", verify=trusted())
        assert found.status_code == 200
        running.terminate()
        assert running.wait(LIMIT_S) == 0
    key.write_bytes(CA.issue_cert("other").private_key_pem.bytes())
    refused = CliRunner().invoke(serve, ["--demo", *command])
    assert isinstance(refused.exception, InvalidInput)
    assert "does not belong" in str(refused.exception)


def resident_kib(number: int) -> int:
    status = Path(f"/proc/{number}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1])


@pytest.mark.fuzz
def test_ten_thousand_hostile_requests_break_nothing_and_leave_nothing(tmp_path):
    options = ("--rate-limit", "0", "--access-log", "--log-format", "json")
    log = tmp_path / "log"
    with log.open("w") as errors, process(*options, errors=errors) as (running, url):
        port = port_of(url)
        requests = drawn_requests(6, 10_000)
        first = asyncio.run(answered(port, requests[:1000]))
        before = resident_kib(running.pid)
        rest = asyncio.run(answered(port, requests[1000:]))
        after = resident_kib(running.pid)
        found = first + rest
        print(f"RSS {before} KiB after 1,000 and {after} KiB after 10,000; {dict(found)}")
        assert found.total() == 10_000
        assert 500 not in found
        assert {code for code in found if code and code >= 500} == set()
        assert sum(count for code, count in found.items() if code) > 8_000
        assert after <= 1.1 * before
        assert httpx.get(f"{url}/api/v1/nodes", headers=ADMIN, timeout=LIMIT_S).status_code == 200
        running.terminate()
        assert running.wait(LIMIT_S) == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {line["level"] for line in lines} <= {"info", "warning"}
    told = {line["status"] for line in lines if "status" in line}
    assert {200, 400, 401, 403, 404, 405, 413, 415} <= told
    assert max(told) < 500
    assert "demo-admin" not in log.read_text().replace('"user": "demo-admin"', "")
