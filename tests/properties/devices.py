"""Machines whose devices are all served, of the six kinds that the launcher builds.

Addresses, UUIDs and names are such as sysfs, device plugins and people write: whatever comes out of
them must be libvirt's. Displays on PCI devices are left out unless asked for.
"""

import json
from dataclasses import dataclass, field

from hypothesis import strategies as st

VERSION = "metadata.resource.k8s.io/v1alpha1"
PREFIXES = {"PCI": "PCI_RESOURCE", "mdev": "MDEV_PCI_RESOURCE", "USB": "USB_RESOURCE"}
ATTRIBUTES = {"PCI": "resource.kubernetes.io/pciBusID", "mdev": "mdevUUID"}
LETTERS = "abcXYZ019-_."

pci_addresses = st.builds(
    lambda case, domain, bus, slot, function: (
        f"{domain:04{case}}:{bus:02{case}}:{slot:02{case}}.{function}"
    ),
    st.sampled_from("xX"), st.integers(0, 0xFFFF), st.integers(0, 0xFF), st.integers(0, 0x1F),
    st.integers(0, 7),
)  # fmt: skip
usb_addresses = st.builds("{}:{}".format, st.integers(1, 255), st.integers(1, 127))
ADDRESSES = {"PCI": pci_addresses, "mdev": st.uuids().map(str), "USB": usb_addresses}
toggles = st.fixed_dictionaries({}, optional={"enabled": st.booleans()})


def displays(enabled):
    """Options of a GPU's display, `enabled` being one of these or unset."""
    display = st.fixed_dictionaries(
        {}, optional={"enabled": st.sampled_from(enabled), "ramFB": toggles}
    )
    return st.fixed_dictionaries({}, optional={"display": display})


@dataclass
class Machine:
    """A VM, what its launcher finds, and (list, kind of source, name) of each device."""

    spec: dict
    env: dict = field(default_factory=dict)
    metadata: dict = field(default_factory=dict)
    network_info: str | None = None
    kinds: list = field(default_factory=list)

    def around(self):
        return {"env": self.env, "metadata": self.metadata, "network_info": self.network_info}


class _Builder:
    """Draws one machine; names and addresses are used once in it."""

    def __init__(self, draw):
        self.draw = draw
        self.count = 0
        self.used = set()
        self.machine = Machine({
            "domain": {"devices": {"gpus": [], "hostDevices": [], "interfaces": []}},
            "networks": [],
            "resourceClaims": [{"name": "c", "resourceClaimName": "claim"}],
        })  # fmt: skip
        self.devices = self.machine.spec["domain"]["devices"]

    def name(self):
        self.count += 1
        return f"{self.draw(st.text(LETTERS, max_size=3))}{self.count}"

    def address(self, backing):
        found = self.draw(ADDRESSES[backing].filter(lambda one: one.lower() not in self.used))
        self.used.add(found.lower())
        return found

    def plugin(self, place, backing):
        """A device of a device plugin; a few share a resource."""
        resource = f"x.y/{self.draw(st.sampled_from('ab'))}-{backing}-{place}"
        entry = {"name": self.name(), "deviceName": resource}
        variable = f"{PREFIXES[backing]}_{resource.upper().replace('/', '_').replace('.', '_')}"
        listed = self.machine.env.get(variable)
        address = self.address(backing)
        self.machine.env[variable] = f"{listed},{address}" if listed else address
        self.devices[place].append(entry)
        return entry

    def claim(self, place, backing):
        """A device of a claim."""
        entry = {"name": self.name(), "claimName": "c", "requestName": f"r{self.count}"}
        self.claimed(entry["requestName"], ATTRIBUTES[backing], self.address(backing))
        self.devices[place].append(entry)
        return entry

    def claimed(self, request, attribute, address):
        device = {"attributes": {attribute: {"string": address}}}
        self.machine.metadata[f"resourceclaims/claim/{request}/x-metadata.json"] = json.dumps(
            {"apiVersion": VERSION, "requests": [{"name": request, "devices": [device]}]}
        )

    def interface(self, source):
        """An SR-IOV interface."""
        entry = {"name": self.name(), "sriov": {}}
        if self.draw(st.booleans()):
            entry["pciAddress"] = self.draw(pci_addresses)
        if self.draw(st.booleans()):
            entry["bootOrder"] = self.draw(st.integers(1, 9))
        self.devices["interfaces"].append(entry)
        network, address = {"name": entry["name"]}, self.address("PCI")
        if source == "claim":
            network["resourceClaim"] = {"claimName": "c", "requestName": f"r{self.count}"}
            self.claimed(f"r{self.count}", ATTRIBUTES["PCI"], address)
        else:
            network["multus"] = {"networkName": "n"}
            info = json.loads(self.machine.network_info or '{"interfaces": []}')
            pci = {"pci": {"pci-address": address}}
            info["interfaces"].append({"network": entry["name"], "deviceInfo": pci})
            self.machine.network_info = json.dumps(info)
        self.machine.spec["networks"].append(network)
        return entry


KINDS = {
    ("gpus", "plugin"): ("PCI", "mdev"),
    ("hostDevices", "plugin"): ("PCI", "mdev", "USB"),
    ("gpus", "claim"): ("PCI", "mdev"),
    ("hostDevices", "claim"): ("PCI", "mdev"),
    ("interfaces", "network-info"): ("PCI",),
    ("interfaces", "claim"): ("PCI",),
}
"""(list, source) -> what may back it: the six kinds."""
EACH = [(*kind, backing) for kind, backings in KINDS.items() for backing in backings]


@st.composite
def machines(draw, pci_display=False):
    """`pci_display`: with one GPU of a plugin at least that shows, PCI-backed."""
    build = _Builder(draw)
    chosen = draw(st.lists(st.sampled_from(EACH), max_size=8))
    if pci_display:
        chosen.append(("gpus", "plugin", "PCI"))
    for place, source, backing in chosen:
        make = {"plugin": build.plugin, "claim": build.claim}
        entry = build.interface(source) if place == "interfaces" else make[source](place, backing)
        if place == "gpus":
            # A PCI GPU of a claim ignores its display.
            quiet = (source, backing) == ("plugin", "PCI")
            options = draw(st.none() | displays([False] if quiet else [True, False]))
            if options is not None:
                entry["virtualGPUOptions"] = options
        build.machine.kinds.append((place, source, entry["name"]))
    if pci_display:
        shown = build.devices["gpus"][-1]
        ram_fb = draw(st.fixed_dictionaries({}, optional={"ramFB": toggles}))
        shown["virtualGPUOptions"] = {"display": {"enabled": True, **ram_fb}}
    if draw(st.booleans()):
        build.machine.spec["architecture"] = draw(st.sampled_from(["amd64", "arm64", "s390x"]))
    return build.machine
