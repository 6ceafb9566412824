"""Reading a plain VMI leniently: a field of another type than the API's counts as absent.

The launcher model reads some sixty fields of a tree that admission may still refuse. These few
functions keep it total: whatever stands there, the answer has the type that the caller expects.
Saying that a field is wrong is admission's, never done here. Plain means dicts and lists.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from passway.model.quantity import InvalidQuantity, Quantity, parse_quantity

Tree: TypeAlias = Mapping[str, Any]
NOTHING: Final[Tree] = {}
LARGEST: Final = 2**63 - 1


def at(tree: Any, *path: str) -> Any:
    """The value below a mapping, or None."""
    for key in path:
        if not isinstance(tree, dict):
            return None
        tree = tree.get(key)
    return tree


def mapping(tree: Any, *path: str) -> Tree:
    """A mapping with text as keys; empty for anything else."""
    found = at(tree, *path)
    return found if isinstance(found, dict) else NOTHING


def entries(tree: Any, *path: str) -> tuple[Tree, ...]:
    """The mappings of a list."""
    found = at(tree, *path)
    if not isinstance(found, list | tuple):
        return ()
    return tuple([item for item in found if isinstance(item, dict)])


def present(tree: Any, *path: str) -> bool:
    """Whether the field is set to anything, an empty object included."""
    return at(tree, *path) is not None


def whole(tree: Any, *path: str) -> int:
    """An integer of at most 64 bits; 0 for anything else."""
    found = at(tree, *path)
    if not isinstance(found, int) or isinstance(found, bool):
        return 0
    return found if abs(found) <= LARGEST else 0


def flag(tree: Any, *path: str) -> bool | None:
    """True, False or unset."""
    found = at(tree, *path)
    return found if isinstance(found, bool) else None


def text(tree: Any, *path: str) -> str:
    """A text; empty for anything else."""
    found = at(tree, *path)
    return found if isinstance(found, str) else ""


def texts(tree: Any, *path: str) -> dict[str, str]:
    """A mapping of texts, as a new dictionary without what is none."""
    return {key: value for key, value in mapping(tree, *path).items() if isinstance(value, str)}


def amount(tree: Any, *path: str) -> Quantity | None:
    """A quantity, written as text or as a number."""
    return _quantity(at(tree, *path))


def amounts(tree: Any, *path: str) -> dict[str, Quantity]:
    """A resource list, as a new dictionary without what is no quantity."""
    found = {}
    for key, value in mapping(tree, *path).items():
        parsed = _quantity(value)
        if parsed is not None:
            found[key] = parsed
    return found


def _quantity(value: Any) -> Quantity | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return parse_quantity(str(value))
    except InvalidQuantity:
        return None
