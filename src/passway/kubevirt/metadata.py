"""Device metadata files (KEP-5304): which device a request of a claim got.

Owns where the file of a request lies below the base directory, which of several is meant (none:
exactly one must match), which object of the stream counts, and which device of it. Names come from
outside and are compared as whole path components, so nothing outside the request's own directory
is ever looked at. Files are a value (path -> text); whoever reads them in bounds them.
Sources: kubevirt pkg/dra/utils.go, pkg/dra/metadata/types.go; Kubernetes KEP-5304.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from passway.kubevirt.hostdev_errors import ClaimCause
from passway.kubevirt.hostdev_json import NotJson, next_document, skip_space, typed
from passway.kubevirt.hostdev_spec import ClaimEntry

BASE: Final = "/var/run/kubernetes.io/dra-device-attributes"
SUPPORTED: Final = "metadata.resource.k8s.io/v1alpha1"
PCI_BUS_ID: Final = "resource.kubernetes.io/pciBusID"
MDEV_UUID: Final = "mdevUUID"
"""The bare key: one qualified with a domain is not found."""

_SUFFIX: Final = "-metadata.json"
_MAPS: Final = frozenset({"attributes"})
_Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class _Attribute(msgspec.Struct, frozen=True):
    string: str | None = None
    number: _Int64 | None = msgspec.field(name="int", default=None)
    flag: bool | None = msgspec.field(name="bool", default=None)
    version: str | None = None


class _Device(msgspec.Struct, frozen=True):
    driver: str | None = None
    pool: str | None = None
    name: str | None = None
    attributes: dict[str, _Attribute | None] | None = None
    networkdata: dict[str, Any] | None = None


class _Request(msgspec.Struct, frozen=True):
    name: str | None = None
    devices: tuple[_Device | None, ...] | None = None


class _Versioned(msgspec.Struct, frozen=True):
    apiversion: str | None = None


class _Document(_Versioned, frozen=True):
    kind: str | None = None
    metadata: dict[str, Any] | None = None
    podclaimname: str | None = None
    requests: tuple[_Request | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    """The one device of a request: its string attributes that are not empty."""

    source: str
    attributes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Why the metadata gives no device; `source` is the directory or file looked at."""

    because: ClaimCause
    source: str
    value: str = ""


def resolve(
    files: Mapping[str, str], claims: Iterable[ClaimEntry], claim: str, request: str
) -> Resolved | Unresolved:
    """The device of a claim's request; `files` are paths below the base directory -> text."""
    entry = next((entry for entry in claims if (entry.name or "") == claim), None)
    if entry is None:
        return Unresolved("ClaimNotListed", "spec.resourceClaims", claim)
    directory = _directory(entry, request)
    if not all(map(_is_component, directory)):
        return Unresolved("MetadataFileMissing", f"of request {request!r} of claim {claim!r}")
    pattern = "/".join((BASE, *directory, f"*{_SUFFIX}"))
    names = _matches(files, directory)
    if not names:
        return Unresolved("MetadataFileMissing", pattern)
    if len(names) > 1:
        return Unresolved("MetadataFilesAmbiguous", pattern, str(len(names)))
    path = "/".join((*directory, *names))
    return _device(f"{BASE}/{path}", files.get(path), request)


def _directory(entry: ClaimEntry, request: str) -> tuple[str, str, str]:
    if entry.resource_claim_name:
        return "resourceclaims", entry.resource_claim_name, request
    # The directory has the entry's name, not the template's.
    return "resourceclaimtemplates", entry.name or "", request


def _matches(files: Mapping[str, str], directory: tuple[str, ...]) -> list[str]:
    """The names in a directory that end like a metadata file, files and directories."""
    prefix = "".join(f"{part}/" for part in directory)
    names = {path[len(prefix) :].partition("/")[0] for path in files if path.startswith(prefix)}
    return sorted(name for name in names if name.endswith(_SUFFIX))


def _is_component(name: str) -> bool:
    """Whether a name can be that of one file; upstream joins it to the path as it is."""
    return name not in {"", ".", ".."} and "/" not in name and "\0" not in name


def _device(source: str, text: str | None, request: str) -> Resolved | Unresolved:
    if text is None:
        return Unresolved("MetadataMalformed", source, "it is a directory")
    try:
        document = _supported(text)
    except NotJson as error:
        return Unresolved("MetadataMalformed", source, str(error))
    named = (found for found in document.requests or () if found and found.name == request)
    first = next(named, None)
    if first is None:
        return Unresolved("MetadataRequestMissing", source, request)
    devices = first.devices or ()
    if not devices:
        return Unresolved("MetadataRequestEmpty", source, request)
    if len(devices) > 1:
        return Unresolved("MetadataRequestHasManyDevices", source, request)
    return Resolved(source, _strings(devices[0]))


def _strings(device: _Device | None) -> dict[str, str]:
    attributes = (device.attributes if device else None) or {}
    return {
        name: attribute.string
        for name, attribute in attributes.items()
        if attribute and attribute.string
    }


def _supported(text: str) -> _Document:
    """The first object of a version that KubeVirt knows; what follows it is not read."""
    position, skipped = skip_space(text, 0), list[str]()
    # A stray closing bracket ends the stream (Go's json.Decoder.More).
    while position < len(text) and text[position] not in "}]":
        document, position = next_document(text, position)
        version = typed(document, _Versioned).apiversion
        if not version:
            raise NotJson("an object in it has no apiVersion")
        if version == SUPPORTED:
            return typed(document, _Document, maps=_MAPS)
        skipped.append(version)
    raise NotJson(f"of the versions it has, none is {SUPPORTED}: {', '.join(skipped) or 'none'}")
