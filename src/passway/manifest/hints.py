"""What was probably meant by a field that does not exist where it stands.

Either the name is known elsewhere and the place is wrong, or the name is close to a known one. A
place counts only if it is the one nearest place, near in the tree, and takes a value of that
form; a name that fits at several places equally well is not guessed.
"""

from difflib import SequenceMatcher
from typing import Final

from passway.manifest.nodes import MappingNode, Node, ScalarNode, SequenceNode, Step, child
from passway.manifest.table import ITEM, Place, Shape, load, places
from passway.model.names import nearest

MAX_MOVES: Final = 5
MAX_MOVES_TO_ONLY_PLACE: Final = 8
MAX_NAME: Final = 64
_SURE: Final = 0.85


def near_names(name: str, known: list[str]) -> tuple[str, ...]:
    """Known names at this level that are close to `name`, best first."""
    return nearest(name, known) if len(name) <= MAX_NAME else ()


def is_typing_error(name: str, near: tuple[str, ...]) -> bool:
    """Whether the closest name differs by so little that nothing else needs to be considered."""
    if not near:
        return False
    return SequenceMatcher(None, name.lower(), near[0].lower()).ratio() >= _SURE


def right_place(kind: str, at: list[Step], name: str, value: Node) -> str | None:
    """The field path where the field belongs, or None. `at`: the steps to where it stands."""
    here = [ITEM if isinstance(step, int) else step for step in at]
    known = places(kind).get(name.lower(), ())
    best: list[Place] = []
    least = (MAX_MOVES if len(known) > 1 else MAX_MOVES_TO_ONLY_PLACE) + 1
    for place in known:
        shared = _shared(here, place.parent)
        moves = len(here) + len(place.parent) - 2 * shared
        if 0 < moves < least and _takes(place.shape, value):
            best, least = [place], moves
        elif moves == least and best and _takes(place.shape, value):
            best.append(place)
    return _path(at, here, best[0]) if len(best) == 1 else None


def _shared(here: list[str], parent: tuple[str, ...]) -> int:
    """How many steps two paths have in common from the root."""
    count = 0
    for left, right in zip(here, parent, strict=False):
        if left != right:
            break
        count += 1
    return count


def _takes(shape: Shape, value: Node) -> bool:
    shape = load().resolve(shape)
    if isinstance(shape, str):
        return shape == "any" or isinstance(value, ScalarNode)
    if shape.list is not None:
        return isinstance(value, SequenceNode)
    return isinstance(value, ScalarNode if shape.enum else MappingNode)


def _path(at: list[Step], here: list[str], place: Place) -> str:
    shared = _shared(here, place.parent)
    path = ""
    for step in at[:shared]:
        path = child(path, step)
    for name in (*place.parent[shared:], place.name):
        path = f"{path}[]" if name == ITEM else child(path, name)
    return path
