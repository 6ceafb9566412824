"""The generator: a seed makes a scenario, always the same one.

A theme steers what goes wrong, since blind chance hardly ever makes a VM that
fails for one reason alone; everything else is random. What a theme breaks is not what has to come
out: that is for KubeVirt and the scheduler to say. It makes nothing that Passway must answer with
*unknown*, and hands over every object.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tests import builders
from tests.agreement.scenario import AWAY, HOME, Object, Scenario

A10: Final = "nvidia.com/GA102GL_A10"
T4: Final = "nvidia.com/TU104GL_TESLA_T4"
VGPU: Final = "nvidia.com/NVIDIA_A10-12Q"
STICK: Final = "kubevirt.io/storage-stick"
NIC: Final = "intel.com/sriov_vfio"
NIC2: Final = "mellanox.com/cx6_vf"
DEVICES: Final = (A10, T4, VGPU, STICK)
POOLS: Final = (NIC, NIC2)
ZONES: Final = ("a", "b", "c")
ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"
POOL: Final = "pool"
APPS: Final = ("web", "db")
THEMES: Final = {
    "fits": 33, "admission": 11, "permission": 9, "quota": 11, "networks": 8,
    "combination": 25, "shortage": 1, "crowded": 2,
}  # fmt: skip
"""How many of a hundred seeds in a row are about each."""
_ROW: Final = [theme for theme, count in THEMES.items() for _ in range(count)]
random.Random(0).shuffle(_ROW)


REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
TOLERATIONS: Final = (
    {"operator": "Exists", "value": "x"},
    {"operator": "Equal", "value": "x"},
    {"key": "a b", "operator": "Exists"},
    {"key": "a", "operator": "Near", "value": "x"},
    {"key": "a", "operator": "Exists", "effect": "Never"},
    {"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 5},
    {"key": "a", "operator": "Equal", "value": "not a label"},
)
"""What no pod may have."""
AFFINITIES: Final = (
    {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}},
    {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "a", "operator": "In"}]}]}}},
    {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "a b", "operator": "Exists"}]}]}}},
    {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["x", "y"]}]}]}}},
    {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [
        {"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["x"]}]}]}}},
    {"podAntiAffinity": {REQUIRED: [{"labelSelector": {}, "topologyKey": ""}]}},
    {"podAffinity": {REQUIRED: [{"labelSelector": {"matchExpressions": [
        {"key": "a", "operator": "Exists", "values": ["x"]}]}, "topologyKey": HOSTNAME}]}},
    {"podAffinity": {REQUIRED: [{"namespaces": ["Not A Name"], "topologyKey": HOSTNAME}]}},
)  # fmt: skip
_RULE: Final = {"topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1}
SPREADS: Final = (
    [{**_RULE, "maxSkew": 0}], [{**_RULE, "topologyKey": ""}],
    [{**_RULE, "whenUnsatisfiable": "Sometimes"}], [_RULE, _RULE],
    [{**_RULE, "minDomains": 0}], [{**_RULE, "nodeTaintsPolicy": "Maybe"}],
    [{**_RULE, "labelSelector": {"matchLabels": {"a b": "c"}}}],
)  # fmt: skip


class Draft:
    """A scenario in the making."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        theme = _ROW[seed % len(_ROW)]
        self.wanted: list[str] = []
        """The device resources that the VM asks for, one for each unit."""
        self.pools: list[str] = []
        """The pool of each SR-IOV network of the VM."""
        self.permitted: Object | None = None
        self.gates = ["HostDevices"]
        self.disabled: list[str] = []
        self.made = Scenario(seed, theme, {}, {})
        self.made.namespaces = {HOME: {}, AWAY: {"team": "other"}}

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    @property
    def spec(self) -> Object:
        """The VMI spec in the VM's template."""
        return self.made.vm["spec"]["template"]["spec"]

    @property
    def domain(self) -> Object:
        return self.spec["domain"]

    @property
    def anchor(self) -> Object:
        """The node that has everything, as long as no theme breaks it."""
        return self.made.nodes[0]


def generate(seed: int) -> Scenario:
    """The scenario of a seed."""
    draft = Draft(seed)
    _configure(draft)
    _machine(draft)
    _nodes(draft)
    _pods(draft)
    _attachments(draft)
    if draft.chance(0.1 if draft.made.theme in {"fits", "combination"} else 0.3):
        _volumes(draft)
    _harmless(draft)
    BREAKS[draft.made.theme](draft)
    draft.made.configuration = {
        **({"permittedHostDevices": draft.permitted} if draft.permitted is not None else {}),
        "developerConfiguration": {
            "featureGates": draft.gates, "disabledFeatureGates": draft.disabled,
            **({"memoryOvercommit": 150} if draft.chance(0.1) else {}),
            **({"cpuAllocationRatio": draft.rng.choice([1, 4])} if draft.chance(0.15) else {}),
        },
    }  # fmt: skip
    draft.rng.shuffle(draft.made.nodes)
    return draft.made


# -- a sound cluster ------------------------------------------------------------------------------


def _configure(draft: Draft) -> None:
    """Half of all clusters let KubeVirt look at the attachments itself."""
    if draft.chance(0.5):
        draft.disabled.append("ExternalNetResourceInjection")
        draft.made.injector = draft.chance(0.1)
    else:
        draft.made.injector = draft.chance(0.7)
    if draft.chance(0.5):
        draft.gates.append("CPUManager")
    if draft.chance(0.85):
        draft.permitted = _everything(draft)


def _everything(draft: Draft) -> Object:
    """A list that has every device, here and there from another provider."""
    external = {"externalResourceProvider": draft.chance(0.3)}
    return {
        "pciHostDevices": [
            {"pciVendorSelector": "10DE:2236", "resourceName": A10, **external},
            {"pciVendorSelector": "10de:1eb8", "resourceName": T4},
        ],
        "mediatedDevices": [{"mdevNameSelector": "NVIDIA A10-12Q", "resourceName": VGPU}],
        "usb": [{"resourceName": STICK, "selectors": [{"vendor": "046d", "product": "8611"}]}],
    }


def _machine(draft: Draft) -> None:
    rng = draft.rng
    count = rng.choices([0, 1, 2, 3], [8, 55, 27, 10])[0]
    kinds = rng.sample(DEVICES, rng.choices([1, 2], [70, 30])[0])
    draft.wanted = [rng.choice(kinds) for _ in range(count)]
    if draft.chance(0.3) or draft.made.theme == "networks":
        draft.pools = [rng.choice(POOLS) for _ in range(rng.choices([1, 2], [75, 25])[0])]
    usb = [name for name in draft.wanted if name == STICK]
    others = [name for name in draft.wanted if name != STICK]
    split = rng.randint(0, len(others)) if draft.chance(0.4) else len(others)
    draft.made.vm = builders.vm(
        f"vm-{draft.made.seed}", namespace=HOME,
        gpus=others[:split], host_devices=others[split:] + usb,
        sriov=[_network(draft, index) for index in range(len(draft.pools))],
        cpu={"cores": rng.choice([1, 2, 3, 4, 8])},
        memory={"guest": rng.choice(["512Mi", "2Gi", "4Gi", "8Gi", "16Gi"])},
    )  # fmt: skip
    _cpu(draft)
    _memory(draft)
    _rules(draft)
    if draft.chance(0.1):
        _priority(draft)


def _network(draft: Draft, index: int) -> str:
    return f"{AWAY}/net{index}" if draft.chance(0.2) else f"net{index}"


def _cpu(draft: Draft) -> None:
    rng, domain = draft.rng, draft.domain
    if draft.chance(0.15):
        domain["cpu"] = {"sockets": rng.choice([1, 2]), "cores": 2, "threads": rng.choice([1, 2])}
    if draft.chance(0.15):
        domain["cpu"]["dedicatedCpuPlacement"] = True
        if draft.chance(0.2):
            domain["cpu"]["isolateEmulatorThread"] = True
    elif draft.chance(0.15):
        domain["resources"] = {"requests": {"cpu": rng.choice(["500m", "2", "4"])}}
    if draft.chance(0.1):
        domain["ioThreadsPolicy"] = rng.choice(["shared", "auto"])


def _memory(draft: Draft) -> None:
    rng, domain = draft.rng, draft.domain
    if draft.chance(0.15):
        domain["memory"] = {
            "guest": rng.choice(["2Gi", "4Gi"]), "hugepages": {"pageSize": _page(rng)},
        }  # fmt: skip
        if domain["cpu"].get("dedicatedCpuPlacement") and draft.chance(0.4):
            domain["cpu"]["numa"] = {"guestMappingPassthrough": {}}
    elif draft.chance(0.15):
        resources = domain.setdefault("resources", {})
        resources.setdefault("requests", {})["memory"] = rng.choice(["1Gi", "4Gi", "6Gi"])
        if draft.chance(0.5):
            resources["limits"] = {"memory": "20Gi"}
    if draft.chance(0.1):
        domain["devices"]["autoattachGraphicsDevice"] = False
    if draft.chance(0.1):
        domain["devices"]["tpm"] = {}


def _page(rng: random.Random) -> str:
    return rng.choice(["2Mi", "1Gi"])


def _rules(draft: Draft) -> None:
    rng, spec = draft.rng, draft.spec
    if draft.chance(0.15):
        spec["nodeSelector"] = {POOL: "gpu"}
    if draft.chance(0.15):
        zones = rng.sample(ZONES, rng.choice([1, 2]))
        terms = [{"matchExpressions": [_requirement(rng, zones)]}]
        if draft.chance(0.3):
            terms.append({"matchExpressions": [{"key": POOL, "operator": "Exists"}]})
        _affinity(spec, "nodeAffinity", {"nodeSelectorTerms": terms})
    if draft.chance(0.25):
        spec["tolerations"] = [_toleration(rng)]
    for name in ("podAffinity", "podAntiAffinity"):
        if draft.chance(0.1):
            _affinity(spec, name, [_pod_term(draft)])
    if draft.chance(0.1):
        spec["topologySpreadConstraints"] = [_spread(draft)]


def _requirement(rng: random.Random, zones: list[str]) -> Object:
    if rng.random() < 0.3:
        return {"key": ZONE, "operator": "NotIn", "values": [z for z in ZONES if z not in zones]}
    return {"key": ZONE, "operator": "In", "values": zones}


def _affinity(spec: Object, name: str, required: Any) -> None:
    field = "requiredDuringSchedulingIgnoredDuringExecution"
    spec.setdefault("affinity", {}).setdefault(name, {})[field] = required


def _toleration(rng: random.Random) -> Object:
    return rng.choice(
        [
            {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present"},
            {"key": "maintenance", "operator": "Exists"},
            {"operator": "Exists"},
            {"key": "dedicated", "operator": "Equal", "value": "vms", "effect": "NoExecute"},
        ]
    )


def _pod_term(draft: Draft) -> Object:
    rng = draft.rng
    term: Object = {
        "labelSelector": rng.choice(
            [
                {"matchLabels": {"app": rng.choice(APPS)}},
                {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
                {"matchLabels": {"kubevirt.io": "virt-launcher"}},
            ]
        ),
        "topologyKey": rng.choice([ZONE, HOSTNAME, POOL]),
    }
    if draft.chance(0.3):
        term["namespaces"] = rng.sample([HOME, AWAY], rng.choice([1, 2]))
    if draft.chance(0.2):
        term["namespaceSelector"] = rng.choice([{}, {"matchLabels": {"team": "other"}}])
    return term


def _spread(draft: Draft) -> Object:
    rng = draft.rng
    return {
        "maxSkew": rng.choice([1, 1, 2]), "topologyKey": rng.choice([ZONE, HOSTNAME]),
        "whenUnsatisfiable": rng.choice(["DoNotSchedule"] * 3 + ["ScheduleAnyway"]),
        "labelSelector": rng.choice(
            [{"matchLabels": {label: value}} for label, value in
             (("app", rng.choice(APPS)), ("kubevirt.io", "virt-launcher"))]
        ),
        **({"minDomains": 2} if draft.chance(0.2) else {}),
        **({"nodeTaintsPolicy": "Honor"} if draft.chance(0.2) else {}),
        **({"nodeAffinityPolicy": "Ignore"} if draft.chance(0.2) else {}),
    }  # fmt: skip


def _priority(draft: Draft) -> None:
    value = draft.rng.choice([10, 1000])
    made = builders.obj(
        "scheduling.k8s.io/v1", "PriorityClass", f"class-{value}",
        value=value, preemptionPolicy=draft.rng.choice(["Never", "PreemptLowerPriority"]),
    )  # fmt: skip
    draft.made.priorities.append(made)
    draft.spec["priorityClassName"] = f"class-{value}"


def _nodes(draft: Draft) -> None:
    """First the anchor, then nodes that may or may not do."""
    draft.made.nodes = [_anchor(draft)]
    draft.made.nodes += [_node(draft, index) for index in range(1, draft.rng.randint(2, 6))]


def _anchor(draft: Draft) -> Object:
    devices = {name: draft.wanted.count(name) + draft.rng.randint(0, 2) for name in DEVICES}
    devices |= {name: draft.pools.count(name) + draft.rng.randint(0, 2) for name in POOLS}
    return builders.node(
        "node-0", {name: count for name, count in devices.items() if count},
        labels={ZONE: draft.rng.choice(_own_zones(draft)), POOL: "gpu",
                "kubevirt.io/cpumanager": "true"},
        **{"hugepages-2Mi": "8Gi", "hugepages-1Gi": "8Gi"},
    )  # fmt: skip


def _own_zones(draft: Draft) -> list[str]:
    """The zones that the VM's own node affinity allows."""
    affinity = draft.spec.get("affinity", {}).get("nodeAffinity")
    if not affinity:
        return list(ZONES)
    terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    rule = terms[0]["matchExpressions"][0]
    return [z for z in ZONES if (z in rule["values"]) == (rule["operator"] == "In")]


def _node(draft: Draft, index: int) -> Object:
    rng = draft.rng
    devices = {name: rng.choice([0, 0, 1, 2]) for name in (*DEVICES, *POOLS)}
    labels = {
        "kubevirt.io/cpumanager": rng.choice(["true", "false"]),
        "kubevirt.io/schedulable": rng.choice(["true"] * 6 + ["false"]),
    }
    if draft.chance(0.9):
        labels[ZONE] = rng.choice(ZONES)
    if draft.chance(0.5):
        labels[POOL] = rng.choice(["gpu", "cpu"])
    amounts = {
        "cpu": rng.choice(["1", "2", "8", "32"]), "memory": rng.choice(["3Gi", "8Gi", "64Gi"]),
        "pods": rng.choice(["1", "5", "110", "110"]),
        "ephemeral-storage": rng.choice(["10M", "400Gi", "400Gi"]),
    }  # fmt: skip
    for page in ("hugepages-2Mi", "hugepages-1Gi"):
        if draft.chance(0.5):
            amounts[page] = rng.choice(["0", "1Gi", "4Gi", "8Gi"])
    made = builders.node(
        f"node-{index}",
        {name: count for name, count in devices.items() if count or draft.chance(0.2)},
        labels=labels, taints=_taints(draft), unschedulable=draft.chance(0.08), **amounts,
    )  # fmt: skip
    if draft.chance(0.05):
        del made["metadata"]["labels"]["machine-type.node.kubevirt.io/q35"]
    if draft.chance(0.05):
        made["metadata"]["labels"]["node-labeller.kubevirt.io/obsolete-host-model"] = "Opteron"
    if draft.chance(0.1):  # a device lost its health
        for name in devices:
            if name in made["status"]["allocatable"]:
                made["status"]["allocatable"][name] = "0"
                break
    return made


def _taints(draft: Draft) -> list[Object]:
    rng = draft.rng
    taints = []
    if draft.chance(0.25):
        taints.append(
            {"key": "nvidia.com/gpu", "value": "present", "effect": rng.choice(
                ["NoSchedule", "PreferNoSchedule", "NoExecute"])}
        )  # fmt: skip
    if draft.chance(0.1):
        taints.append({"key": "dedicated", "value": "vms", "effect": "NoExecute"})
    return taints


def _pods(draft: Draft) -> None:
    """Pods of every phase on nodes that can hold them, and some that wait."""
    rng = draft.rng
    for index in range(rng.randint(0, 8)):
        node = rng.choice(draft.made.nodes[1:])
        phase = rng.choices(["Running", "Pending", "Succeeded", "Failed"], [70, 10, 10, 10])[0]
        draft.made.pods.append(
            pod(draft, f"pod-{index}", node["metadata"]["name"], _requests(draft, node), phase)
        )
    if draft.chance(0.1):  # nobody schedules it
        waiting = pod(draft, "waiting", None, {"cpu": "1"}, "Pending")
        waiting["spec"]["schedulerName"] = "nobody"
        draft.made.pods.append(waiting)


def _requests(draft: Draft, node: Object) -> dict[str, str]:
    rng, offered = draft.rng, node["status"]["allocatable"]
    requests = {"cpu": rng.choice(["0", "250m", "1"]), "memory": rng.choice(["64Mi", "1Gi"])}
    for name in (*DEVICES, *POOLS):
        if draft.chance(0.35) and int(offered.get(name, "0")):
            requests[name] = str(rng.randint(1, int(offered[name])))
    if draft.chance(0.15):
        requests[rng.choice(["hugepages-2Mi", "hugepages-1Gi"])] = "1Gi"
    return requests


def pod(
    draft: Draft, name: str, node: str | None, requests: dict[str, str], phase: str = "Running"
) -> Object:
    """A pod with these requests; the API server wants equal limits of devices and pages."""
    rng = draft.rng
    whole = {key: amount for key, amount in requests.items() if "/" in key or "hugepages" in key}
    made = builders.obj(
        "v1", "Pod", name, rng.choice([HOME, AWAY]),
        meta={"labels": {"app": rng.choice(APPS)} if draft.chance(0.6) else {}},
        spec={
            "containers": [{
                "name": "main", "image": "example.com/app:1",
                "resources": {"requests": requests, "limits": whole},
            }],
            "terminationGracePeriodSeconds": 600,
        },
        status={"phase": phase},
    )  # fmt: skip
    if node:
        made["spec"]["nodeName"] = node
        if phase == "Running" and draft.chance(0.15):
            made["metadata"]["deletionTimestamp"] = "now"
    if draft.chance(0.15):
        made["spec"]["initContainers"] = [{
            "name": "first", "image": "example.com/app:1",
            "resources": {"requests": {"cpu": rng.choice(["500m", "4"])}},
            **({"restartPolicy": "Always"} if draft.chance(0.5) else {}),
        }]  # fmt: skip
    if draft.chance(0.1) and node:
        _affinity(made["spec"], "podAntiAffinity", [_pod_term(draft)])
    return made


def _attachments(draft: Draft) -> None:
    for index, network in enumerate(_multus(draft)):
        namespace, _, name = network.rpartition("/")
        pool = draft.pools[index]
        draft.made.attachments.append(builders.attachment(name, pool, namespace or HOME))
    if draft.chance(0.2):
        draft.made.attachments.append(builders.attachment("spare", draft.rng.choice(POOLS), HOME))


def _multus(draft: Draft) -> list[str]:
    networks = draft.spec["networks"]
    return [item["multus"]["networkName"] for item in networks if "multus" in item]


def _volumes(draft: Draft) -> None:
    """A claim: bound to a volume of a zone, or waiting for its first consumer, or for nobody."""
    rng = draft.rng
    kind = rng.choices(["bound", "first consumer", "unbound"], [66, 30, 4])[0]
    zone = draft.anchor["metadata"]["labels"][ZONE] if draft.chance(0.85) else rng.choice(ZONES)
    mode = "ReadWriteOncePod" if draft.chance(0.25) else "ReadWriteOnce"
    storage_class = {"bound": "", "first consumer": "lazy", "unbound": "eager"}[kind]
    draft.made.volumes += [
        _storage_class(name, binding)
        for name, binding in (("lazy", "WaitForFirstConsumer"), ("eager", "Immediate"))
        if name == storage_class
    ]
    if kind != "unbound":
        draft.made.volumes.append(_volume(draft, "here", zone, storage_class, mode))
    claim = builders.obj(
        "v1", "PersistentVolumeClaim", "data", HOME,
        spec={
            "storageClassName": storage_class, "accessModes": [mode],
            # One that is bound fits; one that waits may find its volume too small.
            "resources": {"requests": {
                "storage": "1Gi" if kind == "bound" else rng.choice(["1Gi", "5Gi"])}},
            **({"volumeName": "here"} if kind == "bound" else {}),
        },
    )  # fmt: skip
    draft.made.volumes.append(claim)
    draft.spec.setdefault("volumes", []).append(
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    )
    draft.domain["devices"].setdefault("disks", []).append({"name": "data", "disk": {}})
    users = [pod for pod in draft.made.pods if pod["metadata"]["namespace"] == HOME]
    if users and kind == "bound" and draft.chance(0.4):
        rng.choice(users)["spec"]["volumes"] = [
            {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
        ]


def _storage_class(name: str, binding: str) -> Object:
    return builders.obj(
        "storage.k8s.io/v1", "StorageClass", name,
        provisioner="kubernetes.io/no-provisioner", volumeBindingMode=binding,
    )  # fmt: skip


def _volume(draft: Draft, name: str, zone: str, storage_class: str, mode: str) -> Object:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}
    return builders.obj(
        "v1", "PersistentVolume", name,
        meta={} if draft.chance(0.8) else {"labels": {ZONE: zone}},
        spec={
            "capacity": {"storage": draft.rng.choice(["2Gi", "10Gi"])}, "accessModes": [mode],
            "storageClassName": storage_class, "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": {"path": "/data"}, **(affinity if draft.chance(0.8) else {}),
        },
    )  # fmt: skip


def _harmless(draft: Draft) -> None:
    """Quotas and limits that leave room."""
    hard = {}
    if draft.chance(0.25):
        hard = {"pods": "50", "requests.memory": "900Gi", "requests.cpu": "500"}
    if draft.chance(0.1):
        hard["limits.memory"] = "900Gi"
    if draft.chance(0.1):
        hard["limits.cpu"] = "500"
    if draft.chance(0.15):
        hard[f"requests.{draft.rng.choice(DEVICES)}"] = "40"
    if hard:
        draft.made.quotas.append(builders.quota("roomy", hard, namespace=HOME, status=False))
    if draft.chance(0.1):
        draft.made.quotas.append(
            limit_range("roomy", [{"type": "Container", "max": {"memory": "800Gi"},
                                   "default": {"memory": "40Gi", "cpu": "9"},
                                   "defaultRequest": {"memory": "256Mi", "cpu": "100m"}}])
        )  # fmt: skip


def limit_range(name: str, limits: list[Object]) -> Object:
    return builders.obj("v1", "LimitRange", name, HOME, spec={"limits": limits})


# -- what goes wrong ------------------------------------------------------------------------------


def _nothing(draft: Draft) -> None:
    """What was made so far."""


def _admission(draft: Draft) -> None:
    domain, spec = draft.domain, draft.spec
    devices = domain["devices"]
    faults: list[Callable[[], Any]] = [
        lambda: (draft.gates.remove("HostDevices"), devices.setdefault("hostDevices", []).append(
            {"name": "late", "deviceName": A10})),
        lambda: spec["networks"].append(spec["networks"][0]),
        lambda: domain.update(memory={"guest": "4Gi", "hugepages": {"pageSize": "3Mi"}}),
        lambda: domain.update(memory={"guest": "100Mi", "hugepages": {"pageSize": "1Gi"}}),
        lambda: domain["cpu"].update(
            numa={"guestMappingPassthrough": {}}, dedicatedCpuPlacement=False),
        lambda: domain["cpu"].update(isolateEmulatorThread=True, dedicatedCpuPlacement=False),
        lambda: spec["networks"].append({"name": "loose", "multus": {"networkName": "x"}}),
        lambda: devices["interfaces"].append({"name": "loose", "sriov": {}}),
        lambda: domain.update(
            resources={"requests": {"memory": "4Gi"}, "limits": {"memory": "2Gi"}}),
        lambda: domain.update(memory={"guest": "8Gi"}, resources={"limits": {"memory": "2Gi"}}),
        lambda: devices.setdefault("gpus", []).append({"name": "nothing"}),
        lambda: devices.setdefault("gpus", []).append(
            {"name": "both", "deviceName": A10, "claimName": "c", "requestName": "r"}),
        lambda: spec.update(tolerations=[draft.rng.choice(TOLERATIONS)]),
        lambda: spec.update(affinity=draft.rng.choice(AFFINITIES)),
        lambda: spec.update(topologySpreadConstraints=draft.rng.choice(SPREADS)),
        lambda: spec.update(nodeSelector={"bad key!": "x"}),
        lambda: spec.update(terminationGracePeriodSeconds=-1),
        lambda: spec.update(evictionStrategy="Sometimes"),
        lambda: domain.update(machine={"type": "pc-9000"}),
        lambda: spec.update(volumes=[{"name": "lost", "emptyDisk": {"capacity": "1Gi"}}] * 2),
        lambda: devices.update(disks=[{"name": "lost", "disk": {}}]),
        lambda: domain["cpu"].update(sockets=0, cores=0, threads=0, model="no such model"),
    ]  # fmt: skip
    draft.rng.choice(faults)()


def _permission(draft: Draft) -> None:
    if not draft.wanted:
        draft.wanted = [A10]
        draft.domain["devices"]["gpus"] = [{"name": "gpu0", "deviceName": A10}]
    draft.permitted = draft.permitted or _everything(draft)
    lost = draft.rng.choice(draft.wanted)
    if draft.chance(0.2):
        draft.permitted = {}
        return
    for name, entries in draft.permitted.items():
        kept = [entry for entry in entries if entry["resourceName"] != lost]
        if draft.chance(0.3) and len(kept) < len(entries):
            wrong = {**entries[0], "resourceName": lost.upper()}
            kept.append(wrong)
        draft.permitted[name] = kept


def _quota(draft: Draft) -> None:
    rng = draft.rng
    tight: Object = {
        "requests.memory": "256Mi", "memory": "200Mi", "requests.cpu": "50m", "pods": "0",
        "limits.memory": "300Mi", "limits.cpu": "50m", "count/pods": "0",
        "requests.ephemeral-storage": "1M",
        "count/virtualmachineinstances.kubevirt.io": "0",
        "requests.devices.kubevirt.io/kvm": "0",
    }  # fmt: skip
    keys = list(tight)
    for name in sorted({*draft.wanted, *draft.pools}):
        tight[f"requests.{name}"] = "0"
        keys += [f"requests.{name}"] * 4
    if draft.chance(0.25):
        limits = rng.choice(
            [
                [{"type": "Container", "max": {"memory": "200Mi"}}],
                [{"type": "Pod", "max": {"cpu": "50m"}}],
                [{"type": "Container", "min": {"memory": "500Gi"}}],
                [{"type": "Container", "default": {"memory": "512Mi"}}],
                [{"type": "Container", "maxLimitRequestRatio": {"cpu": "1"},
                  "default": {"cpu": "2"}, "defaultRequest": {"cpu": "100m"}}],
            ]
        )  # fmt: skip
        draft.made.quotas = [limit_range("tight", limits)]
        return
    hard = {key: tight[key] for key in rng.sample(keys, rng.choice([1, 1, 2]))}
    draft.made.quotas.append(builders.quota("tight", hard, namespace=HOME, status=False))


def _networks(draft: Draft) -> None:
    fault = draft.rng.choices(["missing", "away", "empty", "unadvertised"], [35, 20, 30, 15])[0]
    named = {network.rpartition("/")[2] for network in _multus(draft)}
    mine = [item for item in draft.made.attachments if item["metadata"]["name"] in named]
    lost = draft.rng.choice(mine)
    if fault == "missing":
        draft.made.attachments.remove(lost)
    elif fault == "away":
        other = AWAY if lost["metadata"]["namespace"] == HOME else HOME
        lost["metadata"]["namespace"] = other
    else:
        pool = lost["metadata"]["annotations"]["k8s.v1.cni.cncf.io/resourceName"]
        for node in draft.made.nodes:
            allocatable = node["status"]["allocatable"]
            if fault == "unadvertised":
                allocatable.pop(pool, None)
                node["status"]["capacity"].pop(pool, None)
            elif pool in allocatable:
                allocatable[pool] = "0"
        for item in draft.made.pods:
            for part in item["spec"]["containers"][0]["resources"].values():
                part.pop(pool, None)


def _combination(draft: Draft) -> None:
    """Every node misses something that another one has."""
    parts = _needs(draft)
    draft.rng.shuffle(parts)
    first = parts[0]
    second = next(part for part in parts if part.key != first.key)
    twin = {**_anchor(draft)}
    twin["metadata"] = {**twin["metadata"], "name": f"node-{len(draft.made.nodes)}"}
    twin["metadata"]["labels"] = {
        **twin["metadata"]["labels"], HOSTNAME: twin["metadata"]["name"],
        ZONE: draft.anchor["metadata"]["labels"][ZONE],
    }  # fmt: skip
    draft.made.nodes.append(twin)
    first.take(draft.anchor)
    second.take(twin)
    for node in draft.made.nodes[1:-1]:
        draft.rng.choice(parts).take(node)


@dataclass(frozen=True)
class Loss:
    """Something that a VM needs of a node, and how to take it away."""

    key: str
    take: Callable[[Object], Any]


def _needs(draft: Draft) -> list[Loss]:
    """Devices twice, since most of all this is about them."""

    def offers(name: str, amount: str) -> Loss:
        return Loss(name, lambda node: node["status"]["allocatable"].update({name: amount}))

    found = [
        offers("pods", "0"), offers("memory", "100Mi"), offers("cpu", "50m"),
        Loss("label", lambda node: node["metadata"]["labels"].update(
            {"kubevirt.io/schedulable": "false"})),
    ]  # fmt: skip
    if not draft.spec.get("tolerations"):
        taint = {"key": "lease", "value": "x", "effect": "NoSchedule"}
        found += [
            Loss("taint", lambda node: node["spec"].update(taints=[taint])),
            Loss("cordon", lambda node: node["spec"].update(unschedulable=True)),
        ]
    for name in sorted({*draft.wanted, *draft.pools}):
        found += [offers(name, "0")] * 2
    return found


def _shortage(draft: Draft) -> None:
    """One thing that no node has."""
    found = _needs(draft)
    loss = draft.rng.choice(found)
    for node in draft.made.nodes:
        loss.take(node)


def _crowded(draft: Draft) -> None:
    """Pods hold what the VM asks for; a VM of higher priority may have them evicted."""
    if not draft.wanted:
        draft.wanted = [A10]
        draft.domain["devices"]["gpus"] = [{"name": "gpu0", "deviceName": A10}]
    if draft.permitted is not None:
        draft.permitted = _everything(draft)
    if not draft.made.priorities and draft.chance(0.7):
        _priority(draft)
    name = draft.rng.choice(draft.wanted)
    for node in draft.made.nodes:
        held = sum(
            int(item["spec"]["containers"][0]["resources"]["requests"].get(name, "0"))
            for item in draft.made.pods
            if item["spec"].get("nodeName") == node["metadata"]["name"]
            and item["status"]["phase"] in {"Running", "Pending"}
        )
        free = int(node["status"]["allocatable"].get(name, "0")) - held
        if free > 0:
            holder = f"holder-{node['metadata']['name']}"
            draft.made.pods.append(
                pod(draft, holder, node["metadata"]["name"], {name: str(free), "cpu": "0"})
            )


BREAKS: Final[dict[str, Callable[[Draft], None]]] = {
    "fits": _nothing, "admission": _admission, "permission": _permission, "quota": _quota,
    "networks": _networks, "combination": _combination, "shortage": _shortage,
    "crowded": _crowded,
}  # fmt: skip
