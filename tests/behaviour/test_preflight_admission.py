"""The stage of admission: what KubeVirt would refuse, with line and column, and what is unknown."""

import json

from tests.builders import GPU, ask, cluster, kubevirt, machine, node, obj, reasons, vm

from passway.cluster import kinds
from passway.manifest.vm import parse_manifest
from passway.model.reasons import render
from passway.model.verdict import Fits, Severity
from passway.preflight.walk import check

NODE = node("a", {GPU: 4})


def issues(verdict):
    return [issue for stage in verdict.stages if stage.stage == "admission"
            for issue in stage.issues]  # fmt: skip


def found(verdict):
    return {issue.reason: issue.path for issue in issues(verdict)}


def test_all_causes_come_at_once_with_their_places():
    text = """apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: vm, namespace: default}
spec:
  runStrategy: Always
  template:
    metadata:
      labels:
        kubevirt.io/nodeName: a
    spec:
      domain:
        machine: {type: pc}
        memory: {guest: 1Gi}
        resources:
          requests: {cpu: 2}
          limits: {cpu: 1}
        devices:
          interfaces:
          - name: default
            masquerade: {}
            bootOrder: 0
      networks:
      - {name: default, pod: {}}
"""
    spec = parse_manifest(text, "vm.yaml").require()[0]
    verdict = check(spec, cluster(kubevirt(), NODE))
    base = "spec.template"
    assert [(i.reason, i.path, i.position.line, i.position.column) for i in issues(verdict)] == [
        ("MachineTypeUnsupported", f"{base}.spec.domain.machine.type", 12, 19),
        ("RequestAboveLimit", f"{base}.spec.domain.resources.requests.cpu", 15, 22),
        ("BootOrderInvalid", f"{base}.spec.domain.devices.interfaces[0].bootOrder", 21, 13),
        ("LabelReserved", f'{base}.metadata.labels["kubevirt.io/nodeName"]', 9, 9),
    ]
    assert verdict.fits is Fits.NO


def test_an_odd_field_of_kubevirt_has_a_place():
    gpus = [{"name": name, "deviceName": GPU, "virtualGPUOptions": {"display": {}}}
            for name in ("a", "b")]  # fmt: skip
    verdict = ask(vm(devices={"gpus": gpus}), kubevirt(), NODE)
    assert [issue.path for issue in issues(verdict)] == [
        f"spec.template.spec.domain.devices.gpus[{index}].virtualGPUOptions.display"
        for index in (0, 1)
    ]
    assert render(issues(verdict)[0]).message.startswith("2 GPUs have a display")


def test_the_configuration_decides():
    bridge = vm(devices={"interfaces": [{"name": "default", "bridge": {}}]})
    assert found(ask(bridge, kubevirt(), NODE)) == {}
    no_bridge = kubevirt(network={"permitBridgeInterfaceOnPodNetwork": False})
    assert "BridgeNotPermitted" in found(ask(bridge, no_bridge, NODE))
    large = vm(domain={"resources": {"limits": {"memory": "1Gi"}}})
    assert found(ask(large, kubevirt(), NODE)) == {}
    staged = kubevirt(vmRolloutStrategy="Stage")
    assert "GuestMemoryAboveLimit" in found(ask(large, staged, NODE))
    q35 = vm(domain={"machine": {"type": "pc-i440fx"}})
    assert "MachineTypeUnsupported" in found(ask(q35, kubevirt(), NODE))
    assert found(ask(q35, kubevirt(emulatedMachines=["pc-*"]), NODE)) == {}


def test_the_mutating_webhook_may_refuse():
    spec = {"domain": {"devices": {}, "memory": {"guest": "1Gi"}}}
    plain = obj("kubevirt.io/v1", "VirtualMachineInstance", "vm", "default", spec=spec)
    no_bridge = kubevirt(network={"permitBridgeInterfaceOnPodNetwork": False})
    assert found(ask(plain, no_bridge, NODE)) == {"BridgeNotPermitted": "spec"}


def test_without_the_kubevirt_object_rules_without_configuration_hold():
    spec = vm(cpu={"cores": 2, "isolateEmulatorThread": True}, host_devices=[GPU],
              domain={"machine": {"type": "pc"}})  # fmt: skip
    unread = ask(spec, NODE, unread=[kinds.KUBEVIRTS])
    told = issues(unread)
    assert [(issue.reason, issue.severity) for issue in told] == [
        ("EmulatorThreadNeedsDedicatedCpus", Severity.ERROR),
        ("KubeVirtUnreadable", Severity.UNKNOWN),
    ]
    assert told[1].params["what"] == ("the feature gates HostDevices and the allowed machine types")
    empty = found(ask(spec, NODE))
    assert empty.keys() == {"KubeVirtMissing", "EmulatorThreadNeedsDedicatedCpus"}
    assert found(ask(vm(), NODE, unread=[kinds.KUBEVIRTS])) == {}


def test_an_instance_type_may_bring_the_memory():
    bare = vm(cpu={"cores": 1}, domain={"memory": {}})
    assert "MemoryMissing" in reasons(ask(bare, kubevirt(), NODE))
    bare["spec"]["instancetype"] = {"name": "small"}
    assert found(ask(bare, kubevirt(), NODE)) == {"InstancetypeMissing": "spec.instancetype"}
    unread = ask(bare, kubevirt(), NODE, unread=[kinds.CLUSTER_INSTANCETYPES])
    assert found(unread) == {"KindUnread": "spec.instancetype"}
    del bare["spec"]["instancetype"]
    bare["spec"]["preference"] = {"name": "windows"}
    assert found(ask(bare, kubevirt(), NODE)) == {"PreferenceMissing": "spec.preference"}


def test_pools_and_replica_sets_are_judged_by_their_template():
    spec = machine(vm(domain={"machine": {"type": "pc"}})).vmi.plain()
    pool = obj(
        "pool.kubevirt.io/v1beta1", "VirtualMachinePool", "pool", "default",
        spec={"selector": {}, "virtualMachineTemplate": {
            "spec": {"runStrategy": "Always", "template": {"spec": spec}}}},
    )  # fmt: skip
    parsed = parse_manifest(json.dumps(pool)).require()[0]
    assert (
        "spec.virtualMachineTemplate.spec.template.spec.domain.machine.type"
        in found(check(parsed, cluster(kubevirt(), NODE))).values()
    )


def test_an_empty_list_of_host_devices_needs_the_gate_in_a_template_only():
    empty = vm(devices={"hostDevices": []})
    off = kubevirt(gates=[])
    assert found(ask(empty, off, NODE)) == {
        "FeatureGateOff": "spec.template.spec.domain.devices.hostDevices"
    }
    assert found(ask(empty, kubevirt(), NODE)) == {}
    spec = empty["spec"]["template"]["spec"]
    instance = obj("kubevirt.io/v1", "VirtualMachineInstance", "vm", "default", spec=spec)
    assert found(ask(instance, off, NODE)) == {}


def test_the_gate_gpu_does_not_unlock_host_devices_and_says_so():
    wanted = vm(devices={"hostDevices": [{"name": "a", "deviceName": GPU}]})
    empty = vm(devices={"hostDevices": []})
    for made in (wanted, empty):
        for gates, told in ((["GPU"], "GPU"), ([], None), (["CPUManager"], None)):
            (issue,) = issues(ask(made, kubevirt(gates=gates), NODE))
            assert issue.params["gate"] == "HostDevices"
            assert issue.params.get("mistaken") == told
            assert ("GPU, which is listed, is another gate" in render(issue).message) == bool(told)
