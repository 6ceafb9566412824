"""The launcher's labels: the VMI's own, and those by which KubeVirt finds it.

Follows kubevirt pkg/virt-controller/services/template.go (podLabels), pkg/util/net/dns and
pkg/apimachinery/labels.go. Left out is what is only known once the VMI exists (its UID), and what
follows its name where a controller gives that.
"""

from collections.abc import Mapping
from hashlib import sha1
from typing import Final

from passway.kubevirt.fields import Tree, text

APP: Final = "kubevirt.io"
LAUNCHER: Final = "virt-launcher"
NAME: Final = "vm.kubevirt.io/name"
ID: Final = "vmi.kubevirt.io/id"
NAMED: Final = frozenset({"VirtualMachine", "VirtualMachineInstance"})
"""The kinds whose VMI has their own name."""
_LONGEST: Final = 63
_HASH_DIGITS: Final = 8


def pod_labels(kind: str, name: str, own: Mapping[str, str], vmi: Tree) -> dict[str, str]:
    """`own` are the VMI's; `kind` and `name` are of the object that asks for it."""
    found = {**own, APP: LAUNCHER}
    if kind in NAMED and name:
        found[NAME] = text(vmi, "spec", "hostname") or name.partition(".")[0][:_LONGEST]
        found[ID] = _id(name)
    return found


def _id(name: str) -> str:
    """The name, or where that is too long for a label its head and a hash."""
    if len(name) <= _LONGEST:
        return name
    digest = sha1(name.encode(), usedforsecurity=False).hexdigest()
    return f"{name[: _LONGEST - _HASH_DIGITS - 1]}-{digest[:_HASH_DIGITS]}"
