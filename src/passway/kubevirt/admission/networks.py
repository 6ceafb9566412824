"""Rules on networks: their type, the pod network, Multus, claims, and their names.

Source: kubevirt pkg/network/admitter/{netsource,netiface,dra,discontinued}.go. KubeVirt runs its
network validator twice, so each of these causes appears twice there; the caller does the same.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from passway.kubevirt.admission.cause import (
    Cause,
    cause,
    duplicate,
    gate_off,
    invalid,
    required,
)
from passway.kubevirt.admission.devices import Pair, network_pair
from passway.kubevirt.admission.subject import INTERFACES, Object, Subject

NETWORKS: Final = "spec.networks"
TYPES: Final = ("pod", "multus", "resourceClaim")
GATE: Final = "NetworkDevicesWithDRA"


def path_of(index: int) -> str:
    """The field path of a network."""
    return f"{NETWORKS}[{index}]"


def default_network(subject: Subject) -> str | None:
    """The name of the network that is the pod's own."""
    for network in subject.networks:
        if "pod" in network or network.get("multus", {}).get("default"):
            return str(network["name"])
    return None


def single_default(subject: Subject) -> Iterator[Cause]:
    """One network at most is the pod's own."""
    pods = [index for index, network in enumerate(subject.networks) if "pod" in network]
    others = [
        index
        for index, network in enumerate(subject.networks)
        if network.get("multus", {}).get("default")
    ]
    if len(pods) > 1:
        yield duplicate("PodNetworkTwice", "spec.interfaces", path_of(pods[1]))
    if len(others) > 1:
        yield invalid("MultusDefaultTwice", NETWORKS, path_of(others[1]))
    if pods and others:
        yield invalid("PodNetworkBesideMultusDefault", NETWORKS, path_of(others[0]))


def sources(subject: Subject) -> Iterator[Cause]:
    """Each network has one type; of Multus networks without a name only the first is told."""
    nameless: list[Cause] = []
    for index, network in enumerate(subject.networks):
        given = [kind for kind in TYPES if kind in network]
        name = str(network["name"])
        if not given:
            yield required("NetworkTypeMissing", path_of(index), network=name)
        elif len(given) > 1:
            types = tuple(given)
            yield required("NetworkTypeAmbiguous", path_of(index), network=name, types=types)
        if "multus" in network and not network["multus"].get("networkName"):
            nameless.append(required("MultusNetworkNameMissing", path_of(index), network=name))
    yield from nameless[:1]


def names(subject: Subject) -> Iterator[Cause]:
    """Every network has a name of its own and an interface."""
    seen: Counter[str] = Counter()
    for index, network in enumerate(subject.networks):
        if seen[network["name"]]:
            yield duplicate(
                "NetworkNameDuplicate",
                f"{path_of(index)}.name",
                name=network["name"],
                list="networks",
            )
        seen[network["name"]] += 1
    attached = {interface["name"] for interface in subject.interfaces}
    for index, network in enumerate(subject.networks):
        if network["name"] not in attached:
            yield required(
                "NetworkWithoutInterface", f"{path_of(index)}.name", network=network["name"]
            )


def claims(subject: Subject) -> Iterator[Cause]:
    """Networks of resource claims."""
    of_claims = [
        (index, network)
        for index, network in enumerate(subject.networks)
        if "resourceClaim" in network
    ]
    if not of_claims:
        return
    if not subject.on(GATE):
        place = f"{path_of(of_claims[0][0])}.resourceClaim"
        yield gate_off("NetworkClaimGateOff", GATE, NETWORKS, place)
        return
    listed = {claim["name"] for claim in subject.claims}
    first: dict[Pair, int] = {}
    for index, network in of_claims:
        yield from _binding(subject, index, network)
        yield from _incomplete(index, network)
        pair = network_pair(network)
        if pair is None:
            continue
        path = f"{path_of(index)}.resourceClaim"
        if pair[0] not in listed:
            yield cause(
                "FieldValueNotFound", "NetworkClaimNotListed", f"{path}.claimName",
                None, network=network["name"], claim=pair[0],
            )  # fmt: skip
        if pair in first:
            yield duplicate(
                "NetworkClaimRequestReused", path_of(index), f"{path}.requestName",
                claim=pair[0], request=pair[1],
            )  # fmt: skip
        first.setdefault(pair, index)
    if any("multus" in network and "resourceClaim" not in network for network in subject.networks):
        yield invalid("NetworkClaimWithMultus", NETWORKS, path_of(of_claims[0][0]))


def _binding(subject: Subject, index: int, network: Object) -> Iterator[Cause]:
    bound = [item for item in subject.interfaces if item["name"] == network["name"]]
    if bound and "sriov" not in bound[0] and "binding" not in bound[0]:
        yield invalid(
            "NetworkClaimNeedsSriovOrPlugin", INTERFACES, path_of(index), network=network["name"]
        )


def _incomplete(index: int, network: Object) -> Iterator[Cause]:
    reference = network["resourceClaim"]
    for name, rule in (
        ("claimName", "NetworkClaimNameMissing"),
        ("requestName", "NetworkRequestNameMissing"),
    ):
        if not reference.get(name):
            path = f"{path_of(index)}.resourceClaim"
            yield required(rule, f"{path}.{name}", network=network["name"])
