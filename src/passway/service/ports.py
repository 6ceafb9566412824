"""What the use cases need from outside, as Protocols: today a Kubernetes API.

Owns the words between use cases and adapters: objects as plain JSON, the kind that names a
collection, watch events, and which error means what. It knows no transport, no cache and no
adapter; an adapter raises only `PasswayError` subclasses. Objects that go in or come out are never
shared: each side may change its own. The decision behind it: eight calls are all of the API that
Passway uses, so a store in memory and a real API server can pass the same contract tests.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

from passway.cluster.kinds import Kind
from passway.cluster.records import Record
from passway.model import errors

Object: TypeAlias = dict[str, Any]
"""A Kubernetes object as JSON."""

Patch: TypeAlias = Object | list[Any]
"""A dict is a JSON merge patch (RFC 7386), a list a JSON patch (RFC 6902)."""

Change: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One change of an object to what its record says; a BOOKMARK has none.

    `version` is the resourceVersion to watch from after it. `complete`: the bookmark with which all
    was told that there is, in a watch that began with it.
    """

    type: Change
    version: str
    record: Record | None = None
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list, as records; the version is that of the whole list."""

    records: Sequence[Record]
    version: str


@dataclass(frozen=True, slots=True)
class Cause:
    """One of the causes of a refusal, as the API server lists them."""

    field: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Trial:
    """What everybody on the way said of an object that was not created."""

    accepted: bool
    reason: str = ""
    message: str = ""
    causes: tuple[Cause, ...] = ()
    warnings: tuple[str, ...] = ()


class Expired(errors.PasswayError):
    """The version to watch from is no longer, or not, in the history: list again."""

    kind: ClassVar[errors.Kind] = errors.Kind(
        "EXPIRED", 410, errors.EXIT_UNREACHABLE, "The resource version is not in the history"
    )


class OtherVersion(errors.NotFound):
    """The API has the kind in other versions only: there may be objects, and none was read."""

    kind: ClassVar[errors.Kind] = errors.Kind(
        "KIND_IN_OTHER_VERSION", 404, errors.EXIT_NOT_FOUND, "The kind has another version here"
    )


class Cluster(Protocol):
    """A Kubernetes API.

    Every call may raise `Forbidden` (RBAC_DENIED, names the missing right) and `InvalidInput`;
    those that name an object, `NotFound`.
    """

    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> Object:
        """One object."""
        ...

    async def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        *,
        labels: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> tuple[list[Object], str]:
        """The objects, by namespace and name, and the resourceVersion to watch from.

        Only those with these labels and these values of fields (`involvedObject.name`).
        """
        ...

    def pages(self, kind: Kind, namespace: str | None = None) -> AsyncGenerator[Page, None]:
        """The same, as the kind's records, page by page, in any order.

        `Expired` when the rest of the list is not to be had: what came before is not a list. A kind
        that the API does not serve is `NotFound`; `OtherVersion` if only not in this version.
        """
        ...

    async def create(self, kind: Kind, obj: Object, *, dry_run: bool = False) -> Object:
        """Stores `obj`; `Conflict` ALREADY_EXISTS; `NotFound` when its namespace is missing."""
        ...

    async def trial(self, kind: Kind, obj: Object) -> Trial:
        """Creates nothing (`dryRun=All`), and says what webhooks, quotas and policies said.

        A refusal is an answer; raised is only what has nothing to do with the object.
        """
        ...

    async def patch(
        self,
        kind: Kind,
        name: str,
        namespace: str | None,
        patch: Patch,
        *,
        dry_run: bool = False,
    ) -> Object:
        """Changes one object and returns it; a patch that changes nothing writes nothing.

        `Conflict` CONCURRENT_CHANGE when the patch carries another metadata.resourceVersion than
        the object has, or when a `test` of a JSON patch fails.
        """
        ...

    async def delete(self, kind: Kind, name: str, namespace: str | None = None) -> None:
        """Removes the object, or marks it while finalizers hold it."""
        ...

    def watch(
        self, kind: Kind, resource_version: str | None = None
    ) -> AsyncGenerator[WatchEvent, None]:
        """The changes after `resource_version`, in order, without end; raises `Expired`.

        Without one, what there is comes first: objects, and changes of them meanwhile, until the
        bookmark that is `complete`, which is the first. Any error before that says that it is not
        to be had in this way, `Expired` that there is no use in trying: the pages say the rest.

        Errors show at the first step, not at the call. A connection that fails is made again; what
        the API refuses is raised. Close it (`aclosing`) or cancel its task when done.
        """
        ...
