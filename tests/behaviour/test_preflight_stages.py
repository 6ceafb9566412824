"""What admission, permission, quota, networks, claims and lifecycle say."""

import pytest
from tests.builders import (
    GPU,
    VF,
    ask,
    attachment,
    injector,
    kubevirt,
    namespace,
    node,
    obj,
    pci,
    pod,
    quota,
    reasons,
    vm,
)

from passway.cluster import kinds
from passway.model.reasons import render
from passway.model.verdict import Fits, Outcome, Severity, Stage

NODE = node("a", {GPU: 8, VF: 4}, hugepages_1Gi="64Gi", labels={"kubevirt.io/cpumanager": "true"})
GPU_VM = vm(gpus=[GPU])


def issue(verdict, reason):
    (found,) = [item for item in verdict.issues if item.reason == reason]
    return found


def words(verdict, reason):
    return render(issue(verdict, reason)).message


# -- the walk -------------------------------------------------------------------------------------


def test_every_stage_is_there_in_order_and_those_without_a_source_do_not_count():
    verdict = ask(GPU_VM, kubevirt(), NODE)
    assert [(item.stage.value, item.outcome.value) for item in verdict.stages] == [
        ("admission", "pass"), ("permission", "pass"), ("quota", "pass"), ("networks", "pass"),
        ("claims", "pass"), ("scheduling", "pass"), ("kubelet", "not_checked"),
        ("host", "not_checked"), ("launcher", "pass"), ("lifecycle", "warn"),
    ]  # fmt: skip
    assert verdict.fits is Fits.YES


def test_stages_after_a_failure_are_walked_too():
    verdict = ask(vm(gpus=["a.b/c"], sriov=["x"]), kubevirt({}), NODE)
    failed = [item.stage for item in verdict.stages if item.outcome is Outcome.FAIL]
    assert failed == [Stage.PERMISSION, Stage.NETWORKS, Stage.SCHEDULING]


# -- admission ------------------------------------------------------------------------------------


def test_without_kubevirt_nothing_runs():
    assert "KubeVirtMissing" in reasons(ask(vm(), NODE))


def test_host_devices_need_their_gate():
    spec = vm(host_devices=[GPU])
    assert ask(spec, kubevirt(), NODE).fits is Fits.YES
    verdict = ask(spec, kubevirt(gates=[]), NODE)
    assert words(verdict, "FeatureGateOff") == (
        "hostDevices needs the feature gate HostDevices, which is off on this cluster"
    )
    assert issue(verdict, "FeatureGateOff").path == "spec.template.spec.domain.devices.hostDevices"


def test_a_gate_is_unknown_where_kubevirt_may_not_be_read():
    verdict = ask(vm(host_devices=[GPU]), NODE, forbidden=[kinds.KUBEVIRTS])
    assert (verdict.fits, reasons(verdict)) == (Fits.UNKNOWN, ["KubeVirtUnreadable"] * 2)
    assert reasons(ask(vm(), NODE, forbidden=[kinds.KUBEVIRTS])) == []


def test_a_namespace_that_does_not_exist():
    verdict = ask(vm(namespace="team-rad"), kubevirt(), NODE, namespace("team-red"))
    assert words(verdict, "NamespaceMissing") == (
        'namespace "team-rad" does not exist; there is team-red'
    )
    unread = ask(vm(), kubevirt(), NODE, unread=[kinds.NAMESPACES])
    assert (unread.fits, reasons(unread)) == (Fits.UNKNOWN, ["KindUnread"])


NUMA = {"cores": 2, "numa": {"guestMappingPassthrough": {}}}
PAGES = {"guest": "4Gi", "hugepages": {"pageSize": "1Gi"}}


@pytest.mark.parametrize(
    ("cpu", "memory", "expected"),
    [
        (NUMA, PAGES, ["NumaWithoutDedicatedCpus", "NumaNotVisible"]),
        ({**NUMA, "dedicatedCpuPlacement": True}, None,
         ["NumaWithoutHugepages", "NumaNotVisible"]),
        (NUMA, None, ["NumaWithoutDedicatedCpus", "NumaWithoutHugepages", "NumaNotVisible"]),
        ({**NUMA, "dedicatedCpuPlacement": True}, PAGES, ["NumaNotVisible"]),
        (None, {"guest": "4Gi", "hugepages": {"pageSize": "3Mi"}}, ["InvalidHugepages"]),
        (None, {"guest": "4Gi", "hugepages": {"pageSize": "0"}}, ["InvalidHugepages"]),
        (None, {"guest": "1.5Gi", "hugepages": {"pageSize": "1Gi"}}, ["InvalidHugepages"]),
        (None, {"guest": "4Gi", "hugepages": {"pageSize": "big"}}, ["InvalidHugepages"]),
        (None, {"hugepages": {"pageSize": "big"}}, ["InvalidHugepages"]),
        (None, {"hugepages": {"pageSize": "1Gi"}}, []),
    ],
)  # fmt: skip
def test_placement_rules(cpu, memory, expected):
    roomy = node("a", labels={"kubevirt.io/cpumanager": "true"}, hugepages_1Gi="64Gi",
                 hugepages_3Mi="64Gi", hugepages_2Mi="64Gi")  # fmt: skip
    found = reasons(ask(vm(cpu=cpu, memory=memory), kubevirt(), roomy))
    assert [item for item in found if item != "NoFreeHugepages"] == expected


def claims(*devices, declared=("gpus",), **options):
    spec = vm(devices={"gpus": list(devices)}, **options)
    spec["spec"]["template"]["spec"]["resourceClaims"] = [
        {"name": name, "resourceClaimName": name} for name in declared
    ]
    return spec


def claim_device(name, claim="gpus", request="one"):
    return {"name": name, "claimName": claim, "requestName": request}


def test_claims_are_unknown_until_they_are_judged():
    verdict = ask(claims(claim_device("a")), kubevirt(), NODE)
    assert (verdict.fits, reasons(verdict)) == (Fits.UNKNOWN, ["ClaimsNotJudged"])
    assert words(verdict, "ClaimsNotJudged").startswith("the VM takes 1 device from")


def test_a_network_of_a_claim_is_not_judged_either():
    spec = claims()
    instance = spec["spec"]["template"]["spec"]
    instance["networks"].append(
        {"name": "fast", "resourceClaim": {"claimName": "gpus", "requestName": "nic"}}
    )
    instance["domain"]["devices"]["interfaces"].append({"name": "fast", "sriov": {}})
    assert "ClaimsNotJudged" in reasons(ask(spec, kubevirt(), NODE))


def test_claims_that_devices_name_must_be_declared_once_each():
    verdict = ask(
        claims(claim_device("a", "gpu"), claim_device("b"), claim_device("c")), kubevirt(), NODE
    )
    assert words(verdict, "ClaimNotDeclared").endswith("; there is gpus")
    assert issue(verdict, "ClaimRequestReused").path.endswith("gpus[2].requestName")


def test_claim_gates_follow_the_release():
    off = ask(claims(claim_device("a")), kubevirt(disabled=["GPUsWithDRA"]), NODE)
    assert issue(off, "FeatureGateOff").params["gate"] == "GPUsWithDRA"
    old = ask(claims(claim_device("a")), kubevirt(version="v1.8.2"), NODE)
    assert issue(old, "FeatureGateOff").params["gate"] == "GPUsWithDRA"


# -- permission -----------------------------------------------------------------------------------


def test_an_absent_list_checks_nothing_and_an_empty_one_refuses_everything():
    assert ask(GPU_VM, kubevirt(), NODE).fits is Fits.YES
    verdict = ask(GPU_VM, kubevirt({}), NODE)
    assert "empty, which permits nothing" in words(verdict, "DeviceNotPermitted")


def test_any_part_of_the_list_permits_any_device():
    permitted = {"usb": [{"resourceName": GPU, "selectors": [{"vendor": "1", "product": "2"}]}]}
    assert ask(GPU_VM, kubevirt(permitted), NODE).fits is Fits.YES


def test_a_name_close_to_a_permitted_one():
    others = [pci(f"1000:000{number}", f"a.b/{number}") for number in range(3)]
    permitted = {"pciHostDevices": [pci("10DE:2236", GPU), *others]}
    verdict = ask(vm(gpus=["nvidia.com/GA102GL_A1"]), kubevirt(permitted), NODE)
    assert words(verdict, "DeviceNotPermitted").endswith(f"; permitted names close to it: {GPU}")


def test_few_permitted_names_are_all_told():
    names = (GPU, "a.b/c", "a.b/d")
    permitted = {"pciHostDevices": [pci("10DE:2236", name) for name in names]}
    verdict = ask(vm(gpus=["nvidia.com/GA102GL_A1"]), kubevirt(permitted), NODE)
    assert words(verdict, "DeviceNotPermitted").endswith(
        f"; only a.b/c, a.b/d and {GPU} are permitted"
    )


def test_each_device_that_is_not_permitted_is_named_at_its_place():
    verdict = ask(vm(gpus=[GPU, GPU]), kubevirt({}), NODE)
    paths = [item.path for item in verdict.issues if item.reason == "DeviceNotPermitted"]
    assert paths == [
        f"spec.template.spec.domain.devices.gpus[{index}].deviceName" for index in (0, 1)
    ]


@pytest.mark.parametrize(
    ("version", "path"),
    [
        ("v1beta1", "spec.permittedHostDevices"),
        ("v1", "spec.virtualization.permittedHostDevices"),
    ],
)
def test_hyperconverged_is_named_as_the_keeper(version, path):
    name = "kubevirt-hyperconverged"
    owner = obj(f"hco.kubevirt.io/{version}", "HyperConverged", name, "kubevirt")
    text = words(ask(GPU_VM, kubevirt({}), NODE, owner), "DeviceNotPermitted")
    assert f"kept in the HyperConverged object kubevirt/{name} at {path}, " in text
    assert text.endswith("the selector of a PCI device is called pciDeviceSelector")


def test_kubevirt_that_was_not_read_leaves_permission_unknown():
    verdict = ask(GPU_VM, NODE, unread=[kinds.KUBEVIRTS])
    assert (verdict.fits, reasons(verdict)) == (Fits.UNKNOWN, ["KubeVirtUnreadable"])
    assert issue(verdict, "KubeVirtUnreadable").severity is Severity.UNKNOWN


LAST = "kubectl.kubernetes.io/last-applied-configuration"


@pytest.mark.parametrize(
    ("meta", "misplaced"),
    [
        ({"annotations": {LAST: '{"spec": {"permittedHostDevices": {}}}'}}, True),
        ({"annotations": {LAST: '{"spec": {"configuration": {}}}'}}, False),
        ({"annotations": {LAST: "{"}}, False),
        ({"annotations": {LAST: "{}"}}, False),
        ({}, False),
    ],
)
def test_a_list_in_the_wrong_place_is_pointed_out(meta, misplaced):
    verdict = ask(GPU_VM, kubevirt(meta=meta), NODE)
    assert reasons(verdict) == (["PermittedListMisplaced"] if misplaced else [])
    assert verdict.fits is Fits.YES


def test_a_list_directly_below_spec_is_pointed_out():
    misplaced = kubevirt()
    misplaced["spec"]["permittedHostDevices"] = {}
    assert reasons(ask(GPU_VM, misplaced, NODE)) == ["PermittedListMisplaced"]


def test_no_list_without_kubevirt():
    assert reasons(ask(GPU_VM, NODE)) == ["KubeVirtMissing"]


# -- quota ----------------------------------------------------------------------------------------


def test_a_device_quota_that_is_used_up():
    full = quota("gpus", {f"requests.{GPU}": "2"}, {f"requests.{GPU}": "2"})
    verdict = ask(GPU_VM, kubevirt(), NODE, full)
    assert words(verdict, "QuotaExceeded") == (
        f"quota gpus: requests.{GPU} needs 1, but 2 of 2 are used"
    )
    assert issue(verdict, "QuotaExceeded").path.endswith("gpus[0].deviceName")


def test_quota_counts_every_replica():
    left = quota("gpus", {f"requests.{GPU}": "2"})
    assert ask(GPU_VM, kubevirt(), NODE, left, replicas=2).fits is Fits.YES
    verdict = ask(GPU_VM, kubevirt(), NODE, left, replicas=3)
    assert issue(verdict, "QuotaExceeded").params["requested"].value == 3


@pytest.mark.parametrize(
    ("options", "state"),
    [
        ({"unread": [kinds.KUBEVIRTS]}, "were not read"),
        ({"forbidden": [kinds.KUBEVIRTS]}, "may not be listed"),
    ],
)
def test_a_kubevirt_object_that_was_not_read_is_told_in_a_sentence(options, state):
    assert words(ask(vm(gpus=[GPU]), NODE, **options), "KubeVirtUnreadable") == (
        f"KubeVirt objects {state}, so whether the devices are permitted could not be checked"
    )


def test_a_memory_quota_of_the_guests_size_does_not_fit():
    verdict = ask(
        vm(gpus=[GPU], memory={"guest": "24Gi"}, cpu={"cores": 8}), kubevirt(), NODE,
        quota("m", {"limits.memory": "64Gi", "requests.memory": "24Gi"}),
    )  # fmt: skip
    found = issue(verdict, "QuotaExceeded")
    # 24Gi guest, 1348Mi overhead (220 + 64 + 8 + 32 + 1024), 35M of the console log's request
    assert found.params["requested"].value == (24 * 1024 + 1348) * 2**20 + 35_000_000
    assert words(verdict, "QuotaExceeded").endswith(
        "; containers that KubeVirt adds count too: guest-console-log 35M; "
        "1348Mi of the request are KubeVirt's own overhead"
    )
    assert found.path == "spec.template.spec.domain.memory"


def parts(found):
    return {part.name: str(part.amount) for part in found.params.get("parts", ())}


def test_a_memory_quota_says_what_the_overhead_is_made_of():
    made = vm(gpus=[GPU], memory={"guest": "24Gi"}, cpu={"cores": 8})
    key = quota("m", {"requests.memory": "24Gi"})
    found = issue(ask(made, kubevirt(), NODE, key), "QuotaExceeded")
    assert parts(found) == {
        "launcher, libvirt and QEMU": "220Mi", "vCPUs": "64Mi", "I/O thread": "8Mi",
        "graphics": "32Mi", "passthrough devices": "1Gi",
    }  # fmt: skip
    both = issue(ask(made, kubevirt(), NODE, key, replicas=2), "QuotaExceeded")
    assert parts(both)["passthrough devices"] == "2Gi"
    assert str(both.params["overhead"]) == "2696Mi"
    assert [str(part) for part in both.params["helpers"]] == ["guest-console-log 70M"]


def test_a_limit_counts_the_limits_of_the_containers_beside_the_guest():
    limited = quota("m", {"limits.memory": "1Gi"})
    found = issue(ask(vm(), kubevirt(), NODE, limited), "QuotaExceeded")
    assert [str(part) for part in found.params["helpers"]] == ["guest-console-log 60M"]
    quiet = vm(devices={"logSerialConsole": False})
    found = issue(ask(quiet, kubevirt(), NODE, limited), "QuotaExceeded")
    assert found.params["helpers"] == ()


@pytest.mark.parametrize(
    ("key", "resources", "told"),
    [
        ("memory", {}, True),
        ("requests.memory", {}, True),
        ("limits.memory", {}, True),
        ("requests.cpu", {}, False),
        # Left out of the request, but not out of a limit.
        ("requests.memory", {"overcommitGuestOverhead": True}, False),
        ("limits.memory", {"overcommitGuestOverhead": True}, True),
        ("requests.memory", {"overcommitGuestOverhead": False}, True),
    ],
)
def test_the_overhead_is_told_where_it_counts(key, resources, told):
    made = vm(domain={"resources": resources})
    found = issue(ask(made, kubevirt(), NODE, quota("m", {key: "1m"})), "QuotaExceeded")
    assert ("overhead" in found.params, bool(parts(found))) == (told, told)


def test_a_device_that_is_called_memory_has_no_overhead():
    card = "example.com/gpu-memory"
    full = quota("m", {f"requests.{card}": "0"})
    found = issue(ask(vm(gpus=[card]), kubevirt(), NODE, full), "QuotaExceeded")
    assert parts(found) == {}


@pytest.mark.parametrize(
    ("hard", "exceeded"),
    [
        ({"requests.cpu": "204m"}, True),
        ({"cpu": "204m"}, True),
        ({"requests.cpu": "205m"}, False),
        ({"requests.hugepages-1Gi": "3Gi"}, True),
        ({"hugepages-1Gi": "4Gi"}, False),
        ({"count/virtualmachines.kubevirt.io": "0"}, True),
        ({"count/pods": "0"}, True),
        ({"pods": "0"}, True),
        ({"pods": "1"}, False),
        ({"limits.cpu": "2"}, True),
        ({"services": "0"}, False),
    ],
)
def test_the_keys_of_a_quota(hard, exceeded):
    spec = vm(memory={"guest": "4Gi", "hugepages": {"pageSize": "1Gi"}})
    verdict = ask(spec, kubevirt(), NODE, quota("q", hard))
    assert reasons(verdict) == (["QuotaExceeded"] if exceeded else [])


def test_a_quota_of_another_namespace_does_not_count():
    other = quota("gpus", {f"requests.{GPU}": "0"}, namespace="other")
    assert reasons(ask(GPU_VM, kubevirt(), NODE, other)) == []


def test_quotas_that_were_not_read_are_unknown():
    assert reasons(ask(vm(), kubevirt(), NODE, unread=[kinds.QUOTAS])) == ["KindUnread"]


def test_a_quota_without_a_status_enforces_nothing_yet():
    fresh = quota("gpus", {f"requests.{GPU}": "0"}, status=False)
    verdict = ask(GPU_VM, kubevirt(), NODE, fresh)
    assert (verdict.fits, reasons(verdict)) == (Fits.YES, ["QuotaNotInForce"])
    del fresh["status"]
    assert reasons(ask(GPU_VM, kubevirt(), NODE, fresh)) == ["QuotaNotInForce"]


def test_keys_that_cap_nothing():
    useless = quota("gpu-cap", {GPU: "1", f"limits.{GPU}": "1"}, {GPU: "1"})
    verdict = ask(GPU_VM, kubevirt(), NODE, useless)
    assert (verdict.fits, reasons(verdict)) == (Fits.YES, ["QuotaKeyWithoutEffect"] * 2)


def scope(operator, *values, name="PriorityClass"):
    entry = {"scopeName": name, "operator": operator, "values": list(values)}
    return {"scopeSelector": {"matchExpressions": [entry]}}


@pytest.mark.parametrize(
    ("spec", "priority", "expected"),
    [
        ({"scopes": ["NotTerminating", "NotBestEffort"]}, None, ["QuotaExceeded"]),
        ({"scopes": ["Terminating"]}, None, []),
        ({"scopes": ["BestEffort"]}, None, []),
        ({"scopes": ["SomethingNew"]}, None, ["QuotaUndecided"]),
        (scope("In", "high"), "high", ["QuotaExceeded"]),
        (scope("In", "high"), "low", []),
        (scope("NotIn", "high"), "high", []),
        (scope("NotIn", "high"), None, ["QuotaExceeded"]),
        (scope("Exists"), None, []),
        (scope("Exists"), "high", ["QuotaExceeded"]),
        (scope("DoesNotExist"), "high", []),
        (scope("DoesNotExist"), None, ["QuotaExceeded"]),
        (scope("Weird"), None, ["QuotaUndecided"]),
    ],
)
def test_scopes(spec, priority, expected):
    full = quota("q", {"pods": "0"}, **spec)
    instance = {"priorityClassName": priority} if priority else {}
    classes = [obj("scheduling.k8s.io/v1", "PriorityClass", name) for name in ("high", "low")]
    assert reasons(ask(vm(**instance), kubevirt(), NODE, full, *classes)) == expected


def test_a_quota_without_a_spec_is_no_quota():
    empty = obj("v1", "ResourceQuota", "q", "default")
    assert reasons(ask(vm(), kubevirt(), NODE, empty)) == []


# -- networks -------------------------------------------------------------------------------------

FAST = vm(sriov=["fast"])
CRD = obj(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition",
    "network-attachment-definitions.k8s.cni.cncf.io",
)  # fmt: skip


def test_a_virtual_function_that_is_free():
    verdict = ask(FAST, kubevirt(), NODE, attachment("fast"), injector())
    assert (verdict.fits, reasons(verdict)) == (Fits.YES, [])
    assert verdict.limits == {VF: 1}


def test_without_the_crd_there_is_no_multus():
    verdict = ask(FAST, kubevirt(), NODE)
    assert reasons(verdict) == ["MultusMissing"]


def test_an_attachment_that_is_missing_names_a_near_one():
    verdict = ask(vm(sriov=["fas"]), kubevirt(), NODE, attachment("fast"), injector())
    assert words(verdict, "AttachmentMissing") == (
        'NetworkAttachmentDefinition "default/fas" does not exist; there is fast'
    )
    assert issue(verdict, "AttachmentMissing").path.endswith("networks[1].multus.networkName")


def test_an_attachment_of_another_namespace():
    other = attachment("fast", namespace="infra")
    assert reasons(ask(FAST, kubevirt(), NODE, other, injector())) == ["AttachmentMissing"]
    named = vm(sriov=["infra/fast"])
    assert reasons(ask(named, kubevirt(), NODE, other, injector())) == []


def test_an_attachment_without_a_pool_is_a_warning_for_sriov_only():
    plain = attachment("fast", None)
    verdict = ask(FAST, kubevirt(), NODE, plain)
    assert (verdict.fits, reasons(verdict)) == (Fits.YES, ["AttachmentWithoutPool"])
    bridge = vm(sriov=["fast"])
    interfaces = bridge["spec"]["template"]["spec"]["domain"]["devices"]["interfaces"]
    interfaces[1] = {"name": "net0", "bridge": {}}
    assert reasons(ask(bridge, kubevirt(), NODE, plain)) == []


def test_a_pool_that_no_node_advertises():
    verdict = ask(FAST, kubevirt(), NODE, attachment("fast", "intel.com/sriov_vfi"), injector())
    assert words(verdict, "VfPoolNotAdvertised").endswith(f"; nodes advertise {VF}")


def test_two_interfaces_of_one_pool_need_two_functions():
    two = vm(sriov=["fast", "fast"])
    used = pod("x", "a", {VF: "3"})
    verdict = ask(two, kubevirt(), NODE, attachment("fast"), injector(), used)
    assert reasons(verdict) == ["VfPoolExhausted"] * 2
    assert {str(item.params["wanted"]) for item in verdict.issues} == {"2"}


def test_pools_are_not_judged_without_nodes():
    verdict = ask(FAST, kubevirt(), attachment("fast"), injector(), unread=[kinds.NODES])
    assert reasons(verdict) == ["KindUnread"]


def test_attachments_that_may_not_be_listed_are_unknown():
    verdict = ask(FAST, kubevirt(), NODE, CRD, forbidden=[kinds.ATTACHMENTS])
    assert (verdict.fits, reasons(verdict)) == (Fits.UNKNOWN, ["KindUnread"])
    unread = ask(FAST, kubevirt(), NODE, unread=[kinds.ATTACHMENTS, kinds.CRDS])
    assert reasons(unread) == ["KindUnread"]


@pytest.mark.parametrize(
    ("options", "unread", "expected"),
    [
        ({}, [], ["InjectorMissing"]),
        ({"disabled": ["ExternalNetResourceInjection"]}, [], []),
        ({"version": "v1.7.0"}, [], []),
        ({}, [kinds.MUTATING_WEBHOOKS], ["KindUnread"]),
    ],
)
def test_somebody_must_ask_for_the_function(options, unread, expected):
    verdict = ask(FAST, kubevirt(**options), NODE, attachment("fast"), unread=unread)
    assert reasons(verdict) == expected


def test_the_injector_may_go_by_the_name_of_its_webhook():
    hook = obj(
        "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "sriov",
        webhooks=[{"name": "network-resources-injector-config.k8s.io"}],
    )  # fmt: skip
    assert reasons(ask(FAST, kubevirt(), NODE, attachment("fast"), hook)) == []


# -- lifecycle ------------------------------------------------------------------------------------


def test_devices_pin_a_vm_and_live_migrate_then_blocks_drains():
    verdict = ask(vm(gpus=[GPU], evictionStrategy="LiveMigrate"), kubevirt(), NODE)
    assert [item.reason for item in verdict.issues] == ["PinnedToNode", "DrainBlocked"]
    assert verdict.fits is Fits.YES
    assert issue(verdict, "DrainBlocked").path == "spec.template.spec.evictionStrategy"
    default = ask(GPU_VM, kubevirt(evictionStrategy="LiveMigrate"), NODE)
    assert "LiveMigrate (the cluster's default)" in words(default, "DrainBlocked")
    own = ask(vm(gpus=[GPU], evictionStrategy="None"), kubevirt(evictionStrategy="LiveMigrate"),
              NODE)  # fmt: skip
    assert [item.reason for item in own.issues] == ["PinnedToNode"]


def test_a_vm_without_devices_has_no_lifecycle_issue():
    assert ask(vm(evictionStrategy="LiveMigrate"), kubevirt(), NODE).issues == ()


# -- limit ranges -----------------------------------------------------------------------------


def limit_range(*items, namespace="default"):
    return obj("v1", "LimitRange", "caps", namespace, spec={"limits": list(items)})


def limited(**amounts):
    return {"type": "Container", **amounts}


@pytest.mark.parametrize(
    ("item", "said"),
    [
        pytest.param(
            limited(max={"memory": "2Gi"}),
            "limit range caps: the maximum of memory for a Container is 2Gi, but compute would "
            "have 4372Mi, of which 276Mi are KubeVirt's own overhead",
            id="a maximum is a default limit too",
        ),
        pytest.param(
            limited(default={"memory": "512Mi"}),
            "limit range caps: the default limit of memory for a Container is 512Mi, but compute "
            "would have 4372Mi, of which 276Mi are KubeVirt's own overhead",
            id="a default below the request",
        ),
        pytest.param(
            limited(min={"cpu": "10m"}),
            "limit range caps: the minimum of cpu for a Container is 10m, but guest-console-log "
            "would have 5m",
            id="a minimum above a helper's request",
        ),
        pytest.param(
            limited(min={"cpu": "20m", "memory": "1M"}),
            "limit range caps: the minimum of cpu for a Container is 20m, but guest-console-log "
            "would have 5m",
            id="a minimum above its limit too",
        ),
        pytest.param(
            {"type": "Pod", "max": {"memory": "4Gi"}},
            "limit range caps: the maximum of memory for a Pod is 4Gi, but the pod would have "
            "4619374272, of which 276Mi are KubeVirt's own overhead",
            id="the whole pod",
        ),
        pytest.param(
            {"type": "Pod", "max": {"example.com/none": "4"}},
            "limit range caps: the maximum of example.com/none for a Pod is 4, but the pod would "
            "have none",
            id="a maximum needs a limit",
        ),
    ],
)
def test_a_limit_range_refuses_the_launcher(item, said):
    verdict = ask(vm(), kubevirt(), NODE, limit_range(item))
    assert verdict.fits is Fits.NO
    assert words(verdict, "LimitRangeExceeded") == said


@pytest.mark.parametrize(
    ("items", "resources", "told"),
    [
        ([limited(max={"memory": "2Gi"})], {}, True),
        ([{"type": "Pod", "max": {"memory": "2Gi"}}], {}, True),
        ([limited(max={"memory": "2Gi"})], {"limits": {"memory": "8Gi"}}, True),
        ([limited(max={"memory": "2Gi"})], {"overcommitGuestOverhead": True}, False),
        # A default limit that others set is larger than the maximum, not KubeVirt's request.
        ([limited(default={"memory": "9Gi"}, max={"memory": "8Gi"})], {}, False),
        ([limited(min={"memory": "9Gi"})], {}, False),
        ([limited(max={"cpu": "1m"})], {}, False),
    ],
)
def test_a_limit_range_on_memory_says_what_the_overhead_is_made_of(items, resources, told):
    made = vm(domain={"resources": resources})
    found = issue(ask(made, kubevirt(), NODE, limit_range(*items)), "LimitRangeExceeded")
    assert bool(parts(found)) is told
    assert ("KubeVirt's own overhead" in render(found).message) is told


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"default": {"cpu": "2"}, "defaultRequest": {"cpu": "100m"},
          "maxLimitRequestRatio": {"cpu": "4"}}, "a limit of 2 and a request of 200m"),
        ({"maxLimitRequestRatio": {"cpu": "4"}}, "a limit of none and a request of 200m"),
        ({"maxLimitRequestRatio": {"memory": "10"}, "default": {"memory": "9Gi"}}, None),
    ],
)  # fmt: skip
def test_a_limit_range_on_the_ratio_of_limit_to_request(item, expected):
    verdict = ask(vm(), kubevirt(), NODE, limit_range({"type": "Container", **item}))
    assert ("LimitRangeRatio" in reasons(verdict)) is bool(expected)
    if expected:
        assert expected in words(verdict, "LimitRangeRatio")


def test_a_default_limit_below_the_request_and_below_a_maximum():
    item = {"type": "Container", "max": {"memory": "800Gi"}, "default": {"memory": "512Mi"}}
    assert "the default limit of memory" in words(
        ask(vm(), kubevirt(), NODE, limit_range(item)), "LimitRangeExceeded"
    )


def test_a_limit_range_is_told_where_the_vm_asks():
    item = limited(max={"memory": "2Gi"})
    found = issue(ask(vm(), kubevirt(), NODE, limit_range(item)), "LimitRangeExceeded")
    assert found.path == "spec.template.spec.domain.memory"
    assert found.stage is Stage.QUOTA
    item = {"type": "Pod", "max": {GPU: "1"}}
    two = ask(vm(gpus=[GPU, GPU]), kubevirt(), NODE, limit_range(item))
    assert issue(two, "LimitRangeExceeded").path.endswith("gpus[0].deviceName")
    assert reasons(ask(GPU_VM, kubevirt(), NODE, limit_range(item))) == []


@pytest.mark.parametrize(
    "found",
    [
        limit_range(limited(max={"memory": "8Gi", "cpu": "8"}, min={"cpu": "1m"})),
        limit_range(limited(max={"memory": "1Mi"}), namespace="other"),
        limit_range({"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}),
        limit_range(),
        obj("v1", "LimitRange", "caps", "default"),
    ],
)
def test_limit_ranges_that_are_kept(found):
    assert reasons(ask(vm(), kubevirt(), NODE, found)) == []


def test_limit_ranges_that_may_not_be_listed_are_unknown():
    assert reasons(ask(vm(), kubevirt(), NODE, forbidden=[kinds.LIMIT_RANGES])) == ["KindUnread"]
    assert reasons(ask(vm(), kubevirt(), NODE, unread=[kinds.LIMIT_RANGES])) == []
