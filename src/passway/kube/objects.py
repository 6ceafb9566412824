"""Objects on their way to a Kubernetes API: what an adapter refuses before it asks anybody.

Owns the checks that are the same for every adapter (the kind, the scope, the names, that there is
metadata), and the guess of a plural for kinds that no table names. It knows no server and no store.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

from passway.cluster.kinds import Kind
from passway.kube.patch import copied
from passway.model.errors import InvalidInput
from passway.service.ports import Object

CLUSTER_SCOPED: Final = frozenset({
    "APIService", "CDI", "CSIDriver", "CSINode", "ClusterPolicy", "ClusterRole",
    "ClusterRoleBinding", "CustomResourceDefinition", "DeviceClass", "DeviceTaintRule",
    "MigrationPolicy", "MutatingWebhookConfiguration", "Namespace", "Node", "PersistentVolume",
    "PriorityClass", "ResourceSlice", "RuntimeClass", "StorageClass",
    "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration", "VirtualMachineClusterInstancetype",
    "VirtualMachineClusterPreference", "VolumeAttachment",
})  # fmt: skip

PLURALS: Final[Mapping[tuple[str, str], str]] = {
    ("", "Endpoints"): "endpoints",
    ("gateway.networking.k8s.io", "Gateway"): "gateways",
    ("k8s.cni.cncf.io", "NetworkAttachmentDefinition"): "network-attachment-definitions",
    ("metrics.k8s.io", "NodeMetrics"): "nodes",
    ("metrics.k8s.io", "PodMetrics"): "pods",
}


def kind_of(obj: Mapping[str, Any], known: Iterable[Kind] = ()) -> Kind:
    """The kind of an object: from `known` by group and kind, else by guessing the plural."""
    api_version, name = obj.get("apiVersion"), obj.get("kind")
    if not (isinstance(api_version, str) and isinstance(name, str) and api_version and name):
        raise InvalidInput("the object has no apiVersion or no kind")
    group, _, version = api_version.rpartition("/")
    for kind in known:
        if (kind.group, kind.kind) == (group, name):
            return kind
    plural = PLURALS.get((group, name)) or _plural(name.lower())
    return Kind(group, version, name, plural, name not in CLUSTER_SCOPED)


def _plural(word: str) -> str:
    if word.endswith("y"):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "ch")) else f"{word}s"


def copy_of(obj: Mapping[str, Any]) -> Object:
    copy: Object = copied(obj)
    return copy


def taken(kind: Kind, source: Mapping[str, Any]) -> Object:
    """A copy of an object from outside; refuses one that is malformed or of another kind."""
    obj = copy_of(source)
    found = kind_of(obj)
    if (found.group, found.kind) != (kind.group, kind.kind):
        raise InvalidInput(
            f"a {obj['apiVersion']} {found.kind} does not belong into {kind.resource}"
        )
    meta = obj.get("metadata")
    if not isinstance(meta, dict):
        raise InvalidInput(f"the {kind.kind} has no metadata")
    expect_scope(kind, meta.get("namespace"))
    return obj


def to_create(kind: Kind, source: Mapping[str, Any]) -> Object:
    """`taken` for an object that is new, and therefore has no version."""
    obj = taken(kind, source)
    if obj["metadata"].pop("resourceVersion", ""):
        raise InvalidInput("an object to be created carries no resourceVersion")
    return obj


def expect_scope(kind: Kind, namespace: Any) -> None:
    if kind.namespaced and not (isinstance(namespace, str) and namespace):
        raise InvalidInput(f"{kind.resource} are in namespaces, and none is named")
    if not kind.namespaced and namespace is not None:
        raise InvalidInput(f"{kind.resource} are not in namespaces")
    if namespace is not None:
        expect_segment(namespace, "a namespace")


def expect_segment(text: str, what: str) -> str:
    """A name that stays one part of a path (k8s.io/apimachinery/pkg/api/validation/path).

    Escaping is not enough: a server takes `vm%2Fstatus` for the subresource of `vm`, and no name
    at all for the whole collection.
    """
    if text in {"", ".", ".."} or not text.isprintable() or set("/%") & set(text):
        raise InvalidInput(f"{text[:80]!r} cannot be {what}")
    return text


def expect_version(text: str) -> str:
    """A resourceVersion to watch from: to a client a word, but every server's is a number."""
    if not (text.isascii() and text.isdigit()):
        raise InvalidInput(f"{text[:40]!r} is not a resourceVersion")
    return text


def path_of(kind: Kind, namespace: str | None, name: str | None = None) -> str:
    """The path of a collection or an object; no part of it can leave its place."""
    if name is not None or namespace is not None:
        expect_scope(kind, namespace)
    parts = ["apis", kind.group, kind.version] if kind.group else ["api", kind.version]
    parts += ["namespaces", namespace] if namespace is not None else []
    parts += [kind.plural] if name is None else [kind.plural, name]
    return "".join(f"/{quote(expect_segment(part, 'a name'), safe='')}" for part in parts)


def value_at(obj: Mapping[str, Any], path: str) -> Any:
    """The value of a field, as a field selector names it; None where there is none."""
    found: Any = obj
    for part in path.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def selector_of(chosen: Mapping[str, str] | None) -> str:
    """Labels or fields as a selector of a request."""
    return ",".join(f"{name}={value}" for name, value in (chosen or {}).items())


def key_of(obj: Mapping[str, Any]) -> tuple[str, str]:
    """What objects of a kind are sorted by: namespace and name."""
    meta = obj["metadata"]
    return (meta.get("namespace") or "", meta["name"])
