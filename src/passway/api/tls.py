"""The certificate that the service shows: read, judged, and read again when its files change.

Owns what a usable pair is (PEM, key and certificate belong together, valid now) and TLS >= 1.2.
Files are compared by content, so that it does not matter how they are replaced: a Secret's folder
is swapped by a link. A pair that is no good is told and not used; connections that exist keep what
they began with.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from cryptography import x509

from passway.kube.config.tls import private_file
from passway.model.errors import InvalidInput

POLL_S: Final = 5.0
MAX_BYTES: Final = 1024 * 1024
_log = logging.getLogger("passway.tls")
Pair = tuple[bytes, bytes]


def _utc() -> datetime:
    return datetime.now(UTC)


class Certificate:
    """The pair of two files. `context` is for the listener, and stays the same."""

    def __init__(self, cert: Path, key: Path, *, now: Callable[[], datetime] = _utc) -> None:
        self._cert, self._key, self._now = cert, key, now
        self._seen = self._read()
        self._current, self._expires = self._usable(self._seen)
        self.context, _ = self._usable(self._seen)
        self.context.sni_callback = self._choose

    @property
    def expires(self) -> float:
        """When the certificate in use ends, in seconds since 1970."""
        return self._expires.timestamp()

    def reload(self) -> bool:
        """Uses a new pair from now on; raises InvalidInput, and keeps the old one."""
        pair = self._read()
        if pair == self._seen:
            return False
        self._current, self._expires = self._usable(pair)
        self._seen = pair
        _log.info("a new certificate is used, which is valid until %s", self._expires.isoformat())
        return True

    async def follow(self) -> None:
        """Looks at the files now and then, and tells once of each pair that is no good."""
        told = ""
        while True:
            await asyncio.sleep(POLL_S)
            try:
                if await asyncio.to_thread(self.reload):
                    told = ""
            except InvalidInput as error:
                if str(error) != told:
                    _log.error("%s; the certificate from before stays in use", error)
                told = str(error)

    def _choose(
        self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext
    ) -> None:
        """OpenSSL asks at every handshake which certificate to show."""
        connection.context = self._current

    def _read(self) -> Pair:
        return _bytes(self._cert), _bytes(self._key)

    def _usable(self, pair: Pair) -> tuple[ssl.SSLContext, datetime]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION
        context.set_alpn_protocols(["http/1.1"])
        _load(context, pair, f"{self._cert} and {self._key}")
        leaf = _leaf(pair[0], self._cert)
        begins, ends = leaf.not_valid_before_utc, leaf.not_valid_after_utc
        if not begins <= self._now() < ends:
            word = "ended at" if self._now() >= ends else "is not valid before"
            moment = ends if self._now() >= ends else begins
            raise InvalidInput(
                f"{self._cert}: the certificate {word} {moment.isoformat()}",
                hint="renew it, or set the clock of this machine",
            )
        return context, ends


def _load(context: ssl.SSLContext, pair: Pair, where: str) -> None:
    try:
        with private_file(b"\n".join(pair)) as path:
            # The password keeps OpenSSL from asking on the terminal.
            context.load_cert_chain(path, password="")
    except ssl.SSLError as error:
        if "MISMATCH" in (error.reason or ""):
            problem = "the key does not belong to the certificate"
        else:
            problem = "no certificate and key in PEM form, without a password"
    else:
        return
    raise InvalidInput(f"{where}: {problem}", hint="name a certificate and the key made for it")


def _leaf(pem: bytes, path: Path) -> x509.Certificate:
    """The first certificate, which is the service's own; OpenSSL reads some that are malformed."""
    try:
        return x509.load_pem_x509_certificates(pem)[0]
    except ValueError:
        raise InvalidInput(f"{path}: the certificate is malformed", hint="make a new one") from None


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            found = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror or 'cannot be read'}") from None
    if len(found) > MAX_BYTES:
        raise InvalidInput(f"{path}: has more than {MAX_BYTES} bytes")
    return found
