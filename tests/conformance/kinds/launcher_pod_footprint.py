"""The launcher pod of a defaulted VMI, as the scheduler sees it.

The whole chain from the user's VMI: KubeVirt's defaults, then the rendering. The defaulted spec of
the vectors is not looked at; vmi-admission judges it. Quantities are compared by value.
"""

from typing import Any

import msgspec
from tests.conformance.difference import Difference

from passway.cluster.records import Configuration, KubeVirt, KubeVirtSpec, KubeVirtStatus, Meta
from passway.kubevirt.container import Container
from passway.kubevirt.defaults import Refused, default
from passway.kubevirt.launch import Launch, render
from passway.kubevirt.settings import settings_of
from passway.kubevirt.surroundings import Surroundings, surroundings
from passway.model.quantity import Quantity, parse_quantity

CODES = {
    "DeviceNotPermitted": {"error": "DeviceNotPermitted"},
    "NetworkAttachmentMissing": {"error": "NetworkAttachmentMissing"},
    "CpuRequestUnwritable": {"panic": "QuantityUnparsable"},
}
FOLLOWED = "v1.10.0"
"""What main was to become when the vectors were printed."""
FIELDS = (
    "nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "resourceClaims",
    "runtimeClassName", "schedulerName", "priorityClassName",
)  # fmt: skip


def differences(case: dict) -> list[Difference]:
    """What differs from KubeVirt."""
    given, expected = case["input"], case["expected"]
    around = _surroundings(given)
    wanted = _wanted(expected)
    try:
        got = _got(render(_vmi(given), around, given["clusterArchitecture"]))
    except Refused as refused:
        got = {"mutationError": refused.rule}
    return [
        Difference(f"expected.{path}", _plain(wanted.get(path)), _plain(got.get(path)))
        for path in sorted(wanted.keys() | got.keys())
        if wanted.get(path) != got.get(path)
    ]


def _surroundings(given: dict) -> Surroundings:
    configuration = msgspec.convert(given["config"], Configuration)
    return surroundings(
        KubeVirt(
            metadata=Meta("kubevirt", annotations=given.get("kubevirtAnnotations")),
            spec=KubeVirtSpec(configuration=configuration),
            status=KubeVirtStatus(observed_kube_virt_version=FOLLOWED),
        ),
        namespace_labels=given.get("namespaceLabels"),
        quota_keys=frozenset(given.get("resourceQuotaHard") or ()),
        attachments=given.get("nads"),
    )


def _vmi(given: dict) -> dict:
    metadata = {"name": "vm", **(given["vmi"].get("metadata") or {}), "namespace": "ns"}
    settings = settings_of(
        given["config"],
        given["clusterArchitecture"],
        annotations=given.get("kubevirtAnnotations"),
    )
    return default({**given["vmi"], "metadata": metadata}, settings)


def _wanted(expected: dict) -> dict[str, Any]:
    for outcome in ("mutationError", "panic"):
        if outcome in expected:
            return {outcome: expected[outcome]}
    if "error" in expected:
        return {key: expected[key] for key in ("error", "memoryOverheadBytes")}
    found = {key: value for key, value in expected.items() if key != "defaultedSpec" and value}
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(found.pop(kind, ())):
            _lay_out(found, f"{kind}[{index}]", container)
    return found


def _lay_out(found: dict[str, Any], path: str, container: dict) -> None:
    resources = container.get("resources") or {}
    found[f"{path}.name"] = container["name"]
    found[f"{path}.restartPolicy"] = container.get("restartPolicy")
    found[f"{path}.claims"] = [
        (claim["name"], claim.get("request", "")) for claim in resources.get("claims") or ()
    ]
    for kind in ("requests", "limits"):
        for resource, amount in (resources.get(kind) or {}).items():
            found[f"{path}.{kind}.{resource}"] = parse_quantity(amount)


def _got(launch: Launch) -> dict[str, Any]:
    if launch.refusal:
        code = CODES.get(launch.refusal.cause, {"error": launch.refusal.cause})
        overhead = {} if "panic" in code else {"memoryOverheadBytes": launch.overhead_bytes}
        return {**code, **overhead}
    rules = (
        launch.node_selector, launch.affinity, list(launch.tolerations),
        list(launch.topology_spread), list(launch.resource_claims), launch.runtime_class,
        launch.scheduler, launch.priority_class,
    )  # fmt: skip
    found: dict[str, Any] = {
        "memoryOverheadBytes": launch.overhead_bytes,
        "annotations": launch.annotations,
        "hugepagesVolumes": [f"{name}=HugePages" for name in launch.hugepages_volumes],
        **dict(zip(FIELDS, rules, strict=True)),
    }
    found = {key: value for key, value in found.items() if value}
    for kind, listed in (
        ("containers", launch.containers),
        ("initContainers", launch.init_containers),
    ):
        for index, container in enumerate(listed):
            found |= _laid_out(f"{kind}[{index}]", container)
    return found


def _laid_out(path: str, container: Container) -> dict[str, Any]:
    return {
        f"{path}.name": container.name,
        f"{path}.restartPolicy": container.restart_policy,
        f"{path}.claims": list(container.claims),
        **{f"{path}.requests.{key}": value for key, value in container.requests.items()},
        **{f"{path}.limits.{key}": value for key, value in container.limits.items()},
    }


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Quantity) else value
