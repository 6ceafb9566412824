"""Would VMs that lose their node find another one: each alone, and all of them together?

Each VM is asked about as if it did not exist. Together they are placed one after the other, those
with the fewest places first, each where the least room is left: an arrangement that is found is
one, but that none was found does not prove that there is none.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from passway.cluster import kinds
from passway.cluster.fold import FoldedPod
from passway.cluster.overlay import ObjectEvent, overlaid
from passway.cluster.snapshot import Key, Snapshot
from passway.manifest.spec import MachineSpec
from passway.model.verdict import Fits, Verdict
from passway.preflight.absence import again
from passway.preflight.stage import Question


@dataclass(frozen=True, slots=True)
class Move:
    """One VM: its verdict alone, and its node in the arrangement of all (None: none was found)."""

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
    alone = {key: again(spec, snapshot, key) for key, spec in specs.items()}
    placed: dict[Key, str] = {}
    for key in sorted(alone, key=lambda key: (alone[key][1].places or 0, key)):
        question, verdict = again(specs[key], snapshot, key)
        node = _tightest(verdict)
        if verdict.fits is not Fits.NO and node is not None:
            placed[key] = node
            snapshot = overlaid(snapshot, [_launcher(question, key, node)])
    items = tuple(Move(key, alone[key][1], placed.get(key)) for key in sorted(alone))
    answers = {move.verdict.fits for move in items}
    if Fits.NO in answers:
        return Moves(Fits.NO, items)
    all_placed = all(move.node for move in items) and Fits.UNKNOWN not in answers
    return Moves(Fits.YES if all_placed else Fits.UNKNOWN, items)


def _tightest(verdict: Verdict) -> str | None:
    """The node that could take the fewest copies."""
    found = [(node.places, node.name) for node in verdict.nodes if not node.fails and node.places]
    return min(found)[1] if found else None


def _launcher(question: Question, key: Key, node: str) -> ObjectEvent:
    """The launcher of a VM on a node, as far as it takes room there."""
    pod = FoldedPod(
        namespace=key[0],
        name=f"virt-launcher-{key[1]}-moved",
        node=node,
        requests=tuple(sorted(question.pod.requests.items())),
        machine=key[1],
    )
    return ObjectEvent(kinds.PODS, pod.key, pod)
