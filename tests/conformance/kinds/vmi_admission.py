"""A VMI through admission: stage, verdict, causes, and what it looks like with its defaults."""

from collections import Counter

from tests.conformance.difference import Difference

from passway.kubevirt.admission import Review, review
from passway.kubevirt.settings import settings_of
from passway.model.quantity import InvalidQuantity, parse_quantity

UUID = "<random>"
RULES = {
    "BootDisplaysMany": "MultipleRamFbDisplays",
    "ClaimNameMalformed": "ClaimNameNotDnsLabel",
    "ClaimNotDeclared": "ClaimNotListed",
    "ClaimReferenceMalformed": "ClaimReferenceNotDnsSubdomain",
    "ClaimRequestReused": "ClaimRequestDuplicate",
    "ClaimRequestShared": "ClaimRequestSharedAcrossLists",
    "GpusMixed": "GpusMixClaimAndDevicePlugin",
    "NetworkClaimRequestReused": "NetworkClaimRequestDuplicate",
    "NumaWithoutDedicatedCpus": "NumaNeedsDedicatedCpus",
    "NumaWithoutHugepages": "NumaNeedsHugepages",
}
"""Our rule codes -> the vectors' names, where they differ."""
PANICS = {"DivideByZero": [["FieldValueInvalid", "spec.domain.memory.hugepages.pageSize",
                            "PageSizeZero"]]}  # fmt: skip
"""Where KubeVirt crashes: the causes of a sane answer."""
QUANTITIES = frozenset({"cpu", "memory", "guest", "maxGuest", "addedOverhead", "capacity"})


def differences(case: dict) -> list[Difference]:
    """What differs from KubeVirt."""
    given, expected = case["input"], case["expected"]
    settings = settings_of(given["config"], given["clusterArchitecture"])
    vmi = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", **given["vmi"]}
    before = repr(vmi)
    answer = review(vmi, settings, UUID)
    got, wanted = _told(answer), _wanted(expected)
    if repr(vmi) != before:
        return [Difference("input.vmi", "not touched", "changed")]
    return [
        Difference(f"expected.{key}", wanted.get(key), got.get(key))
        for key in sorted(wanted.keys() | got.keys())
        if wanted.get(key) != got.get(key)
    ]


def _told(answer: Review) -> dict:
    causes = [[cause.type, cause.field, RULES.get(cause.rule, cause.rule)]
              for cause in answer.causes]  # fmt: skip
    if answer.stage == "mutation":
        return {"mutationError": causes[0][2]}
    told: dict = {"allowed": answer.allowed, "causes": _multiset(causes)}
    if answer.code:
        told["code"] = answer.code
    if answer.stage == "schema":
        return {**told, "stage": "schema"}
    assert answer.vmi is not None
    annotations = answer.vmi["metadata"].get("annotations")
    return {
        **told,
        "defaultedSpec": _by_value(answer.vmi["spec"]),
        **({"defaultedAnnotations": annotations} if annotations else {}),
    }


def _wanted(expected: dict) -> dict:
    if "mutationError" in expected:
        return {"mutationError": expected["mutationError"]}
    causes = [[cause["type"], cause["field"], cause["rule"]]
              for cause in expected.get("causes", [])]  # fmt: skip
    wanted = {key: value for key, value in expected.items() if key not in {"causesOrder", "panic"}}
    if "panic" in expected:
        causes = PANICS[expected["panic"]]
        wanted.update(allowed=False, code=422)
    if "defaultedSpec" in wanted:
        wanted["defaultedSpec"] = _by_value(wanted["defaultedSpec"])
    return {**wanted, "causes": _multiset(causes)}


def _multiset(causes: list[list[str]]) -> list:
    return sorted([*cause, count] for cause, count in Counter(map(tuple, causes)).items())


def _by_value(value: object, key: str = "") -> object:
    """Quantities as their amount, so that 1Gi and 1024Mi are the same."""
    if isinstance(value, dict):
        return {name: _by_value(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_by_value(inner, key) for inner in value]
    if key in QUANTITIES and isinstance(value, str):
        try:
            return {"nanos": parse_quantity(value).nanos}
        except InvalidQuantity:
            return value
    return value
