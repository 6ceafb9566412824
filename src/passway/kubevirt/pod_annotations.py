"""The launcher's annotations: the VMI's own, its networks for Multus, and its overhead.

Follows kubevirt pkg/virt-controller/services/template.go (generatePodAnnotations),
pkg/network/pod/annotations and pkg/network/multus. Left out are the constant ones that nothing here
reads (backup, descheduler, service mesh, default container, migration transport).
"""

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Final

from passway.kubevirt.devices import attachment_key
from passway.kubevirt.fields import Tree, flag, mapping, present, text
from passway.kubevirt.surroundings import Surroundings
from passway.kubevirt.traits import annotations, interfaces, namespace, networks

NETWORKS: Final = "k8s.v1.cni.cncf.io/networks"
DEFAULT_NETWORK: Final = "v1.multus-cni.io/default-network"
OVERHEAD: Final = "kubevirt.io/memory-overhead-bytes"
_KEPT_BACK: Final = (
    "kubectl.kubernetes.io",
    "kubevirt.io/storage-observed-api-version",
    "kubevirt.io/latest-observed-api-version",
)
_HASH_DIGITS: Final = 11
_GO_ESCAPES: Final = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def pod_annotations(vmi: Tree, around: Surroundings, overhead: int) -> dict[str, str]:
    """Name -> value."""
    found = {
        name: value
        for name, value in annotations(vmi).items()
        if isinstance(value, str) and not name.startswith(_KEPT_BACK)
    }
    selected = list(_selections(vmi, around))
    if selected:
        written = json.dumps(selected, ensure_ascii=False, separators=(",", ":"))
        found[NETWORKS] = written.translate(_GO_ESCAPES)
    for network in networks(vmi):
        if flag(network, "multus", "default"):
            found[DEFAULT_NETWORK] = text(network, "multus", "networkName")
            break
    found[OVERHEAD] = str(overhead)
    return found


def _selections(vmi: Tree, around: Surroundings) -> Iterator[dict[str, Any]]:
    """What Multus shall attach: networks of interfaces that are not absent, and of bindings."""
    attached = {
        text(interface, "name"): interface
        for interface in interfaces(vmi)
        if text(interface, "state") != "absent"
    }
    for network in networks(vmi):
        name = text(network, "name")
        interface = attached.get(name)
        if interface is None:
            continue
        if present(network, "multus") and not flag(network, "multus", "default"):
            yield _selection(network, interface, vmi)
        binding = text(interface, "binding", "name")
        plugin = mapping(around.configuration.binding_plugins.get(binding))
        if attachment := text(plugin, "networkAttachmentDefinition"):
            space, attached_name = attachment_key(attachment, namespace(vmi))
            arguments = {"logicNetworkName": name}
            yield {"name": attached_name, "namespace": space, "cni-args": arguments}


def _selection(network: Tree, interface: Tree, vmi: Tree) -> dict[str, Any]:
    space, name = attachment_key(text(network, "multus", "networkName"), namespace(vmi))
    mac = text(interface, "macAddress")
    digest = sha256(text(network, "name").encode("utf-8", "surrogatepass")).hexdigest()
    return {
        "name": name,
        "namespace": space,
        **({"mac": mac} if mac else {}),
        "interface": f"pod{digest[:_HASH_DIGITS]}",
    }
