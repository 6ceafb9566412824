"""The things that can be listed, their names on the command line, and finding one by name.

Owns plural, singular and short names as kubectl has them, and the error for a name that does not
exist. It asks the backend and cuts its documents down; what an item looks like is not known here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import click
import msgspec

from passway.cli.options import Usage
from passway.model.errors import NotFound
from passway.model.names import nearest
from passway.service import documents as d

if TYPE_CHECKING:  # what it needs is loaded while the cluster is read
    from passway.service.backend import Backend

T = TypeVar("T", bound=d.Document)


@dataclass(frozen=True, slots=True)
class Noun:
    """`key` is the field that names an item; `singular` is what `-o name` and errors say."""

    plural: str
    singular: str
    key: str
    names: tuple[str, ...]


DEVICES: Final = Noun("devices", "device", "resource_name", ("devices", "device", "dev"))
NODES: Final = Noun("nodes", "node", "name", ("nodes", "node", "no"))
VMS: Final = Noun(
    "vms", "virtualmachine", "name", ("virtualmachines", "virtualmachine", "vms", "vm")
)
PERMITS: Final = Noun("permits", "permit", "resource_name", ("permits", "permit"))
POOLS: Final = Noun("pools", "pool", "resource_name", ("pools", "pool"))
AUDIT: Final = Noun("audit", "audit", "sequence", ("audit",))
ALL: Final = (DEVICES, NODES, VMS, PERMITS, POOLS, AUDIT)


def noun_of(text: str, allowed: Sequence[Noun] = ALL) -> Noun:
    """The noun of a word, in any case."""
    word = text.lower()
    for noun in allowed:
        if word in noun.names:
            return noun
    names = [name for noun in allowed for name in noun.names]
    near = nearest(word, names, 1)
    more = f"; did you mean {near[0]}?" if near else ""
    raise Usage(
        f'there is no "{text[:40]}"{more}',
        "one of " + ", ".join("|".join(noun.names) for noun in allowed),
    )


def split(words: Sequence[str]) -> tuple[str, str | None]:
    """`vm`, `vm NAME` or `vm/NAME` -> the noun's word and the name."""
    first, *rest = words
    word, slash, name = first.partition("/")
    if len(rest) + bool(slash) > 1:
        raise Usage("one name at a time", "leave the name out to list all")
    return word, (name if slash else rest[0] if rest else None)


def complete(_ctx: click.Context, _param: click.Parameter, start: str) -> list[str]:
    """Completion of the noun."""
    return [noun.plural for noun in ALL if noun.plural.startswith(start)]


def named(noun: Noun, items: Iterable[T], name: str | None, where: str = "") -> tuple[T, ...]:
    """All items, or those of that name; NotFound if there is none."""
    found = tuple(items)
    if name is None:
        return found
    chosen = tuple(item for item in found if getattr(item, noun.key) == name)
    if chosen:
        return chosen
    near = nearest(name, sorted({getattr(item, noun.key) for item in found}))
    hint = f"names close to it: {', '.join(near)}" if near else f"passway get {noun.plural}"
    raise NotFound(f'there is no {noun.singular} "{name[:253]}"{where}', hint=hint)


async def devices(backend: "Backend", name: str | None) -> d.DeviceInventory:
    found = await backend.inventory()
    return msgspec.structs.replace(found, resources=named(DEVICES, found.resources, name))


async def nodes(backend: "Backend", name: str | None) -> d.NodeList:
    found = await backend.nodes()
    return msgspec.structs.replace(found, items=named(NODES, found.items, name))


async def machines(backend: "Backend", namespace: str | None, name: str | None) -> d.MachineList:
    found = await backend.machines(namespace)
    where = f" in namespace {namespace}" if namespace else ""
    return msgspec.structs.replace(found, items=named(VMS, found.items, name, where))


async def permits(backend: "Backend", name: str | None) -> d.PermitList:
    found = await backend.permits()
    return msgspec.structs.replace(found, items=named(PERMITS, found.items, name))


async def pools(backend: "Backend", name: str | None) -> d.PoolList:
    found = (await backend.inventory()).sriov_pools
    return d.PoolList(items=named(POOLS, found, name))


async def audit(backend: "Backend", name: str | None) -> d.AuditList:
    """The newest rows; of objects of that name."""
    return await backend.audit(name)
