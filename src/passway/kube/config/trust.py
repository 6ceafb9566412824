"""How two sides prove who they are, as values: PEM of a client, PEM of the CA. Nothing is read."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A client certificate (with its chain) and its key, both PEM."""

    certificate: bytes = field(repr=False)
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Trust:
    """`ca`: PEM; empty means the roots of the system. `server_name`: if not the URL's host."""

    ca: bytes = field(default=b"", repr=False)
    insecure: bool = False
    server_name: str = ""
