"""Small clusters on which one rule of the scheduler decides, with the nodes that it must leave.

A scene is data: nodes, pods that are there, other objects, the VM that comes, and the names of the
nodes that can take it. `NS` stands for the test's namespace, `OTHER` for one beside it that has the
label team=x. Nothing here asks anybody.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.builders import GPU, node, obj, pod, vm

Object = dict[str, Any]
NS: Final = "NS"
OTHER: Final = "OTHER"
HOST: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
DELAYED, AT_ONCE, STATIC, DRIVEN = "delayed", "at-once", "static", "driven"
HIGH, LOW, NEVER = "high", "low", "high-never"


@dataclass(frozen=True)
class Scene:
    """`expected` are the nodes that take the VM; `gone` and `ended` name pods that are that."""

    name: str
    nodes: tuple[Object, ...]
    expected: frozenset[str]
    pods: tuple[Object, ...] = ()
    objects: tuple[Object, ...] = ()
    machine: Object = field(default_factory=vm)
    gone: frozenset[str] = frozenset()
    ended: Mapping[str, str] = field(default_factory=dict)
    evicts: frozenset[str] | None = None
    """The pods that the scheduler tells to end, where it does that."""


def zoned(*zones: str, **options: Any) -> tuple[Object, ...]:
    """Nodes a, b, c … in these zones; an empty one has none."""
    return tuple(
        node(name, labels={ZONE: zone} if zone else {}, **options)
        for name, zone in zip("abcdef", zones, strict=False)
    )


def term(key: str = ZONE, selector: Any = "app=db", **more: Any) -> Object:
    """`selector`: `key=value`, or the object, or None for a term without one."""
    found: Object = {"topologyKey": key, **more}
    if selector is not None:
        found["labelSelector"] = labelled(selector)
    return found


def labelled(selector: Any) -> Object:
    if isinstance(selector, str):
        key, _, value = selector.partition("=")
        return {"matchLabels": {key: value}}
    return selector


def near(*terms: Object) -> Object:
    return {"podAffinity": {REQUIRED: list(terms)}}


def apart(*terms: Object) -> Object:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def labelled_vm(labels: Mapping[str, str] | None = None, **instance: Any) -> Object:
    made = vm(namespace=NS, **instance)
    if labels:
        made["spec"]["template"]["metadata"] = {"labels": dict(labels)}
    return made


def db(name: str, where: str | None, namespace: str = NS, **more: Any) -> Object:
    """A pod with the label app=db."""
    labels = {"app": "db", **more.pop("labels", {})}
    return pod(name, where, {"cpu": "10m"}, namespace=namespace, meta={"labels": labels}, **more)


def spread(selector: Any = "app=db", skew: int = 1, key: str = ZONE, **more: Any) -> Object:
    found = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", **more}
    if selector is not None:
        found["labelSelector"] = labelled(selector)
    return found


def claim(name: str, storage_class: str = "", size: str = "1Gi", **spec: Any) -> Object:
    """An empty class is none at all, not even the default one."""
    return obj(
        "v1", "PersistentVolumeClaim", name, NS, meta=spec.pop("meta", {}),
        spec={
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}},
            "storageClassName": storage_class, **spec,
        },
    )  # fmt: skip


def volume(name: str, zone: str = "", storage_class: str = "", **spec: Any) -> Object:
    """A volume in a zone by its node affinity; `labels` are those of the volume itself."""
    labels = spec.pop("labels", None)
    made: Object = {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "csi.example.com", "volumeHandle": name},
        "storageClassName": storage_class, "persistentVolumeReclaimPolicy": "Retain", **spec,
    }  # fmt: skip
    if zone:
        expression = {"key": ZONE, "operator": "In", "values": [zone]}
        made["nodeAffinity"] = {
            "required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        }
    return obj("v1", "PersistentVolume", f"{NS}-{name}", meta={"labels": labels}, spec=made)


def on(*claims: str) -> list[Object]:
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]


def bound(name: str = "data", zone: str = "", **spec: Any) -> tuple[Object, Object]:
    """A claim and its volume, which the controller binds to each other."""
    reference = {"namespace": NS, "name": name}
    return (
        volume(f"pv-{name}", zone, claimRef=reference, **spec),
        claim(name, volumeName=f"{NS}-pv-{name}", **_modes(spec)),
    )


def _modes(spec: Object) -> Object:
    return {"accessModes": spec["accessModes"]} if "accessModes" in spec else {}


def disk(*claims: str, **instance: Any) -> Object:
    return labelled_vm(volumes=on(*claims), **instance)


def storage_class(name: str, **more: Any) -> Object:
    made = {"provisioner": "some.example.com", "volumeBindingMode": "WaitForFirstConsumer", **more}
    return obj("storage.k8s.io/v1", "StorageClass", name, **made)


def priority_class(name: str, value: int, policy: str) -> Object:
    return obj("scheduling.k8s.io/v1", "PriorityClass", name, value=value, preemptionPolicy=policy)


IN_X: Final = [{"matchLabelExpressions": [{"key": ZONE, "values": ["x", "w"]}]}]
WORLD: Final = (
    storage_class(DELAYED),
    storage_class(AT_ONCE, volumeBindingMode="Immediate"),
    storage_class(STATIC, provisioner="kubernetes.io/no-provisioner"),
    storage_class(DRIVEN, provisioner="driven.example.com"),
    storage_class("in-x", allowedTopologies=IN_X),
    obj("storage.k8s.io/v1", "CSIDriver", "driven.example.com", spec={"storageCapacity": True}),
    priority_class(HIGH, 100, "PreemptLowerPriority"),
    priority_class(LOW, -1, "Never"),
    priority_class(NEVER, 100, "Never"),
)
"""What all scenes share: classes of storage and of priority."""

TWO = zoned("x", "y")
THREE = zoned("x", "x", "y")
EVERY = frozenset("abc")
AB, A, B, C, NONE = (frozenset(names) for names in ("ab", "a", "b", "c", ""))
TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}
SINGLE = {"accessModes": ["ReadWriteOncePod"]}
NAMED_DB = {"namespaceSelector": {"matchLabels": {"team": "x"}}}
GUARD = apart(term(HOST, "kubevirt.io=virt-launcher"))


def full(priority: str | None, *names: str, gpus: str = "1") -> tuple[Object, ...]:
    """Pods on node a that hold a GPU each."""
    more = {"priorityClassName": priority} if priority else {}
    return tuple(pod(name, "a", {GPU: gpus}, namespace=NS, **more) for name in names)


GPU_NODE = (node("a", {GPU: 1}),)

SCENES: Final = (
    # -- affinity -----------------------------------------------------------------------------
    Scene("beside", THREE, AB, (db("p", "a"),), machine=labelled_vm(affinity=near(term()))),
    Scene("beside on one node", THREE, A, (db("p", "a"),),
          machine=labelled_vm(affinity=near(term(HOST)))),
    Scene("beside nothing", THREE, NONE, machine=labelled_vm(affinity=near(term()))),
    Scene("the first of its kind", zoned("x", "y", ""), AB,
          machine=labelled_vm({"app": "db"}, affinity=near(term()))),
    Scene("not the first of its kind", TWO, A, (db("p", "a"),),
          machine=labelled_vm({"app": "db"}, affinity=near(term()))),
    Scene("the others are where there is no zone", zoned("x", "y", ""), AB, (db("p", "c"),),
          machine=labelled_vm({"app": "db"}, affinity=near(term()))),
    Scene("the others have ended", TWO, NONE, (db("p", "a"), db("q", "b")),
          ended={"p": "Succeeded", "q": "Failed"}, machine=labelled_vm(affinity=near(term()))),
    Scene("one that is ending still counts", TWO, A, (db("p", "a"),), gone=frozenset("p"),
          machine=labelled_vm(affinity=near(term()))),
    Scene("two terms want one pod", THREE, NONE,
          (db("p", "a"), pod("q", "b", {}, namespace=NS, meta={"labels": {"tier": "x"}})),
          machine=labelled_vm(affinity=near(term(), term(HOST, "tier=x")))),
    Scene("two terms and one pod", THREE, B, (db("p", "b", labels={"tier": "x"}),),
          machine=labelled_vm(affinity=near(term(), term(HOST, "tier=x")))),
    Scene("a pod that is nowhere", TWO, NONE, (db("p", None, nodeSelector={"no": "where"}),),
          machine=labelled_vm(affinity=near(term()))),
    Scene("another namespace is not looked at", TWO, NONE, (db("p", "a", OTHER),),
          machine=labelled_vm(affinity=near(term()))),
    Scene("another namespace by name", TWO, A, (db("p", "a", OTHER), db("q", "b")),
          machine=labelled_vm(affinity=near(term(namespaces=[OTHER])))),
    Scene("namespaces by their labels", TWO, A, (db("p", "a", OTHER), db("q", "b")),
          machine=labelled_vm(affinity=near(term(**NAMED_DB)))),
    Scene("namespaces by label and by name", TWO, AB, (db("p", "a", OTHER), db("q", "b")),
          machine=labelled_vm(affinity=near(term(namespaces=[NS], **NAMED_DB)))),
    Scene("every namespace", TWO, A, (db("p", "a", OTHER),),
          machine=labelled_vm(affinity=near(term(namespaceSelector={})))),
    Scene("a namespace by the label of its name", TWO, A, (db("p", "a", OTHER), db("q", "b")),
          machine=labelled_vm(affinity=near(term(
              namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": OTHER}})))),
    Scene("keys to match", TWO, A,
          (db("p", "a", labels={"rev": "1"}), db("q", "b", labels={"rev": "2"})),
          machine=labelled_vm({"rev": "1"}, affinity=near(term(matchLabelKeys=["rev", "no"])))),
    Scene("keys to differ in", TWO, B,
          (db("p", "a", labels={"rev": "1"}), db("q", "b", labels={"rev": "2"})),
          machine=labelled_vm({"rev": "1"}, affinity=near(term(mismatchLabelKeys=["rev"])))),
    # -- anti-affinity ------------------------------------------------------------------------
    Scene("apart by zone", THREE, C, (db("p", "a"),), machine=labelled_vm(affinity=apart(term()))),
    Scene("apart by node", THREE, frozenset("bc"), (db("p", "a"),),
          machine=labelled_vm(affinity=apart(term(HOST)))),
    Scene("apart where there is no zone", zoned("x", ""), B, (db("p", "a"), db("q", "b")),
          machine=labelled_vm(affinity=apart(term()))),
    Scene("apart from one that is ending", TWO, B, (db("p", "a"),), gone=frozenset("p"),
          machine=labelled_vm(affinity=apart(term()))),
    Scene("apart from either", THREE, NONE,
          (db("p", "a"), pod("q", "c", {}, namespace=NS, meta={"labels": {"tier": "x"}})),
          machine=labelled_vm(affinity=apart(term(), term(ZONE, "tier=x")))),
    Scene("apart from all", TWO, B, (db("p", "a"),),
          machine=labelled_vm(affinity=apart(term(selector={})))),
    Scene("apart from nothing", TWO, AB, (db("p", "a"),),
          machine=labelled_vm(affinity=apart(term(selector=None)))),
    Scene("together and apart", THREE, B, (db("p", "a"),),
          machine=labelled_vm(affinity=near(term()) | apart(term(HOST)))),
    # -- the anti-affinity of pods that are there ---------------------------------------------
    Scene("kept away", TWO, B, (db("p", "a", affinity=GUARD),), machine=labelled_vm()),
    Scene("kept away from a zone", THREE, C,
          (db("p", "a", affinity=apart(term(ZONE, "kubevirt.io=virt-launcher"))),),
          machine=labelled_vm()),
    Scene("kept away by the name of the VM", TWO, B,
          (db("p", "a", affinity=apart(term(HOST, "vm.kubevirt.io/name=vm"))),),
          machine=labelled_vm()),
    Scene("kept away by one that is ending", TWO, B, (db("p", "a", affinity=GUARD),),
          gone=frozenset("p"), machine=labelled_vm()),
    Scene("not kept away from another namespace", TWO, AB,
          (db("p", "a", OTHER, affinity=GUARD),), machine=labelled_vm()),
    Scene("kept away from all namespaces", TWO, B,
          (db("p", "a", OTHER, affinity=apart(
              term(HOST, "kubevirt.io=virt-launcher", namespaceSelector={}))),),
          machine=labelled_vm()),
    Scene("not kept away: the namespace has no such label", TWO, AB,
          (db("p", "a", affinity=apart(
              term(HOST, "kubevirt.io=virt-launcher", **NAMED_DB))),),
          machine=labelled_vm()),
    Scene("kept away by a preference only", TWO, AB,
          (db("p", "a", affinity={"podAntiAffinity": {
              "preferredDuringSchedulingIgnoredDuringExecution": [
                  {"weight": 100, "podAffinityTerm": term(HOST, "kubevirt.io=virt-launcher")}]}}),),
          machine=labelled_vm()),
    # -- spreading ----------------------------------------------------------------------------
    Scene("even", TWO, AB,
          machine=labelled_vm({"app": "db"}, topologySpreadConstraints=[spread()])),
    Scene("uneven", TWO, B, (db("p", "a"),),
          machine=labelled_vm({"app": "db"}, topologySpreadConstraints=[spread()])),
    Scene("uneven within the skew", TWO, AB, (db("p", "a"),),
          machine=labelled_vm({"app": "db"}, topologySpreadConstraints=[spread(skew=2)])),
    Scene("uneven without counting itself", TWO, AB, (db("p", "a"),),
          machine=labelled_vm(topologySpreadConstraints=[spread()])),
    Scene("no zone to spread over", zoned("x", ""), A,
          machine=labelled_vm({"app": "db"}, topologySpreadConstraints=[spread()])),
    Scene("fewer domains than wanted", TWO, B, (db("p", "a"),),
          machine=labelled_vm({"app": "db"}, topologySpreadConstraints=[spread(minDomains=3)])),
    Scene("fewer domains than wanted, all taken", TWO, NONE, (db("p", "a"), db("q", "b")),
          machine=labelled_vm({"app": "db"}, topologySpreadConstraints=[spread(minDomains=3)])),
    Scene("the ending do not count", TWO, AB, (db("p", "a"),), gone=frozenset("p"),
          machine=labelled_vm({"app": "db"}, topologySpreadConstraints=[spread()])),
    Scene("another namespace does not count", TWO, AB, (db("p", "a", OTHER),),
          machine=labelled_vm({"app": "db"}, topologySpreadConstraints=[spread()])),
    Scene("an empty selector counts nothing", TWO, AB, (db("p", "a"), db("q", "a")),
          machine=labelled_vm({"app": "db"}, topologySpreadConstraints=[spread({})])),
    Scene("no selector counts nothing", TWO, AB, (db("p", "a"), db("q", "a")),
          machine=labelled_vm({"app": "db"}, topologySpreadConstraints=[spread(None)])),
    Scene("only what the selector leaves is spread over", THREE, B, (db("p", "a"),),
          machine=labelled_vm(
              {"app": "db"}, nodeSelector={ZONE: "x"},
              topologySpreadConstraints=[spread(key=HOST)])),
    Scene("also what the selector leaves out is spread over", TWO, NONE, (db("p", "a"),),
          machine=labelled_vm(
              {"app": "db"}, nodeSelector={ZONE: "x"},
              topologySpreadConstraints=[spread(nodeAffinityPolicy="Ignore")])),
    Scene("tainted nodes are spread over", (*zoned("x"), node("b", labels={ZONE: "y"},
          taints=[TAINT])), NONE, (db("p", "a"),),
          machine=labelled_vm({"app": "db"}, topologySpreadConstraints=[spread()])),
    Scene("tainted nodes are left out", (*zoned("x"), node("b", labels={ZONE: "y"},
          taints=[TAINT])), A, (db("p", "a"),),
          machine=labelled_vm(
              {"app": "db"}, topologySpreadConstraints=[spread(nodeTaintsPolicy="Honor")])),
    Scene("spread by revision", TWO, AB, (db("p", "a", labels={"rev": "1"}),),
          machine=labelled_vm(
              {"app": "db", "rev": "2"},
              topologySpreadConstraints=[spread(matchLabelKeys=["rev"])])),
    Scene("two constraints", THREE, C, (db("p", "a"),),
          machine=labelled_vm(
              {"app": "db"}, topologySpreadConstraints=[spread(), spread(key=HOST)])),
    Scene("a node without one of the keys counts for none",
          (node("a", labels={ZONE: "x", "rack": "r"}), node("b", labels={ZONE: "y", "rack": "r"}),
           node("c", labels={ZONE: "z"})), B, (db("p", "a"),),
          machine=labelled_vm({"app": "db"}, topologySpreadConstraints=[
              spread(), spread("app=x", key="rack")])),
    Scene("only if that is possible", TWO, AB, (db("p", "a"),),
          machine=labelled_vm({"app": "db"}, topologySpreadConstraints=[
              spread() | {"whenUnsatisfiable": "ScheduleAnyway"}])),
    # -- volumes ------------------------------------------------------------------------------
    Scene("a bound volume", TWO, A, objects=bound(zone="x"), machine=disk("data")),
    Scene("a bound volume without a place", TWO, AB, objects=bound(), machine=disk("data")),
    Scene("a volume with the label of a zone", zoned("x", "y", ""), frozenset("ac"),
          objects=bound(labels={ZONE: "x"}), machine=disk("data")),
    Scene("a volume with the labels of two zones", zoned("x", "y", "z"), AB,
          objects=bound(labels={"failure-domain.beta.kubernetes.io/zone": "x__y"}),
          machine=disk("data")),
    Scene("volumes in two places", TWO, NONE,
          objects=(*bound("data", "x"), *bound("logs", "y")), machine=disk("data", "logs")),
    Scene("a claim that does not exist", TWO, NONE, machine=disk("data")),
    Scene("a claim that is ending", TWO, NONE, (pod("user", "a", {}, namespace=NS,
          volumes=on("data")),), objects=bound(), gone=frozenset({"pvc/data"}),
          machine=disk("data")),
    Scene("a claim that binds at once and has not", TWO, NONE, objects=(claim("data", AT_ONCE),),
          machine=disk("data")),
    Scene("a claim of no class", TWO, NONE, objects=(claim("data"),), machine=disk("data")),
    Scene("a claim of an unknown class", TWO, NONE, objects=(claim("data", "unknown"),),
          machine=disk("data")),
    Scene("a volume that can be made anywhere", TWO, AB, objects=(claim("data", DELAYED),),
          machine=disk("data")),
    Scene("a volume that can be made in one zone", TWO, A, objects=(claim("data", "in-x"),),
          machine=disk("data")),
    Scene("a volume that nobody makes", TWO, NONE, objects=(claim("data", STATIC),),
          machine=disk("data")),
    Scene("a volume that waits", TWO, B,
          objects=(volume("pv", "y", STATIC), claim("data", STATIC)), machine=disk("data")),
    Scene("a volume that is too small", TWO, NONE,
          objects=(volume("pv", "y", STATIC), claim("data", STATIC, "2Gi")), machine=disk("data")),
    Scene("a volume of another mode", TWO, NONE,
          objects=(volume("pv", "y", STATIC, volumeMode="Block"), claim("data", STATIC)),
          machine=disk("data")),
    Scene("a volume with other access modes", TWO, NONE,
          objects=(volume("pv", "y", STATIC), claim("data", STATIC, accessModes=["ReadWriteMany"])),
          machine=disk("data")),
    Scene("a volume by its labels", TWO, B,
          objects=(
              volume("pv", "x", STATIC), volume("pv2", "y", STATIC, labels={"kind": "fast"}),
              claim("data", STATIC, selector={"matchLabels": {"kind": "fast"}}),
          ),
          machine=disk("data")),
    Scene("one volume for two claims", TWO, NONE,
          objects=(
              volume("pv", "y", STATIC), claim("data", STATIC), claim("logs", STATIC),
          ),
          machine=disk("data", "logs")),
    Scene("two volumes for two claims", TWO, B,
          objects=(
              volume("pv", "y", STATIC), volume("pv2", "y", STATIC),
              volume("pv3", "x", STATIC), claim("data", STATIC), claim("logs", STATIC),
          ),
          machine=disk("data", "logs")),
    Scene("a volume that is kept for another claim", TWO, NONE,
          objects=(
              volume("pv", "y", STATIC, claimRef={"namespace": NS, "name": "other"}),
              claim("data", STATIC),
          ),
          machine=disk("data")),
    Scene("a volume that only one pod may use, and one does", TWO, NONE,
          (pod("user", "a", {}, namespace=NS, volumes=on("data")),), objects=bound(**SINGLE),
          machine=disk("data")),
    Scene("a volume that only one pod may use, and none does", TWO, AB, objects=bound(**SINGLE),
          machine=disk("data")),
    Scene("a place with room for the volume", TWO, A,
          objects=(
              claim("data", DRIVEN, "5Gi"),
              obj("storage.k8s.io/v1", "CSIStorageCapacity", "x", NS, storageClassName=DRIVEN,
                  capacity="10Gi", nodeTopology={"matchLabels": {ZONE: "x"}}),
              obj("storage.k8s.io/v1", "CSIStorageCapacity", "y", NS, storageClassName=DRIVEN,
                  capacity="10Gi", maximumVolumeSize="1Gi",
                  nodeTopology={"matchLabels": {ZONE: "y"}}),
          ),
          machine=disk("data")),
    # -- what pods hold -----------------------------------------------------------------------
    Scene("as many pods as a node takes", (node("a", pods="1"), node("b")), B,
          (db("p", "a"),), machine=labelled_vm()),
    Scene("sidecars and init containers", (node("a", cpu="4"), node("b", cpu="4")), B, (
        pod("p", "a", {"cpu": "1"}, namespace=NS, initContainers=[
            {"restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
            {"resources": {"requests": {"cpu": "2900m"}}},
        ]),
        pod("q", "b", {"cpu": "1"}, namespace=NS, initContainers=[
            {"resources": {"requests": {"cpu": "2900m"}}},
            {"restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
        ]),
    ), machine=labelled_vm(cpu={"cores": 9})),
    Scene("resources of the pod as a whole", (node("a", cpu="2"), node("b", cpu="2")), B, (
        pod("p", "a", {"cpu": "100m"}, namespace=NS, resources={"requests": {"cpu": "1900m"}}),
        pod("q", "b", {"cpu": "100m"}, namespace=NS),
    ), machine=labelled_vm()),
    # -- priority -----------------------------------------------------------------------------
    Scene("nobody is evicted for the default class", GPU_NODE, NONE, full(None, "p"),
          machine=labelled_vm(gpus=[GPU]), evicts=NONE),
    Scene("the default class evicts what is below it", GPU_NODE, NONE, full(LOW, "p"),
          machine=labelled_vm(gpus=[GPU]), evicts=frozenset("p")),
    Scene("a lower one is evicted", GPU_NODE, NONE, full(LOW, "p"), evicts=frozenset("p"),
          machine=labelled_vm(gpus=[GPU], priorityClassName=HIGH)),
    Scene("an equal one is not evicted", GPU_NODE, NONE, full(HIGH, "p"), evicts=NONE,
          machine=labelled_vm(gpus=[GPU], priorityClassName=HIGH)),
    Scene("a class that never evicts", GPU_NODE, NONE, full(LOW, "p"), evicts=NONE,
          machine=labelled_vm(gpus=[GPU], priorityClassName=NEVER)),
    Scene("only as many as needed", (node("a", {GPU: 3}),), NONE,
          (*full(LOW, "p"), *full(None, "q", "r")), evicts=frozenset("p"),
          machine=labelled_vm(gpus=[GPU], priorityClassName=HIGH)),
    Scene("one that keeps it away is evicted", (node("a"),), NONE,
          (db("p", "a", affinity=GUARD), db("q", "a")), evicts=frozenset("p"),
          machine=labelled_vm(priorityClassName=HIGH)),
    Scene("one that it keeps away from is evicted", (node("a"),), NONE,
          (db("p", "a"), pod("q", "a", {}, namespace=NS)), evicts=frozenset("p"),
          machine=labelled_vm(priorityClassName=HIGH, affinity=apart(term(HOST)))),
    Scene("one too many in the zone is evicted", TWO, NONE,
          (db("p", "a"), *(pod("f", "b", {"cpu": "63500m"}, namespace=NS,
                               priorityClassName=HIGH),)),
          evicts=frozenset("p"),
          machine=labelled_vm(
              {"app": "db"}, priorityClassName=HIGH, cpu={"cores": 20},
              topologySpreadConstraints=[spread()])),
    Scene("evicting does not help against a taint", (node("a", {GPU: 1}, taints=[TAINT]),), NONE,
          full(LOW, "p"), evicts=NONE, machine=labelled_vm(gpus=[GPU], priorityClassName=HIGH)),
)  # fmt: skip
