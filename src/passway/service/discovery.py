"""The use case `discover`: a host's files and a text with the permitted list -> a report.

Owns where a text keeps the list (a KubeVirt or HyperConverged object, a `List` of them, or the bare
list) and the findings with their place in that text. It reads no files. An object without the list
permits everything and names nothing, so that no plugin comes of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from passway.host.tree import HostTree
from passway.kubevirt.discovered import Device, Discovery, Plugin, SelectorHint
from passway.kubevirt.discovery import discover
from passway.kubevirt.permitted import (
    HYPERCONVERGED_V1,
    HYPERCONVERGED_V1BETA1,
    KUBEVIRT,
    Permit,
    Spelling,
    permits_in,
)
from passway.manifest import text as texts
from passway.manifest.nodes import MappingNode, Node, SequenceNode
from passway.model.errors import InvalidInput, InvalidManifest
from passway.model.verdict import Issue, Param, Severity, Stage
from passway.service import documents as d
from passway.service import report as reports

_SPELLINGS: Final = {
    "KubeVirt": (KUBEVIRT,),
    "HyperConverged": (HYPERCONVERGED_V1BETA1, HYPERCONVERGED_V1),
}
_FIELD: Final = "permittedHostDevices"
_LISTS: Final = frozenset(KUBEVIRT.lists().values())


@dataclass(frozen=True, slots=True)
class PermittedList:
    """The list in a text: its entries, the object that holds it, and the path to it in there."""

    permits: tuple[Permit, ...]
    holder: MappingNode
    path: str = ""

    def find(self, hint: SelectorHint) -> str:
        """The path of the entry that a hint speaks of."""
        prefix = f"{self.path}." if self.path else ""
        field = f"{prefix}{KUBEVIRT.lists()['mediated']}"
        found = self.holder.find(field)
        for index, item in enumerate(found.items if isinstance(found, SequenceNode) else ()):
            entry = item.plain()
            told = entry if isinstance(entry, dict) else {}
            said = (told.get("resourceName"), told.get("mdevNameSelector"))
            if said == (hint.resource_name, hint.selector):
                return f"{field}[{index}].mdevNameSelector"
        return field


def discovery_report(tree: HostTree, text: bytes, file: str) -> d.DiscoveryReport:
    """What the device plugins of the host would advertise; `file` names the text in messages."""
    permitted = read_permitted(text, file)
    found = discover(tree, permitted.permits)
    return d.DiscoveryReport(
        items=tuple(map(_plugin, found.plugins)),
        issues=reports.issues(_findings(found, permitted, tree)),
    )


def read_permitted(text: bytes, file: str) -> PermittedList:
    """The permitted list of a text; InvalidManifest for its faults, InvalidInput if none is in."""
    read = texts.read(text, file)
    if read.faults:
        raise InvalidManifest(f"{file} cannot be read", issues=read.faults)
    objects = [item for node in read.nodes for item in _objects(node)]
    found = [listed for item in objects if (listed := _list_in(item)) is not None]
    if len(found) != 1:
        count = "more than one list" if found else "no list"
        raise InvalidInput(
            f"{file}: there is {count} of permitted devices in it",
            hint="give one KubeVirt object, or its permittedHostDevices alone",
        )
    return found[0]


def _objects(node: Node) -> Iterator[MappingNode]:
    """The object itself, or the items of a `List`."""
    items = node.find("items")
    for item in items.items if isinstance(items, SequenceNode) else (node,):
        if isinstance(item, MappingNode):
            yield item


def _list_in(node: MappingNode) -> PermittedList | None:
    kind = node.find("kind")
    if kind is None:
        return _bare(node)
    spellings = _SPELLINGS.get(str(kind.plain()), ())
    for spelling in spellings:
        path = ".".join(spelling.path)
        if isinstance(found := node.find(path), MappingNode):
            return PermittedList(_permits(found, spelling), node, path)
    return PermittedList((), node) if spellings else None


def _bare(node: MappingNode) -> PermittedList | None:
    inner = node.find(_FIELD)
    if isinstance(inner, MappingNode):
        return PermittedList(_permits(inner, KUBEVIRT), node, _FIELD)
    known = _LISTS & node.entries.keys() or not node.entries
    return PermittedList(_permits(node, KUBEVIRT), node) if known else None


def _permits(node: MappingNode, spelling: Spelling) -> tuple[Permit, ...]:
    return permits_in(node.plain(), spelling)


# -- the report -----------------------------------------------------------------------------------


def _findings(found: Discovery, permitted: PermittedList, tree: HostTree) -> Iterator[Issue]:
    for hint in found.hints:
        path = permitted.find(hint)
        params: dict[str, Param] = {
            "resource": hint.resource_name, "selector": hint.selector, "names": hint.names,
        }  # fmt: skip
        yield Issue(
            "MediatedSelectorNamesDirectory", Stage.HOST, Severity.WARNING, path=path,
            params=params, position=permitted.holder.locate(path),
        )  # fmt: skip
    if tree.left_out:
        left: dict[str, Param] = {"count": len(tree.left_out), "files": tree.left_out}
        yield Issue("HostFilesUnread", Stage.HOST, Severity.UNKNOWN, params=left)


def _plugin(plugin: Plugin) -> d.PluginDocument:
    made = plugin.allocation
    return d.PluginDocument(
        resource_name=plugin.resource_name,
        kind=plugin.kind,
        devices=tuple(map(_device, plugin.devices)),
        env=dict(made.env) if made else {},
        device_nodes=made.device_nodes if made else (),
        allocate_error=made.error if made else None,
    )


def _device(device: Device) -> d.DiscoveredDevice:
    return d.DiscoveredDevice(
        id=device.id,
        health=device.health,
        numa_node=device.numa_node,
        pci_address=device.pci_address,
        uuid=device.uuid,
        usb=tuple(d.UsbDocument(id=one.id, device_path=one.device_path) for one in device.usb),
    )
