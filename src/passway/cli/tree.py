"""`passway tree`: nodes, their devices, and who holds them, as indented text.

Owns the layout. Units that no VM holds and that are not free belong to other pods; they are told
as a number.
"""

from collections.abc import Iterator

import click

from passway.cli import nouns
from passway.cli.options import Source, Usage, command, sourced
from passway.cli.sources import answer, open_backend
from passway.cli.words import complain, visible
from passway.service import documents as d
from passway.service.backend import Backend


@command(
    "tree",
    examples=("passway tree --demo", "passway tree node gpu-a10-1 --demo"),
)
@click.argument("what", nargs=-1, metavar="[node NAME]")
@sourced
def tree(what: tuple[str, ...], source: Source) -> None:
    """Nodes with devices, their devices, and the VMs that hold them."""
    name = None
    if what:
        word, name = nouns.split(what)
        nouns.noun_of(word, (nouns.NODES,))
        if not name:
            raise Usage("which node?", "passway get nodes lists them; leave it out for all")
    found, machines, unread = answer(_ask(open_backend(source), name))
    if "pods" in unread:
        complain("pods were not read: who holds a device is not known", severity="warning")
    lines = [
        line
        for node in found.items
        if node.devices or name
        for line in _node(node, machines, "pods" not in unread)
    ]
    if not lines:
        complain("no node has a device", severity="warning")
        return
    click.echo("\n".join(map(visible, lines)))


async def _ask(
    backend: Backend, name: str | None
) -> tuple[d.NodeList, d.MachineList, dict[str, str]]:
    found = await nouns.nodes(backend, name)
    return found, await backend.machines(), (await backend.inventory()).unread


def _node(node: d.NodeDocument, machines: d.MachineList, counted: bool) -> Iterator[str]:
    yield node.name
    here = [item for item in machines.items if item.node == node.name]
    for device in node.devices:
        free = f"{device.free} free of {device.allocatable}" if counted else device.allocatable
        yield f"  {device.resource_name}  {free}"
        others = device.used
        for item in here:
            held = item.holds.get(device.resource_name, 0)
            if held:
                others -= held
                yield f"    {item.namespace}/{item.name}  {held}"
        if others > 0:
            yield f"    other pods  {others}"
