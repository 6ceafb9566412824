"""`passway get`: what there is, as tables and documents.

Owns which kinds a listing depends on, so that an empty or doubtful table says on stderr what was
not read. The tables are in `listing`, the nouns in `nouns`.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from passway.cli import listing, nouns
from passway.cli.nouns import AUDIT, DEVICES, NODES, PERMITS, POOLS, VMS, Noun
from passway.cli.options import Source, Usage, command, namespaced, sourced
from passway.cli.output import Output, View, list_field, printing, show
from passway.cli.sources import answer, open_backend
from passway.cli.table import Table
from passway.cli.words import complain
from passway.service import documents as d

if TYPE_CHECKING:  # what it needs is loaded while the cluster is read
    from passway.service.backend import Backend

_NETWORKS: Final = ("customresourcedefinitions", "network-attachment-definitions")
MATTERS: Final = {
    DEVICES: ("nodes", "pods", "kubevirts"),
    NODES: ("nodes", "pods"),
    VMS: ("virtualmachines", "virtualmachineinstances", "pods"),
    PERMITS: ("kubevirts",),
    POOLS: ("network-attachment-definitions", "nodes", "pods"),
    AUDIT: (),
}
"""The kinds without which a listing is incomplete."""
READS: Final = {
    DEVICES: (*MATTERS[DEVICES], *_NETWORKS),
    NODES: MATTERS[NODES],
    VMS: (*MATTERS[VMS], "virtualmachineinstancetypes", "virtualmachineclusterinstancetypes"),
    PERMITS: (*MATTERS[PERMITS], "hyperconvergeds"),
    POOLS: (*MATTERS[POOLS], *_NETWORKS),
    AUDIT: (),
}
"""The kinds that are read of a live cluster for a listing; all others stay unread."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What was found: the document, its rows, and kinds that were not read, with why."""

    document: Any
    table: Table
    unread: dict[str, str]


@command(
    "get",
    examples=(
        "passway get devices --demo",
        "passway get devices --demo --sort-by .free -o wide",
        "passway get nodes --from dumps/ -o json",
        "passway get vms -A --demo",
        "passway get permits --demo -o custom-columns=NAME:.resource_name,BY:.selector",
    ),
)
@click.argument(
    "words", nargs=-1, required=True, metavar="NOUN [NAME]", shell_complete=nouns.complete
)
@namespaced
@click.option("-A", "--all-namespaces", is_flag=True, help="VMs of all namespaces.")
@sourced
@printing()
def get(
    words: tuple[str, ...], namespace: str, all_namespaces: bool, source: Source, output: Output
) -> None:
    """List devices, nodes, vms, permits, pools or the audit (singular and short names work too)."""
    word, name = nouns.split(words)
    noun = nouns.noun_of(word)
    if all_namespaces and name is not None:
        raise Usage("a name and --all-namespaces exclude each other", "name the namespace with -n")
    scope = None if all_namespaces else namespace
    found = answer(
        _LISTINGS[noun](open_backend(source, READS[noun], [namespace]), name, scope, output)
    )
    _say_what_is_missing(noun, found, scope)
    items = found.table.items
    show(
        View(
            found.document,
            names=[f"{noun.singular}/{getattr(item, noun.key)}" for item in items],
            table=found.table if items else None,
        ),
        output,
    )


def _say_what_is_missing(noun: Noun, found: Listing, namespace: str | None) -> None:
    """Notes on stderr: a table alone cannot tell nothing from nothing read."""
    missing = [kind for kind in MATTERS[noun] if kind in found.unread]
    if missing:
        words = ", ".join(f"{kind} ({found.unread[kind]})" for kind in missing)
        complain(f"incomplete, not known: {words}", severity="warning")
    field = list_field(found.document)
    if field and not getattr(found.document, field):
        where = f" in namespace {namespace}" if noun is VMS and namespace else ""
        hint = "-A looks in all namespaces" if where else _EMPTY.get(noun, "")
        complain(f"no {noun.plural} found{where}", hint, severity="warning")


_EMPTY: Final = {
    DEVICES: "no node advertises a device and none is permitted: look at the device plugins",
    PERMITS: "passway permit adds one",
}


# -- one a noun -----------------------------------------------------------------------------------


async def _devices(backend: "Backend", name: str | None, _: str | None, output: Output) -> Listing:
    found = output.sorted(await nouns.devices(backend, name))
    return Listing(found, listing.devices(found), found.unread)


async def _nodes(backend: "Backend", name: str | None, _: str | None, output: Output) -> Listing:
    found = output.sorted(await nouns.nodes(backend, name))
    unread = (await backend.inventory()).unread
    return Listing(found, listing.nodes(found, unread), unread)


async def _vms(backend: "Backend", name: str | None, scope: str | None, output: Output) -> Listing:
    found = output.sorted(await nouns.machines(backend, scope, name))
    table = listing.machines(found, all_namespaces=scope is None)
    return Listing(found, table, found.unread)


async def _permits(backend: "Backend", name: str | None, _: str | None, output: Output) -> Listing:
    found = output.sorted(await nouns.permits(backend, name))
    unread = {"kubevirts": "unread"} if found.enforced is None else {}
    if found.enforced is False:
        complain("there is no permitted list: KubeVirt checks nothing", severity="warning")
    return Listing(found, listing.permits(found), unread)


async def _pools(backend: "Backend", name: str | None, _: str | None, output: Output) -> Listing:
    unread = (await backend.inventory()).unread
    found: d.PoolList = output.sorted(await nouns.pools(backend, name))
    return Listing(found, listing.pools(found, unread), unread)


async def _audit(backend: "Backend", name: str | None, _: str | None, output: Output) -> Listing:
    found: d.AuditList = output.sorted(await nouns.audit(backend, name))
    if found.next is not None:
        complain(f"older rows: GET /api/v1/audit?before={found.next}", severity="note")
    return Listing(found, listing.audit(found), {})


_LISTINGS: Final[
    dict[Noun, Callable[["Backend", str | None, str | None, Output], Coroutine[Any, Any, Listing]]]
] = {DEVICES: _devices, NODES: _nodes, VMS: _vms, PERMITS: _permits, POOLS: _pools, AUDIT: _audit}
