"""All that a client needs to talk to one API server, as a value without a visible secret."""

import ssl
from dataclasses import dataclass, field

from passway.kube.config.address import Proxy
from passway.kube.config.credentials import Credentials
from passway.kube.config.impersonation import Headers
from passway.kube.config.tls import ssl_context
from passway.kube.config.trust import KeyPair, Trust


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """Where to, as whom, trusted how.

    `server` has no slash at its end and may have a path. `context`, `cluster` and `user` are names
    for messages. `warnings` are sentences for a person.
    """

    server: str
    namespace: str
    credentials: Credentials
    trust: Trust = field(default_factory=Trust)
    proxy: Proxy | None = None
    impersonation: Headers = ()
    compression: bool = True
    context: str = ""
    cluster: str = ""
    user: str = ""
    warnings: tuple[str, ...] = ()

    async def headers(self) -> list[tuple[str, str]]:
        """What every request carries; a name may occur several times."""
        return [*self.impersonation, *(await self.credentials.headers()).items()]

    def ssl_context(self, pair: KeyPair | None = None) -> ssl.SSLContext | None:
        """A new context with a client certificate; None for plain http.

        Build it again only when `credentials.certificate()` gives another pair: reading the
        system's roots takes some milliseconds.
        """
        return ssl_context(self.trust, pair) if self.server.startswith("https:") else None
