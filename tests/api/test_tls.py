"""TLS: what is refused at the start, and a new certificate while connections go on."""

import asyncio
import datetime as dt
import logging
import socket
import ssl
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from tests.api.conftest import LIMIT_S, LiveServer
from tests.faulty import until

from passway.api import tls
from passway.api.tls import Certificate
from passway.model.errors import InvalidInput

CA = trustme.CA()


def pair(folder: Path, *names: str, expires: dt.datetime | None = None) -> tuple[Path, Path]:
    """A certificate and key of the CA, written to a folder."""
    made = CA.issue_cert(*(names or ("127.0.0.1", "localhost")), not_after=expires)
    folder.mkdir(exist_ok=True, parents=True)
    cert, key = folder / "tls.crt", folder / "tls.key"
    cert.write_bytes(b"".join(blob.bytes() for blob in made.cert_chain_pems))
    key.write_bytes(made.private_key_pem.bytes())
    return cert, key


def serial(context: ssl.SSLContext, port: int, name: str | None = None) -> int:
    """The serial number of the certificate that a new connection is shown."""
    with socket.create_connection(("127.0.0.1", port), LIMIT_S) as raw:
        raw.settimeout(LIMIT_S)
        with context.wrap_socket(raw, server_hostname=name or "127.0.0.1") as secure:
            return x509.load_der_x509_certificate(secure.getpeercert(True)).serial_number


def serial_in(cert: Path) -> int:
    return x509.load_pem_x509_certificates(cert.read_bytes())[0].serial_number


@pytest.fixture
def trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    CA.configure_trust(context)
    return context


@contextmanager
def served(app, cert: Path, key: Path):
    live = LiveServer(app, Certificate(cert, key))
    live.start(verify=trusted())
    try:
        yield live
    finally:
        live.stop()


def trusted() -> ssl.SSLContext:
    context = ssl.create_default_context()
    CA.configure_trust(context)
    return context


# -- at the start -----------------------------------------------------------------------------


def test_a_certificate_that_has_ended_is_refused(tmp_path):
    cert, key = pair(tmp_path, expires=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
    with pytest.raises(InvalidInput, match="the certificate ended at 2020-01-01") as refused:
        Certificate(cert, key)
    assert "renew" in refused.value.hint


def test_one_that_is_not_valid_yet_is_refused(tmp_path):
    cert, key = pair(tmp_path)
    early = dt.datetime(1990, 1, 1, tzinfo=dt.UTC)
    with pytest.raises(InvalidInput, match="is not valid before"):
        Certificate(cert, key, now=lambda: early)


def test_a_key_of_another_certificate_is_refused(tmp_path):
    cert, _ = pair(tmp_path / "a")
    _, key = pair(tmp_path / "b")
    with pytest.raises(InvalidInput, match="does not belong to the certificate"):
        Certificate(cert, key)


def test_what_is_no_pair_is_refused_without_quoting_it(tmp_path):
    cert, key = pair(tmp_path)
    loaded = serialization.load_pem_private_key(key.read_bytes(), None)
    locked = loaded.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"word"),
    )  # fmt: skip
    other = tmp_path / "other"
    for content in (b"", b"secret", locked, cert.read_bytes()):
        other.write_bytes(content)
        with pytest.raises(InvalidInput, match="no certificate and key") as found:
            Certificate(cert, other)
        assert "secret" not in str(found.value)
    other.write_bytes(b"x" * (tls.MAX_BYTES + 1))
    with pytest.raises(InvalidInput, match="more than"):
        Certificate(cert, other)
    with pytest.raises(InvalidInput, match="No such file"):
        Certificate(cert, tmp_path / "none")


def test_a_malformed_certificate_that_openssl_takes_is_refused(tmp_path, monkeypatch):
    def fail(_pem):
        raise ValueError("secret")

    cert, key = pair(tmp_path)
    monkeypatch.setattr("cryptography.x509.load_pem_x509_certificates", fail)
    with pytest.raises(InvalidInput, match="is malformed"):
        Certificate(cert, key)


# -- served -----------------------------------------------------------------------------------


def test_https_is_served_with_1_2_and_1_3_and_nothing_older(app, tmp_path, trusting):
    cert, key = pair(tmp_path)
    with served(app, cert, key) as live:
        assert live.url.startswith("https://")
        assert httpx.get(f"{live.url}/healthz", verify=trusting).status_code == 200
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            only = trusted()
            only.minimum_version = only.maximum_version = version
            assert serial(only, live.port) == serial_in(cert)
        old = trusted()
        old.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises((ssl.SSLError, OSError)):
            serial(old, live.port)
        raw = socket.create_connection(("127.0.0.1", live.port), LIMIT_S)
        raw.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        assert b"HTTP/1.1 200" not in raw.recv(4096)
        raw.close()


def test_a_new_pair_is_used_and_connections_in_flight_go_on(app, tmp_path, trusting, monkeypatch):
    """As a Secret's folder changes: a link to another folder is put in place of the old one."""
    monkeypatch.setattr(tls, "POLL_S", 0.05)
    first, _ = pair(tmp_path / "first")
    second, _ = pair(tmp_path / "second", "127.0.0.1", "new.example.com")
    link = tmp_path / "data"
    link.symlink_to("first")
    with served(app, link / "tls.crt", link / "tls.key") as live:
        body = b'{"devices": []}'
        head = (
            b"POST /api/v1/devices/preflight HTTP/1.1\r\nHost: a\r\n"
            b"Authorization: Bearer demo-user\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % len(body)
        )
        with (
            socket.create_connection(("127.0.0.1", live.port), LIMIT_S) as raw,
            trusting.wrap_socket(raw, server_hostname="127.0.0.1") as secure,
        ):
            secure.sendall(head + body[:4])
            assert serial(trusted(), live.port) == serial_in(first)
            swap(link, "second")
            wait_for(lambda: serial(trusted(), live.port) == serial_in(second))
            assert serial(trusted(), live.port, "new.example.com") == serial_in(second)
            secure.sendall(body[4:])
            assert secure.recv(4096).startswith(b"HTTP/1.1 ")
            secure.sendall(head + body)  # and is good for one more
            assert secure.recv(4096)
        metrics = app.state.service.metrics.exposition().decode()
        assert "passway_tls_certificate_expiry_timestamp_seconds" in metrics


def swap(link: Path, target: str) -> None:
    fresh = link.with_name("fresh")
    fresh.symlink_to(target)
    fresh.replace(link)


def wait_for(condition) -> None:
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


async def test_a_bad_new_pair_is_told_once_and_the_old_one_stays(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(tls, "POLL_S", 0.01)
    cert, key = pair(tmp_path / "now")
    good = cert.read_bytes(), key.read_bytes()
    found = Certificate(cert, key)
    ends = found.expires
    following = asyncio.create_task(found.follow())
    with caplog.at_level(logging.INFO, "passway.tls"):
        try:
            key.write_bytes(b"secret")
            await until(lambda: "stays in use" in caplog.text)
            await asyncio.sleep(0.1)
            assert caplog.text.count("stays in use") == 1
            assert found.expires == ends
            key.unlink()
            await until(lambda: "No such file" in caplog.text)
            key.write_bytes(good[1])
            await asyncio.sleep(0.1)
            renewed, _ = pair(tmp_path / "later")
            both = renewed.read_bytes(), (tmp_path / "later" / "tls.key").read_bytes()
            cert.write_bytes(both[0])
            key.write_bytes(both[1])
            await until(lambda: "a new certificate is used" in caplog.text)
            assert not found.reload()
            assert "secret" not in caplog.text
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
