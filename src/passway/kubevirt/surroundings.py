"""What KubeVirt looks at beside the VMI when it renders a launcher.

Owns the small values that stand for live objects: the configuration in force with its gates, and of
the VMI's namespace the labels, the quotas' keys and the network attachments. A configuration that
KubeVirt finds invalid counts as absent as a whole, since its last valid one cannot be seen.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from passway.cluster.records import Configuration, KubeVirt, SupportContainer
from passway.kubevirt.configuration import configuration_of, developer_of
from passway.kubevirt.gates import Gates, gates_of
from passway.model.quantity import InvalidQuantity, Quantity, parse_quantity

DEFAULT_CPU_RATIO = 10
DEFAULT_OVERCOMMIT = 100


@dataclass(frozen=True, slots=True)
class Surroundings:
    """`quota_keys`: the keys of `spec.hard` of all quotas; `attachments`: `namespace/name` -> pool.

    An attachment without the annotation that names a pool has an empty one.
    """

    configuration: Configuration
    gates: Gates
    namespace_labels: Mapping[str, str] = field(default_factory=dict)
    quota_keys: frozenset[str] = frozenset()
    attachments: Mapping[str, str] = field(default_factory=dict)

    @property
    def cpu_ratio(self) -> int:
        developer = self.configuration.developer_configuration
        return (developer.cpu_allocation_ratio if developer else None) or DEFAULT_CPU_RATIO

    @property
    def overcommit(self) -> int:
        developer = self.configuration.developer_configuration
        return (developer.memory_overcommit if developer else None) or DEFAULT_OVERCOMMIT

    @property
    def emulates(self) -> bool:
        developer = self.configuration.developer_configuration
        return bool(developer and developer.use_emulation)

    @property
    def node_selectors(self) -> Mapping[str, str]:
        developer = self.configuration.developer_configuration
        return (developer.node_selectors if developer else None) or {}

    def support(self, kind: str) -> tuple[Mapping[str, Quantity], Mapping[str, Quantity]]:
        """(requests, limits) that the cluster sets for a kind of helper container; first wins."""
        for item in self.configuration.support_container_resources or ():
            if item.type == kind:
                return _support(item)
        return {}, {}


def in_force(kubevirt: KubeVirt | None) -> KubeVirt | None:
    """The object without its configuration where KubeVirt would refuse that.

    Source: kubevirt pkg/virt-config/configuration.go (validateConfig).
    """
    developer = developer_of(kubevirt)
    numbers = (developer.cpu_allocation_ratio, developer.memory_overcommit)
    if kubevirt is None or all(number is None or number >= 0 for number in numbers):
        return kubevirt
    return replace(kubevirt, spec=None)


def surroundings(
    kubevirt: KubeVirt | None,
    *,
    namespace_labels: Mapping[str, str] | None = None,
    quota_keys: frozenset[str] = frozenset(),
    attachments: Mapping[str, str] | None = None,
) -> Surroundings:
    """The surroundings under a KubeVirt object."""
    valid = in_force(kubevirt)
    return Surroundings(
        configuration=configuration_of(valid),
        gates=gates_of(valid),
        namespace_labels=namespace_labels or {},
        quota_keys=quota_keys,
        attachments=attachments or {},
    )


def _support(item: SupportContainer) -> tuple[dict[str, Quantity], dict[str, Quantity]]:
    given = item.resources
    return _parsed(given.requests if given else None), _parsed(given.limits if given else None)


def _parsed(amounts: Mapping[str, str | int | float] | None) -> dict[str, Quantity]:
    parsed = {}
    for resource, written in (amounts or {}).items():
        try:
            parsed[resource] = parse_quantity(str(written))
        except InvalidQuantity:
            continue
    return parsed
