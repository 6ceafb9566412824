"""Who asks, by a list: bearer tokens with a user, a role and the namespaces of a user.

Tokens are kept as SHA-256 digests only and never logged; a look-up compares with every entry in
constant time. It is the authority of the sample and of `--tokens`; what the roles may is told in
`rights`, and which route needs what is not known here.
"""

import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from passway.api.rights import ASK, ROLES, Role
from passway.service.gate import CREATE_MACHINES, Identity, Right


@dataclass(frozen=True, slots=True, kw_only=True)
class Account(Identity):
    """Somebody of the list. `namespaces` counts for users only: an admin has all, a viewer none."""

    role: Role
    namespaces: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Credential:
    """A token and whose it is. Its text never shows in a repr."""

    token: str = field(repr=False)
    identity: Account


class Tokens:
    """The known tokens, as digests."""

    def __init__(self, credentials: Iterable[Credential]) -> None:
        self._entries = tuple(
            (_digest(credential.token.encode()), credential.identity) for credential in credentials
        )

    async def identify(self, token: bytes) -> Account | None:
        """Whose token that is. Takes as long for a wrong one as for any."""
        digest, found = _digest(token), None
        for known, identity in self._entries:
            if hmac.compare_digest(known, digest):
                found = identity
        return found

    async def allows(self, who: Identity, right: Right, namespace: str | None = None) -> bool:
        """Whether the role has the right; a user has the namespaced ones in the own namespaces."""
        found = self.where(who, right)
        return found is None or (not right.namespaced and _has(who, right)) or namespace in found

    def where(self, who: Identity, right: Right) -> frozenset[str] | None:
        """The namespaces that the right counts in; None for all."""
        assert isinstance(who, Account)  # noqa: S101 - `identify` gives no others
        if who.role is Role.ADMIN:
            return None
        return who.namespaces if right.namespaced and _has(who, right) else frozenset()


def _has(who: Identity, right: Right) -> bool:
    assert isinstance(who, Account)  # noqa: S101 - as above
    rights = ROLES[who.role]
    # Who may ask whether a VM would run may create it: there is no other list to look it up in.
    return right in rights or (right == CREATE_MACHINES and ASK in rights)


def _digest(token: bytes) -> bytes:
    return sha256(token).digest()


DEMO: Final = (
    Credential("demo-viewer", Account("demo-viewer", role=Role.VIEWER)),
    Credential(
        "demo-user",
        Account(
            "demo-user",
            role=Role.USER,
            namespaces=frozenset({"ml", "design", "telco", "web", "default"}),
        ),
    ),
    Credential("demo-admin", Account("demo-admin", role=Role.ADMIN)),
)
"""The tokens of `serve --demo`, which are no secrets."""
