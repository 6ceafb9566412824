"""A cause: one rule that a VMI breaks, in KubeVirt's terms and in ours.

`type` and `field` are what KubeVirt puts into `status.details.causes`; its fields are not always
paths (`spec.GPUs`, `spec[0].bootOrder`), so each cause also carries the sites it comes from: field
paths from the VMI's root that exist. One cause may have several sites. `params` are typed values,
never prose; the words for a rule are in the registry of reasons.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from passway.model.verdict import Param

Type: TypeAlias = Literal[
    "",
    "FieldValueInvalid",
    "FieldValueRequired",
    "FieldValueDuplicate",
    "FieldValueNotSupported",
    "FieldValueNotFound",
]


@dataclass(frozen=True, slots=True)
class Site:
    """Where a cause comes from: a field path from the VMI's root, and what is wrong there."""

    path: str
    params: Mapping[str, Param]


@dataclass(frozen=True, slots=True)
class Cause:
    """One broken rule; there is always at least one site."""

    type: Type
    field: str
    rule: str
    sites: tuple[Site, ...]

    @property
    def params(self) -> Mapping[str, Param]:
        """What is wrong at the first site."""
        return self.sites[0].params


def cause(type: Type, rule: str, field: str, path: str | None = None, /, **params: Param) -> Cause:
    """A cause with one site: its field, unless another path is the real one."""
    return Cause(type, field, rule, (Site(field if path is None else path, params),))


def invalid(rule: str, field: str, path: str | None = None, /, **params: Param) -> Cause:
    """A value that is refused."""
    return cause("FieldValueInvalid", rule, field, path, **params)


def required(rule: str, field: str, path: str | None = None, /, **params: Param) -> Cause:
    """A value that is missing."""
    return cause("FieldValueRequired", rule, field, path, **params)


def duplicate(rule: str, field: str, path: str | None = None, /, **params: Param) -> Cause:
    """A value that another entry has already."""
    return cause("FieldValueDuplicate", rule, field, path, **params)


def unsupported(rule: str, field: str, path: str | None = None, /, **params: Param) -> Cause:
    """A value that KubeVirt knows nothing about."""
    return cause("FieldValueNotSupported", rule, field, path, **params)


def gate_off(rule: str, gate: str, field: str, path: str | None = None, /) -> Cause:
    """A field that needs a feature gate which is off."""
    return invalid(rule, field, path, gate=gate, field=(path or field).rpartition(".")[2])
