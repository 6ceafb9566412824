"""What the launcher stage says in advance."""

import pytest
from tests.builders import GPU, ask, kubevirt, node, obj, pci, quota, reasons, vm

from passway.cluster import kinds
from passway.model.reasons import render
from passway.model.verdict import Fits, Severity, Stage

NODE = node("a", {GPU: 8, "nvidia.com/gpu": 8, "nvidia.com/mig-1g.5gb": 7})


def issue(verdict, reason):
    (found,) = [item for item in verdict.issues if item.reason == reason]
    return found


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({"requests": {GPU: "1"}, "limits": {GPU: "1"}}, ["DeviceCountDiffers"] * 2),
        ({"requests": {GPU: "2"}, "limits": {GPU: "2"}}, []),
        ({}, []),
    ],
)
def test_a_count_of_the_vms_own_replaces_kubevirts(resources, expected):
    made = vm(gpus=[GPU, GPU], domain={"resources": resources})
    verdict = ask(made, kubevirt(), NODE)
    assert [item for item in reasons(verdict) if item.startswith("DeviceCount")] == expected
    if expected:
        found = next(item for item in verdict.issues if item.reason == "DeviceCountDiffers")
        assert f"{GPU} is set to 1 here, but 2 devices of the VM name it" in render(found).message


@pytest.mark.parametrize("name", ["nvidia.com/gpu", "nvidia.com/mig-1g.5gb"])
def test_names_of_plugins_for_containers(name):
    verdict = ask(vm(gpus=[name]), kubevirt(), NODE)
    assert (verdict.fits, reasons(verdict)) == (Fits.YES, ["DeviceForContainers"])
    assert issue(verdict, "DeviceForContainers").severity is Severity.WARNING
    own = kubevirt({"pciHostDevices": [pci("10DE:2236", name)]})
    assert reasons(ask(vm(gpus=[name]), own, NODE)) == []
    external = kubevirt({"pciHostDevices": [pci("10DE:2236", name, externalResourceProvider=True)]})
    assert reasons(ask(vm(gpus=[name]), external, NODE)) == ["DeviceForContainers"]


def test_a_cpu_request_that_kubevirt_cannot_write():
    tiny = kubevirt(developerConfiguration={"cpuAllocationRatio": 100_000_000})
    verdict = ask(vm(domain={"cpu": {"sockets": 1}}), tiny, NODE)
    assert verdict.fits is Fits.NO
    assert issue(verdict, "CpuRequestUnwritable").path.endswith(".domain.cpu")
    assert "CpuRequestUnwritable" not in reasons(ask(vm(), kubevirt(), NODE))


def test_a_network_binding_that_kubevirt_does_not_have():
    made = vm(
        devices={"interfaces": [{"name": "default", "binding": {"name": "plug"}}]},
        networks=[{"name": "default", "pod": {}}],
    )
    verdict = ask(made, kubevirt(), NODE)
    assert (verdict.fits, reasons(verdict)) == (Fits.NO, ["NetworkBindingUnknown"])
    assert 'no network binding "plug"' in render(issue(verdict, "NetworkBindingUnknown")).message
    has = kubevirt(network={"binding": {"plug": {}}})
    assert reasons(ask(made, has, NODE)) == []
    unread = ask(made, NODE, unread=[kinds.KUBEVIRTS])
    assert "NetworkBindingUnknown" not in reasons(unread)
    assert issue(unread, "KubeVirtUnreadable").severity is Severity.UNKNOWN


def test_every_refusal_is_told_not_only_the_first():
    made = vm(
        devices={
            "gpus": [{"name": "g", "deviceName": "a/b"}],
            "interfaces": [{"name": "default", "binding": {"name": "plug"}}],
        },
        networks=[{"name": "default", "pod": {}}],
    )
    assert {"DeviceNotPermitted", "NetworkBindingUnknown"} <= set(
        reasons(ask(made, kubevirt({}), NODE))
    )


def claiming(*, template=False):
    made = vm(devices={"gpus": [{"name": "g", "claimName": "c", "requestName": "one"}]})
    field = "resourceClaimTemplateName" if template else "resourceClaimName"
    made["spec"]["template"]["spec"]["resourceClaims"] = [{"name": "c", field: "claim"}]
    return made


def claim(*requests, template=False):
    spec = {"devices": {"requests": list(requests)}}
    kind = "ResourceClaimTemplate" if template else "ResourceClaim"
    return obj(
        "resource.k8s.io/v1", kind, "claim", "default", spec={"spec": spec} if template else spec
    )


@pytest.mark.parametrize("template", [False, True])
@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({"name": "one", "exactly": {"deviceClassName": "gpus"}}, []),
        ({"name": "one", "exactly": {"count": 1}}, []),
        ({"name": "one", "exactly": {"count": 2}}, ["RequestHasManyDevices"]),
        ({"name": "one", "exactly": {"allocationMode": "All"}}, ["RequestHasManyDevices"]),
        ({"name": "one", "count": 2}, ["RequestHasManyDevices"]),
        ({"name": "one", "firstAvailable": [{"name": "a"}]}, ["RequestPrioritized"]),
        ({"name": "two", "exactly": {}}, ["ClaimRequestMissing"]),
    ],
)
def test_a_request_must_give_one_device(template, request_, expected):
    verdict = ask(claiming(template=template), kubevirt(), NODE, claim(request_, template=template))
    assert reasons(verdict) == ["ClaimsNotJudged", *expected]
    assert verdict.fits is (Fits.NO if expected else Fits.UNKNOWN)
    for item in expected:
        assert issue(verdict, item).path.endswith("gpus[0].requestName")


@pytest.mark.parametrize(
    ("asked", "told"),
    [({"count": 2}, " may give several: it asks for 2 devices"),
     ({"allocationMode": "All"}, " may give several")],
)  # fmt: skip
def test_a_request_for_several_devices_says_how_many(asked, told):
    request = {"name": "one", "exactly": asked}
    found = issue(ask(claiming(), kubevirt(), NODE, claim(request)), "RequestHasManyDevices")
    assert render(found).message.endswith(told)


@pytest.mark.parametrize("template", [False, True])
def test_a_claim_without_requests_has_no_such_request(template):
    bare = claim(template=template)
    del bare["spec"]
    verdict = ask(claiming(template=template), kubevirt(), NODE, bare)
    assert "ClaimRequestMissing" in reasons(verdict)


def test_claims_that_are_not_there_or_not_read_are_left_to_their_stage():
    assert reasons(ask(claiming(), kubevirt(), NODE)) == ["ClaimsNotJudged"]
    assert reasons(ask(claiming(template=True), kubevirt(), NODE)) == ["ClaimsNotJudged"]
    unread = ask(claiming(), kubevirt(), NODE, unread=[kinds.RESOURCE_CLAIMS])
    assert reasons(unread) == ["ClaimsNotJudged", "KindUnread"]


def test_a_claim_that_the_vm_does_not_list_is_refused_by_admission_alone():
    made = claiming()
    made["spec"]["template"]["spec"]["resourceClaims"][0]["name"] = "other"
    found = reasons(ask(made, kubevirt(), NODE, claim({"name": "x"})))
    assert found == ["ClaimNotDeclared", "ClaimsNotJudged"]


PAGES = {"guest": "4Gi", "hugepages": {"pageSize": "2Mi"}}
ROOMY = node("a", {GPU: 1}, hugepages_2Mi="64Gi")


def test_a_guest_that_is_overcommitted_to_a_part_of_a_page():
    """4Gi / 150 % is no multiple of 2Mi: the API server does not take the launcher."""
    made = kubevirt(developer={"memoryOvercommit": 150})
    verdict = ask(vm(memory=PAGES), made, ROOMY)
    assert reasons(verdict) == ["LauncherPagesPartial"]
    assert "2863311530 of hugepages-2Mi" in render(issue(verdict, "LauncherPagesPartial")).message
    assert reasons(ask(vm(memory=PAGES), kubevirt(), ROOMY)) == []


def test_a_label_that_no_node_can_have():
    verdict = ask(vm(cpu={"cores": 1, "model": "no such model"}), kubevirt(), ROOMY)
    assert issue(verdict, "LauncherLabelInvalid").severity is Severity.ERROR


def test_a_toleration_that_the_api_server_refuses_in_the_launcher():
    made = vm(tolerations=[{"operator": "Exists", "value": "x"}])
    verdict = ask(made, kubevirt(), ROOMY)
    assert reasons(verdict) == ["RuleValuesDiffer"]
    assert issue(verdict, "RuleValuesDiffer").path.endswith(".tolerations[0].value")


def test_admission_refuses_an_affinity_itself():
    term = {"matchExpressions": [{"key": "a", "operator": "In"}]}
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    verdict = ask(vm(affinity={"nodeAffinity": rule}), kubevirt(), ROOMY)
    found = issue(verdict, "RuleValuesDiffer")
    assert found.stage is Stage.ADMISSION
    assert found.path.endswith("nodeSelectorTerms[0].matchExpressions[0].values")


def test_admission_refuses_the_words_of_a_toleration_itself():
    made = vm(tolerations=[{"key": "a", "operator": "Exists", "effect": "Never"}])
    assert issue(ask(made, kubevirt(), ROOMY), "RuleChoiceUnknown").stage is Stage.ADMISSION


def test_admission_refuses_a_constraint_itself():
    rule = {"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 0}
    verdict = ask(vm(topologySpreadConstraints=[rule]), kubevirt(), ROOMY)
    assert issue(verdict, "RuleNumberTooSmall").stage is Stage.ADMISSION


def test_a_request_above_the_limit_that_a_quota_brings():
    """With limits.cpu in a quota KubeVirt limits the launcher to the guest's CPUs."""
    caps = quota("caps", {"limits.cpu": "500"})
    made = vm(cpu={"cores": 1}, domain={"resources": {"requests": {"cpu": "4"}}})
    verdict = ask(made, kubevirt(), ROOMY, caps)
    assert reasons(verdict) == ["LauncherRequestAboveLimit"]
    assert "requests 4 of cpu" in render(issue(verdict, "LauncherRequestAboveLimit")).message
    assert reasons(ask(made, kubevirt(), ROOMY)) == []
    limits = [{"type": "Container", "default": {"cpu": "1"}}]
    both = obj("v1", "LimitRange", "caps", "default", spec={"limits": limits})
    assert reasons(ask(made, kubevirt(), ROOMY, both)) == ["LimitRangeExceeded"]
