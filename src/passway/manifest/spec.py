"""MachineSpec: a virtual machine as asked for, whatever kind of object asks.

Holds the whole position-carrying tree and typed views of what the stages read; anything else is a
`plain()` look-up away. Built only by `manifest.vm`; it decides nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from passway.manifest.text import Node
from passway.model.devices import ClaimDevice, Device, PluginDevice
from passway.model.quantity import Quantity
from passway.model.verdict import Position, Ref


@dataclass(frozen=True, slots=True)
class Interface:
    """A network interface. `attachment`: the Multus network as written (`[namespace/]name`)."""

    name: str
    path: str
    sriov: bool = False
    attachment: str | None = None
    attachment_path: str = ""
    claim: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Cpu:
    """`domain.cpu`; None is unset, which is not the same as zero or false."""

    sockets: int | None = None
    cores: int | None = None
    threads: int | None = None
    dedicated: bool | None = None
    isolate_emulator: bool | None = None
    numa_passthrough: bool = False
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """`domain.memory`."""

    guest: Quantity | None = None
    hugepages: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimReference:
    """An entry of the VMI's `resourceClaims`."""

    name: str
    path: str
    claim_name: str | None = None
    template_name: str | None = None


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume; `source` is the field that holds it (`persistentVolumeClaim`, `dataVolume`, …)."""

    name: str
    source: str
    path: str
    claim_name: str | None = None


@dataclass(frozen=True, slots=True)
class MachineSpec:
    """One machine of a manifest.

    `ref.kind` is the kind of the object that asks; `replicas` how many machines it asks for.
    `document` is the whole object, `vmi` the VMI spec inside it, `vmi_path` its field path (empty
    for none). `labels` and `annotations` are those of the VMI. All `path`s are field paths from
    the document's root. `inherited` is filled once the objects that the VM refers to were laid over
    it: field path -> path of the reference that brought the field, and what is below it.
    """

    ref: Ref
    document: Node
    vmi: Node
    vmi_path: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    replicas: int = 1
    devices: tuple[Device, ...] = ()
    interfaces: tuple[Interface, ...] = ()
    cpu: Cpu = field(default_factory=Cpu)
    memory: Memory = field(default_factory=Memory)
    requests: Mapping[str, Quantity] = field(default_factory=dict)
    limits: Mapping[str, Quantity] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    claims: tuple[ClaimReference, ...] = ()
    volumes: tuple[Volume, ...] = ()
    eviction_strategy: str | None = None
    priority_class: str | None = None
    run_strategy: str | None = None
    instancetype: Ref | None = None
    preference: Ref | None = None
    inherited: Mapping[str, str] = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        return self.ref.namespace or "default"

    @property
    def plugin_devices(self) -> tuple[PluginDevice, ...]:
        return tuple(device for device in self.devices if isinstance(device, PluginDevice))

    @property
    def claim_devices(self) -> tuple[ClaimDevice, ...]:
        return tuple(device for device in self.devices if isinstance(device, ClaimDevice))

    def plain(self, path: str) -> Any:
        """The plain value at a field path below the VMI spec, or None: `plain("affinity")`."""
        node = self.vmi.find(path)
        return None if node is None else node.plain()

    def position(self, path: str) -> Position | None:
        """Where the field at `path` (from the document's root) is; else its nearest parent."""
        return self.document.locate(path)

    def written(self, path: str) -> str:
        """The path that a reader finds in the manifest: of a field, or of what brought it."""
        if not self.inherited or path in self.inherited:
            return self.inherited.get(path, path)
        if self.document.find(path) is not None:
            return path
        above = [held for held in self.inherited if path.startswith((f"{held}.", f"{held}["))]
        return self.inherited[max(above, key=len)] if above else path

    def vmi_field(self, path: str) -> str:
        """The field path from the document's root of a path below the VMI spec."""
        return f"{self.vmi_path}.{path}" if self.vmi_path else path
