"""`passway discover`: what KubeVirt's device plugins would advertise on a host.

Owns the layout. The host is a folder with its `sys` and `dev`: `/` on the node itself, a mount in a
container, or a copy. Nothing is asked of a cluster. Warnings are information: the exit code is 0,
or 3 if files of the host could not be read.
"""

from pathlib import Path

import click

from passway.cli import words
from passway.cli.options import command
from passway.cli.output import Output, View, printing, show
from passway.cli.sources import progress, read_manifest
from passway.cli.table import Column, Table
from passway.host.reader import read_tree
from passway.model.errors import EXIT_OK, EXIT_UNKNOWN
from passway.service.discovery import discovery_report
from passway.service.documents import PluginDocument

_SHOWN = 3


@command(
    "discover",
    examples=(
        "passway discover --root / --permit kubevirt.yaml",
        "kubectl get kubevirt -A -o yaml | passway discover --root /host --permit -",
    ),
)
@click.option(
    "--root", required=True, metavar="DIR", type=click.Path(path_type=Path),
    help="The host's root, or a folder with its sys and dev.",
)  # fmt: skip
@click.option(
    "--permit", "permit", required=True, metavar="FILE", type=click.Path(),
    help="A KubeVirt object, or its permittedHostDevices alone; - reads stdin.",
)  # fmt: skip
@printing()
def discover(root: Path, permit: str, output: Output) -> int:
    """What the device plugins of a host would advertise, for a permitted list.

    Reads files only: no device is opened, and no link is followed out of DIR.
    """
    text, file = read_manifest(permit)
    with progress("reading the host"):
        tree = read_tree(root)
    found = output.sorted(discovery_report(tree, text, file))
    for issue in found.issues:
        click.echo(words.message(issue), err=True)
    shown = None if output.wide else _SHOWN
    table = Table(
        (
            Column("RESOURCE", lambda item: item.resource_name),
            Column("KIND", lambda item: item.kind),
            Column("DEVICES", lambda item: words.listed(_behind(item), shown)),
            Column("IDS", lambda item: words.listed(_ids(item), shown)),
            Column("NUMA", lambda item: words.listed(_numa(item))),
            Column("HEALTHY", lambda item: len(_ids(item))),
            Column("DEVICE NODES", lambda item: words.listed(item.device_nodes), wide=True),
        ),
        found.items,
    )
    names = [f"{item.kind}/{item.resource_name}" for item in found.items]
    text_only = None if found.items else "no plugin"
    show(View(found, names, table=table, text=text_only), output)
    return EXIT_UNKNOWN if any(one.severity == "unknown" for one in found.issues) else EXIT_OK


def _behind(item: PluginDocument) -> list[str]:
    """Addresses, UUIDs or USB ids: each once."""
    found = [
        name
        for device in item.devices
        for name in (device.pci_address, device.uuid, *(one.id for one in device.usb))
        if name is not None
    ]
    return list(dict.fromkeys(found))


def _ids(item: PluginDocument) -> list[str]:
    """The distinct ids, which are what the kubelet counts."""
    return list(dict.fromkeys(device.id for device in item.devices))


def _numa(item: PluginDocument) -> list[str]:
    found = {device.numa_node for device in item.devices if device.numa_node is not None}
    return [str(node) for node in sorted(found)]
