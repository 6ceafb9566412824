"""What the scheduling stage says, cluster by cluster."""

import pytest
from tests.builders import (
    GPU,
    T4,
    VF,
    ask,
    attachment,
    injector,
    kubevirt,
    machine,
    node,
    obj,
    pci,
    pod,
    reasons,
    vm,
)

from passway.cluster import kinds
from passway.model.reasons import render
from passway.model.verdict import Fits, Free, Outcome, Stage

GPU_VM = vm(gpus=[GPU])
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def issue(verdict, reason):
    (found,) = [item for item in verdict.issues if item.reason == reason]
    return found


def words(verdict, reason):
    return render(issue(verdict, reason)).message


def test_a_free_unit_on_one_node_is_enough():
    verdict = ask(GPU_VM, kubevirt(), node("a", {GPU: 1}), node("b"))
    assert verdict.fits is Fits.YES
    assert [(item.name, item.places) for item in verdict.nodes] == [("a", 1)]
    assert [(group.count, group.fails) for group in verdict.groups] == [(1, (GPU,))]
    assert verdict.limits == {GPU: 1}


def test_expanding_shows_every_node():
    verdict = ask(GPU_VM, kubevirt(), node("a", {GPU: 1}), node("b"), expand=True)
    assert [(item.name, item.fails) for item in verdict.nodes] == [("a", ()), ("b", (GPU,))]
    assert verdict.groups == ()


def test_a_plain_vm_walks_all_nodes_that_run_kubevirt():
    verdict = ask(vm(), kubevirt(), node("a"), node("b"))
    assert [item.name for item in verdict.nodes] == ["a", "b"]
    assert verdict.fits is Fits.YES


def test_allocatable_is_not_free():
    verdict = ask(
        GPU_VM, kubevirt(), node("a", {GPU: 1}), pod("x", "a", {GPU: "1"}, machine="other")
    )
    found = issue(verdict, "ResourceExhausted")
    assert found.nodes == ("a",)
    assert [str(item) for item in found.params["free"].items] == ["0 free of 1 on a"]
    assert [str(item) for item in found.params["holders"].items] == ["default/other (1 on a)"]
    assert (found.path, found.position.line) == (
        "spec.template.spec.domain.devices.gpus[0].deviceName", 1,
    )  # fmt: skip


def test_a_terminating_pod_still_holds_its_device_and_is_named():
    holder = pod(
        "x", "a", {GPU: "1"}, machine="old", meta={"deletionTimestamp": "2026-06-12T09:02:10Z"}
    )
    verdict = ask(GPU_VM, kubevirt(), node("a", {GPU: 1}), holder)
    text = words(verdict, "ResourceExhausted")
    assert "pod x is being deleted since 2026-06-12T09:02:10Z" in text


def test_overbooked_nodes_show_zero_free_never_less():
    verdict = ask(GPU_VM, kubevirt(), node("a", {GPU: 1}), pod("x", "a", {GPU: "3"}))
    (free,) = issue(verdict, "ResourceExhausted").params["free"].items
    assert isinstance(free, Free)
    assert free.free.value == 0


def test_needs_of_one_vm_must_fit_on_one_node():
    verdict = ask(vm(gpus=[GPU, GPU]), kubevirt(), node("a", {GPU: 1}), node("b", {GPU: 1}))
    assert words(verdict, "ResourceExhausted").startswith(
        f"the VM needs 2 of {GPU} on one node: 1 free of 1 on a and 1 free of 1 on b"
    )


def test_combination_is_told_with_what_each_node_has_and_lacks():
    verdict = ask(
        vm(gpus=[GPU], memory={"guest": "32Gi", "hugepages": {"pageSize": "1Gi"}}),
        kubevirt(),
        node("gpu-1", {GPU: 1}, hugepages_1Gi="36Gi"),
        pod("core", "gpu-1", {"hugepages-1Gi": "16Gi"}),
        node("hp-1", hugepages_1Gi="64Gi"),
    )
    assert reasons(verdict) == ["NoNodeHasAll"]
    text = words(verdict, "NoNodeHasAll")
    lacks = "hugepages-1Gi (20Gi free of 36Gi, 32Gi needed)"
    assert f"gpu-1 has {GPU} (1 free of 1) but fails {lacks}" in text
    has = "hugepages-1Gi (64Gi free of 64Gi)"
    assert f"hp-1 has {has} but fails {GPU} (0 free of 0, 1 needed)" in text
    assert text.endswith("; in use there: pod default/core (16Gi hugepages-1Gi on gpu-1)")


def test_only_holders_of_what_would_be_enough_are_told():
    verdict = ask(
        vm(gpus=[GPU], memory={"guest": "32Gi", "hugepages": {"pageSize": "1Gi"}}),
        kubevirt(),
        node("a", {GPU: 1}, hugepages_1Gi="16Gi"),
        pod("small", "a", {"hugepages-1Gi": "1Gi"}),
        node("b", {GPU: 1}, hugepages_1Gi="36Gi"),
        pod("idle", "b", {"cpu": "1"}),
        *(pod(f"core-{number:02}", "b", {"hugepages-1Gi": "512Mi"}) for number in range(60)),
        node("c", hugepages_1Gi="64Gi"),
    )
    holders = issue(verdict, "NoNodeHasAll").params["holders"]
    assert (len(holders.items), holders.total) == (50, 60)
    assert {item.node for item in holders.items} == {"b"}


def test_pinned_elsewhere_names_the_node_with_the_device_and_the_chosen_one():
    verdict = ask(
        vm(gpus=[GPU], nodeSelector={"kubernetes.io/hostname": "b"}),
        kubevirt(),
        node("a", {GPU: 2}),
        node("b"),
        node("c"),
    )
    text = words(verdict, "NoNodeHasAll")
    assert f"a has {GPU} (2 free of 2) but fails nodeSelector kubernetes.io/hostname=b" in text
    assert f"b fails {GPU}" in text
    assert "c" not in [item.node for item in issue(verdict, "NoNodeHasAll").params["near_misses"]]


def test_required_affinity_and_labels_show_in_the_near_misses():
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    verdict = ask(
        vm(gpus=[GPU], affinity={"nodeAffinity": required}),
        kubevirt(),
        node("a", {GPU: 1}, labels={"kubevirt.io/schedulable": "false"}),
        node("z", labels={"zone": "z"}),
    )
    text = words(verdict, "NoNodeHasAll")
    assert "kubevirt.io/schedulable=true" in text
    assert "the required node affinity" in text


@pytest.mark.parametrize(
    ("instance", "path"),
    [
        ({"nodeSelector": {"pool": "gpu"}}, "spec.template.spec.nodeSelector"),
        (
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": "pool", "operator": "Exists"}]}
                            ]
                        }
                    }
                }
            },
            f"spec.template.spec.affinity.nodeAffinity.{REQUIRED}",
        ),
    ],
)
def test_a_rule_that_no_node_matches(instance, path):
    verdict = ask(vm(gpus=[GPU], **instance), kubevirt(), node("a", {GPU: 1}), node("b"))
    assert reasons(verdict) == ["NodeNotMatched"]
    assert issue(verdict, "NodeNotMatched").path == path


TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


def test_a_taint_on_otherwise_suitable_nodes():
    toleration = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}
    verdict = ask(
        vm(gpus=[GPU], tolerations=[toleration]),
        kubevirt(),
        node("a", {GPU: 2}, taints=[TAINT]),
        node("b"),
    )
    assert reasons(verdict) == ["UntoleratedTaint"]
    text = words(verdict, "UntoleratedTaint")
    assert "nvidia.com/gpu=present:NoSchedule" in text
    assert "the VM tolerates nvidia.com/gpu=true:NoSchedule, which does not match" in text
    assert "2 free of 2 on a" in text


def test_a_tolerated_taint_is_no_obstacle():
    toleration = {"key": "nvidia.com/gpu", "operator": "Exists"}
    tainted = node("a", {GPU: 1}, taints=[TAINT])
    assert ask(vm(gpus=[GPU], tolerations=[toleration]), kubevirt(), tainted).fits is Fits.YES


def test_a_cordoned_node_is_told_as_cordoned_not_as_tainted():
    cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    verdict = ask(GPU_VM, kubevirt(), node("a", {GPU: 1}, unschedulable=True, taints=[cordon]))
    assert reasons(verdict) == ["NodeUnschedulable"]


def test_cordoned_and_tainted_are_both_told():
    verdict = ask(GPU_VM, kubevirt(), node("a", {GPU: 1}, unschedulable=True, taints=[TAINT]))
    assert reasons(verdict) == ["NodeUnschedulable", "UntoleratedTaint"]


def test_a_taint_among_other_faults_shows_in_the_near_miss():
    verdict = ask(
        vm(gpus=[GPU], cpu={"cores": 2}, nodeSelector={"x": "y"}),
        kubevirt(),
        node("a", {GPU: 1}, taints=[TAINT]),
        node("b", labels={"x": "y"}),
    )
    assert "taint nvidia.com/gpu=present:NoSchedule" in words(verdict, "NoNodeHasAll")


def test_a_name_that_nobody_advertises_and_the_near_one():
    verdict = ask(vm(gpus=[GPU.replace("_A10", "_a10")]), kubevirt(), node("a", {GPU: 1, T4: 1}))
    assert words(verdict, "ResourceNotAdvertised") == (
        f'no node advertises "nvidia.com/GA102GL_a10"; nodes advertise {GPU} (1 free of 1 on a)'
    )
    assert verdict.groups[0].count == 1


def test_of_several_near_names_none_is_counted():
    cards = {"a.b/card-1": 1, "a.b/card-2": 1}
    verdict = ask(vm(gpus=["a.b/card-3"]), kubevirt(), node("a", cards))
    assert words(verdict, "ResourceNotAdvertised").endswith("advertise a.b/card-2 and a.b/card-1")


def test_a_permitted_name_that_nobody_advertises_says_so():
    permitted = {"pciHostDevices": [{"pciVendorSelector": "10DE:2236", "resourceName": GPU}]}
    verdict = ask(GPU_VM, kubevirt(permitted), node("a"))
    assert words(verdict, "ResourceNotAdvertised").endswith(", although it is permitted")


def test_a_permitted_name_that_is_left_to_a_plugin_that_is_not_there():
    external = pci("10DE:2236", GPU) | {"externalResourceProvider": True}
    verdict = ask(GPU_VM, kubevirt({"pciHostDevices": [external]}), node("a"))
    found = issue(verdict, "ResourceNotAdvertised")
    assert (found.params["permitted"], found.params["external"]) == (1, 1)
    assert "its entry says externalResourceProvider" in words(verdict, "ResourceNotAdvertised")
    permitted = {"pciHostDevices": [external, pci("10DE:2237", GPU)]}
    found = issue(ask(GPU_VM, kubevirt(permitted), node("a")), "ResourceNotAdvertised")
    assert (found.params["permitted"], found.params["external"]) == (2, 0)


@pytest.mark.parametrize(
    ("resource", "spec"),
    [(GPU, {"extendedResourceName": GPU}), ("deviceclass.resource.kubernetes.io/gpus", {})],
)
def test_a_device_class_may_provide_it(resource, spec):
    device_class = obj("resource.k8s.io/v1", "DeviceClass", "gpus", spec=spec)
    verdict = ask(vm(gpus=[resource]), kubevirt(), node("a"), device_class)
    assert verdict.fits is Fits.UNKNOWN
    assert "the DeviceClass gpus provides it" in words(verdict, "ResourceNotAdvertisedUndecided")


def test_device_classes_that_were_not_read_leave_it_unknown():
    verdict = ask(GPU_VM, kubevirt(), node("a"), unread=[kinds.DEVICE_CLASSES])
    assert reasons(verdict) == ["ResourceNotAdvertisedUndecided"]
    assert "were not read" in words(verdict, "ResourceNotAdvertisedUndecided")
    other = obj("resource.k8s.io/v1", "DeviceClass", "other")
    assert reasons(ask(GPU_VM, kubevirt(), node("a"), other)) == ["ResourceNotAdvertised"]


def test_units_that_are_not_healthy_and_units_that_are_used():
    verdict = ask(
        GPU_VM,
        kubevirt(),
        node("a", {GPU: 0}, capacity={GPU: "5"}),
        node("b", {GPU: 1}),
        pod("x", "b", {GPU: "1"}),
    )
    assert reasons(verdict) == ["ResourceUnhealthy", "ResourceExhausted"]
    assert issue(verdict, "ResourceUnhealthy").nodes == ("a",)
    assert "capacity 5" in words(verdict, "ResourceUnhealthy")
    assert issue(verdict, "ResourceExhausted").nodes == ("b",)


def test_only_unhealthy_units():
    verdict = ask(GPU_VM, kubevirt(), node("a", {GPU: 0}, capacity={GPU: "5"}))
    assert reasons(verdict) == ["ResourceUnhealthy"]


def test_a_resource_without_units_is_another_cause_than_units_that_are_unhealthy():
    verdict = ask(
        GPU_VM, kubevirt(), node("a", {GPU: 0}, capacity={GPU: "0"}),
        node("b", {GPU: 0}, capacity={GPU: "2"}),
    )  # fmt: skip
    assert reasons(verdict) == ["ResourceHasNoUnits", "ResourceUnhealthy"]
    assert issue(verdict, "ResourceHasNoUnits").nodes == ("a",)
    assert issue(verdict, "ResourceUnhealthy").nodes == ("b",)
    assert "capacity 2" in words(verdict, "ResourceUnhealthy")


def test_no_node_is_large_enough():
    verdict = ask(
        vm(gpus=[GPU], memory={"guest": "300Gi"}, cpu={"cores": 700}),
        kubevirt(),
        node("a", {GPU: 1}),
    )
    assert reasons(verdict) == ["InsufficientResource", "InsufficientResource"]
    memory = [item for item in verdict.issues if item.params.get("resource") == "memory"]
    assert "no node has more than 256Gi free" in render(memory[0]).message
    assert memory[0].path == "spec.template.spec.domain.memory"


def test_no_node_has_hugepages():
    big = vm(memory={"guest": "8Gi", "hugepages": {"pageSize": "1Gi"}})
    verdict = ask(big, kubevirt(), node("a", hugepages_1Gi="4Gi"))
    assert words(verdict, "NoFreeHugepages") == (
        "the VM needs 8Gi of hugepages-1Gi; no node has more than 4Gi free"
    )


def test_no_node_at_all():
    assert reasons(ask(GPU_VM, kubevirt())) == [
        "ResourceNotAdvertised", *["ResourceNotAdvertised"] * 3,
    ]  # fmt: skip
    assert ask(vm(), kubevirt()).fits is Fits.NO


def test_dedicated_cpus_need_the_label_and_the_gate():
    pinned = vm(cpu={"cores": 2, "dedicatedCpuPlacement": True})
    verdict = ask(pinned, kubevirt(), node("a"))
    assert reasons(verdict) == ["NoCpuManager"]
    assert "gate CPUManager is off" not in words(verdict, "NoCpuManager")
    off = ask(pinned, kubevirt(gates=[]), node("a"))
    assert "the feature gate CPUManager is off" in words(off, "NoCpuManager")
    labelled = node("a", labels={"kubevirt.io/cpumanager": "true"})
    assert ask(pinned, kubevirt(), labelled).fits is Fits.YES


def test_a_label_that_no_node_has():
    verdict = ask(vm(architecture="arm64"), kubevirt(), node("a"))
    assert words(verdict, "LabelMissing") == (
        "no node has the label kubernetes.io/arch=arm64, which KubeVirt requires for this VM"
    )


def test_replicas_count_places_on_every_node():
    objects = (kubevirt(), node("a", {GPU: 2}), node("b", {GPU: 1}))
    assert ask(GPU_VM, *objects, replicas=3).fits is Fits.YES
    verdict = ask(GPU_VM, *objects, replicas=4)
    assert words(verdict, "NotEnoughPlaces") == (
        f"4 are asked for, but 3 fit now; what runs out first: {GPU}"
    )
    assert issue(verdict, "NotEnoughPlaces").nodes == ("a", "b")


def test_replicas_that_keep_each_other_away_take_one_place_a_node():
    anti = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchLabels": {"kubevirt.io": "virt-launcher"}},
                }
            ]
        }
    }
    verdict = ask(vm(affinity=anti), kubevirt(), node("a"), node("b"), replicas=3)
    assert verdict.places == 2
    assert verdict.limits == {"podAntiAffinity": 2}


def test_nodes_that_were_not_read_are_unknown_and_alone():
    verdict = ask(GPU_VM, kubevirt(), unread=[kinds.NODES, kinds.PODS])
    assert (verdict.fits, reasons(verdict)) == (Fits.UNKNOWN, ["KindUnread"])
    assert "nodes were not read" in words(verdict, "KindUnread")


def test_pods_that_may_not_be_listed_leave_a_yes_unknown_but_a_no_stands():
    verdict = ask(GPU_VM, kubevirt(), node("a", {GPU: 1}), forbidden=[kinds.PODS])
    assert (verdict.fits, reasons(verdict)) == (Fits.UNKNOWN, ["KindUnread"])
    assert "pods may not be listed" in words(verdict, "KindUnread")
    assert ask(GPU_VM, kubevirt(), node("a"), forbidden=[kinds.PODS]).fits is Fits.NO


def test_an_empty_pool_leaves_the_rest_judged_without_it():
    tainted = node("a", {VF: 1}, taints=[TAINT])
    used = pod("x", "a", {VF: "1"})
    verdict = ask(vm(sriov=["fast"]), kubevirt(), tainted, used, attachment("fast"), injector())
    assert reasons(verdict) == ["VfPoolExhausted", "UntoleratedTaint"]
    free = ask(vm(sriov=["fast"]), kubevirt(), node("a", {VF: 1}), used, attachment("fast"),
               injector())  # fmt: skip
    assert reasons(free) == ["VfPoolExhausted"]
    nowhere = ask(vm(sriov=["fast"]), kubevirt(), node("a"), attachment("fast"), injector())
    assert reasons(nowhere) == ["VfPoolNotAdvertised"]


def test_numa_alignment_is_a_warning():
    spec = vm(
        cpu={"cores": 2, "dedicatedCpuPlacement": True, "numa": {"guestMappingPassthrough": {}}},
        memory={"guest": "4Gi", "hugepages": {"pageSize": "2Mi"}},
    )
    roomy = node("a", labels={"kubevirt.io/cpumanager": "true"}, hugepages_2Mi="8Gi")
    verdict = ask(spec, kubevirt(), roomy)
    assert (verdict.fits, reasons(verdict)) == (Fits.YES, ["NumaNotVisible"])
    stages = {stage.stage: stage.outcome for stage in verdict.stages}
    assert stages[Stage.SCHEDULING] is Outcome.WARN
    assert stages[Stage.HOST] is Outcome.NOT_CHECKED


# -- volumes --------------------------------------------------------------------------------------

ROOT = [{"name": "root", "persistentVolumeClaim": {"claimName": "root"}}]


def claim(volume=None, name="root"):
    return obj(
        "v1", "PersistentVolumeClaim", name, "default",
        spec={"volumeName": volume} if volume else {},
        status={"phase": "Bound" if volume else "Pending"},
    )  # fmt: skip


def zoned(zone):
    return {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}


def volume(*zones, name="pv", terms=()):
    terms = [*map(zoned, zones), *terms]
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if terms else {}
    return obj("v1", "PersistentVolume", name, spec=affinity)


def test_a_disk_in_the_other_zone():
    verdict = ask(
        vm(gpus=[GPU], volumes=ROOT),
        kubevirt(),
        node("a", {GPU: 1}, labels={"zone": "zone-b"}),
        claim("pv"),
        volume("zone-a"),
    )
    assert reasons(verdict) == ["VolumeBoundElsewhere"]
    found = issue(verdict, "VolumeBoundElsewhere")
    assert (found.nodes, found.path) == (("a",), "spec.template.spec.volumes[0]")
    assert words(verdict, "VolumeBoundElsewhere") == (
        "a has all else that the VM asks for, but the volume of PersistentVolumeClaim "
        '"default/root" can only be used on nodes with zone in [zone-a]; a has zone=zone-b; '
        "there 1 free of 1 on a"
    )


def test_only_the_disk_that_is_elsewhere_is_told_and_only_where_it_keeps_the_vm_away():
    """A place without labels is told without them; a node that lacks more is left out."""
    data = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    far = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["c"]}]}
    hosts = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["a", "b"]}
    near = {"matchExpressions": [hosts]}
    free_of_racks = {"key": "rack", "operator": "DoesNotExist"}
    gone = {"matchExpressions": [free_of_racks, *zoned("z")["matchExpressions"]]}
    verdict = ask(
        vm(gpus=[GPU], volumes=[*ROOT, data]),
        kubevirt(),
        node("a", {GPU: 1}),
        node("b", {GPU: 1}, taints=[TAINT]),
        claim("pv"),
        volume(terms=[gone, far]),
        claim("other", name="data"),
        volume(name="other", terms=[near]),
    )
    found = issue(verdict, "VolumeBoundElsewhere")
    assert (found.nodes, found.params["claim"].name) == (("a",), "root")
    assert found.params["where"] == "rack doesnotexist and zone in [z] or metadata.name in [c]"
    assert found.params["there"] == ()


def test_each_disk_is_told_with_its_own_nodes():
    data = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    verdict = ask(
        vm(gpus=[GPU], volumes=[*ROOT, data]),
        kubevirt(),
        node("a", {GPU: 1}, labels={"zone": "a"}),
        node("b", {GPU: 1}, labels={"zone": "b"}),
        claim("pv"),
        volume("a"),
        claim("other", name="data"),
        volume("b", name="other"),
    )
    told = {item.params["claim"].name: item.nodes for item in verdict.issues if item.nodes}
    assert told == {"root": ("b",), "data": ("a",)}


def test_a_disk_elsewhere_among_other_faults_shows_in_the_near_miss():
    verdict = ask(
        vm(gpus=[GPU], volumes=ROOT), kubevirt(), claim("pv"), volume("z"),
        node("a", {GPU: 1}, taints=[TAINT]),
    )  # fmt: skip
    assert "where its volumes can be used (root)" in words(verdict, "NoNodeHasAll")


@pytest.mark.parametrize(
    ("objects", "unread", "expected"),
    [
        ((claim("pv"), volume()), [], []),
        ((claim("pv"), volume("zone-a")), [], []),
        ((claim(),), [], ["VolumeNotBound"]),
        ((claim("gone"),), [], ["VolumeLost"]),
        ((), [], ["VolumeMissing"]),
        ((claim("pv"),), [kinds.VOLUMES], ["KindUnread"]),
        ((), [kinds.VOLUME_CLAIMS], ["KindUnread"]),
    ],
)
def test_volumes(objects, unread, expected):
    verdict = ask(
        vm(volumes=ROOT), kubevirt(), node("a", labels={"zone": "zone-a"}), *objects, unread=unread
    )
    assert reasons(verdict) == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("root", ["VolumeNotPlaced"]), ("data", ["VolumeMissing"])]
)
def test_a_claim_that_the_vm_brings_itself_is_not_missing(name, expected):
    made = vm(volumes=ROOT)
    made["spec"]["dataVolumeTemplates"] = [
        {"metadata": {"name": "first"}, "spec": {}}, {"metadata": {"name": name}, "spec": {}},
    ]  # fmt: skip
    assert reasons(ask(made, kubevirt(), node("a"))) == expected


def test_a_data_volume_that_does_not_exist_yet_is_not_placed():
    disk = [{"name": "root", "dataVolume": {"name": "root"}}]
    assert reasons(ask(vm(volumes=disk), kubevirt(), node("a"))) == ["VolumeNotPlaced"]


def test_the_manifest_is_parsed_like_any_other():
    assert machine(GPU_VM).plugin_devices[0].resource_name == GPU


def test_a_label_that_kubevirt_avoids_keeps_the_vm_away_and_is_told():
    obsolete = {"node-labeller.kubevirt.io/obsolete-host-model": "true"}
    verdict = ask(GPU_VM, kubevirt(), node("a", {GPU: 1}, labels=obsolete), node("b"))
    assert verdict.fits is Fits.NO
    assert "no label node-labeller.kubevirt.io/obsolete-host-model" in words(
        verdict, "NoNodeHasAll"
    )
    cpu = {"cores": 2, "model": "host-passthrough"}
    other = vm(gpus=[GPU], cpu=cpu)
    assert ask(other, kubevirt(), node("a", {GPU: 1}, labels=obsolete)).fits is Fits.YES


def test_a_cpu_model_that_no_node_has():
    verdict = ask(vm(cpu={"cores": 2, "model": "Turin"}), kubevirt(), node("a"))
    assert words(verdict, "LabelMissing") == (
        "no node has the label cpu-model.node.kubevirt.io/Turin=true, which KubeVirt requires "
        "for this VM"
    )
