"""Rules on interfaces: state, binding, name, model, addresses and ports.

Source: kubevirt pkg/network/admitter/{admit,binding,netiface,discontinued}.go. An interface has
exactly one binding; the removed ones (slirp, macvtap, passt) do not count as one.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from passway.kubevirt.admission.cause import Cause, duplicate, invalid, required, unsupported
from passway.kubevirt.admission.networks import default_network
from passway.kubevirt.admission.subject import INTERFACES, Object, Subject

BINDINGS: Final = ("bridge", "masquerade", "sriov", "passtBinding", "binding")
DISCONTINUED: Final = {
    "slirp": "SlirpDiscontinued",
    "macvtap": "MacvtapDiscontinued",
    "passt": "PasstDiscontinued",
}
DISCONTINUED_GATES: Final = {"Passt": "passt", "Macvtap": "macvtap"}
MODELS: Final = frozenset({"e1000", "e1000e", "ne2k_pci", "pcnet", "rtl8139", "virtio"})
RESERVED_MAC: Final = "02:00:00:00:00:00"
MAX_PORT: Final = 65536
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_PCI: Final = re.compile(r"[0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]")
_PORT_NAME: Final = re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?")
_MAC: Final = re.compile(
    r"[0-9A-Fa-f]{2}(?P<mark>[:-])[0-9A-Fa-f]{2}(?:(?P=mark)[0-9A-Fa-f]{2})*"
    r"|[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4})+"
)
_MAC_BYTES: Final = frozenset({6, 8, 20})


def path_of(index: int) -> str:
    """The field path of an interface."""
    return f"{INTERFACES}[{index}]"


def discontinued_gates(subject: Subject) -> Iterator[Cause]:
    """A removed binding whose gate is still listed is told once more, without a field."""
    for gate, binding in DISCONTINUED_GATES.items():
        if gate in subject.settings.gates.enabled:
            for index, interface in enumerate(subject.interfaces):
                if binding in interface:
                    place = f"{path_of(index)}.{binding}"
                    yield unsupported(DISCONTINUED[binding], "", place, binding=binding)
                    break


def discontinued(subject: Subject) -> Iterator[Cause]:
    """Bindings that KubeVirt has removed."""
    for index, interface in enumerate(subject.interfaces):
        for binding, rule in DISCONTINUED.items():
            if binding in interface:
                yield invalid(rule, f"{path_of(index)}.{binding}", binding=binding)


def states(subject: Subject) -> Iterator[Cause]:
    """The state that an interface is asked to have."""
    default = default_network(subject)
    for index, interface in enumerate(subject.interfaces):
        state = interface.get("state", "")
        path = f"{path_of(index)}.state"
        if state in {"up", "down"} and "sriov" in interface:
            yield invalid("SriovStateUnsupported", path, state=state)
        if state not in {"", "up", "down", "absent"}:
            yield invalid("InterfaceStateUnknown", path, state=state)
        if state == "absent" and "bridge" not in interface:
            yield invalid("InterfaceStateNeedsBridge", path, state=state)
        if state == "absent" and interface["name"] == default:
            yield invalid("DefaultInterfaceAbsent", path, state=state)


def bindings(subject: Subject) -> Iterator[Cause]:
    """Each interface's binding, and the network that goes with it."""
    kinds = {network["name"]: network for network in subject.networks}
    for index, interface in enumerate(subject.interfaces):
        given = tuple(binding for binding in BINDINGS if binding in interface)
        if len(given) != 1:
            yield invalid("InterfaceBindingCount", path_of(index), count=len(given), given=given)
        on_pod = "pod" in kinds.get(interface["name"], {})
        name = f"{path_of(index)}.name"
        if "masquerade" in interface:
            if not on_pod:
                yield invalid("MasqueradeNeedsPodNetwork", name, interface=interface["name"])
            if interface.get("macAddress", "").replace("-", ":") == RESERVED_MAC:
                yield invalid("InterfaceMacReserved", f"{path_of(index)}.macAddress")
        if "bridge" in interface and on_pod and not subject.settings.bridge_permitted:
            yield invalid("BridgeNotPermitted", name, interface=interface["name"])


def names(subject: Subject) -> Iterator[Cause]:
    """One interface a network, and a network for each interface."""
    seen: set[str] = set()
    for index, interface in enumerate(subject.interfaces):
        if interface["name"] in seen:
            yield duplicate(
                "NetworkUsedTwice",
                f"{path_of(index)}.name",
                name=interface["name"],
                list="interfaces",
            )
        seen.add(interface["name"])
    known = {network["name"] for network in subject.networks}
    for index, interface in enumerate(subject.interfaces):
        if interface["name"] not in known:
            yield invalid(
                "InterfaceWithoutNetwork", f"{path_of(index)}.name", interface=interface["name"]
            )


def fields(subject: Subject) -> Iterator[Cause]:
    """Name, model, addresses and ports."""
    kinds = {network["name"]: network for network in subject.networks}
    for index, interface in enumerate(subject.interfaces):
        path = path_of(index)
        if not _NAME.fullmatch(interface["name"]):
            yield invalid("InterfaceNameMalformed", f"{path}.name", name=interface["name"])
        model = interface.get("model", "")
        if model and model not in MODELS:
            yield unsupported("InterfaceModelUnsupported", f"{path}.model", model=model)
        yield from _addresses(path, interface)
        if "pod" in kinds.get(interface["name"], {}):
            yield from _ports(path, interface)


def _addresses(path: str, interface: Object) -> Iterator[Cause]:
    mac = interface.get("macAddress", "")
    if mac:
        size = mac_bytes(mac)
        if size is None:
            yield invalid("InterfaceMacMalformed", f"{path}.macAddress", mac=mac)
        elif size > 6:
            yield invalid("InterfaceMacTooLong", f"{path}.macAddress", mac=mac)
    address = interface.get("pciAddress", "")
    if address and not is_guest_address(address):
        yield invalid("InterfacePciAddressMalformed", f"{path}.pciAddress", address=address)


def mac_bytes(text: str) -> int | None:
    """The bytes of a hardware address in one of the forms that Go reads; None if it is none."""
    size = len(re.sub(r"[.:-]", "", text)) // 2
    return size if _MAC.fullmatch(text) and size in _MAC_BYTES else None


def is_guest_address(text: str) -> bool:
    """Whether a text is a PCI address for a guest: with the domain; any slot goes."""
    return bool(_PCI.fullmatch(text))


def _ports(path: str, interface: Object) -> Iterator[Cause]:
    seen: set[str] = set()
    ports: list[Mapping[str, object]] = interface.get("ports", [])
    for index, port in enumerate(ports):
        name, place = str(port.get("name", "")), f"{path}.ports[{index}]"
        if name and name in seen:
            yield duplicate("PortNameDuplicate", f"{place}.name", port=name)
        if name and not _PORT_NAME.fullmatch(name):
            yield invalid("PortNameMalformed", f"{place}.name", port=name)
        seen.add(name)
    for index, port in enumerate(ports):
        number, place = port["port"], f"{path}.ports[{index}]"
        if not number:
            yield required("PortMissing", place)
        elif isinstance(number, int) and not 0 < number <= MAX_PORT:
            yield invalid("PortOutOfRange", place, f"{place}.port", port=number)
        if port.get("protocol", "TCP") not in {"TCP", "UDP"}:
            yield invalid("PortProtocolUnknown", f"{place}.protocol")
