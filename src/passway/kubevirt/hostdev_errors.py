"""Why a device could not be built: one exception, and the one place that words it.

Each failure names the device, what was looked for (a variable, a directory, a field) and the usual
cause; the hint says what to do. Codes are stable, `because` narrows a code down where one code has
several causes. Nothing here decides: the builders do. Text from outside is quoted and cut.
"""

from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias

from passway.model.errors import EXIT_NO, Kind, PasswayError

Code = Literal[
    "ClaimDeviceUnresolved",
    "ClaimReferenceIncomplete",
    "DeviceCountMismatch",
    "GuestPciAddressMalformed",
    "NetworkAddressMissing",
    "NetworkInfoHasNoAddresses",
    "NetworkInfoMalformed",
    "NetworkInfoMissing",
    "PciAddressMalformed",
    "SpecMalformed",
    "UsbAddressMalformed",
]
ClaimCause = Literal[
    "ClaimNotListed",
    "MetadataAttributeMissing",
    "MetadataFileMissing",
    "MetadataFilesAmbiguous",
    "MetadataMalformed",
    "MetadataRequestEmpty",
    "MetadataRequestHasManyDevices",
    "MetadataRequestMissing",
]
CountCause = Literal["VariableMissing", "TooFewAddresses", "AddressedTwice", "ClaimAddressed"]
Because: TypeAlias = ClaimCause | CountCause

_SHOWN: Final = 120


@dataclass(frozen=True, slots=True)
class _Words:
    """`{value}` and `{looked_for}` may stand in each."""

    what: str
    cause: str
    remedy: str


_WORDS: Final[dict[Code | Because, _Words]] = {
    "VariableMissing": _Words(
        "no address for resource {value}: the launcher has none of {looked_for}",
        "the resource is served by a device plugin that sets no KubeVirt variable, or the variable "
        "belongs to a resource of another name",
        "let KubeVirt's own plugin or NVIDIA's KubeVirt plugin serve {value}, and compare "
        "deviceName with the permitted resourceName letter by letter",
    ),
    "TooFewAddresses": _Words(
        "no address is left for resource {value} in {looked_for}",
        "the plugin allocated fewer devices than the VM lists, an address is empty or repeated, or "
        "another resource of the VM took it",
        "compare the addresses in the variable with the devices that ask for {value}; two "
        "devices of one IOMMU group count once",
    ),
    "AddressedTwice": _Words(
        "more than one address for one entry of resource {value}, from {looked_for}",
        "one resource name is served by plugins of more than one kind",
        "give PCI, mediated and USB devices resource names of their own",
    ),
    "ClaimAddressed": _Words(
        "it has a claim, and yet a device from {looked_for} as well",
        "a variable without a resource name is set; an entry with a claim looks that one up too",
        "unset {looked_for} in the launcher",
    ),
    "PciAddressMalformed": _Words(
        "{value} from {looked_for} is not a PCI address",
        "the plugin hands out something else, as an IOMMU group, a UUID or a short address",
        "the address must read dddd:bb:ss.f, as 0000:65:00.0; look at the plugin or driver that "
        "wrote it",
    ),
    "UsbAddressMalformed": _Words(
        "{value} from {looked_for} is not a USB address",
        "a plugin that is not KubeVirt's own serves the resource",
        "the address must read bus:device, as 1:4",
    ),
    "GuestPciAddressMalformed": _Words(
        "its pciAddress {value} is not a PCI address",
        "the domain is missing or the parts have the wrong length",
        "write pciAddress as dddd:bb:ss.f, as 0000:0a:00.0, or leave it out",
    ),
    "ClaimReferenceIncomplete": _Words(
        "it has only part of a claim reference; {looked_for} must both be set",
        "one of the two names is empty or missing",
        "name the entry of spec.resourceClaims in claimName and its request in requestName, or "
        "use deviceName",
    ),
    "ClaimNotListed": _Words(
        "its claim {value} is not in spec.resourceClaims",
        "claimName is the name of the ResourceClaim or of a template, not of the entry",
        "add an entry named {value} to spec.resourceClaims, or correct claimName",
    ),
    "MetadataFileMissing": _Words(
        "no metadata file {looked_for}",
        "the DRA driver publishes no device metadata (KEP-5304), or the request has another name; "
        "for a template the directory is named after the entry, not after the template",
        "turn device metadata on in the driver, and compare requestName with the claim's requests",
    ),
    "MetadataFilesAmbiguous": _Words(
        "{value} metadata files match {looked_for}, but KubeVirt reads exactly one",
        "more than one driver serves the request",
        "give each driver a request of its own",
    ),
    "MetadataMalformed": _Words(
        "the metadata file {looked_for} cannot be used: {value}",
        "the driver writes only a schema version that KubeVirt does not know, or the file is cut "
        "off",
        "let the driver write metadata.resource.k8s.io/v1alpha1 as well",
    ),
    "MetadataRequestMissing": _Words(
        "{looked_for} has no request named {value}",
        "the request is a prioritized list (firstAvailable), whose name carries the subrequest, "
        "or requestName is misspelled",
        "use a request of kind exactly, and compare requestName with the claim",
    ),
    "MetadataRequestEmpty": _Words(
        "request {value} in {looked_for} has no device",
        "the driver prepared nothing for the request",
        "look at the claim's allocation and at the driver's log on the node",
    ),
    "MetadataRequestHasManyDevices": _Words(
        "request {value} in {looked_for} has more than one device",
        "the request has a count over 1, or allocationMode All",
        "ask for one device a request, and list one entry for each request",
    ),
    "MetadataAttributeMissing": _Words(
        "the device in {looked_for} has no attribute {value}",
        "the driver is not made for passthrough, qualifies mdevUUID with a domain, or gives the "
        "attribute another type than string",
        "let the driver publish the attribute as a string that is not empty",
    ),
    "NetworkInfoMissing": _Words(
        "{looked_for} stays empty",
        "Multus has not written the network status, or the annotation is not projected into it",
        "look at the pod's annotation k8s.v1.cni.cncf.io/network-status",
    ),
    "NetworkInfoMalformed": _Words(
        "{looked_for} cannot be read: {value}",
        "something other than KubeVirt wrote the annotation kubevirt.io/network-info",
        "remove whatever changes the annotation",
    ),
    "NetworkInfoHasNoAddresses": _Words(
        "{looked_for} is absent or has no PCI address",
        "the network's attachment has no SR-IOV resource, or the SR-IOV plugin publishes no device "
        "information",
        "check the annotation k8s.v1.cni.cncf.io/resourceName of the attachment and the plugin's "
        "version",
    ),
    "NetworkAddressMissing": _Words(
        "{looked_for} has no PCI address left for network {value}",
        "the network is not backed by a virtual function, or two interfaces share its name",
        "check the attachment of that network; names of interfaces must differ",
    ),
    "SpecMalformed": _Words(
        "the object cannot be read as a VM: {value}",
        "a field has the wrong type",
        "check the object with: kubectl apply --dry-run=server",
    ),
}


class TranslationError(PasswayError):
    """KubeVirt's launcher would fail on this device.

    `device` is where it stands in the spec (`gpus[0] 'gpu1'`; empty for the whole object),
    `looked_for` the variables, files or fields that were read for it.
    """

    kind: ClassVar[Kind] = Kind(
        "TRANSLATION_FAILED", 400, EXIT_NO, "The launcher could not build the device"
    )

    def __init__(
        self,
        code: Code,
        device: str,
        *,
        looked_for: tuple[str, ...] = (),
        value: str = "",
        because: Because | None = None,
    ) -> None:
        words = _WORDS[because or code]
        shown = {"looked_for": " or ".join(map(_shown, looked_for)), "value": _shown(value)}
        subject = f"{device}: " if device else ""
        super().__init__(
            f"{subject}{words.what.format_map(shown)}; usual cause: {words.cause}",
            hint=words.remedy.format_map(shown),
            code=code,
        )
        self.device = device
        self.looked_for = looked_for
        self.because = because


def _shown(text: str) -> str:
    cut = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}\N{HORIZONTAL ELLIPSIS}"
    return cut if cut and cut.isprintable() and cut == cut.strip() else repr(cut)


def subject(field: str, index: int, name: str | None) -> str:
    """How errors name an entry of a list: where it stands and what it is called."""
    return f"{field}[{index}] {(name or '')[:_SHOWN]!r}"
