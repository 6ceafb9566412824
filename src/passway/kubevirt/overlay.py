"""Writing into a plain tree, mostly where nothing stands yet.

What instance types and preferences share: both lay fields over a VMI. Works in place; whatever
stands where a mapping is wanted and is none counts as absent and is replaced, as the readers of
`fields` do. A value that is filled in is shared with where it comes from and never written to.
"""

from typing import Any, TypeAlias

from passway.kubevirt.fields import Tree, at

Spec: TypeAlias = dict[str, Any]


def section(tree: Spec, *path: str) -> Spec:
    """The mapping at a path, made where there is none."""
    for key in path:
        held = tree.get(key)
        if not isinstance(held, dict):
            held = tree[key] = {}
        tree = held
    return tree


def items(tree: Tree, key: str) -> list[Spec]:
    """The mappings of a list, to be written to."""
    held = tree.get(key)
    return [item for item in held if isinstance(item, dict)] if isinstance(held, list) else []


def fill(tree: Spec, target: tuple[str, ...], value: Any) -> None:
    """Sets a field to a value that there is, unless it has one; empty texts are none."""
    if value in (None, "") or at(tree, *target) not in (None, ""):
        return
    section(tree, *target[:-1])[target[-1]] = value
