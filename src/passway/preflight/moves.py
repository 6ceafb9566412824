"""Would VMs that lose their node find another one: each alone, and all of them together?

Each VM is asked about as if it did not exist. For all together an arrangement is looked for, those
with the fewest places first, each where the least room is left before others are tried: one that is
found is one, none among all of them is a no, and a search that took too many steps says nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from passway.cluster import kinds
from passway.cluster.fold import FoldedPod
from passway.cluster.overlay import ObjectEvent, overlaid
from passway.cluster.records import PodAffinity, PodAffinityTerm
from passway.cluster.snapshot import Key, Snapshot
from passway.manifest.spec import MachineSpec
from passway.model.verdict import Fits, Verdict
from passway.preflight.absence import again, charged
from passway.preflight.stage import Question

MORE_STEPS: Final = 100
"""How many steps a search may take beyond one for each VM."""


@dataclass(frozen=True, slots=True)
class Move:
    """One VM: its verdict alone, and its node in an arrangement of all; None without one."""

    key: Key
    verdict: Verdict
    node: str | None = None


@dataclass(frozen=True, slots=True)
class Moves:
    """`together`: whether there is a place for all at once."""

    together: Fits
    items: tuple[Move, ...] = ()


def moves(specs: Mapping[Key, MachineSpec], snapshot: Snapshot) -> Moves:
    """Where the VMs would go, by namespace and name."""
    alone = {key: again(spec, snapshot, key)[1] for key, spec in specs.items()}
    answers = {verdict.fits for verdict in alone.values()}
    together, placed = Fits.NO, None
    if Fits.NO not in answers:
        order = sorted(alone, key=lambda key: (alone[key].places or 0, key))
        steps = iter(range(len(order) + MORE_STEPS))
        placed = _arranged(order, specs, snapshot, steps)
        if placed is None:
            together = Fits.UNKNOWN if next(steps, None) is None else Fits.NO
        else:
            together = Fits.UNKNOWN if Fits.UNKNOWN in answers else Fits.YES
    items = (Move(key, alone[key], (placed or {}).get(key)) for key in sorted(alone))
    return Moves(together, tuple(items))


def _arranged(
    keys: Sequence[Key],
    specs: Mapping[Key, MachineSpec],
    snapshot: Snapshot,
    steps: Iterator[int],
) -> dict[Key, str] | None:
    """A node for each VM; None where there is no arrangement, or the steps are used up."""
    if not keys:
        return {}
    key, *others = keys
    question, verdict = again(specs[key], snapshot, key)
    for node in _tightest_first(verdict):
        if next(steps, None) is None:
            return None
        after = overlaid(snapshot, (_launcher(question, key, node), *charged(question)))
        rest = _arranged(others, specs, after, steps)
        if rest is not None:
            return {key: node, **rest}
    return None


def _tightest_first(verdict: Verdict) -> list[str]:
    """The nodes that could take the VM, those that could take the fewest copies first."""
    if verdict.fits is Fits.NO:
        return []
    found = [(node.places, node.name) for node in verdict.nodes if not node.fails]
    return [name for _, name in sorted(found)]


def _launcher(question: Question, key: Key, node: str) -> ObjectEvent:
    """The launcher of a VM on a node: what it takes there, and whom it keeps away.

    It is nobody's, so that it counts where the VM is asked about again.
    """
    rules = question.pod.affinity
    pod = FoldedPod(
        namespace=key[0],
        name=f"virt-launcher-{key[1]}-moved",
        node=node,
        requests=tuple(sorted(question.pod.requests.items())),
        labels=tuple(chain.from_iterable(sorted(question.pod.labels.items()))),
        volume_claims=tuple(
            volume.claim_name for volume in question.spec.volumes if volume.claim_name
        ),
        affinity=_required(rules.pod_affinity),
        anti_affinity=_required(rules.pod_anti_affinity),
    )
    return ObjectEvent(kinds.PODS, pod.key, pod)


def _required(rule: PodAffinity | None) -> tuple[PodAffinityTerm, ...]:
    return (rule.required or ()) if rule else ()
