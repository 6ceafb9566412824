"""Rules on networks and interfaces."""

import pytest
from tests.unit.kubevirt.vmis import causes, places, rules, settings, vmi

from passway.kubevirt.admission.interfaces import mac_bytes

INTERFACES = "spec.domain.devices.interfaces"
POD = {"name": "n", "pod": {}}
MULTUS = {"name": "n", "multus": {"networkName": "nad"}}


def given(interfaces, networks, **rest):
    return vmi(devices={"interfaces": interfaces}, networks=networks, **rest)


def one(interface=None, network=None, **rest):
    return given([{"name": "n", **(interface or {"sriov": {}})}], [network or MULTUS], **rest)


def test_a_network_cause_is_there_twice():
    found = causes(one({"sriov": {}, "model": "tulip"}))
    assert [cause.rule for cause in found] == ["InterfaceModelUnsupported"] * 2


@pytest.mark.parametrize(
    ("networks", "expected"),
    [
        ([POD, {"name": "m", "pod": {}}], ("PodNetworkTwice", "spec.interfaces")),
        ([{"name": name, "multus": {"networkName": "x", "default": True}} for name in "nm"],
         ("MultusDefaultTwice", "spec.networks")),
        ([POD, {"name": "m", "multus": {"networkName": "x", "default": True}}],
         ("PodNetworkBesideMultusDefault", "spec.networks")),
    ],
)  # fmt: skip
def test_one_network_is_the_pods_own(networks, expected):
    found = places(given([{"name": "n", "bridge": {}}, {"name": "m", "bridge": {}}], networks))
    rule, field = expected
    assert found == {rule: (field, "spec.networks[1]")}


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        ({"name": "n"}, ["NetworkTypeMissing"]),
        ({"name": "n", "pod": {}, "multus": {"networkName": "x"}}, ["NetworkTypeAmbiguous"]),
        ({"name": "n", "multus": {"networkName": ""}}, ["MultusNetworkNameMissing"]),
    ],
)
def test_the_type_of_a_network(network, expected):
    assert rules(one(network=network)) == expected


def test_names_of_networks_and_interfaces():
    found = rules(
        given(
            [{"name": "n", "sriov": {}}, {"name": "n", "sriov": {}}, {"name": "o", "sriov": {}}],
            [MULTUS, MULTUS, {"name": "m", "multus": {"networkName": "x"}}],
        )
    )
    assert found == [
        "NetworkNameDuplicate", "NetworkWithoutInterface", "NetworkUsedTwice",
        "InterfaceWithoutNetwork",
    ]  # fmt: skip


CLAIM = {"name": "n", "resourceClaim": {"claimName": "c", "requestName": "r"}}
LISTED = [{"name": "c", "resourceClaimName": "c"}]


def test_networks_of_claims_need_a_gate():
    assert places(one(network=CLAIM, resourceClaims=LISTED)) == {
        "NetworkClaimGateOff": ("spec.networks", "spec.networks[0].resourceClaim")
    }


@pytest.mark.parametrize(
    ("interface", "reference", "expected"),
    [
        ({"sriov": {}}, {"claimName": "c", "requestName": "r"}, []),
        ({"binding": {"name": "x"}}, {"claimName": "c", "requestName": "r"}, []),
        ({"bridge": {}}, {"claimName": "c", "requestName": "r"},
         ["NetworkClaimNeedsSriovOrPlugin"]),
        ({"sriov": {}}, {"claimName": "", "requestName": "r"}, ["NetworkClaimNameMissing"]),
        ({"sriov": {}}, {"claimName": "c"}, ["NetworkRequestNameMissing"]),
        ({"sriov": {}}, {"claimName": "d", "requestName": "r"}, ["NetworkClaimNotListed"]),
    ],
)  # fmt: skip
def test_networks_of_claims(interface, reference, expected):
    on = settings("NetworkDevicesWithDRA")
    network = {"name": "n", "resourceClaim": reference}
    assert rules(one(interface, network, resourceClaims=LISTED), on) == expected


def test_claims_of_networks_together():
    on = settings("NetworkDevicesWithDRA")
    interfaces = [{"name": name, "sriov": {}} for name in "nmo"]
    networks = [CLAIM, {**CLAIM, "name": "m"}, {**MULTUS, "name": "o"}]
    found = rules(given(interfaces, networks, resourceClaims=LISTED), on)
    assert found == ["NetworkClaimRequestReused", "NetworkClaimWithMultus"]
    other = {"name": "o", "resourceClaim": {"claimName": "c", "requestName": "s"}}
    last = given(interfaces, [{**MULTUS, "name": "m"}, CLAIM, other], resourceClaims=LISTED)
    assert places(last, on)["NetworkClaimWithMultus"][1] == "spec.networks[1]"
    half = {"name": "m", "resourceClaim": {"claimName": "c"}}
    lost = {"name": "o", "resourceClaim": {"claimName": "d", "requestName": "r"}}
    found = rules(given(interfaces, [CLAIM, half, lost], resourceClaims=LISTED), on)
    assert found == ["NetworkRequestNameMissing", "NetworkClaimNotListed"]
    told = causes(given(interfaces[2:], [lost], resourceClaims=LISTED), on)
    assert told[0].sites[0].params == {"network": "o", "claim": "d"}
    without = given([], [CLAIM], resourceClaims=LISTED)
    assert rules(without, on) == ["NetworkWithoutInterface"]


@pytest.mark.parametrize(
    ("interface", "network", "expected"),
    [
        ({"sriov": {}, "state": "up"}, MULTUS, ["SriovStateUnsupported"]),
        ({"bridge": {}, "state": "up"}, MULTUS, []),
        ({"bridge": {}, "state": "off"}, MULTUS, ["InterfaceStateUnknown"]),
        ({"sriov": {}, "state": "absent"}, MULTUS, ["InterfaceStateNeedsBridge"]),
        ({"bridge": {}, "state": "absent"}, MULTUS, []),
        ({"bridge": {}, "state": "absent"}, POD, ["DefaultInterfaceAbsent"]),
        ({"masquerade": {}}, POD, []),
        ({"masquerade": {}}, MULTUS, ["MasqueradeNeedsPodNetwork"]),
        ({"masquerade": {}, "macAddress": "02-00-00-00-00-00"}, POD, ["InterfaceMacReserved"]),
        ({"masquerade": {}, "bridge": {}}, POD, ["InterfaceBindingCount"]),
        ({"model": "virtio"}, POD, ["InterfaceBindingCount"]),
        ({"sriov": {}, "macAddress": "zz"}, MULTUS, ["InterfaceMacMalformed"]),
        ({"sriov": {}, "macAddress": "02:00:00:00:00:00:00:01"}, MULTUS, ["InterfaceMacTooLong"]),
        ({"sriov": {}, "pciAddress": "0a:00.0"}, MULTUS, ["InterfacePciAddressMalformed"]),
        ({"sriov": {}, "pciAddress": "0000:0A:3f.7"}, MULTUS, []),
        ({"slirp": {}}, POD, ["SlirpDiscontinued", "InterfaceBindingCount"]),
        ({"macvtap": {}}, MULTUS, ["MacvtapDiscontinued", "InterfaceBindingCount"]),
    ],
)
def test_interfaces(interface, network, expected):
    assert rules(one(interface, network)) == expected


def test_a_bridge_on_the_pod_network_may_be_forbidden():
    on = settings(network={"permitBridgeInterfaceOnPodNetwork": False})
    assert rules(one({"bridge": {}}, POD), on) == ["BridgeNotPermitted"]
    assert rules(one({"bridge": {}}, MULTUS), on) == []
    assert rules(vmi(), on) == ["BridgeNotPermitted"]
    assert rules(vmi(), settings(network={"defaultNetworkInterface": "slirp"})) == [
        "SlirpDiscontinued"
    ]


def test_a_removed_binding_with_its_gate_is_told_without_a_field_too():
    both = given(
        [{"name": "m", "bridge": {}}, {"name": "n", "passt": {}}, {"name": "o", "passt": {}}],
        [{"name": "m", "multus": {"networkName": "x"}}, POD,
         {"name": "o", "multus": {"networkName": "x"}}],
    )  # fmt: skip
    fields = [c.field for c in causes(both, settings("Passt")) if c.rule == "PasstDiscontinued"]
    assert fields == ["", f"{INTERFACES}[1].passt", f"{INTERFACES}[2].passt"]
    assert "PasstDiscontinued" not in rules(one(), settings("Passt", "Macvtap"))


def test_a_name_with_a_dot():
    network = {"name": "a.b", "multus": {"networkName": "x"}}
    assert rules(given([{"name": "a.b", "sriov": {}}], [network])) == ["InterfaceNameMalformed"]


@pytest.mark.parametrize(
    ("ports", "expected"),
    [
        ([{"port": 80, "name": "http", "protocol": "TCP"}, {"port": 81}], []),
        ([{"port": 80, "name": "a"}, {"port": 81, "name": "a"}], ["PortNameDuplicate"]),
        ([{"port": 80, "name": "9"}], ["PortNameMalformed"]),
        ([{"port": 0}], ["PortMissing"]),
        ([{"port": -1}], ["PortOutOfRange"]),
        ([{"port": 65535}], []),
        ([{"port": 65536}], []),  # KubeVirt counts one too many
        ([{"port": 70000}], ["PortOutOfRange"]),
        ([{"port": 80, "protocol": "ICMP"}], ["PortProtocolUnknown"]),
    ],
)
def test_ports(ports, expected):
    assert rules(one({"masquerade": {}, "ports": ports}, POD)) == expected
    assert rules(one({"sriov": {}, "ports": ports}, MULTUS)) == []


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("02:00:00:00:00:01", 6), ("02-00-00-00-00-01", 6), ("0200.0000.0001", 6),
        ("02:00-00:00:00:01", None), ("02:00:00:00:00", None), ("", None),
        (":".join(["00"] * 20), 20), ("0200:0000:0001", None),
    ],
)  # fmt: skip
def test_hardware_addresses(text, size):
    assert mac_bytes(text) == size
