"""Names and addresses of the field: DNS labels, resource names, PCI, USB and mdev selectors.

Owns their grammar and their one normal form, with an error text that says what a right one looks
like. It does not know who uses a name or whether anything answers to it.
Sources: k8s.io/apimachinery/pkg/util/validation; kubevirt pkg/virt-handler/device-manager (PCI ids
compare without case, mdev names compare with spaces as underscores, USB ids are hexadecimal).
"""

import re
from typing import Final

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PCI_ID: Final = re.compile(r"([0-9A-Fa-f]{4}):([0-9A-Fa-f]{4})")
_PCI_ADDRESS: Final = re.compile(
    r"(?:([0-9A-Fa-f]{4}):)?([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})\.([0-7])"
)
_USB_ID: Final = re.compile(r"(?:0[xX])?([0-9A-Fa-f]{1,4})")
_MDEV_NAME: Final = re.compile(r"[^\x00-\x1f\x7f/]{1,128}")

SUBDOMAIN_LENGTH: Final = 253
DEVICE_CLASS_DOMAIN: Final = "deviceclass.resource.kubernetes.io"
"""Below it, each DeviceClass is an extended resource of its own (KEP-5004)."""


class InvalidName(ValueError):
    """A name that Kubernetes or KubeVirt would refuse; the message says how a right one looks."""


def dns_label(text: str) -> str:
    """A DNS label (RFC 1123): VM, device, namespace and interface names."""
    if not _LABEL.fullmatch(text):
        raise InvalidName(
            f"{text[:80]!r} is not a DNS label; use 1 to 63 lower-case letters, digits and "
            "hyphens, beginning and ending with a letter or digit"
        )
    return text


def dns_subdomain(text: str) -> str:
    """A DNS subdomain (RFC 1123): names of nodes, attachments and most objects."""
    if len(text) > SUBDOMAIN_LENGTH or not _SUBDOMAIN.fullmatch(text):
        raise InvalidName(
            f"{text[:80]!r} is not a DNS subdomain; use lower-case letters, digits, hyphens and "
            "dots, at most 253 characters"
        )
    return text


def is_label(key: str, value: str) -> bool:
    """Whether a node could have this label."""
    domain, slash, name = key.rpartition("/")
    if slash and (len(domain) > SUBDOMAIN_LENGTH or not _SUBDOMAIN.fullmatch(domain)):
        return False
    return bool(_QUALIFIED.fullmatch(name)) and (not value or bool(_QUALIFIED.fullmatch(value)))


def resource_name(text: str) -> str:
    """An extended resource name `vendor.com/name`, as device plugins advertise it."""
    domain, slash, name = text.partition("/")
    if (
        not slash
        or len(domain) > SUBDOMAIN_LENGTH
        or not _SUBDOMAIN.fullmatch(domain)
        or not _QUALIFIED.fullmatch(name)
    ):
        raise InvalidName(
            f"{text[:80]!r} is not a resource name; write it as vendor.com/name (a lower-case "
            "domain, a slash, then at most 63 letters, digits, '-', '_' or '.')"
        )
    if (
        domain == "kubernetes.io"
        or (domain.endswith(".kubernetes.io") and domain != DEVICE_CLASS_DOMAIN)
        or text.startswith("requests.")
    ):
        raise InvalidName(
            f"{text[:80]!r} is not an extended resource: names below kubernetes.io and names that "
            "begin with 'requests.' are reserved"
        )
    return text


def network_name(text: str) -> tuple[str | None, str]:
    """`[namespace/]name` of a NetworkAttachmentDefinition -> (namespace or None, name)."""
    namespace, slash, name = text.rpartition("/")
    return (dns_label(namespace) if slash else None, dns_subdomain(name))


def pci_vendor_selector(text: str) -> str:
    """`vendor:device` in hexadecimal -> the normal form in upper case (`10DE:20B5`)."""
    match = _PCI_ID.fullmatch(text)
    if match is None:
        raise InvalidName(
            f"{text[:80]!r} is not a PCI vendor selector; write vendor:device as two groups of "
            "four hexadecimal digits (10DE:20B5), without wildcards or spaces"
        )
    return f"{match[1]}:{match[2]}".upper()


def pci_address(text: str) -> str:
    """A PCI address -> the full form in lower case (`0000:65:00.0`)."""
    match = _PCI_ADDRESS.fullmatch(text)
    if match is None or int(match[3], 16) > 0x1F:
        raise InvalidName(f"{text[:80]!r} is not a PCI address; write it as 0000:65:00.0")
    return f"{match[1] or '0000'}:{match[2]}:{match[3]}.{match[4]}".lower()


def usb_id(text: str) -> str:
    """A USB vendor or product id -> four lower-case hexadecimal digits (`046d`)."""
    match = _USB_ID.fullmatch(text)
    if match is None:
        raise InvalidName(
            f"{text[:80]!r} is not a USB id; write up to four hexadecimal digits (046d)"
        )
    return match[1].lower().rjust(4, "0")


def mdev_name_selector(text: str) -> str:
    """The *name* of an mdev type (`GRID T4-1Q`), not its directory; outer spaces are refused."""
    if not _MDEV_NAME.fullmatch(text) or text != text.strip():
        raise InvalidName(
            f"{text[:80]!r} is not an mdev type name; write the content of the type's `name` file "
            "(GRID T4-1Q), without spaces at either end"
        )
    return text


def mdev_type_key(text: str) -> str:
    """What KubeVirt compares mdev type names by: every space is an underscore."""
    return text.replace(" ", "_")


def nearest(name: str, known: list[str], limit: int = 3) -> tuple[str, ...]:
    """The known names close to `name`, best first; alone, one that differs only in letter case."""
    from difflib import get_close_matches

    folded = {candidate.lower(): candidate for candidate in sorted(known, reverse=True)}
    if name.lower() in folded:
        return (folded[name.lower()],)
    matches = get_close_matches(name.lower(), list(folded), n=limit, cutoff=0.6)
    return tuple(folded[match] for match in matches)
