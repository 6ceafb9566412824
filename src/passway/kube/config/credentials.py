"""What a request is signed with. The kinds: fixed ones, a token in a file, an exec plugin's.

A client asks before every request and shows what it gets; after a 401 it asks once for a renewal
with what was refused, and tries again only if there is something else to show. Nothing here ever
appears in a repr, a log or an error.
"""

import asyncio
import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from passway.kube.config.fields import invalid
from passway.kube.config.files import read_file
from passway.kube.config.impersonation import unsendable
from passway.kube.config.trust import KeyPair
from passway.model.errors import PasswayError
from passway.model.override import override

TOKEN_PERIOD_S: Final = 60.0
"""A projected token is replaced after 80 % of its life, of which the kubelet allows 10 minutes."""


class Credentials(Protocol):
    """Asked before every request; may read a file or run a program, and raise PasswayError."""

    async def headers(self) -> dict[str, str]:
        """The headers that say who asks."""
        ...

    async def certificate(self) -> KeyPair | None:
        """The client certificate; a new object whenever it is another one."""
        ...

    async def renew(self, refused: Mapping[str, str]) -> bool:
        """The server answered 401 to these headers: is there anything else to show now?"""
        ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """Credentials that never change; without arguments: none at all."""

    authorization: str = field(default="", repr=False)
    pair: KeyPair | None = None

    async def headers(self) -> dict[str, str]:
        return {"Authorization": self.authorization} if self.authorization else {}

    async def certificate(self) -> KeyPair | None:
        return self.pair

    async def renew(self, refused: Mapping[str, str]) -> bool:  # noqa: ARG002
        return False


class TokenFile:
    """A token in a file, read again once a minute; the last one stays when that fails."""

    def __init__(
        self,
        path: str,
        where: str,
        token: str,
        pair: KeyPair | None = None,
        *,
        clock: Callable[[], float],
    ) -> None:
        self._path = path
        self._where = where
        self._token = token
        self._pair = pair
        self._clock = clock
        self._read_at = clock()

    @override
    def __repr__(self) -> str:
        return f"TokenFile({self._path!r})"

    async def headers(self) -> dict[str, str]:
        if self._clock() - self._read_at >= TOKEN_PERIOD_S:
            await self._read()
        return {"Authorization": f"Bearer {self._token}"}

    async def certificate(self) -> KeyPair | None:
        return self._pair

    async def renew(self, refused: Mapping[str, str]) -> bool:
        shown = refused.get("Authorization")
        if shown == f"Bearer {self._token}":
            await self._read()
        return shown != f"Bearer {self._token}"

    async def _read(self) -> None:
        self._read_at = self._clock()  # first, so that the other requests do not wait for it
        try:
            self._token = await asyncio.to_thread(read_token, self._path, self._where)
        except PasswayError:
            return  # the token in hand may well live until the file is back


def read_token(path: str, where: str) -> str:
    """The token in a file."""
    try:
        token = read_file(path, where).decode("ascii").strip()
    except UnicodeDecodeError:
        raise invalid(where, f"{path}: not a token", "name the file with the token") from None
    if not token:
        raise invalid(where, f"{path}: the file is empty", "write the token into it")
    return checked_token(token, f"{where}: {path}")


def checked_token(token: str, where: str) -> str:
    """The same token, if a header can carry it."""
    if unsendable(token) or not token.isascii():
        raise invalid(where, "the token has characters that no token has", "copy it anew")
    return token


def basic(username: str, password: str) -> str:
    """The value of an Authorization header for a user with a password."""
    return f"Basic {base64.b64encode(f'{username}:{password}'.encode()).decode()}"
