"""Changes of the permitted list, as guarded patches.

Owns where the list lives (the HyperConverged object where there is one, since it renders
KubeVirt's), the normal form of entries, what is the same entry and what contradicts it, and the
consequence that matters: a list that did not exist before switches enforcement on for every VM.
A list is always replaced whole, with the object's resourceVersion, and never removed: removing
the last entry leaves `{}`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import unified_diff
from typing import Any, Final

import msgspec
import yaml

from passway.cluster import kinds, records
from passway.cluster.kinds import Kind
from passway.cluster.records import HyperConverged, KubeVirt
from passway.cluster.snapshot import Read, Snapshot
from passway.kubevirt.configuration import configuration_of
from passway.kubevirt.permitted import (
    KUBEVIRT,
    Permit,
    PermitKind,
    Spelling,
    permits_in,
    permitted_of,
    read_permit,
    spelling_of,
)
from passway.model import names
from passway.model.errors import Conflict, Forbidden, InvalidInput, NotFound, Unavailable
from passway.model.verdict import Ref
from passway.preflight.questions import machine_devices
from passway.preflight.stage import ref
from passway.preflight.supply import holder_of

Listing = Mapping[str, Any]
FIELDS: Final[dict[PermitKind, str]] = {
    "pci": "pci_vendor_selector", "mediated": "mdev_name_selector", "usb": "vendor and product",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one object, not applied. `patch` is a merge patch that carries resourceVersion.

    `before` and `after` are the list object (None: absent). `refused`: VMs that KubeVirt would
    refuse at their next start because of this change. `in_use`: running VMs that hold it.
    """

    kind: Kind
    target: Ref
    changed: bool
    before: Listing | None
    after: Listing | None
    patch: Mapping[str, Any]
    enforcement: bool = False
    refused: tuple[Ref, ...] = ()
    in_use: tuple[Ref, ...] = ()

    def diff(self) -> str:
        """The change as a unified diff of YAML; empty when nothing changes."""
        name = f"{self.kind.kind} {self.target}"
        return "".join(
            unified_diff(_yaml(self.before), _yaml(self.after), f"{name} (now)", f"{name} (after)")
        )


def permit_of(
    kind: str,
    resource_name: str,
    *,
    selector: str | None = None,
    vendor: str | None = None,
    product: str | None = None,
    external: bool = False,
) -> Permit:
    """A validated entry in normal form (PCI upper, USB lower case); raises InvalidInput."""
    try:
        names.resource_name(resource_name)
        match kind, selector, vendor, product:
            case "pci", str(), None, None:
                return Permit(
                    resource_name, "pci", (names.pci_vendor_selector(selector),), external
                )
            case "mediated", str(), None, None:
                return Permit(
                    resource_name, "mediated", (names.mdev_name_selector(selector),), external
                )
            case "usb", None, str(), str():
                ids = f"{names.usb_id(vendor)}:{names.usb_id(product)}"
                return Permit(resource_name, "usb", (ids,), external)
            case _:
                pass
    except names.InvalidName as error:
        raise InvalidInput(str(error)) from None
    if kind not in FIELDS:
        raise InvalidInput(f'kind is "{kind[:40]}"; use pci, mediated or usb')
    raise InvalidInput(f"an entry of kind {kind} needs {FIELDS[kind]}, and nothing else")


def plan_permit(snapshot: Snapshot, permit: Permit) -> Change:
    """Adds an entry. The same entry again is no change; the same name otherwise is a Conflict."""
    owner = _owner(snapshot)
    same_name = [
        entry
        for entry in permits_in(owner.listing, owner.spelling)
        if entry.resource_name == permit.resource_name and not entry.disabled
    ]
    if any(_key(entry) == _key(permit) for entry in same_name):
        return owner.unchanged()
    if same_name:
        entry = same_name[0]
        external = ", external" if entry.external else ""
        raise Conflict(
            f'"{permit.resource_name}" is permitted already as {entry.kind} {entry.selector}'
            f"{external}",
            code="ENTRY_DIFFERS",
            hint=f"remove that entry first: passway unpermit {permit.resource_name}",
        )
    field = owner.spelling.lists()[permit.kind]
    entries = [*_entries(owner.listing, field), _entry(permit, owner.spelling)]
    return owner.changed(snapshot, {field: entries})


def plan_unpermit(snapshot: Snapshot, resource_name: str, selector: str | None = None) -> Change:
    """Removes the entries of a name (with that selector); none there is no change."""
    owner = _owner(snapshot)
    replaced: dict[str, Any] = {}
    for kind, field in owner.spelling.lists().items():
        entries = _entries(owner.listing, field)
        kept = [
            entry
            for entry in entries
            if not _selected(entry, kind, owner.spelling, resource_name, selector)
        ]
        if len(kept) < len(entries):
            replaced[field] = kept or None
    return owner.changed(snapshot, replaced) if replaced else owner.unchanged()


# -- the object that keeps the list ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Owner:
    kind: Kind
    target: Ref
    resource_version: str
    spelling: Spelling
    listing: Listing | None

    def unchanged(self) -> Change:
        return Change(self.kind, self.target, False, self.listing, self.listing, {})

    def changed(self, snapshot: Snapshot, replaced: Mapping[str, Any]) -> Change:
        merged = {**(self.listing or {}), **replaced}
        after = {field: entries for field, entries in merged.items() if entries is not None}
        patch: dict[str, Any] = dict(replaced)
        for field in reversed(self.spelling.path):
            patch = {field: patch}
        patch["metadata"] = {"resourceVersion": self.resource_version}
        before = permits_in(self.listing, self.spelling)
        remaining = permits_in(after, self.spelling)
        allowed = {entry.resource_name for entry in remaining if not entry.disabled}
        enforcement = permitted_of(snapshot.kubevirt) is None
        removed = {entry.resource_name for entry in before} - allowed
        return Change(
            kind=self.kind,
            target=self.target,
            changed=True,
            before=self.listing,
            after=after,
            patch=patch,
            enforcement=enforcement,
            refused=_refused(snapshot, allowed, None if enforcement else removed),
            in_use=_running(snapshot, removed),
        )


def _owner(snapshot: Snapshot) -> _Owner:
    """The HyperConverged object if there is one, else the KubeVirt object."""
    for kind in (kinds.HYPERCONVERGEDS, kinds.KUBEVIRTS):
        _require_read(snapshot, kind)
    hyperconverged, kubevirt = snapshot.hyperconverged, snapshot.kubevirt
    if hyperconverged is not None:
        return _of_hyperconverged(hyperconverged)
    if kubevirt is None:
        raise NotFound("the cluster has no KubeVirt object", hint="install KubeVirt first")
    return _of_kubevirt(kubevirt)


def _require_read(snapshot: Snapshot, kind: Kind) -> None:
    """Which object owns the list must be known; an absent HyperConverged CRD reads as empty."""
    read = snapshot.read(kind)
    if read is Read.FORBIDDEN:
        raise Forbidden(
            f"{kind.resource} may not be listed, so the permitted list cannot be changed",
            code="RBAC_DENIED",
            hint=f"grant list on {kind.resource}",
        )
    if read is Read.UNREAD:
        raise Unavailable(
            f"{kind.resource} were not read, so the owner of the permitted list is not known",
            hint=f"add them to the dump, or say --read {kind.plural} if there are none",
        )


def _of_kubevirt(found: KubeVirt) -> _Owner:
    meta = found.metadata
    return _Owner(
        kinds.KUBEVIRTS,
        Ref("KubeVirt", meta.name, meta.namespace),
        meta.resource_version,
        KUBEVIRT,
        configuration_of(found).permitted_host_devices,
    )


def _of_hyperconverged(found: HyperConverged) -> _Owner:
    meta, version = found.metadata, found.api_version.rpartition("/")[2]
    spelling = spelling_of(found)
    listing: Any = {"spec": found.spec or {}}
    for field in spelling.path:
        listing = listing.get(field) if isinstance(listing, dict) else None
    kind = replace(kinds.HYPERCONVERGEDS, version=version or kinds.HYPERCONVERGEDS.version)
    return _Owner(
        kind,
        Ref("HyperConverged", meta.name, meta.namespace),
        meta.resource_version,
        spelling,
        listing if isinstance(listing, dict) else None,
    )


def listing_in(kind: Kind, obj: Mapping[str, Any]) -> Listing | None:
    """The list as such an object (KubeVirt or HyperConverged) has it; None: it has none."""
    if kind.kind == kinds.KUBEVIRTS.kind:
        return _of_kubevirt(msgspec.convert(obj, KubeVirt, strict=False)).listing
    return _of_hyperconverged(msgspec.convert(obj, HyperConverged, strict=False)).listing


# -- entries --------------------------------------------------------------------------------------


def _key(permit: Permit) -> tuple[str, tuple[str, ...], bool]:
    """What makes two entries of one name the same."""
    if permit.kind == "mediated":
        return (permit.kind, tuple(map(names.mdev_type_key, permit.selectors)), permit.external)
    return (permit.kind, permit.selectors, permit.external)


def _entry(permit: Permit, spelling: Spelling) -> dict[str, Any]:
    entry: dict[str, Any] = {"resourceName": permit.resource_name}
    if permit.kind == "usb":
        pairs = [selector.partition(":") for selector in permit.selectors]
        entry["selectors"] = [{"vendor": v, "product": p} for v, _, p in pairs]
    else:
        field = spelling.pci_selector if permit.kind == "pci" else "mdevNameSelector"
        entry[field] = permit.selector
    if permit.external:
        entry["externalResourceProvider"] = True
    return entry


def listing_of(permits: Iterable[Permit], spelling: Spelling) -> dict[str, Any]:
    """Entries as a list object."""
    found: dict[str, Any] = {}
    for permit in permits:
        found.setdefault(spelling.lists()[permit.kind], []).append(_entry(permit, spelling))
    return found


def _entries(listing: Listing | None, field: str) -> list[Any]:
    entries = (listing or {}).get(field)
    return list(entries) if isinstance(entries, list) else []


def _selected(
    entry: Any, kind: PermitKind, spelling: Spelling, resource_name: str, selector: str | None
) -> bool:
    if not isinstance(entry, dict):
        return False
    permit = read_permit(kind, entry, spelling)
    wanted = selector is None or selector.lower() in {item.lower() for item in permit.selectors}
    return permit.resource_name == resource_name and wanted


# -- consequences ---------------------------------------------------------------------------------


def _refused(snapshot: Snapshot, allowed: set[str], removed: set[str] | None) -> tuple[Ref, ...]:
    """VMs that ask for a device that is not allowed (or, with `removed`, for one of those)."""
    found: set[Ref] = set()
    for key, machine in snapshot.all(kinds.MACHINES, records.VirtualMachine).items():
        asked = {name for name in machine_devices(machine, snapshot) if "/" in name}
        if asked & removed if removed is not None else asked - allowed:
            found.add(ref(kinds.MACHINES, key))
    return tuple(sorted(found))


def _running(snapshot: Snapshot, resources: set[str]) -> tuple[Ref, ...]:
    return tuple(
        sorted(
            {
                holder_of(pod)
                for resource in resources
                for pod, _ in snapshot.holders(resource)
                if pod.machine
            }
        )
    )


def _yaml(listing: Listing | None) -> list[str]:
    if listing is None:
        return ["# permittedHostDevices is absent: KubeVirt checks nothing\n"]
    text = yaml.safe_dump({"permittedHostDevices": dict(listing)}, sort_keys=False)
    return text.splitlines(keepends=True)
