"""The service as a real server: the command, hang-ups, parallel changes, and the way down."""

import asyncio
import json
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import httpx
import pytest
from click.testing import CliRunner

from passway.api import examples
from passway.api.serve import kept, serve
from passway.api.server import address, listen
from passway.main import cli
from passway.model.errors import InvalidInput, NotSynced

ADMIN = {"Authorization": "Bearer demo-admin"}
PERMITTED = "/api/v1/devices/permitted"
LIMIT_S = 30


@contextmanager
def process(
    *options: str, errors: IO[str] | int = subprocess.PIPE
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`passway serve --demo` on a free port, and its URL."""
    command = [sys.executable, "-m", "passway", "serve", "--demo", "--port", "0", *options]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        line = running.stdout.readline()
        match = re.fullmatch(r"serving on (https?://[0-9.]+:\d+)\n", line)
        assert match, (
            line,
            running.stderr and running.poll() is not None and running.stderr.read(),
        )
        yield running, match[1]
    finally:
        if running.poll() is None:
            running.kill()
        running.communicate(timeout=LIMIT_S)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_serves_when_it_says_so_and_ends_on_a_signal(number, tmp_path):
    tokens = tmp_path / "tokens.yaml"
    tokens.write_text("[{token: 0123456789abcdef, user: root, role: cluster.admin}]")
    tokens.chmod(0o644)
    with process("--tokens", str(tokens)) as (running, url):
        with httpx.Client(base_url=url, timeout=LIMIT_S) as client:
            assert client.get("/readyz").json() == {"status": "ready"}
            assert client.get("/api/v1/nodes", headers=ADMIN).status_code == 401
            own = {"Authorization": "Bearer 0123456789abcdef"}
            answer = client.get("/api/v1/nodes", headers=own)
            assert answer.status_code == 200
            assert "server" not in answer.headers
        running.send_signal(number)
        out, errors = running.communicate(timeout=LIMIT_S)
        assert (running.returncode, out) == (0, "")
        assert "can be read by everybody" in errors
        assert "0123456789abcdef" not in errors
        assert "GET /readyz" not in errors


@pytest.mark.slow
def test_requests_are_logged_when_asked_for():
    with process("--access-log", "--log-format", "json") as (running, url):
        httpx.get(f"{url}/healthz?secret=1", headers=ADMIN, timeout=LIMIT_S)
        running.terminate()
        _, errors = running.communicate(timeout=LIMIT_S)
    (line,) = [line for line in map(json.loads, errors.splitlines()) if "route" in line]
    assert (line["method"], line["route"], line["status"]) == ("GET", "/healthz", 400)
    assert "demo-admin" not in errors
    assert "secret" not in errors


@pytest.mark.slow
def test_changes_are_kept_in_a_file_of_the_owner_and_logged(tmp_path):
    file = tmp_path / "state" / "audit.db"
    for count in (2, 4):
        with process("--audit", str(file)) as (running, url):
            name = {"name": f"vm-{count}"}
            made = httpx.post(
                f"{url}/api/vms", json={**examples.MACHINE, **name}, headers=ADMIN, timeout=LIMIT_S
            )
            assert made.status_code == 201
            running.terminate()
            _, errors = running.communicate(timeout=LIMIT_S)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        mark = " info passway.audit: {"
        lines = [line for line in errors.splitlines() if mark in line]
        rows = [
            json.loads("{" + line.partition(mark)[2].split(" request_id=")[0]) for line in lines
        ]
        assert [(row["phase"], row["source"]) for row in rows] == [
            ("intent", "127.0.0.1"), ("outcome", "127.0.0.1"),
        ]  # fmt: skip
        assert "alembic" not in errors
        found = CliRunner().invoke(
            cli, ["audit", "verify", "--database", str(file), "--head", rows[1]["hash"]]
        )
        assert found.stdout == f"whole: {count} rows\nhead: {rows[1]['hash']}\n"


@pytest.mark.slow
def test_a_database_that_is_away_keeps_no_service_from_starting_and_no_password_is_said():
    where = "postgresql://me:hunter2@127.0.0.1:1/x"
    with process("--audit", where) as (running, url):
        answer = httpx.post(f"{url}/api/vms", json=examples.MACHINE, headers=ADMIN, timeout=LIMIT_S)
        assert (answer.status_code, answer.json()["code"]) == (503, "AUDIT_UNAVAILABLE")
        running.terminate()
        _, errors = running.communicate(timeout=LIMIT_S)
    assert "no change is made" in errors
    assert "hunter2" not in errors


def test_an_audit_that_cannot_be_kept_is_an_error(tmp_path):
    found = CliRunner().invoke(serve, ["--demo", "--audit", str(tmp_path)])
    assert isinstance(found.exception, InvalidInput)
    assert "cannot be kept in" in str(found.exception)


def test_without_a_word_the_audit_is_in_the_folder_for_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert kept(None, demo=True).file is None
    assert kept(None, demo=False).file == tmp_path / "passway" / "audit.db"
    assert (tmp_path / "passway" / "audit.db").is_file()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--demo", "--impersonate"], "nobody to --impersonate"),
        (["--demo", "--audience", "a"], "--audience is for tokens of the cluster"),
        (["--demo", "--context", "lab"], "exclude each other"),
        (["--demo", "--host", "0.0.0.0"], "--insecure-http"),
        (["--demo", "--host", "example.com"], "loopback"),
        (["--demo", "--tls-cert", "a.crt"], "go together"),
        (["--demo", "--tls-cert", "a", "--tls-key", "b", "--insecure-http"], "exclude each other"),
        (["--demo", "--port", "65536"], "65536"),
    ],
)
def test_wrong_options_are_refused_with_2(options, words):
    found = CliRunner().invoke(serve, options)
    assert found.exit_code == 2
    assert words in found.output


def test_the_kubeconfig_is_read_before_anything_is_served(tmp_path):
    tokens = tmp_path / "tokens.yaml"
    tokens.write_text(
        "- {token: 0123456789abcdef0123456789abcdef, user: ada, role: cluster.admin}\n"
    )
    tokens.chmod(0o600)
    missing = str(tmp_path / "kubeconfig")
    found = CliRunner().invoke(serve, ["--tokens", str(tokens), "--kubeconfig", missing])
    assert isinstance(found.exception, InvalidInput)
    assert missing in str(found.exception)


async def test_an_answer_is_sent_at_once():
    """Head and body are written one after the other: the second must not wait for a receipt."""
    delays = []

    async def answered(reader, writer):
        sock = writer.get_extra_info("socket")
        delays.append(not sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with listen("127.0.0.1", 0) as listener:
        async with await asyncio.start_server(answered, sock=listener):
            host, port = listener.getsockname()
            reader, writer = await asyncio.open_connection(host, port)
            await reader.read()
            writer.close()
    assert delays == [False]


def test_a_bad_token_file_or_a_taken_port_is_an_error(tmp_path):
    found = CliRunner().invoke(serve, ["--demo", "--tokens", str(tmp_path / "none")])
    assert isinstance(found.exception, InvalidInput)
    with listen("127.0.0.1", 0) as taken:
        taken.listen()
        with pytest.raises(InvalidInput, match="cannot listen on"):
            listen("127.0.0.1", taken.getsockname()[1])


def test_a_server_whose_cluster_cannot_be_read_ends(monkeypatch, caplog, tmp_path):
    async def never(*_args):
        raise NotSynced("not read yet: nodes")

    monkeypatch.setattr("passway.service.mirror.Mirror.ready", never)
    tokens = tmp_path / "tokens.yaml"
    tokens.write_text("[{token: 0123456789abcdef, user: root, role: cluster.admin}]")
    tokens.chmod(0o600)
    found = CliRunner().invoke(serve, ["--demo", "--port", "0", "--tokens", str(tokens)])
    assert isinstance(found.exception, NotSynced)
    assert found.stdout == ""
    assert "can be read by everybody" not in caplog.text


def test_addresses_are_urls():
    with listen("localhost", 0) as four:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address(four))
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    try:
        with listen("::1", 0) as six:
            assert re.fullmatch(r"http://\[::1\]:\d+", address(six))
    except InvalidInput:
        pytest.skip("this machine has no IPv6 loopback")


def posted(server, body: dict, length: int | None = None) -> bytes:
    data = json.dumps(body).encode()
    head = (
        f"POST /api/vms HTTP/1.1\r\nHost: passway\r\nAuthorization: Bearer demo-user\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length or len(data)}\r\n\r\n"
    )
    return head.encode() + data


def vms(server) -> list:
    answer = httpx.get(f"{server.url}/api/v1/vms", headers=ADMIN, timeout=LIMIT_S)
    return sorted((vm["namespace"], vm["name"]) for vm in answer.json()["items"])


@pytest.mark.parametrize("cut", ["at once", "half a body", "reset"])
def test_a_refused_vm_leaves_nothing_when_the_client_hangs_up(server, cut):
    before = vms(server)
    body = {**examples.MACHINE, "devices": [{"name": "g", "device_name": "nvidia.com/NO_SUCH"}]}
    for _ in range(10):
        raw = socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT_S)
        if cut == "reset":
            linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        raw.sendall(posted(server, body, 100_000 if cut == "half a body" else None))
        raw.close()
    assert vms(server) == before
    answer = httpx.post(
        f"{server.url}/api/vms", json=body, headers={"Authorization": "Bearer demo-user"}
    )
    assert answer.status_code == 422
    assert vms(server) == before


def test_half_a_valid_vm_is_none(server):
    before = vms(server)
    raw = socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT_S)
    raw.sendall(posted(server, examples.MACHINE, 100_000))
    raw.close()
    assert vms(server) == before


async def test_parallel_changes_lose_nothing(server):
    count = 24
    async with httpx.AsyncClient(base_url=server.url, headers=ADMIN, timeout=LIMIT_S) as client:
        answers = await asyncio.gather(
            *(
                client.post(
                    PERMITTED,
                    json={
                        "kind": "pci",
                        "resource_name": f"vendor.com/card-{index}",
                        "pci_vendor_selector": f"10DE:{index:04X}",
                    },
                )
                for index in range(count)
            )
        )
        listed = {item["resource_name"] for item in (await client.get(PERMITTED)).json()["items"]}
    done = {
        f"vendor.com/card-{index}"
        for index, answer in enumerate(answers)
        if answer.status_code == 200 and answer.json()["applied"]
    }
    assert {answer.status_code for answer in answers} <= {200, 409}
    assert all(
        answer.json()["code"] == "CONCURRENT_CHANGE"
        for answer in answers
        if answer.status_code == 409
    )
    assert done
    assert {name for name in listed if name.startswith("vendor.com/")} == done


def test_a_body_over_the_limit_is_refused_while_it_comes(server):
    head = (
        b"POST /api/v1/preflight HTTP/1.1\r\nHost: passway\r\nAuthorization: Bearer demo-user\r\n"
        b"Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT_S) as raw:
        raw.sendall(head + chunk * 33)
        assert raw.recv(64).startswith(b"HTTP/1.1 413 ")


def test_headers_are_bounded(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT_S) as raw:
        raw.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 100_000)
        assert raw.recv(64).startswith(b"HTTP/1.1 4")
