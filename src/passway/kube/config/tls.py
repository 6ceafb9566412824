"""How the server is verified and how the client shows itself: PEM in, an SSL context out.

Judged as Go judges, because that is what these certificates are made for: every certificate of the
CA's file is trusted by itself, be it an intermediate one, and one that cannot be read is passed
over while another can. OpenSSL's strict mode, which newer Pythons switch on, would refuse the CAs
of many clusters. A private key never touches a disk where the kernel can hold it in memory.
"""

import base64
import binascii
import os
import re
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from passway.kube.config.fields import invalid
from passway.kube.config.trust import KeyPair, Trust
from passway.model.errors import InvalidInput

_BLOCK: Final = re.compile(
    rb"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]*)-----END CERTIFICATE-----"
)
_ENCRYPTED: Final = re.compile(rb"BEGIN ENCRYPTED PRIVATE KEY|^Proc-Type:.*ENCRYPTED", re.MULTILINE)


def checked_ca(pem: bytes, where: str) -> bytes:
    """The same PEM, if at least one certificate can be read from it."""
    if not _trust(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), pem):
        raise invalid(where, "no certificate in PEM form", "name the CA's certificate file")
    return pem


def checked_pair(pair: KeyPair, where: str) -> KeyPair:
    """The same pair, if its key can be read and belongs to its certificate."""
    if (problem := _problem(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), pair)) is not None:
        raise invalid(where, problem, "fetch certificate and key anew from where they came from")
    return pair


def ssl_context(trust: Trust, pair: KeyPair | None) -> ssl.SSLContext:
    """A new context for connections to the server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.set_alpn_protocols(["http/1.1"])
    if trust.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif trust.ca:
        _trust(context, trust.ca)
    else:
        context.load_default_certs()
    if pair is not None and (problem := _problem(context, pair)) is not None:
        raise InvalidInput(f"client certificate: {problem}")
    return context


def _trust(context: ssl.SSLContext, pem: bytes) -> int:
    """Trusts every certificate that can be read; how many there were."""
    trusted = 0
    for block in _BLOCK.findall(pem):
        with suppress(ssl.SSLError, binascii.Error, ValueError):
            context.load_verify_locations(cadata=base64.b64decode(block))
            trusted += 1
    return trusted


def _problem(context: ssl.SSLContext, pair: KeyPair) -> str | None:
    """Loads the pair; what is wrong with it, in words without any of it."""
    if _ENCRYPTED.search(pair.key):
        return "the client key is protected by a password, which is not supported"
    try:
        with private_file(pair.certificate + b"\n" + pair.key) as path:
            # The password keeps OpenSSL from asking on the terminal.
            context.load_cert_chain(path, password="")
    except ssl.SSLError as error:
        if "MISMATCH" in (error.reason or ""):
            return "the client key does not belong to the client certificate"
        return "the client certificate and its key are no valid PEM"
    except (OSError, ValueError):
        return "the client certificate and its key cannot be loaded"
    return None


@contextmanager
def private_file(content: bytes) -> Iterator[str]:
    """A path that OpenSSL can read the content from; gone afterwards."""
    if hasattr(os, "memfd_create"):
        number = os.memfd_create("passway", os.MFD_CLOEXEC)
        try:
            with os.fdopen(number, "wb", closefd=False) as file:
                file.write(content)
            yield f"/proc/self/fd/{number}"
        finally:
            os.close(number)
    else:
        with tempfile.NamedTemporaryFile("wb") as named:  # mode 0600
            named.write(content)
            named.flush()
            yield named.name
