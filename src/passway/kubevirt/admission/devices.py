"""Rules on GPUs, host devices and resource claims.

Owns the claim list, the two device lists, pairs of claim and request that several entries name,
and the gates of claims and of host devices (kubevirt pkg/dra/admitter/dra_admitter.go; the display
and the HostDevices rule: pkg/virt-api/.../admitters/vmi-create-admitter.go). Whether a device is on
the permitted list is not asked at admission.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from passway.kubevirt.admission.cause import (
    Cause,
    Site,
    duplicate,
    gate_off,
    invalid,
    required,
)
from passway.kubevirt.admission.subject import DEVICES, Object, Subject
from passway.model.names import InvalidName, dns_label, dns_subdomain, nearest
from passway.model.verdict import Param

Pair = tuple[str, str]
REFERENCES: Final = ("resourceClaimName", "resourceClaimTemplateName")


@dataclass(frozen=True, slots=True)
class DeviceList:
    """One of the two lists; `rule` begins the names of its rules."""

    name: str
    rule: str
    gate: str

    @property
    def path(self) -> str:
        return f"{DEVICES}.{self.name}"


GPUS: Final = DeviceList("gpus", "Gpu", "GPUsWithDRA")
HOST_DEVICES: Final = DeviceList("hostDevices", "HostDevice", "HostDevicesWithDRA")


@dataclass(slots=True)
class _Found:
    """What a list is found to hold: first index of each pair, and who names which claim."""

    causes: list[Cause] = field(default_factory=list)
    pairs: dict[Pair, int] = field(default_factory=dict)
    named: list[tuple[str, str, str]] = field(default_factory=list)


def claims(subject: Subject) -> Iterator[Cause]:
    """The claim list, the device lists, and pairs and claims across lists."""
    yield from _claim_list(subject)
    gpus = _device_list(GPUS, subject.gpus, subject)
    yield from gpus.causes
    host_devices = _device_list(HOST_DEVICES, subject.host_devices, subject)
    yield from host_devices.causes
    networks = _network_pairs(subject)
    # Upstream walks over a map, so the order of these differs from run to run.
    for pair, index in host_devices.pairs.items():
        if pair in gpus.pairs:
            yield _shared(f"{HOST_DEVICES.path}[{index}]", pair)
    for pair, index in networks.items():
        if pair in gpus.pairs or pair in host_devices.pairs:
            yield _shared(f"spec.networks[{index}]", pair)
    yield from _not_listed(subject, [*gpus.named, *host_devices.named])


def _shared(path: str, pair: Pair) -> Cause:
    return duplicate("ClaimRequestShared", path, claim=pair[0], request=pair[1])


def _claim_list(subject: Subject) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, claim in enumerate(subject.claims):
        path, name = f"spec.resourceClaims[{index}]", claim["name"]
        if not name:
            yield required("ClaimNameMissing", f"{path}.name")
        elif name in seen:
            yield duplicate("ClaimNameDuplicate", f"{path}.name", claim=name)
        elif not _is_label(name):
            yield invalid("ClaimNameMalformed", f"{path}.name", claim=name)
        seen.add(name)
        yield from _reference(path, claim)


def _reference(path: str, claim: Object) -> Iterator[Cause]:
    given = [name for name in REFERENCES if name in claim]
    if len(given) != len(REFERENCES) - 1:
        rule = "ClaimReferenceAmbiguous" if given else "ClaimReferenceMissing"
        yield invalid(rule, path, claim=claim["name"])
    elif not _is_subdomain(claim[given[0]]):
        yield invalid("ClaimReferenceMalformed", f"{path}.{given[0]}", name=claim[given[0]])


def _is_label(name: str) -> bool:
    try:
        return bool(dns_label(name))
    except InvalidName:
        return False


def _is_subdomain(name: str) -> bool:
    try:
        return bool(dns_subdomain(name))
    except InvalidName:
        return False


def takes_claim(device: Object) -> bool:
    """Whether an entry is one of a claim: no device name, and a claim or request name."""
    return not device.get("deviceName") and ("claimName" in device or "requestName" in device)


def _device_list(kind: DeviceList, devices: Sequence[Object], subject: Subject) -> _Found:
    """A list that is refused as a whole takes no part in the rules across lists."""
    found = _Found()
    of_claims = [(index, entry) for index, entry in enumerate(devices) if takes_claim(entry)]
    if kind is GPUS and 0 < len(of_claims) < len(devices):
        of_plugins = tuple(str(entry["name"]) for entry in devices if not takes_claim(entry))
        names = tuple(str(entry["name"]) for _, entry in of_claims)
        found.causes.append(invalid("GpusMixed", kind.path, plugin=of_plugins, claim=names))
        return found
    found.causes.extend(_plugin_entries(kind, devices))
    if of_claims and not subject.on(kind.gate):
        place = f"{kind.path}[{of_claims[0][0]}].claimName"
        found.causes.append(gate_off(f"{kind.rule}ClaimGateOff", kind.gate, kind.path, place))
        return found
    whole = []
    for index, entry in of_claims:
        missing = list(_incomplete(kind, index, entry))
        found.causes.extend(missing)
        if not missing:
            whole.append((index, entry))
    for index, entry in whole:
        pair = (entry["claimName"], entry["requestName"])
        if pair in found.pairs:
            path = f"{kind.path}[{index}]"
            found.causes.append(
                duplicate(
                    "ClaimRequestReused", path, f"{path}.requestName",
                    claim=pair[0], request=pair[1],
                )
            )  # fmt: skip
        found.pairs.setdefault(pair, index)
        found.named.append((f"{kind.path}[{index}].claimName", entry["name"], pair[0]))
    return found


def _plugin_entries(kind: DeviceList, devices: Sequence[Object]) -> Iterator[Cause]:
    for index, entry in enumerate(devices):
        place, device = f"{kind.path}[{index}]", str(entry["name"])
        has_claim = "claimName" in entry or "requestName" in entry
        if entry.get("deviceName"):
            if has_claim:
                yield invalid(f"{kind.rule}HasNameAndClaim", kind.path, place, device=device)
        elif not has_claim:
            yield required(f"{kind.rule}HasNeither", kind.path, place, device=device)


def _incomplete(kind: DeviceList, index: int, entry: Object) -> Iterator[Cause]:
    for name, rule in (("claimName", "ClaimNameMissing"), ("requestName", "RequestNameMissing")):
        if name not in entry:
            yield required(
                f"{kind.rule}{rule}", f"{kind.path}[{index}].{name}", device=str(entry["name"])
            )


def network_pair(network: Object) -> Pair | None:
    """Claim and request of a network, if it names both."""
    reference = network.get("resourceClaim", {})
    claim, request = reference.get("claimName"), reference.get("requestName")
    return (claim, request) if claim and request else None


def _network_pairs(subject: Subject) -> dict[Pair, int]:
    pairs: dict[Pair, int] = {}
    if subject.on("NetworkDevicesWithDRA"):
        for index, network in enumerate(subject.networks):
            pair = network_pair(network)
            if pair:
                pairs.setdefault(pair, index)
    return pairs


def _not_listed(subject: Subject, named: list[tuple[str, str, str]]) -> Iterator[Cause]:
    """KubeVirt says it once on the list; the sites are the devices."""
    listed = [claim["name"] for claim in subject.claims]
    sites = []
    for path, device, claim in named:
        if claim not in listed:
            params: dict[str, Param] = {"device": device, "claim": claim}
            near = nearest(claim, listed)
            sites.append(Site(path, {**params, "near": near} if near else params))
    if sites:
        yield Cause("FieldValueInvalid", "spec.resourceClaims", "ClaimNotDeclared", tuple(sites))


def displays(subject: Subject) -> Iterator[Cause]:
    """At most one GPU may have a display with a boot framebuffer, PCI ones counted too."""
    places = [
        f"{GPUS.path}[{index}].virtualGPUOptions.display"
        for index, gpu in enumerate(subject.gpus)
        if _has_boot_display(gpu)
    ]
    if len(places) > 1:
        sites = tuple(Site(place, {"count": len(places)}) for place in places)
        yield Cause("FieldValueInvalid", "spec.GPUs", "BootDisplaysMany", sites)


def _has_boot_display(gpu: Object) -> bool:
    display = gpu.get("virtualGPUOptions", {}).get("display")
    if display is None or display.get("enabled") is False:
        return False
    return "ramFB" not in display or bool(display["ramFB"].get("enabled"))


def host_device_gate(subject: Subject) -> Iterator[Cause]:
    """Any list of host devices needs the gate."""
    if subject.host_devices and not subject.on("HostDevices"):
        yield gate_off("HostDevicesGateOff", "HostDevices", "spec.HostDevices", HOST_DEVICES.path)
