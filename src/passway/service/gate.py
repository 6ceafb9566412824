"""What an asker may do, as the use cases see it: a right, and the gate that knows who has it.

Owns the words only. A right is a verb on a resource, as RBAC has it; those of the group passway.dev
are resources that nothing stores. Who grants rights, and to whom, is for the gate: the use cases
say which namespaces a question concerns, and what a write takes.
"""

from dataclasses import dataclass
from typing import Final, Protocol

from passway.cluster import kinds
from passway.cluster.kinds import Kind
from passway.model.override import override

GROUP: Final = "passway.dev"


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """To do `verb` with `resource`. `namespaced`: it counts in one namespace, or in all."""

    verb: str
    resource: str
    group: str = GROUP
    namespaced: bool = False

    @override
    def __str__(self) -> str:
        return f"{self.verb} {self.resource}.{self.group}"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who somebody is, in the words of the cluster's own authentication."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Gate(Protocol):
    """Lets one asker through, or raises Forbidden."""

    async def see(self, *namespaces: str) -> frozenset[str] | None:
        """Those namespaces, if the question may be asked in each; None for who may see all."""
        ...

    async def own(self) -> frozenset[str] | None:
        """The namespaces that the question may be asked in; None for all."""
        ...

    async def expect(self, right: Right, namespace: str | None = None) -> None:
        """Raises Forbidden unless the asker has the right there; None: in all namespaces."""
        ...


class Open:
    """The gate of somebody whose rights are checked elsewhere, or who asks about files."""

    async def see(self, *namespaces: str) -> None:
        """All."""

    async def own(self) -> None:
        """All."""

    async def expect(self, right: Right, namespace: str | None = None) -> None:
        """Everything."""


OPEN: Final = Open()


def writing(verb: str, kind: Kind) -> Right:
    """The right to write an object of the cluster."""
    return Right(verb, kind.plural, kind.group, kind.namespaced)


CREATE_MACHINES: Final = writing("create", kinds.MACHINES)
