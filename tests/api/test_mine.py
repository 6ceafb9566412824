"""What a tenant sees: availability in a word, the own quota, the own VMs, nothing foreign."""

import json

import pytest
from tests.builders import cluster as snapshot_of

from passway.api import examples
from passway.cluster import kinds
from passway.model.quantity import quantity
from passway.model.reasons import render
from passway.model.verdict import (
    Fits,
    Free,
    Holding,
    Issue,
    Outcome,
    Ref,
    Severity,
    Shortage,
    Some,
    Stage,
    StageResult,
    Verdict,
)
from passway.preflight.redact import redact
from passway.service.mine import my_devices

OWN = frozenset({"ml"})


async def test_a_tenant_learns_whether_a_device_is_free_and_the_own_quota(user):
    found = (await user.get("/api/v1/my/devices?namespace=design")).json()
    items = {item["resource_name"]: item for item in found["items"]}
    assert items[examples.A10] == {
        "resource_name": examples.A10, "available": "free", "permitted": True,
        "quota_hard": "1", "quota_used": "0",
    }  # fmt: skip
    assert items["nvidia.com/NVIDIA_A10-24Q"]["available"] == "none"
    assert items["nvidia.com/GP104GL_TESLA_P4"]["available"] == "none"
    assert items["intel.com/QAT_4XXX_VF"]["permitted"] is False
    assert items["intel.com/QAT_4XXX_VF"]["quota_hard"] is None
    text = json.dumps(found)
    assert not any(name in text for name in ("gpu-a10-1", "net-1", "train", "edge"))


async def test_a_tenant_lists_the_vms_of_the_own_namespaces(user, admin):
    admin.headers["Authorization"] = "Bearer demo-user"
    mine = (await user.get("/api/v1/my/vms")).json()["items"]
    assert {vm["namespace"] for vm in mine} == {"ml", "design", "telco", "web"}
    some = (await user.get("/api/v1/my/vms?namespace=web")).json()["items"]
    assert [vm["name"] for vm in some] == ["shop-1"]
    assert (await user.get("/api/v1/my/devices")).status_code == 400
    assert (await user.get("/api/v1/vms/ml/nobody")).status_code == 404


def quota(name, hard, used):
    return {
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": name, "namespace": "ml"},
        "status": {"hard": {f"requests.{examples.A10}": hard},
                   "used": {f"requests.{examples.A10}": used}},
    }  # fmt: skip


NODE = {
    "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
    "status": {"allocatable": {examples.A10: "2"}, "capacity": {examples.A10: "2"}},
}  # fmt: skip


def test_of_several_quotas_the_tightest_is_shown():
    snapshot = snapshot_of(NODE, quota("wide", "9", "1"), quota("tight", "2", "1"))
    (item,) = my_devices(snapshot, "ml").items
    assert (item.quota_hard, item.quota_used) == ("2", "1")
    assert my_devices(snapshot, "web").items[0].quota_hard is None


@pytest.mark.parametrize("kind", [kinds.NODES, kinds.PODS])
def test_availability_is_unknown_where_its_source_was_not_read(kind):
    (item,) = my_devices(snapshot_of(NODE, unread=[kind]), "ml").items
    assert item.available == "unknown"


def test_permission_is_unknown_where_kubevirt_was_not_read():
    (item,) = my_devices(snapshot_of(NODE, unread=[kinds.KUBEVIRTS]), "ml").items
    assert item.permitted is None


# -- redaction ------------------------------------------------------------------------------------


def held(namespace, name="vm"):
    return Holding(Ref("VirtualMachine", name, namespace), quantity(1), "n1", f"pod-{name}")


def issue(reason, **params):
    return Issue(reason, Stage.SCHEDULING, Severity.ERROR, Ref("VirtualMachine", "x", "ml"),
                 params=params)  # fmt: skip


def shown(found):
    stages = (StageResult(Stage.SCHEDULING, Outcome.FAIL, (found,)),)
    verdict = redact(Verdict(Ref("VirtualMachine", "x", "ml"), Fits.NO, stages), OWN)
    assert verdict.fits is Fits.NO
    assert verdict.stages[0].outcome is Outcome.FAIL
    return render(verdict.issues[0]).message


FREE = Some((Free("n1", quantity(0), quantity(1)),), 1)


def test_a_list_that_was_cut_keeps_its_length_only_where_it_names_no_objects():
    cut = Some(FREE.items, 7)
    exhausted = issue("ResourceExhausted", resource="a.b/c", wanted=quantity(1), free=cut,
                      holders=Some((held("ml"),), 9))  # fmt: skip
    assert shown(exhausted) == (
        "the VM needs 1 of a.b/c on one node: 0 free of 1 on n1 and 6 more (-o wide)"
        "; held by ml/vm (1 on n1)"
    )
    pods = issue("KeptAwayByPods", pods=Some((Ref("Pod", "a", "web"),), 3))
    assert "but a pod of another namespace has a podAntiAffinity" in shown(pods)


def test_foreign_holders_are_absent_and_own_ones_stay():
    exhausted = {"resource": "a.b/c", "wanted": quantity(1), "free": FREE}
    assert shown(issue("ResourceExhausted", **exhausted, holders=(held("web"),))) == (
        "the VM needs 1 of a.b/c on one node: 0 free of 1 on n1"
    )
    both = Some((held("ml", "mine"), held("web")), 9)
    assert shown(issue("ResourceExhausted", **exhausted, holders=both)).endswith(
        "; held by ml/mine (1 on n1)"
    )


def test_foreign_holders_beside_near_misses_are_absent():
    near = (Shortage("n1", (), ("a.b/c",)),)
    found = issue("NoNodeHasAll", near_misses=near, holders=Some((held("web"),), 1))
    assert shown(found).endswith("no node meets all of them: n1 fails a.b/c")


def test_foreign_pods_that_a_sentence_needs_become_a_neutral_word():
    pods = (Ref("Pod", "a", "web"), Ref("Pod", "b", "telco"))
    assert "but a pod of another namespace has a" in shown(issue("KeptAwayByPods", pods=pods))
    mixed = (Ref("Pod", "a", "ml"), *pods)
    assert "but ml/a and a pod of another namespace have a" in shown(
        issue("KeptAwayByPods", pods=mixed)
    )


def test_what_the_manifest_names_stays_and_its_neighbours_go():
    missing = issue(
        "AttachmentMissing",
        attachment=Ref("NetworkAttachmentDefinition", "fasd", "telco"), near=("fast",),
    )  # fmt: skip
    assert shown(missing) == 'NetworkAttachmentDefinition "telco/fasd" does not exist'
    own = issue(
        "AttachmentMissing",
        attachment=Ref("NetworkAttachmentDefinition", "fasd", "ml"), near=("fast",),
    )  # fmt: skip
    assert shown(own).endswith("; there is fast")


def test_foreign_owners_and_namespaces_are_not_told():
    refused = issue(
        "DeviceNotPermitted", resource="a.b/c", near=(), empty=0, list="spec.x", selector="y",
        owner=Ref("HyperConverged", "hco", "kubevirt-hyperconverged"),
    )  # fmt: skip
    assert shown(refused) == '"a.b/c" is not in permittedHostDevices'
    missing = issue("NamespaceMissing", namespace="mi", near=("ml", "mk"))
    assert shown(missing) == 'namespace "mi" does not exist; there is ml'
    assert shown(issue("NamespaceMissing", namespace="mi", near=(), more=1)).endswith("exist")
    assert shown(issue("NamespaceMissing", namespace="mi")).endswith("exist")


def test_an_issue_without_anything_foreign_is_the_same_object():
    found = issue("ResourceExhausted", resource="a.b/c", holders=(held("ml"),), free=FREE)
    stages = (StageResult(Stage.SCHEDULING, Outcome.FAIL, (found,)),)
    verdict = redact(Verdict(Ref("VirtualMachine", "x", "ml"), Fits.NO, stages), OWN)
    assert verdict.issues[0] is found


@pytest.mark.parametrize("path", ["/api/v1/preflight", "/api/v1/fit", "/api/v1/vms"])
async def test_a_user_reads_no_foreign_name_in_any_verdict(api, path):
    """The T4 is held by ml/infer-t4: a tenant of web alone is not told so."""
    from passway.api.access import Service
    from passway.api.identity import Credential, Identity, Role, Tokens

    state = api._transport.app.state
    web = Credential("web-user", Identity("web", Role.USER, frozenset({"web"})))
    old = state.service
    tokens = Tokens([web, Credential("root", Identity("root", Role.ADMIN))])
    state.service = Service(old.cluster, old.mirror, old.audit, tokens, old.changes)
    text = examples.MANIFEST_TEXT.replace("namespace: ml", "namespace: web").replace(
        "- name: gpu\n", "- {name: one, deviceName: " + examples.T4 + "}\n            - name: gpu\n"
    ).replace(f"deviceName: {examples.A10}", f"deviceName: {examples.T4}")  # fmt: skip
    seen = {}
    for token in ("web-user", "root"):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/yaml"}
        seen[token] = (await api.post(path, content=text, headers=headers)).text
    assert "infer-t4" in seen["root"]
    assert "infer-t4" not in seen["web-user"]
    assert "ResourceExhausted" in seen["web-user"]
