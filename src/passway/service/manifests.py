"""Manifests as use cases take them: one machine of a text, of a request, or of a cluster."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from passway.manifest.spec import MachineSpec
from passway.manifest.vm import parse_manifest
from passway.model.errors import InvalidInput


def stored_machine(machine: Mapping[str, Any]) -> MachineSpec:
    """The spec of an object that a cluster has, as far as it can be read.

    The API server took it, so a field that is not known here is no fault of whoever asks.
    """
    meta = {name: value for name, value in machine["metadata"].items() if name != "managedFields"}
    text = msgspec.json.encode({**machine, "metadata": meta, "status": {}})
    found = parse_manifest(text, f"{machine.get('kind')} {meta.get('name')}")
    return found.machines[0] if found.machines else found.require()[0]


def one_machine(text: str | bytes, file: str, namespace: str) -> MachineSpec:
    """The only machine of a manifest."""
    found = parse_manifest(text, file, namespace).require()
    if len(found) != 1:
        raise InvalidInput(f"{file} holds {len(found)} machines; this question takes one")
    return found[0]


def machine_object(text: str | bytes, file: str, namespace: str) -> dict[str, Any]:
    """The only object of a manifest, which must be a VirtualMachine, to be created as it is."""
    spec = one_machine(text, file, namespace)
    if spec.ref.kind != "VirtualMachine":
        raise InvalidInput(f"{file} holds a {spec.ref.kind}; only a VirtualMachine can be created")
    machine = cast("dict[str, Any]", spec.document.plain())
    if not machine["metadata"].get("name"):
        raise InvalidInput("metadata.name: a VM that is created here needs a name of its own")
    return {**machine, "metadata": {**machine["metadata"], "namespace": spec.namespace}}
