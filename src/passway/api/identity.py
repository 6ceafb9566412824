"""Who asks: bearer tokens, roles and the namespaces of a user.

Tokens are kept as SHA-256 digests only and never logged; a look-up compares with every entry in
constant time. The three roles are a viewer, who reads the catalogue of reasons, a user, who asks
and creates in the own namespaces, and cluster.admin. It does not know which route needs which.
"""

import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Final


class Role(StrEnum):
    """What somebody may do."""

    VIEWER = "viewer"
    USER = "user"
    ADMIN = "cluster.admin"


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody known. `namespaces` counts for users only: an admin has all, a viewer none."""

    user: str
    role: Role
    namespaces: frozenset[str] = frozenset()

    @property
    def may_see(self) -> frozenset[str] | None:
        """The namespaces this one is confined to; None for all."""
        return None if self.role is Role.ADMIN else self.namespaces


@dataclass(frozen=True, slots=True)
class Credential:
    """A token and whose it is. Its text never shows in a repr."""

    token: str = field(repr=False)
    identity: Identity


class Tokens:
    """The known tokens, as digests."""

    def __init__(self, credentials: Iterable[Credential]) -> None:
        self._entries = tuple(
            (_digest(credential.token.encode()), credential.identity) for credential in credentials
        )

    def identify(self, token: bytes) -> Identity | None:
        """Whose token that is. Takes as long for a wrong one as for any."""
        digest, found = _digest(token), None
        for known, identity in self._entries:
            if hmac.compare_digest(known, digest):
                found = identity
        return found


def _digest(token: bytes) -> bytes:
    return sha256(token).digest()


DEMO: Final = (
    Credential("demo-viewer", Identity("demo-viewer", Role.VIEWER)),
    Credential(
        "demo-user",
        Identity("demo-user", Role.USER, frozenset({"ml", "design", "telco", "web", "default"})),
    ),
    Credential("demo-admin", Identity("demo-admin", Role.ADMIN)),
)
"""The tokens of `serve --demo`, which are no secrets."""
