"""What arrives at an API server: a request made with our configuration beside kubectl's own.

A small TLS server records who asks and how. kubectl and a client on aiohttp, as the docstring of
`load_config` shows it, are given the same kubeconfig and must look the same to the server.
"""

import asyncio
import json
import os
import ssl
import subprocess
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import aiohttp
import pytest
import trustme
from multidict import CIMultiDict
from tests.kubeconfigs import (
    TOKEN,
    around,
    authority,
    b64,
    ca_pem,
    client_pems,
    cluster,
    config,
    kubectl,
    plugin,
    user,
    write,
)

from passway.kube.config import load_config

pytestmark = pytest.mark.slow

CERT, KEY = client_pems()
CERTIFICATE = {"client_certificate_data": b64(CERT), "client_key_data": b64(KEY)}
V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"


@dataclass
class Seen:
    """What the server saw of one request."""

    path: str
    authorization: str | None
    impersonation: list
    certificate: str
    server_name: str | None
    gzip: bool


@dataclass
class Recorder:
    """A server, what it saw, and the codes that it answers with (200 when none is left)."""

    url: str
    seen: list = field(default_factory=list)
    codes: list = field(default_factory=list)


@contextmanager
def serving(tls=True):
    names: dict = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            subject = ""
            if tls and (shown := self.connection.getpeercert()):
                subject = str(shown.get("subjectAltName"))
            recorder.seen.append(Seen(
                self.path,
                self.headers.get("Authorization"),
                sorted((name.title(), value) for name, value in self.headers.items()
                       if name.lower().startswith("impersonate-")),
                subject,
                names.get(id(self.connection)) if tls else None,
                "gzip" in (self.headers.get("Accept-Encoding") or ""),
            ))  # fmt: skip
            body = json.dumps({"gitVersion": "v1.37.0"}).encode()
            self.send_response(recorder.codes.pop(0) if recorder.codes else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_):
            pass  # a client that does not trust us

    server = Server(("127.0.0.1", 0), Handler)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        leaf = authority().issue_cert(
            "127.0.0.1", "api.example.dev", key_type=trustme.KeyType.ECDSA
        )
        leaf.configure_cert(context)
        authority().configure_trust(context)
        context.verify_mode = ssl.CERT_OPTIONAL
        context.sni_callback = lambda connection, name, _: names.update({id(connection): name})
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    recorder = Recorder(f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}")
    try:
        yield recorder
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def running():
    with serving() as recorder:
        yield recorder


@pytest.fixture
def server(running):
    running.seen.clear()
    running.codes.clear()
    return running


async def ask(found, path="/version", *, again=True) -> int:
    """One request, as a client makes it: after a 401 once more, if there is something new."""
    pair = await found.credentials.certificate()
    headers = await found.headers()
    connector = aiohttp.TCPConnector(ssl=found.ssl_context(pair) or True)
    sent = CIMultiDict(headers)
    if not found.compression:
        sent["Accept-Encoding"] = "identity"
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.get(
            found.server + path,
            headers=sent,
            proxy=found.proxy.url if found.proxy else None,
            server_hostname=found.trust.server_name or None,
        ) as answer,
    ):
        await answer.read()
    if answer.status == 401 and again and await found.credentials.renew(dict(headers)):
        return await ask(found, path, again=False)
    return answer.status


def by_kubectl(path, folder, *arguments, environ=()):
    environ = {"HOME": str(folder / "home"), "PATH": os.environ["PATH"]} | dict(environ)
    return subprocess.run(
        [kubectl(), "--kubeconfig", path, "get", "--raw", "/version", *arguments], env=environ,
        cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60,
    )  # fmt: skip


def lab(running, users=None, **fields):
    fields = {"server": running.url, "certificate_authority_data": b64(ca_pem())} | fields
    return config(clusters=[cluster(**fields)], users=users)


def answering(folder, status, version=V1, name="plugin"):
    answer = {"kind": "ExecCredential", "apiVersion": version, "status": status}
    return plugin(folder, f"print({json.dumps(json.dumps(answer))})", name)


USERS = {
    "token": {"token": TOKEN},
    "certificate": CERTIFICATE,
    "certificate and token": CERTIFICATE | {"token": TOKEN},
    "password": {"username": "alice", "password": "pa:ss/ü"},
    "username alone": {"username": "alice"},
    "token file": {"tokenFile": "token"},
    "token and token file": {"token": TOKEN, "tokenFile": "token"},
    "token and a missing file": {"token": TOKEN, "tokenFile": "gone"},
    "somebody else": {"token": TOKEN, "as": "bob", "as_uid": "7", "as_groups": ["a b", "ü"],
                      "as_user_extra": {"why/not%": ["x", "y"], "Ünd": ["z"]}},
    "plugin's token": {"exec": {"command": "./tokens", "apiVersion": V1,
                                "interactiveMode": "Never"}},
    "plugin's certificate": {"exec": {"command": "./certificates", "apiVersion": V1BETA1}},
    "plugin beside a token": {"token": TOKEN, "exec": {
        "command": "./tokens", "apiVersion": V1, "interactiveMode": "Never"}},
    "plugin beside a certificate": CERTIFICATE | {"exec": {
        "command": "./tokens", "apiVersion": V1, "interactiveMode": "Never"}},
    "plugin beside a password": {"username": "a", "password": "b", "exec": {
        "command": "./tokens", "apiVersion": V1, "interactiveMode": "Never"}},
}  # fmt: skip


@pytest.mark.parametrize("name", USERS)
async def test_the_same_user_arrives(name, server, tmp_path):
    write(tmp_path, "from-the-file\n", "token")
    answering(tmp_path, {"token": "from-the-plugin"}, name="tokens")
    pems = {"clientCertificateData": CERT.decode(), "clientKeyData": KEY.decode()}
    answering(tmp_path, pems, V1BETA1, "certificates")
    path = write(tmp_path, lab(server, [user(**USERS[name])]))
    answer = await asyncio.to_thread(by_kubectl, path, tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert await ask(load_config(path, surroundings=around(tmp_path))) == 200
    theirs, ours = server.seen
    assert ours == theirs
    assert ours.authorization or ours.certificate


CLUSTERS = {
    "a name for TLS": {"tls_server_name": "api.example.dev"},
    "not verified": {"certificate_authority_data": None, "insecure_skip_tls_verify": True},
    "without compression": {"disable_compression": True},
}


@pytest.mark.parametrize("name", CLUSTERS)
async def test_the_same_cluster_is_reached(name, server, tmp_path):
    path = write(tmp_path, lab(server, **CLUSTERS[name]))
    answer = await asyncio.to_thread(by_kubectl, path, tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert await ask(load_config(path, surroundings=around(tmp_path))) == 200
    theirs, ours = server.seen
    assert ours == theirs


async def test_a_path_before_the_api_is_kept(server, tmp_path):
    path = write(tmp_path, lab(server, server=f"{server.url}/k8s/clusters/c-1/"))
    answer = await asyncio.to_thread(by_kubectl, path, tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert await ask(load_config(path, surroundings=around(tmp_path))) == 200
    theirs, ours = server.seen
    assert ours.path == "/k8s/clusters/c-1/version" == theirs.path.replace("//", "/")


REFUSED = {
    "another CA": {"certificate_authority_data": b64(trustme.CA().cert_pem.bytes())},
    "another name": {"tls_server_name": "other.example.dev"},
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_server_that_cannot_be_verified_is_not_asked(name, server, tmp_path):
    path = write(tmp_path, lab(server, **REFUSED[name]))
    answer = await asyncio.to_thread(by_kubectl, path, tmp_path)
    assert answer.returncode != 0
    with pytest.raises(aiohttp.ClientConnectorCertificateError):
        await ask(load_config(path, surroundings=around(tmp_path)))
    assert server.seen == []


async def test_an_intermediate_ca_is_trusted_by_itself(tmp_path):
    """Go trusts what is in the file; OpenSSL alone would want the root too."""
    between = authority().create_child_ca(key_type=trustme.KeyType.ECDSA)
    leaf = between.issue_cert("127.0.0.1", key_type=trustme.KeyType.ECDSA)
    path = write(tmp_path, config(clusters=[cluster(
        certificate_authority_data=b64(between.cert_pem.bytes()))]))  # fmt: skip
    context = load_config(path, surroundings=around(tmp_path)).ssl_context()
    inside, outside = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(inside, outside, server_hostname="127.0.0.1")
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    leaf.configure_cert(serving)
    server = serving.wrap_bio(outside, inside, server_side=True)
    for _ in range(3):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    assert client.getpeercert()["subjectAltName"] == (("IP Address", "127.0.0.1"),)


async def test_credentials_stay_at_home_without_tls(tmp_path):
    with serving(tls=False) as server:
        path = write(tmp_path, config(
            clusters=[cluster(server=server.url)],
            users=[user(token=TOKEN, as_="bob")]))  # fmt: skip
        answer = await asyncio.to_thread(by_kubectl, path, tmp_path)
        assert answer.returncode == 0, answer.stderr
        found = load_config(path, surroundings=around(tmp_path))
        assert await ask(found) == 200
        theirs, ours = server.seen
    assert ours == theirs
    assert ours.authorization is None
    [warning] = found.warnings
    assert "not https" in warning
    assert TOKEN not in warning


async def test_a_refused_token_is_fetched_once_more(server, tmp_path):
    counter = tmp_path / "count"
    plugin(tmp_path, (
        "import json, pathlib\n"
        f"count = pathlib.Path({str(counter)!r})\n"
        "number = int(count.read_text()) + 1 if count.exists() else 1\n"
        "count.write_text(str(number))\n"
        f"print(json.dumps({{'kind': 'ExecCredential', 'apiVersion': {V1!r},"
        " 'status': {'token': f'token-{number}'}}))"
    ))  # fmt: skip
    about = {"command": "./plugin", "apiVersion": V1, "interactiveMode": "Never"}
    path = write(tmp_path, lab(server, [user(exec=about)]))
    found = load_config(path, surroundings=around(tmp_path))
    server.codes[:] = [401]
    assert await ask(found) == 200
    assert [one.authorization for one in server.seen] == ["Bearer token-1", "Bearer token-2"]
    server.codes[:] = [401, 401]
    assert await ask(found) == 401
    assert counter.read_text() == "3"


class Tunnel:
    """A proxy that remembers what it was asked."""

    def __init__(self):
        self.asked: list = []

    async def serve(self, reader, writer):
        line = (await reader.readline()).decode().strip()
        headers = {}
        while header := (await reader.readline()).decode().strip():
            name, _, value = header.partition(": ")
            headers[name.lower()] = value
        self.asked.append((line.rsplit(" ", 1)[0], headers.get("proxy-authorization")))
        port = int(line.split()[1].rpartition(":")[2])
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")

        async def copy(source, target):
            try:
                while chunk := await source.read(65536):
                    target.write(chunk)
                    await target.drain()
            except OSError:
                pass
            finally:
                target.close()

        await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))


@pytest.mark.parametrize("by", ["proxy-url", "HTTPS_PROXY", "https_proxy"])
async def test_the_same_way_through_a_proxy(by, server, tmp_path):
    tunnel = Tunnel()
    proxy = await asyncio.start_server(tunnel.serve, "127.0.0.1", 0)
    port = proxy.sockets[0].getsockname()[1]
    named = f"http://me:p%40ss@127.0.0.1:{port}"
    try:
        if by == "proxy-url":
            path, environ = write(tmp_path, lab(server, proxy_url=named)), {}
        else:
            # A proxy of the environment is never used for this machine, so it needs another name.
            other = server.url.replace("127.0.0.1", "api.example.dev")
            path, environ = write(tmp_path, lab(server, server=other)), {by: named}
        answer = await asyncio.to_thread(by_kubectl, path, tmp_path, environ=environ)
        assert answer.returncode == 0, answer.stderr
        environ["PATH"] = os.environ["PATH"]
        found = load_config(path, surroundings=around(tmp_path, environ=environ))
        assert "p%40ss" not in repr(found)
        assert await ask(found) == 200
    finally:
        proxy.close()
        await proxy.wait_closed()
    theirs, ours = tunnel.asked
    assert ours == theirs
    assert ours[1] == "Basic bWU6cEBzcw=="
