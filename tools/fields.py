"""Derives the table of field names and types from KubeVirt's CRDs.

    python -m tools.fields CRDS_DIR

Reads the CRDs of the kinds that hold a VM and writes src/passway/manifest/fields.json: names,
types, required fields and enums, and no text. A subtree that occurs more than once is stored once
and named after the field that holds it (`$vmi` is the VMI spec). The output depends on the input
alone. A shape is the name of a simple type, `$name`, or an object: `fields` with `required` and
`open` (more fields than those named are kept), `map`, `list` or `enum` (of text).
"""

import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

KUBEVIRT_VERSION: Final = "v1.9.0"
TARGET: Final = Path(__file__).parent.parent / "src/passway/manifest/fields.json"
CRDS: Final = (
    "kubevirt.io/virtualmachines.yaml",
    "kubevirt.io/virtualmachineinstances.yaml",
    "kubevirt.io/virtualmachineinstancereplicasets.yaml",
    "pool.kubevirt.io/virtualmachinepools.yaml",
    "infrastructure.cluster.x-k8s.io/kubevirtmachinetemplates.yaml",
)
OBJECT_META: Final[dict[str, Any]] = {
    "fields": {
        "annotations": {"map": "string"},
        "creationTimestamp": "string",
        "deletionGracePeriodSeconds": "integer",
        "deletionTimestamp": "string",
        "finalizers": {"list": "string"},
        "generateName": "string",
        "generation": "integer",
        "labels": {"map": "string"},
        "managedFields": "any",
        "name": "string",
        "namespace": "string",
        "ownerReferences": "any",
        "resourceVersion": "string",
        "selfLink": "string",
        "uid": "string",
    }
}
SMALLEST_SHARED: Final = 60

Shape = str | dict[str, Any]


def shape(schema: dict[str, Any], name: str = "") -> Shape:
    """The shape of a schema node; `name` is the field that holds it."""
    open_ended = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    if name == "status":
        return "any"
    if name == "metadata" and not schema.get("properties"):
        return OBJECT_META
    if schema.get("x-kubernetes-int-or-string"):
        return "quantity" if "KMGTPE" in schema.get("pattern", "") else "int-or-string"
    if "enum" in schema and schema["type"] == "string":
        return {"enum": sorted(schema["enum"])}
    match schema.get("type"):
        case "array":
            return {"list": shape(schema["items"])}
        case "object" if "additionalProperties" in schema:
            return {"map": shape(schema["additionalProperties"])}
        case "object" if schema.get("properties") or not open_ended:
            return _mapping(schema, open_ended)
        case "string" | "integer" | "boolean" | "number" as simple:
            return str(simple)
        case _:
            return "any"


def _mapping(schema: dict[str, Any], open_ended: bool) -> Shape:
    properties = schema.get("properties", {})
    # The API server fills in a default before it looks for required fields.
    required = [key for key in schema.get("required", ()) if "default" not in properties[key]]
    result: dict[str, Any] = {
        "fields": {key: shape(properties[key], key) for key in sorted(properties)}
    }
    if required:
        result["required"] = sorted(required)
    if open_ended:
        result["open"] = True
    return result


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind as its CRD serves it; the newest version comes first."""

    name: str
    api_versions: tuple[str, ...]
    shape: Shape


def kinds(directory: Path) -> list[Kind]:
    """The kinds of all CRDs; SystemExit if the versions of one differ, as one shape is stored."""
    found = []
    for file in CRDS:
        spec = yaml.safe_load((directory / file).read_text(encoding="utf-8"))["spec"]
        served = [version for version in spec["versions"] if version["served"]]
        served.sort(key=lambda version: not version["storage"])
        shapes = [shape(version["schema"]["openAPIV3Schema"]) for version in served]
        if any(other != shapes[0] for other in shapes):
            raise SystemExit(f"{file}: the versions differ; the table holds one shape for a kind")
        names = tuple(f"{spec['group']}/{version['name']}" for version in served)
        found.append(Kind(spec["names"]["kind"], names, shapes[0]))
    return found


class Shared:
    """Stores repeated mappings once."""

    def __init__(self, roots: list[Shape]) -> None:
        self.table: dict[str, Shape] = {}
        self._counts: Counter[str] = Counter()
        self._names: dict[str, str] = {}
        for root in roots:
            self._count(root)

    def _count(self, node: Shape) -> None:
        if isinstance(node, str):
            return
        text = _dump(node)
        if "fields" in node:
            self._counts[text] += 1
            if self._counts[text] > 1:
                return
        for inner in _inner(node).values():
            self._count(inner)

    def replace(self, node: Shape, name: str) -> Shape:
        """The node with every repeated mapping, itself included, replaced by its name."""
        if isinstance(node, str):
            return node
        text = _dump(node)
        if self._counts[text] < 2 or len(text) < SMALLEST_SHARED:
            return self._rebuilt(node, name)
        if text not in self._names:
            self._names[text] = self._free_name(node, name)
            self.table[self._names[text]] = self._rebuilt(node, name)
        return self._names[text]

    def _rebuilt(self, node: dict[str, Any], name: str) -> Shape:
        if "fields" in node:
            fields = {key: self.replace(inner, key) for key, inner in node["fields"].items()}
            return {**node, "fields": fields}
        return {
            key: self.replace(inner, name) if key in {"map", "list"} else inner
            for key, inner in node.items()
        }

    def _free_name(self, node: dict[str, Any], name: str) -> str:
        if "domain" in node.get("fields", {}):
            name = "vmi"
        taken = set(self._names.values())
        candidates = [f"${name}", *(f"${name}{number}" for number in range(2, 1000))]
        return next(candidate for candidate in candidates if candidate not in taken)


def _inner(node: dict[str, Any]) -> dict[str, Shape]:
    if "fields" in node:
        return dict(node["fields"])
    return {key: node[key] for key in ("map", "list") if key in node}


def _dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def build(directory: Path) -> str:
    """The content of fields.json."""
    found = kinds(directory)
    shared = Shared([kind.shape for kind in found])
    table: dict[str, Any] = {
        kind.name: {
            "apiVersions": kind.api_versions,
            "shape": shared.replace(kind.shape, kind.name),
        }
        for kind in found
    }
    lines = [
        '{"kubevirt":' + _dump(KUBEVIRT_VERSION) + ",",
        '"kinds":{\n' + _lines(table) + "\n},",
        '"shared":{\n' + _lines(shared.table) + "\n}}",
    ]
    return "\n".join(lines) + "\n"


def _lines(table: dict[str, Any]) -> str:
    return ",\n".join(f"{_dump(key)}:{_dump(table[key])}" for key in sorted(table))


def main(arguments: list[str]) -> int:
    """Writes the table."""
    if len(arguments) != 1:
        print("usage: python -m tools.fields CRDS_DIR", file=sys.stderr)
        return 2
    text = build(Path(arguments[0]))
    TARGET.write_text(text, encoding="utf-8")
    print(f"{TARGET.name}: {len(text.encode())} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
