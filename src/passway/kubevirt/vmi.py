"""A manifest's machine as the VMI that KubeVirt would make of it.

Owns the way from a MachineSpec to KubeVirt's own object, before and after its defaults. A VMI that
the mutating webhook refuses, for the network that it would add, still has a launcher to look at:
it is defaulted without that network, since admission tells the refusal.
"""

from dataclasses import dataclass
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
    status = kubevirt.status if kubevirt else None
    return settings_of(
        msgspec.to_builtins(configuration_of(kubevirt)),
        architecture=status.default_architecture if status else None,
        version=version_of(kubevirt) or MODELLED,
        annotations=meta.annotations if meta else None,
    )


@dataclass(frozen=True, slots=True)
class Mutated:
    """A VMI after KubeVirt's mutating webhook. `refused`: it refuses the VMI as it is written."""

    vmi: dict[str, Any]
    refused: bool = False


def mutated(spec: MachineSpec, settings: Settings) -> Mutated:
    """What the mutating webhook makes of the machine's VMI."""
    vmi = vmi_of(spec)
    try:
        return Mutated(default(vmi, settings))
    except Refused:  # for the network that the cluster would add
        domain = vmi["spec"].setdefault("domain", {})
        domain["devices"] = {**(domain.get("devices") or {}), "autoattachPodInterface": False}
        return Mutated(default(vmi, settings), refused=True)
