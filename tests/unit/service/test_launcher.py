"""The launcher pod as a document: its form, KubeVirt's refusals, and what was not read."""

import asyncio
import json
from typing import get_args

import pytest
from tests.builders import (
    GPU,
    VF,
    attachment,
    cluster,
    injector,
    instancetype,
    kubevirt,
    pci,
    referring,
    vm,
)
from tests.gates import Within

from passway.cluster import kinds
from passway.kubevirt.launch import Cause
from passway.model.errors import Forbidden, InvalidInput
from passway.service.backend import SnapshotBackend
from passway.service.gate import OPEN
from passway.service.launcher import WORDS

INJECTION = "ExternalNetResourceInjection"


def rendered(machine, snapshot=None, namespace="default", may_see=None):
    backend = SnapshotBackend(cluster(kubevirt()) if snapshot is None else snapshot)
    backend.gate = OPEN if may_see is None else Within(may_see)
    text = json.dumps(machine)
    return asyncio.run(backend.render_pod(text, "vm.json", namespace=namespace))


def test_the_pod_carries_what_the_scheduler_looks_at():
    machine = vm(
        gpus=[GPU],
        memory={"guest": "4Gi", "hugepages": {"pageSize": "1Gi"}},
        nodeSelector={"zone": "a"},
        tolerations=[{"key": "gpu", "operator": "Exists"}],
        topologySpreadConstraints=[
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
        ],
        priorityClassName="high",
        schedulerName="mine",
    )
    spec = rendered(machine).pod["spec"]
    assert spec["nodeSelector"]["zone"] == "a"
    assert spec["tolerations"] == [{"key": "gpu", "operator": "Exists"}]
    assert spec["topologySpreadConstraints"][0]["topologyKey"] == "zone"
    assert (spec["priorityClassName"], spec["schedulerName"]) == ("high", "mine")
    assert {"name": "hugepages", "emptyDir": {"medium": "HugePages"}} in spec["volumes"]
    assert spec["containers"][0]["resources"]["requests"]["hugepages-1Gi"] == "4Gi"
    assert "runtimeClassName" not in spec


def test_claims_stand_in_the_pod_and_its_container():
    machine = vm(
        devices={"gpus": [{"name": "g", "claimName": "c", "requestName": "r"}]},
        resourceClaims=[{"name": "c", "resourceClaimTemplateName": "t"}],
    )
    found = rendered(machine, cluster(kubevirt(gates=("GPUsWithDRA",))))
    spec = found.pod["spec"]
    assert spec["resourceClaims"] == [{"name": "c", "resourceClaimTemplateName": "t"}]
    assert spec["containers"][0]["resources"]["claims"] == [{"name": "c", "request": "r"}]


def test_functions_of_networks_are_requested():
    found = rendered(vm(sriov=["fast"]), cluster(kubevirt(), attachment("fast"), injector()))
    assert (found.requests[VF], found.error) == ("1", None)


def test_without_the_injector_nobody_asks_for_functions():
    found = rendered(vm(sriov=["fast"]), cluster(kubevirt(), attachment("fast")))
    assert VF not in found.requests


def test_every_refusal_has_words():
    assert set(WORDS) == set(get_args(Cause))


@pytest.mark.parametrize(
    ("machine", "configuration", "code", "device", "words"),
    [
        (vm(gpus=[f"x.y/{n}" for n in range(7)]), {"permitted": {"pciHostDevices": []}},
         "DeviceNotPermitted", "x.y/0", '"x.y/0", "x.y/1", "x.y/2", "x.y/3", "x.y/4" and 2 more'),
        (vm(sriov=["none"]), {"disabled": [INJECTION]},
         "NetworkAttachmentMissing", "default/none", '"default/none"'),
        (vm(devices={"interfaces": [{"name": "default", "binding": {"name": "odd"}}]}), {},
         "NetworkBindingUnknown", "odd", '"odd"'),
    ],
)  # fmt: skip
def test_a_refusal_stands_beside_the_pod(machine, configuration, code, device, words):
    found = rendered(machine, cluster(kubevirt(**configuration)))
    assert (found.error.code, found.error.device) == (code, device)
    assert words in found.error.message
    assert found.error.hint
    assert found.pod["spec"]["containers"][0]["name"] == "compute"


def test_what_nobody_looked_for_is_not_missing():
    kubevirt_read = cluster(kubevirt(disabled=[INJECTION]), unread=[kinds.ATTACHMENTS])
    assert rendered(vm(sriov=["none"]), kubevirt_read).error is None
    odd = vm(devices={"interfaces": [{"name": "default", "binding": {"name": "odd"}}]})
    assert rendered(odd, cluster(unread=[kinds.KUBEVIRTS])).error is None


def test_a_permitted_device_is_no_refusal():
    permitted = {"pciHostDevices": [pci("10DE:2236", GPU)]}
    assert rendered(vm(gpus=[GPU]), cluster(kubevirt(permitted))).error is None


def test_kinds_that_were_not_read_are_named_where_they_matter():
    unread = (kinds.ATTACHMENTS, kinds.RUNTIME_CLASSES)
    snapshot = cluster(kubevirt(), unread=unread, forbidden=(kinds.QUOTAS,))
    assert rendered(vm(), snapshot).unread == {"resourcequotas": "forbidden"}
    assert rendered(vm(sriov=["fast"]), snapshot).unread == {
        "resourcequotas": "forbidden", "network-attachment-definitions": "unread",
    }  # fmt: skip
    snapshot = cluster(kubevirt(defaultRuntimeClass="kata"), unread=unread)
    found = rendered(vm(), snapshot)
    assert found.unread == {"runtimeclasses": "unread"}
    assert found.pod["spec"]["runtimeClassName"] == "kata"


def test_one_machine_of_an_own_namespace():
    with pytest.raises(Forbidden):
        rendered(vm(), may_see=frozenset({"other"}))
    with pytest.raises(InvalidInput, match="2 machines"):
        rendered({"apiVersion": "v1", "kind": "List", "items": [vm("a"), vm("b")]})


# -- instance types -------------------------------------------------------------------------------


def test_the_pod_has_what_the_instance_type_brings():
    found = rendered(referring("it"), cluster(kubevirt(), instancetype("it", gpus=[GPU])))
    assert (found.error, found.requests[GPU], found.requests["cpu"]) == (None, "1", "405m")
    name = found.pod["metadata"]["annotations"]["kubevirt.io/cluster-instancetype-name"]
    assert name == "it"


def test_what_stands_against_the_instance_type_is_the_error():
    found = rendered(vm(), cluster(kubevirt()))
    assert found.error is None
    spec = referring("it", domain={"cpu": {"cores": 1}})
    error = rendered(spec, cluster(kubevirt(), instancetype("it"))).error
    assert (error.code, error.looked_for) == (
        "InstancetypeConflict", ("spec.template.spec.domain.cpu.cores",),
    )  # fmt: skip
    missing = rendered(referring("it"), cluster(kubevirt())).error
    assert (missing.code, missing.device) == ("InstancetypeMissing", "")
    assert missing.hint.startswith("Correct name and kind")


@pytest.mark.parametrize(
    ("matcher", "unread"),
    [
        ("it", {"virtualmachineclusterinstancetypes": "forbidden"}),
        ({"name": "it", "revisionName": "r"},
         {"spec.instancetype.revisionName": "RevisionNotRead"}),
    ],
)  # fmt: skip
def test_an_instance_type_that_was_not_read_is_named(matcher, unread):
    held = cluster(kubevirt(), forbidden=[kinds.CLUSTER_INSTANCETYPES])
    found = rendered(referring(matcher), held)
    assert (found.error, found.unread) == (None, unread)
