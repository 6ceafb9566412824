"""What Kubernetes refuses in affinity, topology spread constraints, tolerations and node labels.

Owns the rules and the field path of each fault, from the root of what it is given; who checks when
is the callers' matter: KubeVirt's admission checks a part (`strict=False`), and what it lets pass
the API server finds in the launcher pod (`strict=True`), which is then never created. Sources:
Kubernetes pkg/apis/core/validation/validation.go, v1.36; kubevirt
pkg/virt-api/.../admitters/validate-k8s-utils.go, v1.9.0, which copies an older state of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from passway.kubevirt.fields import Tree, at, entries, mapping, present, text, whole
from passway.model.names import InvalidName, dns_label, dns_subdomain, is_label
from passway.model.verdict import Param

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_EFFECTS: Final = ("", "NoSchedule", "PreferNoSchedule", "NoExecute")
_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES: Final = ("", "Honor", "Ignore")
_SET: Final = ("In", "NotIn")
_PRESENCE: Final = ("Exists", "DoesNotExist")
_ORDER: Final = ("Gt", "Lt")
LARGEST_WEIGHT: Final = 100


@dataclass(frozen=True, slots=True)
class Fault:
    """A broken rule; `path` is that of the field."""

    rule: str
    path: str
    params: Mapping[str, Param]


def _fault(rule: str, path: str, /, **params: Param) -> Fault:
    return Fault(rule, path, params)


def affinity(tree: Tree, path: str, *, strict: bool) -> Iterator[Fault]:
    """Of `affinity`, whose field path is given."""
    node = f"{path}.nodeAffinity"
    rules = mapping(tree, "nodeAffinity")
    if REQUIRED in rules:
        terms = entries(rules, REQUIRED, "nodeSelectorTerms")
        place = f"{node}.{REQUIRED}.nodeSelectorTerms"
        if not terms:
            yield _fault("RuleFieldEmpty", place, field="nodeSelectorTerms")
        for index, term in enumerate(terms):
            yield from _node_term(term, f"{place}[{index}]", strict=strict)
    for index, entry in enumerate(entries(rules, PREFERRED)):
        place = f"{node}.{PREFERRED}[{index}]"
        yield from _weight(entry, place)
        yield from _node_term(mapping(entry, "preference"), f"{place}.preference", strict=False)
    for name in ("podAffinity", "podAntiAffinity"):
        for index, term in enumerate(entries(tree, name, REQUIRED)):
            yield from _pod_term(term, f"{path}.{name}.{REQUIRED}[{index}]")
        for index, entry in enumerate(entries(tree, name, PREFERRED)):
            place = f"{path}.{name}.{PREFERRED}[{index}]"
            yield from _weight(entry, place)
            yield from _pod_term(mapping(entry, "podAffinityTerm"), f"{place}.podAffinityTerm")


def spread(constraints: tuple[Tree, ...], path: str, *, strict: bool) -> Iterator[Fault]:
    """Of `topologySpreadConstraints`, whose field path is given."""
    seen: list[tuple[str, str]] = []
    for index, constraint in enumerate(constraints):
        place = f"{path}[{index}]"
        skew = whole(constraint, "maxSkew")
        if skew <= 0:
            yield _fault("RuleNumberTooSmall", f"{place}.maxSkew", field="maxSkew", value=skew)
        yield from _topology(constraint, place)
        action = text(constraint, "whenUnsatisfiable")
        yield from _choice(place, "whenUnsatisfiable", action, _ACTIONS)
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            yield from _choice(place, field, text(constraint, field), _POLICIES)
        yield from _labels(mapping(constraint, "labelSelector"), f"{place}.labelSelector")
        pair = (text(constraint, "topologyKey"), action)
        if pair in seen:
            yield _fault("RuleRepeated", place, key=pair[0], action=action)
        seen.append(pair)
        if strict:
            yield from _spread_strictly(constraint, place)


def left_to_the_pod(spec: Tree) -> tuple[Fault, ...]:
    """The faults of a VMI's spec that KubeVirt's admission lets pass; paths begin below `spec`."""

    def faults(*, strict: bool) -> list[Fault]:
        constraints = entries(spec, "topologySpreadConstraints")
        return [
            *affinity(mapping(spec, "affinity"), "affinity", strict=strict),
            *spread(constraints, "topologySpreadConstraints", strict=strict),
            *tolerations(entries(spec, "tolerations"), "tolerations", strict=strict),
        ]

    told = faults(strict=False)
    return tuple(fault for fault in faults(strict=True) if fault not in told)


def _spread_strictly(constraint: Tree, place: str) -> Iterator[Fault]:
    domains, given = whole(constraint, "minDomains"), present(constraint, "minDomains")
    if given and domains <= 0:
        yield _fault("RuleNumberTooSmall", f"{place}.minDomains", field="minDomains", value=domains)
    if given and text(constraint, "whenUnsatisfiable") == _ACTIONS[1]:
        yield _fault("RuleDomainsIdle", f"{place}.minDomains")


def tolerations(found: tuple[Tree, ...], path: str, *, strict: bool) -> Iterator[Fault]:
    """Of `tolerations`, whose field path is given; KubeVirt's schema knows the words only."""
    for index, toleration in enumerate(found):
        place = f"{path}[{index}]"
        key, value = text(toleration, "key"), text(toleration, "value")
        operator, effect = text(toleration, "operator"), text(toleration, "effect")
        yield from _choice(place, "operator", operator, ("", "Equal", "Exists"))
        yield from _choice(place, "effect", effect, _EFFECTS)
        if not strict:
            continue
        if key and not is_label(key, ""):
            yield _fault("RuleKeyInvalid", f"{place}.key", key=key)
        if not key and operator != "Exists":
            yield _fault("RuleKeyNeeded", f"{place}.operator", operator=operator or "Equal")
        if operator == "Exists" and value:
            yield _fault("RuleValuesDiffer", f"{place}.value", operator=operator, wanted="no value")
        if operator in {"", "Equal"} and not is_label("a", value):
            yield _fault("RuleKeyInvalid", f"{place}.value", key=value)
        if present(toleration, "tolerationSeconds") and effect != "NoExecute":
            yield _fault("RuleSecondsIdle", f"{place}.tolerationSeconds", effect=effect)


def _node_term(term: Tree, path: str, *, strict: bool) -> Iterator[Fault]:
    for index, requirement in enumerate(entries(term, "matchExpressions")):
        place = f"{path}.matchExpressions[{index}]"
        yield from _values(requirement, place, (*_SET, *_PRESENCE, *_ORDER))
        yield from _key(text(requirement, "key"), place)
        if strict:
            for value in _list(requirement):
                if not is_label("a", value):
                    yield _fault("RuleKeyInvalid", f"{place}.values", key=value)
    for index, requirement in enumerate(entries(term, "matchFields")):
        yield from _field(requirement, f"{path}.matchFields[{index}]")


def _field(requirement: Tree, path: str) -> Iterator[Fault]:
    """A node's field: its name is the only one, and is compared with one value."""
    operator, values = text(requirement, "operator"), _list(requirement)
    yield from _choice(path, "operator", operator, _SET)
    if operator in _SET and len(values) != 1:
        yield _fault("RuleValuesDiffer", f"{path}.values", operator=operator, wanted="one value")
    if text(requirement, "key") != "metadata.name":
        yield from _choice(path, "key", text(requirement, "key"), ("metadata.name",))
        return
    for value in values:
        try:
            dns_subdomain(value)
        except InvalidName:
            yield _fault("RuleNameInvalid", f"{path}.values", name=value)


def _pod_term(term: Tree, path: str) -> Iterator[Fault]:
    for field in ("labelSelector", "namespaceSelector"):
        yield from _labels(mapping(term, field), f"{path}.{field}")
    for name in _list(term, "namespaces"):
        try:
            dns_label(name)
        except InvalidName:
            yield _fault("RuleNameInvalid", f"{path}.namespaces", name=name)
    yield from _topology(term, path)


def _labels(selector: Tree, path: str) -> Iterator[Fault]:
    for key, value in sorted(mapping(selector, "matchLabels").items()):
        if not is_label(key, str(value)):
            yield _fault("RuleKeyInvalid", f"{path}.matchLabels", key=f"{key}={value}")
    for index, requirement in enumerate(entries(selector, "matchExpressions")):
        place = f"{path}.matchExpressions[{index}]"
        yield from _values(requirement, place, (*_SET, *_PRESENCE))
        yield from _key(text(requirement, "key"), place)
        for value in _list(requirement):
            if not is_label("a", value):
                yield _fault("RuleKeyInvalid", f"{place}.values", key=value)


def _values(requirement: Tree, path: str, operators: tuple[str, ...]) -> Iterator[Fault]:
    """How many values an operator takes."""
    operator, count = text(requirement, "operator"), len(_list(requirement))
    wanted = ""
    if operator in _SET and not count:
        wanted = "one or more values"
    elif operator in _PRESENCE and count:
        wanted = "no value"
    elif operator in _ORDER and operator in operators and count != 1:
        wanted = "one value"
    if wanted:
        yield _fault("RuleValuesDiffer", f"{path}.values", operator=operator, wanted=wanted)
    yield from _choice(path, "operator", operator, operators)


def _key(key: str, path: str, field: str = "key") -> Iterator[Fault]:
    if not is_label(key, ""):
        yield _fault("RuleKeyInvalid", f"{path}.{field}", key=key)


def _topology(tree: Tree, path: str) -> Iterator[Fault]:
    key = text(tree, "topologyKey")
    if key:
        yield from _key(key, path, "topologyKey")
    else:
        yield _fault("RuleFieldEmpty", f"{path}.topologyKey", field="topologyKey")


def _weight(entry: Tree, path: str) -> Iterator[Fault]:
    weight = whole(entry, "weight")
    if not 0 < weight <= LARGEST_WEIGHT:
        yield _fault("RuleWeightInvalid", f"{path}.weight", value=weight)


def _choice(path: str, field: str, value: str, known: tuple[str, ...]) -> Iterator[Fault]:
    if value not in known:
        yield _fault(
            "RuleChoiceUnknown", f"{path}.{field}",
            field=field, value=value, known=tuple(name for name in known if name),
        )  # fmt: skip


def _list(tree: Tree, field: str = "values") -> tuple[str, ...]:
    found = at(tree, field)
    return tuple([str(item) for item in found]) if isinstance(found, list | tuple) else ()
