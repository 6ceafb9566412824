"""The table of field names and types of the kinds that hold a VM.

Loaded once, on first use, from fields.json, which `python -m tools.fields` derives from KubeVirt's
CRDs. A shape is a word for a simple type (`string`, `quantity`, …), a reference (`$vmi`) or a
structure. Knows the places of every field name, for the question where a field belongs.
"""

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final, TypeAlias

import msgspec

ITEM: Final = "[]"
"""The step from a list to an item, in the path of a place."""


class Structure(msgspec.Struct, frozen=True):
    """Exactly one of `fields`, `map`, `list` and `enum` is set."""

    fields: "dict[str, Shape] | None" = None
    required: tuple[str, ...] = ()
    open: bool = False
    map: "Shape | None" = None
    list: "Shape | None" = None
    enum: tuple[str, ...] = ()


Shape: TypeAlias = str | Structure


class Kind(msgspec.Struct, frozen=True, rename="camel"):
    """A kind: the API versions that serve it (the preferred one first) and its shape."""

    api_versions: tuple[str, ...]
    shape: Shape


class Table(msgspec.Struct, frozen=True):
    """What fields.json holds."""

    kubevirt: str
    kinds: dict[str, Kind]
    shared: dict[str, Shape]

    def resolve(self, shape: Shape) -> Shape:
        """The shape itself, also where it is a reference."""
        return self.shared[shape] if isinstance(shape, str) and shape[0] == "$" else shape


@dataclass(frozen=True, slots=True)
class Place:
    """Where a field can stand: the steps to the mapping that holds it, its name and shape."""

    parent: tuple[str, ...]
    name: str
    shape: Shape


@lru_cache(maxsize=1)
def load() -> Table:
    """The table."""
    return msgspec.json.decode((files(__package__) / "fields.json").read_bytes(), type=Table)


@lru_cache(maxsize=16)
def places(kind: str) -> dict[str, tuple[Place, ...]]:
    """All places of each field name of a kind; names in lower case."""
    table = load()
    found: defaultdict[str, list[Place]] = defaultdict(list)
    open_shapes: list[tuple[tuple[str, ...], Shape]] = [((), table.kinds[kind].shape)]
    while open_shapes:
        path, shape = open_shapes.pop()
        shape = table.resolve(shape)
        if isinstance(shape, str):
            continue
        if shape.list is not None:
            open_shapes.append(((*path, ITEM), shape.list))
        for name, inner in (shape.fields or {}).items():
            found[name.lower()].append(Place(path, name, inner))
            open_shapes.append(((*path, name), inner))
    return {name: tuple(found[name]) for name in sorted(found)}
