"""What a VM boots from and what else it holds: disks, and the data that cloud-init reads.

Owns the short form of disks (a container image, a PersistentVolumeClaim, a DataVolume that exists
or is made with the VM), of user data and of SSH keys, their faults, and the volumes that they
become. Whether a claim exists, and how long user data may be, is for the stages to say. User data
may hold passwords, so no fault repeats it. Source: kubevirt api core/v1 (volumes),
containerized-data-importer DataVolumeSource.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from passway.model import names
from passway.model.quantity import InvalidQuantity, parse_quantity

MAX_DISKS: Final = 16
MAX_KEYS: Final = 64
BUSES: Final = ("virtio", "scsi", "sata")
CLOUD_INIT: Final = "cloudinit"
ROOT: Final = "root"
_SCHEMES: Final = {"http": "http", "https": "http", "docker": "registry"}
_KEY_TYPES: Final = ("ssh-", "ecdsa-", "sk-ssh-", "sk-ecdsa-")

Kind: TypeAlias = Literal["container_disk", "persistent_volume_claim", "data_volume"]
Fault: TypeAlias = tuple[str, str]
"""Path and problem."""


@dataclass(frozen=True, slots=True)
class NewVolume:
    """A DataVolume that is made with the VM. `url`: where its content comes from; none is blank."""

    storage: str
    url: str | None = None
    storage_class: str | None = None


@dataclass(frozen=True, slots=True)
class DiskRequest:
    """One disk. `source`: an image, or the name of a claim or of a DataVolume."""

    name: str
    kind: Kind
    source: str
    bus: str = "virtio"
    made: NewVolume | None = None


@dataclass(frozen=True, slots=True)
class CloudInit:
    """What cloud-init in the guest reads: own user data, or keys for the default user."""

    user_data: str | None = None
    ssh_keys: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.user_data is not None or bool(self.ssh_keys)


NO_DATA: Final = CloudInit()


def disks_of(requests: tuple[DiskRequest, ...], cloud: CloudInit) -> list[dict[str, Any]]:
    """Entries of `domain.devices.disks`; the first one boots, if any is there."""
    found: list[dict[str, Any]] = [
        {"name": item.name, "disk": {"bus": item.bus}, **({"bootOrder": 1} if not index else {})}
        for index, item in enumerate(requests)
    ]
    if len(found) == 1:
        del found[0]["bootOrder"]
    if cloud:
        found.append({"name": CLOUD_INIT, "disk": {"bus": "virtio"}})
    return found


def volumes_of(requests: tuple[DiskRequest, ...], cloud: CloudInit) -> list[dict[str, Any]]:
    """Entries of `volumes`."""
    found = [{"name": item.name, **_source(item)} for item in requests]
    if cloud:
        found.append({"name": CLOUD_INIT, "cloudInitNoCloud": {"userData": _user_data(cloud)}})
    return found


def templates_of(requests: tuple[DiskRequest, ...]) -> list[dict[str, Any]]:
    """Entries of `dataVolumeTemplates`: what is made with the VM, and removed with it."""
    return [
        {
            "metadata": {"name": item.source},
            "spec": {
                "source": _content(item.made.url),
                "storage": {
                    "resources": {"requests": {"storage": item.made.storage}},
                    **({"storageClassName": name} if (name := item.made.storage_class) else {}),
                },
            },
        }
        for item in requests
        if item.made is not None
    ]


def _source(item: DiskRequest) -> dict[str, Any]:
    if item.kind == "container_disk":
        return {"containerDisk": {"image": item.source}}
    if item.kind == "data_volume":
        return {"dataVolume": {"name": item.source}}
    return {"persistentVolumeClaim": {"claimName": item.source}}


def _content(url: str | None) -> dict[str, Any]:
    if url is None:
        return {"blank": {}}
    return {_SCHEMES[url.partition(":")[0]]: {"url": url}}


def _user_data(cloud: CloudInit) -> str:
    if cloud.user_data is not None:
        return cloud.user_data
    keys = "".join(f"  - {key.strip()}\n" for key in cloud.ssh_keys)
    return f"#cloud-config\nssh_authorized_keys:\n{keys}"


# -- faults ---------------------------------------------------------------------------------------


def faults(image: str, requests: tuple[DiskRequest, ...], cloud: CloudInit) -> Iterator[Fault]:
    """Everything that is wrong with them."""
    if any(character.isspace() for character in image):
        yield "image", "an image reference has no spaces"
    if len(requests) > MAX_DISKS:
        yield "disks", f"{len(requests)} disks; at most {MAX_DISKS} are allowed"
    for index, item in enumerate(requests[:MAX_DISKS]):
        for field, problem in _disk_faults(item):
            yield f"disks[{index}].{field}", problem
    taken = [*([ROOT] if image else []), *([CLOUD_INIT] if cloud else [])]
    yield from repeated("disks", [*taken, *(item.name for item in requests)])
    yield from _cloud_faults(cloud)


def _disk_faults(item: DiskRequest) -> Iterator[Fault]:
    yield from checked("name", item.name, names.dns_label)
    if item.kind == "container_disk":
        if not item.source or any(character.isspace() for character in item.source):
            yield item.kind, "an image reference has no spaces, and is not empty"
    else:
        yield from checked(item.kind, item.source, names.dns_subdomain)
    if item.bus not in BUSES:
        yield "bus", f"{item.bus[:40]!r}; use one of {', '.join(BUSES)}"
    if item.made is not None:
        yield from _new_faults(item.made)


def _new_faults(made: NewVolume) -> Iterator[Fault]:
    try:
        if parse_quantity(made.storage).nanos <= 0:
            yield "new.storage", f"{made.storage[:40]!r} is not more than nothing"
    except InvalidQuantity as error:
        yield "new.storage", str(error)
    if made.url is not None and made.url.partition("://")[0] not in _SCHEMES:
        yield "new.url", f"it does not begin with one of {'://, '.join(sorted(_SCHEMES))}://"
    if made.storage_class is not None:
        yield from checked("new.storage_class", made.storage_class, names.dns_subdomain)


def _cloud_faults(cloud: CloudInit) -> Iterator[Fault]:
    if cloud.user_data is not None and cloud.ssh_keys:
        yield "ssh_keys", "user_data is given; put the keys into it (ssh_authorized_keys)"
    if len(cloud.ssh_keys) > MAX_KEYS:
        yield "ssh_keys", f"{len(cloud.ssh_keys)} keys; at most {MAX_KEYS} are allowed"
    for index, key in enumerate(cloud.ssh_keys[:MAX_KEYS]):
        words = key.split()
        one_line = len(key.strip().splitlines()) == 1
        if not one_line or len(words) < 2 or not words[0].startswith(_KEY_TYPES):
            yield f"ssh_keys[{index}]", "not a public key: write it on one line, as in id_*.pub"


def checked(path: str, text: str, check: Callable[[str], object]) -> Iterator[Fault]:
    """What one of the checks of `model.names` says."""
    try:
        check(text)
    except names.InvalidName as error:
        yield path, str(error)


def repeated(path: str, given: list[str]) -> Iterator[Fault]:
    """The names that are used more than once."""
    for name in sorted({name for name in given if given.count(name) > 1}):
        yield path, f'the name "{name}" is used more than once'
