"""A manifest's machine as the VMI that KubeVirt would make of it.

Owns the way from a MachineSpec to KubeVirt's own object, before and after its defaults. A VMI that
the mutating webhook refuses, for the network that it would add, still has a launcher to look at:
it is defaulted without that network, since admission tells the refusal.
"""

from typing import Any

import msgspec

from passway.cluster.records import KubeVirt
from passway.kubevirt.configuration import configuration_of
from passway.kubevirt.defaults import Refused, default
from passway.kubevirt.gates import MODELLED, version_of
from passway.kubevirt.settings import Settings, settings_of
from passway.manifest.spec import MachineSpec


def vmi_of(spec: MachineSpec) -> dict[str, Any]:
    """The VMI as it is created; a new tree that shares nothing with the manifest."""
    return {
        "metadata": {
            "name": spec.ref.name,
            "namespace": spec.namespace,
            "labels": dict(spec.labels),
            "annotations": dict(spec.annotations),
        },
        "spec": spec.vmi.plain(),
    }


def cluster_settings(kubevirt: KubeVirt | None) -> Settings:
    """What the KubeVirt object configures; without one, KubeVirt's own defaults."""
    meta = kubevirt.metadata if kubevirt else None
    return settings_of(
        msgspec.to_builtins(configuration_of(kubevirt)),
        version=version_of(kubevirt) or MODELLED,
        annotations=meta.annotations if meta else None,
    )


def defaulted(spec: MachineSpec, kubevirt: KubeVirt | None) -> dict[str, Any]:
    """The VMI after KubeVirt's mutating webhook."""
    settings, vmi = cluster_settings(kubevirt), vmi_of(spec)
    try:
        return default(vmi, settings)
    except Refused:  # for the network that the cluster would add
        domain = vmi["spec"].setdefault("domain", {})
        domain["devices"] = {**(domain.get("devices") or {}), "autoattachPodInterface": False}
        return default(vmi, settings)
