"""Who asks and what they may: the port, and the cluster as the one that answers.

Owns the two reviews of Kubernetes as questions (TokenReview: whose token is this;
SubjectAccessReview: may this one do that), what their answers mean, and for how long they are
believed. There is no list of roles here: what RBAC says counts. A review that fails is never a yes,
and never a no of the cluster's either. Tokens are kept as digests, and go nowhere but into the
review.
"""

import asyncio
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Protocol, TypeVar

import msgspec

from passway.cluster.kinds import Kind
from passway.model.errors import Forbidden, PasswayError, Unavailable
from passway.service.expiring import Expiring
from passway.service.gate import Identity, Right
from passway.service.ports import Cluster, Object

TOKEN_REVIEWS: Final = Kind(
    "authentication.k8s.io", "v1", "TokenReview", "tokenreviews", namespaced=False
)
ACCESS_REVIEWS: Final = Kind(
    "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False
)
KEPT: Final = 4096
"""Answers of each sort that are kept."""
AT_ONCE: Final = 16
"""Reviews under way at once: askers without rights leave room for those who work."""
REVIEW_S: Final = 10.0
_TOKEN: Final = re.compile(rb"[\x21-\x7e]{1,16384}")
S = TypeVar("S")


class Authority(Protocol):
    """Who somebody is and what they may; may raise Unavailable."""

    async def identify(self, token: bytes) -> Identity | None:
        """Whose token that is; None for nobody's."""
        ...

    async def allows(self, who: Identity, right: Right, namespace: str | None = None) -> bool:
        """Whether somebody has the right in a namespace; None: in all, or in the cluster."""
        ...

    def where(self, who: Identity, right: Right) -> frozenset[str] | None:
        """The namespaces that somebody has the right in; None where each must be asked about."""
        ...


@dataclass(frozen=True, slots=True)
class Belief:
    """For how many seconds an answer of the cluster counts."""

    known_s: float = 60.0
    unknown_s: float = 5.0
    allowed_s: float = 10.0
    refused_s: float = 2.0


class _User(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] | None = None
    extra: dict[str, tuple[str, ...]] | None = None


class _TokenStatus(msgspec.Struct):
    authenticated: bool = False
    user: _User | None = None
    audiences: tuple[str, ...] | None = None


class _AccessStatus(msgspec.Struct):
    allowed: bool = False
    denied: bool = False


class ClusterAuthority:
    """The cluster's own authentication and authorization.

    `audiences`: a token must be meant for one of them; without, for the API server.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        audiences: Iterable[str] = (),
        belief: Belief | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._audiences = tuple(audiences)
        self._belief = belief or Belief()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._known: Expiring[bytes, Identity] = Expiring(KEPT, clock)
        self._unknown: Expiring[bytes, bool] = Expiring(KEPT, clock)
        self._rights: Expiring[tuple[Identity, Right, str | None], bool] = Expiring(KEPT, clock)

    async def identify(self, token: bytes) -> Identity | None:
        """As the protocol says."""
        if not _TOKEN.fullmatch(token):
            return None
        digest = sha256(token).digest()
        found = self._known.get(digest)
        if found is not None or self._unknown.get(digest):
            return found
        found = await self._reviewed(token.decode())
        if found is None:
            self._unknown.put(digest, True, self._belief.unknown_s)
        else:
            self._known.put(digest, found, self._belief.known_s)
        return found

    async def allows(self, who: Identity, right: Right, namespace: str | None = None) -> bool:
        """As the protocol says."""
        asked = (who, right, namespace if right.namespaced else None)
        found = self._rights.get(asked)
        if found is None:
            found = await self._allowed(*asked)
            good_s = self._belief.allowed_s if found else self._belief.refused_s
            self._rights.put(asked, found, good_s)
        return found

    def where(self, who: Identity, right: Right) -> None:
        """As the protocol says: RBAC has no such list."""

    async def _reviewed(self, token: str) -> Identity | None:
        spec: Object = {"token": token}
        if self._audiences:
            spec["audiences"] = list(self._audiences)
        status = await self._asked(TOKEN_REVIEWS, spec, _TokenStatus)
        user = status.user
        if not status.authenticated or user is None or not user.username:
            return None
        # A server that knows no audiences names none: the token was meant for itself.
        if self._audiences and not {*self._audiences} & {*(status.audiences or ())}:
            return None
        extra = tuple(sorted((user.extra or {}).items()))
        return Identity(user.username, user.uid, user.groups or (), extra)

    async def _allowed(self, who: Identity, right: Right, namespace: str | None) -> bool:
        attributes = {"group": right.group, "resource": right.resource, "verb": right.verb}
        if namespace is not None:
            attributes["namespace"] = namespace
        spec = {
            "user": who.user,
            "uid": who.uid,
            "groups": list(who.groups),
            "extra": {key: list(values) for key, values in who.extra},
            "resourceAttributes": attributes,
        }
        status = await self._asked(ACCESS_REVIEWS, spec, _AccessStatus)
        return status.allowed and not status.denied

    async def _asked(self, kind: Kind, spec: Object, status: type[S]) -> S:
        """What the cluster says; whatever fails is an Unavailable, and nobody's answer."""
        obj = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {}, "spec": spec}
        try:
            async with asyncio.timeout(REVIEW_S), self._slots:
                answer: dict[str, Any] = await self._cluster.create(kind, obj)
            return msgspec.convert(answer.get("status") or {}, status)
        except TimeoutError:
            raise Unavailable(f"no answer to a {kind.kind} within {REVIEW_S:g} s") from None
        except Forbidden:
            raise Unavailable(
                f"this service may not create {kind.resource}, so nobody can be let in",
                code="REVIEWS_NOT_ALLOWED",
                hint="bind the ClusterRole system:auth-delegator to its service account",
            ) from None
        except Unavailable:
            raise
        except (PasswayError, msgspec.ValidationError) as error:
            raise Unavailable(f"a {kind.kind} failed: {error}") from None
