"""A machine whose VMI spec was changed after it was read: what it refers to was laid over it.

Owns the way back from a plain VMI spec to a MachineSpec, by the same views as a manifest. The
document stays the one that was written, so that positions do too; the new tree has none of its own.
What no VMI can be, since an object of the cluster brought a field that the schema does not know,
gives none, because later stages rely on the schema.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from passway.manifest.build import MAX_DEPTH
from passway.manifest.cursor import Cursor
from passway.manifest.fields import check
from passway.manifest.findings import Findings
from passway.manifest.machine import viewed
from passway.manifest.nodes import Entry, MappingNode, Node, ScalarNode, SequenceNode
from passway.manifest.spec import MachineSpec

_INSTANCE: Final = "VirtualMachineInstance"


class _NoTree(ValueError):
    """A value that no manifest can hold."""


def with_vmi(
    spec: MachineSpec, vmi: Mapping[str, Any], annotations: Mapping[str, str]
) -> MachineSpec | None:
    """The machine with another VMI spec and other annotations of it; None if it cannot be one."""
    meta = {"name": spec.ref.name, "annotations": annotations}
    try:
        node = _node(vmi)
        instance = _mapping({"metadata": _node(meta), "spec": node})
    except _NoTree:
        return None
    if next(check(instance, _INSTANCE), None):
        return None
    changed = replace(spec, vmi=node, annotations=annotations)
    return viewed(changed, Cursor(node, spec.vmi_path), Findings(spec.document))


def _node(value: Any, depth: int = 0) -> Node:
    if depth > MAX_DEPTH:
        raise _NoTree
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise _NoTree
        return _mapping({key: _node(inner, depth + 1) for key, inner in value.items()})
    if isinstance(value, list | tuple):
        return SequenceNode("", 0, 0, tuple([_node(item, depth + 1) for item in value]))
    return ScalarNode("", 0, 0, value, "" if value is None else str(value))


def _mapping(nodes: Mapping[str, Node]) -> MappingNode:
    return MappingNode("", 0, 0, {key: Entry(node, 0, 0) for key, node in nodes.items()})
