"""Devices in the compute container: resources of plugins, claims, and KubeVirt's own.

Follows kubevirt pkg/virt-controller/services/renderresources.go. One unit an entry, on requests and
limits alike; the devices that every VM needs stand in limits only, from where the API server copies
them. Also what makes KubeVirt refuse to render: a device that is not permitted, an attachment that
is missing.
"""

from collections.abc import Iterator
from typing import Final

from passway.cluster.amounts import KUBEVIRT_DEVICES
from passway.kubevirt.fields import Tree, entries, flag, mapping, present, text
from passway.kubevirt.ledger import ONE, Ledger
from passway.kubevirt.permitted import KUBEVIRT, permits_in
from passway.kubevirt.surroundings import Surroundings
from passway.kubevirt.traits import (
    device_claims,
    device_entries,
    has_sev,
    interfaces,
    names_claim,
    namespace,
    networks,
    plugin_resources,
)

EXTERNAL_INJECTION: Final = "ExternalNetResourceInjection"
NETWORK_CLAIMS: Final = "NetworkDevicesWithDRA"
CLAIM_GATES: Final = {"gpus": "GPUsWithDRA", "hostDevices": "HostDevicesWithDRA"}


def limit_own_devices(ledger: Ledger, vmi: Tree, around: Surroundings) -> None:
    """kvm, tun, vhost-net and vhost-vsock."""
    attaches = flag(vmi, "spec", "domain", "devices", "autoattachPodInterface")
    listed = interfaces(vmi)
    virtio = any(text(interface, "model") in {"", "virtio"} for interface in listed)
    wanted = {
        "kvm": not around.emulates,
        "tun": bool(listed) or attaches is not False,
        "vhost-net": virtio and not around.emulates,
        "vhost-vsock": flag(vmi, "spec", "domain", "devices", "autoattachVSOCK") is True,
    }
    for device, wants in wanted.items():
        if wants:
            ledger.limits[f"{KUBEVIRT_DEVICES}{device}"] = ONE


def add_devices(ledger: Ledger, vmi: Tree, around: Surroundings) -> None:
    """Pools of networks, then GPUs, host devices and what features need."""
    for _, pool in network_pools(vmi, around):
        if pool:
            ledger.bump(pool)
    for kind in CLAIM_GATES:
        for resource in plugin_resources(vmi, kind):
            ledger.bump(resource)
    for device in _feature_devices(vmi, around):
        ledger.bump(f"{KUBEVIRT_DEVICES}{device}")


def claims(vmi: Tree, around: Surroundings) -> tuple[tuple[str, str], ...]:
    """(claim, request) of the compute container, as far as the gates are on."""
    found: list[tuple[str, str]] = []
    for kind, gate in CLAIM_GATES.items():
        if around.gates.on(gate):
            found += device_claims(vmi, kind)
    if around.gates.on(NETWORK_CLAIMS):
        for network in networks(vmi):
            claim = mapping(network, "resourceClaim")
            if present(network, "resourceClaim"):
                found.append((text(claim, "claimName"), text(claim, "requestName")))
    return tuple(found)


def unpermitted(vmi: Tree, around: Surroundings) -> Iterator[str]:
    """The resources that the permitted list does not have; nothing where there is no list.

    An entry whose claim the gate leaves out counts by its empty name.
    """
    listed = around.configuration.permitted_host_devices
    if listed is None:
        return
    permitted = {permit.resource_name for permit in permits_in(listed, KUBEVIRT)}
    for kind, gate in CLAIM_GATES.items():
        for device in device_entries(vmi, kind):
            if names_claim(device) and around.gates.on(gate):
                continue
            if text(device, "deviceName") not in permitted:
                yield text(device, "deviceName")


def missing_attachments(vmi: Tree, around: Surroundings) -> Iterator[str]:
    """`namespace/name` of the attachments that KubeVirt would look up in vain."""
    for key, pool in network_pools(vmi, around):
        if pool is None:
            yield key


def network_pools(vmi: Tree, around: Surroundings) -> Iterator[tuple[str, str | None]]:
    """(attachment, its pool) of every Multus network; None where the attachment is missing.

    Nothing where an external injector adds them. Source: kubevirt pkg/network/multus/nad.go.
    """
    if around.gates.on(EXTERNAL_INJECTION):
        return
    for network in networks(vmi):
        if present(network, "multus"):
            key = "/".join(attachment_key(text(network, "multus", "networkName"), namespace(vmi)))
            yield key, around.attachments.get(key)


def attachment_key(name: str, default: str) -> tuple[str, str]:
    """`[namespace/]name` -> (namespace, name)."""
    given, slash, rest = name.partition("/")
    return (given, rest) if slash else (default, name)


def _feature_devices(vmi: Tree, around: Surroundings) -> Iterator[str]:
    disks = entries(vmi, "spec", "domain", "devices", "disks")
    if has_sev(vmi):
        yield "sev"
    if present(vmi, "spec", "domain", "launchSecurity", "tdx"):
        yield "tdx"
    if any(flag(disk, "lun", "reservation") for disk in disks):
        yield "pr-helper"
    if around.gates.on("IOMMUFD"):
        yield "iommufd"
