"""Issues and verdicts: what a walk through the stages found.

Owns the three severities, the outcome of a stage and the rule from issues to the answer. An issue
is a value: a reason from the registry plus typed parameters, never prose; `reasons.render` makes
the words. *Unknown* means that a source exists but could not be read or decided; it is never
turned into yes or no.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeAlias, Union

import msgspec

from passway.model.override import override
from passway.model.quantity import Quantity


class Severity(StrEnum):
    """How an issue counts: only an error refuses."""

    ERROR = "error"
    WARNING = "warning"
    UNKNOWN = "unknown"


class Stage(StrEnum):
    """The components a VM passes, in their order; `manifest` stands before all of them."""

    MANIFEST = "manifest"
    ADMISSION = "admission"
    PERMISSION = "permission"
    QUOTA = "quota"
    NETWORKS = "networks"
    CLAIMS = "claims"
    SCHEDULING = "scheduling"
    KUBELET = "kubelet"
    HOST = "host"
    LAUNCHER = "launcher"
    LIFECYCLE = "lifecycle"


class Outcome(StrEnum):
    """What a stage says; `not_checked` (no source for it exists here) never changes the answer.

    `not_reached` exists only where an existing VM is explained: it stands at an earlier stage.
    """

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"
    NOT_CHECKED = "not_checked"
    NOT_REACHED = "not_reached"


class Fits(StrEnum):
    """Would this VM get running now, with all its devices?"""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """A reference to an object; `str` gives `namespace/name`."""

    kind: str
    name: str
    namespace: str | None = None

    @override
    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a text: line and column count from 1."""

    file: str
    line: int
    column: int

    @override
    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, order=True)
class Free:
    """Free units of a resource on a node, of those allocatable there."""

    node: str
    free: Quantity
    allocatable: Quantity

    @override
    def __str__(self) -> str:
        return f"{self.free} free of {self.allocatable} on {self.node}"


@dataclass(frozen=True, slots=True, order=True)
class Level:
    """What is told of `Free` to somebody whose numbers those are not."""

    node: str
    some: bool

    @override
    def __str__(self) -> str:
        return f"{'some' if self.some else 'none'} free on {self.node}"


@dataclass(frozen=True, slots=True, order=True)
class Unlisted:
    """Why a kind is not known, and the namespaces in which it could be listed all the same."""

    words: str
    within: tuple[str, ...] = ()

    @override
    def __str__(self) -> str:
        return f"{self.words} (only in {', '.join(self.within)})" if self.within else self.words


@dataclass(frozen=True, slots=True, order=True)
class Holding:
    """Who holds units on which node; `deletion` is set while its pod is being deleted.

    `resource` is told where the sentence is not about one resource alone.
    """

    holder: Ref
    amount: Quantity
    node: str
    pod: str = ""
    deletion: str | None = None
    resource: str = ""

    @override
    def __str__(self) -> str:
        pod = "pod " if self.holder.kind == "Pod" else ""
        amount = f"{self.amount} {self.resource}" if self.resource else str(self.amount)
        text = f"{pod}{self.holder} ({amount} on {self.node}"
        if self.deletion:
            text += f", pod {self.pod} is being deleted since {self.deletion} and counts until then"
        return f"{text})"


@dataclass(frozen=True, slots=True, order=True)
class Shortage:
    """Why one node does not do: what it lacks, with the amounts where there are any."""

    node: str
    has: tuple[str, ...]
    lacks: tuple[str, ...]

    @override
    def __str__(self) -> str:
        has = f" has {', '.join(self.has)} but" if self.has else ""
        return f"{self.node}{has} fails {', '.join(self.lacks)}"


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """One part of an amount, and what it is for."""

    name: str
    amount: Quantity

    @override
    def __str__(self) -> str:
        return f"{self.name} {self.amount}"


@dataclass(frozen=True, slots=True)
class Some:
    """The first items of a list that may be very long, and how long it is in all."""

    items: "tuple[Param, ...]"
    total: int


Param: TypeAlias = Union[
    Some, str, int, Quantity, Ref, Free, Level, Unlisted, Holding, Shortage, Part,
    "tuple[Param, ...]",
]  # fmt: skip

NO_PARAMS: Final[Mapping[str, Param]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Issue:
    """One finding. `path` is the field path in the manifest, `nodes` those it speaks of, sorted."""

    reason: str
    stage: Stage
    severity: Severity
    subject: Ref | None = None
    path: str = ""
    params: Mapping[str, Param] = field(default_factory=lambda: NO_PARAMS)
    nodes: tuple[str, ...] = ()
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class StageResult:
    """What one stage found."""

    stage: Stage
    outcome: Outcome
    issues: tuple[Issue, ...] = ()


class NodeResult(msgspec.Struct, frozen=True, gc=False):
    """Which criteria a node meets and which it fails; a struct, since a walk makes thousands."""

    name: str
    meets: tuple[str, ...]
    fails: tuple[str, ...]
    places: int = 0
    """How many of this VM the node could take now, when it fails nothing."""


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes that all lack one resource: told as a number, expanded only on request."""

    count: int
    fails: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer for one machine. `limits`: what runs out first, resource -> nodes it stops at."""

    subject: Ref
    fits: Fits
    stages: tuple[StageResult, ...]
    nodes: tuple[NodeResult, ...] = ()
    groups: tuple[NodeGroup, ...] = ()
    replicas: int = 1
    places: int | None = None
    """How many of this VM the nodes could take now; None when it was not counted."""
    limits: Mapping[str, int] = field(default_factory=dict)

    @property
    def issues(self) -> tuple[Issue, ...]:
        return tuple(issue for stage in self.stages for issue in stage.issues)


def outcome_of(issues: Iterable[Issue]) -> Outcome:
    """error -> fail, else unknown -> unknown, else warning -> warn, else pass."""
    severities = {issue.severity for issue in issues}
    if Severity.ERROR in severities:
        return Outcome.FAIL
    if Severity.UNKNOWN in severities:
        return Outcome.UNKNOWN
    return Outcome.WARN if severities else Outcome.PASS


def fits_of(issues: Iterable[Issue]) -> Fits:
    """Any error -> no; else any unknown -> unknown; else yes."""
    match outcome_of(issues):
        case Outcome.FAIL:
            return Fits.NO
        case Outcome.UNKNOWN:
            return Fits.UNKNOWN
        case _:
            return Fits.YES
