"""From text to MachineSpec: kinds, typed views, all faults at once."""

import pytest

from passway.manifest.build import MAX_FAULTS
from passway.manifest.spec import ClaimReference, Cpu, Interface, Memory, Volume
from passway.manifest.vm import Manifest, parse_manifest
from passway.model.devices import ClaimDevice, PluginDevice
from passway.model.errors import InvalidManifest
from passway.model.quantity import parse_quantity
from passway.model.reasons import render
from passway.model.verdict import Position, Ref

FULL = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: big
  namespace: blue
  labels: {of: the-vm}
spec:
  runStrategy: Manual
  instancetype: {name: large}
  preference: {name: linux, kind: VirtualMachinePreference}
  template:
    metadata:
      labels: {app: x}
      annotations: {note: "y"}
    spec:
      nodeSelector: {zone: a}
      evictionStrategy: LiveMigrate
      priorityClassName: high
      resourceClaims:
      - {name: gpu, resourceClaimTemplateName: gpu-template}
      - {name: net, resourceClaimName: net-claim}
      networks:
      - {name: default, pod: {}}
      - {name: sriov, multus: {networkName: blue/sriov}}
      - {name: dra, resourceClaim: {claimName: net, requestName: vf}}
      volumes:
      - {name: root, dataVolume: {name: root-dv}}
      - {name: data, persistentVolumeClaim: {claimName: data-pvc}}
      - {name: scratch, ephemeral: {persistentVolumeClaim: {claimName: base}}}
      - {name: init, cloudInitNoCloud: {userData: x}}
      - {name: none}
      domain:
        cpu: {sockets: 1, cores: 4, threads: 2, dedicatedCpuPlacement: true, model: host-model,
              isolateEmulatorThread: false, numa: {guestMappingPassthrough: {}}}
        memory: {guest: 8Gi, hugepages: {pageSize: 1Gi}}
        resources: {requests: {cpu: 4, memory: 8Gi}, limits: {memory: 9Gi}}
        devices:
          interfaces:
          - {name: default, masquerade: {}}
          - {name: sriov, sriov: {}}
          - {name: dra, sriov: {}}
          - {name: lost, bridge: {}}
          hostDevices:
          - {name: nic, deviceName: intel.com/qat}
          - {name: fpga, claimName: gpu, requestName: fpga}
          gpus:
          - {name: gpu0, deviceName: nvidia.com/A10, virtualGPUOptions: {display: {enabled: true}}}
"""
SPEC = "spec.template.spec"
OWN_KIND, CLUSTER_KIND = "VirtualMachineInstancetype", "VirtualMachineClusterInstancetype"
DEVICES = f"{SPEC}.domain.devices"


def vm(devices="", vmi="", spec="runStrategy: Always", metadata="{name: a}"):
    return (
        f"apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {metadata}\nspec:\n"
        f"  {spec}\n  template:\n    spec:\n      {vmi}\n      domain:\n"
        f"        devices: {{{devices}}}\n"
    )


def machine(text, **options):
    (found,) = parse_manifest(text, "vm.yaml", **options).require()
    return found


def reasons(text):
    found = parse_manifest(text, "vm.yaml").faults
    assert all(render(issue).message for issue in found)
    return [(issue.reason, issue.path) for issue in found]


def only(text):
    (issue,) = parse_manifest(text, "vm.yaml").faults
    assert render(issue).message
    return issue


def test_all_views_of_a_vm():
    found = machine(FULL)
    assert found.ref == Ref("VirtualMachine", "big", "blue")
    assert (found.vmi_path, found.replicas) == (SPEC, 1)
    assert found.labels == {"app": "x"}
    assert found.annotations == {"note": "y"}
    assert found.devices == (
        PluginDevice("gpu0", "gpu", "nvidia.com/A10", f"{DEVICES}.gpus[0]", True),
        PluginDevice("nic", "host-device", "intel.com/qat", f"{DEVICES}.hostDevices[0]"),
        ClaimDevice("fpga", "host-device", "gpu", "fpga", f"{DEVICES}.hostDevices[1]"),
    )
    assert found.interfaces == (
        Interface("default", f"{DEVICES}.interfaces[0]"),
        Interface(
            "sriov", f"{DEVICES}.interfaces[1]", True, "blue/sriov",
            f"{SPEC}.networks[1].multus.networkName",
        ),
        Interface("dra", f"{DEVICES}.interfaces[2]", True, claim=("net", "vf")),
        Interface("lost", f"{DEVICES}.interfaces[3]"),
    )  # fmt: skip
    assert found.cpu == Cpu(1, 4, 2, True, False, True, "host-model")
    assert found.memory == Memory(parse_quantity("8Gi"), "1Gi")
    assert found.requests == {"cpu": parse_quantity("4"), "memory": parse_quantity("8Gi")}
    assert found.limits == {"memory": parse_quantity("9Gi")}
    assert found.node_selector == {"zone": "a"}
    assert found.claims == (
        ClaimReference("gpu", f"{SPEC}.resourceClaims[0]", None, "gpu-template"),
        ClaimReference("net", f"{SPEC}.resourceClaims[1]", "net-claim"),
    )
    assert found.volumes == (
        Volume("root", "dataVolume", f"{SPEC}.volumes[0]", "root-dv"),
        Volume("data", "persistentVolumeClaim", f"{SPEC}.volumes[1]", "data-pvc"),
        Volume("scratch", "ephemeral", f"{SPEC}.volumes[2]", "base"),
        Volume("init", "cloudInitNoCloud", f"{SPEC}.volumes[3]"),
        Volume("none", "", f"{SPEC}.volumes[4]"),
    )
    assert (found.eviction_strategy, found.priority_class) == ("LiveMigrate", "high")
    assert found.run_strategy == "Manual"
    assert found.instancetype == Ref("VirtualMachineClusterInstancetype", "large")
    assert found.preference == Ref("VirtualMachinePreference", "linux", "blue")
    assert found.plain("nodeSelector.zone") == "a"
    assert found.plain("affinity") is None
    assert found.namespace == "blue"
    assert [device.name for device in found.plugin_devices] == ["gpu0", "nic"]
    assert [device.name for device in found.claim_devices] == ["fpga"]
    assert found.position(f"{SPEC}.nodeSelector") == Position("vm.yaml", 16, 7)


def test_a_bare_vm_leaves_everything_unset():
    found = machine(vm(), namespace="red")
    assert found.ref == Ref("VirtualMachine", "a", "red")
    assert (found.cpu, found.memory, found.devices) == (Cpu(), Memory(), ())
    assert (found.instancetype, found.preference, found.eviction_strategy) == (None, None, None)


INNER = "{domain: {devices: {gpus: [{name: g, deviceName: x.com/y}]}}}"
TEMPLATE = f"{{metadata: {{labels: {{a: b}}}}, spec: {INNER}}}"
VM_SPEC = f"{{runStrategy: Halted, template: {TEMPLATE}}}"
POOL = f"virtualMachineTemplate: {{spec: {VM_SPEC}}}"
POOL_VMI = "spec.virtualMachineTemplate.spec.template.spec"
KINDS = [
    (
        "kubevirt.io/v1alpha3", "VirtualMachineInstance",
        f"metadata: {{name: a, labels: {{a: b}}}}\nspec: {INNER}", "spec", 1, None,
    ),
    (
        "kubevirt.io/v1", "VirtualMachineInstanceReplicaSet",
        f"spec: {{replicas: 3, selector: {{}}, template: {TEMPLATE}}}\nmetadata: {{name: a}}",
        "spec.template.spec", 3, None,
    ),
    (
        "pool.kubevirt.io/v1beta1", "VirtualMachinePool",
        f"metadata: {{name: a}}\nspec: {{selector: {{}}, {POOL}}}", POOL_VMI, 1, "Halted",
    ),
    (
        "pool.kubevirt.io/v1alpha1", "VirtualMachinePool",
        f"metadata: {{name: a}}\nspec: {{replicas: 0, selector: {{}}, {POOL}}}",
        POOL_VMI, 0, "Halted",
    ),
    (
        "infrastructure.cluster.x-k8s.io/v1alpha1", "KubevirtMachineTemplate",
        f"metadata: {{name: a}}\nspec: {{template: {{spec: {{{POOL}}}}}}}",
        "spec.template.spec.virtualMachineTemplate.spec.template.spec", 1, "Halted",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("api", "kind", "body", "vmi_path", "replicas", "strategy"), KINDS)
def test_every_kind_that_holds_a_vm(api, kind, body, vmi_path, replicas, strategy):
    found = machine(f"apiVersion: {api}\nkind: {kind}\n{body}\n")
    assert (found.ref.kind, found.vmi_path, found.replicas) == (kind, vmi_path, replicas)
    assert found.run_strategy == strategy
    assert found.labels == {"a": "b"}
    path = f"{vmi_path}.domain.devices.gpus[0]"
    assert found.devices == (PluginDevice("g", "gpu", "x.com/y", path),)
    assert found.document.find(path).plain()["name"] == "g"
    assert found.vmi_field("domain") == f"{vmi_path}.domain"


@pytest.mark.parametrize(
    ("written", "display", "ram_fb"),
    [
        ("{}", None, None),
        ("{display: null}", None, None),
        ("{display: {}}", None, None),
        ("{display: {enabled: false}}", False, None),
        ("{display: {enabled: true}}", True, None),
        ("{display: {ramFB: {}}}", None, True),
        ("{display: {ramFB: {enabled: false}}}", None, False),
        ("{display: {ramFB: {enabled: true}}}", None, True),
        ("{display: {ramFB: null}}", None, None),
    ],
)  # fmt: skip
def test_display_options_keep_unset_and_false_apart(written, display, ram_fb):
    gpu = f"{{name: g, deviceName: x.com/y, virtualGPUOptions: {written}}}"
    (found,) = machine(vm(f"gpus: [{gpu}]")).devices
    assert (found.display, found.ram_fb) == (display, ram_fb)


@pytest.mark.parametrize(
    ("devices", "reason", "path"),
    [
        ("gpus: [{name: a, deviceName: x/y, claimName: c}]", "DeviceAndClaim", "gpus[0]"),
        ("gpus: [{name: a, deviceName: x/y, requestName: r}]", "DeviceAndClaim", "gpus[0]"),
        ("hostDevices: [{name: a}]", "DeviceWithoutSource", "hostDevices[0]"),
        ("gpus: [{name: a, deviceName: ''}]", "DeviceWithoutSource", "gpus[0]"),
        ("gpus: [{name: a, claimName: c}]", "ClaimIncomplete", "gpus[0]"),
        ("gpus: [{name: a, requestName: r}]", "ClaimIncomplete", "gpus[0]"),
        (
            "gpus: [{name: a, deviceName: x/y}, {name: b, claimName: c, requestName: r}]",
            "MixedDeviceSources", "gpus",
        ),
        ("gpus: [{name: a, deviceName: A10}]", "InvalidValue", "gpus[0].deviceName"),
        ("gpus: [{name: a, deviceName: 'nvidia.com/a b'}]", "InvalidValue", "gpus[0].deviceName"),
        (
            "gpus: [{name: a, deviceName: x/y}], hostDevices: [{name: a, deviceName: x/y}]",
            "DuplicateName", "hostDevices[0].name",
        ),
        ("interfaces: [{name: a}, {name: a}]", "DuplicateName", "interfaces[1].name"),
        ("disks: [{name: a}, {name: a}]", "DuplicateName", "disks[1].name"),
        ("gpus: [{name: a, deviceName: 5}]", "WrongType", "gpus[0].deviceName"),
    ],
)  # fmt: skip
def test_faults_of_devices(devices, reason, path):
    issue = only(vm(devices))
    assert (issue.reason, issue.path) == (reason, f"{DEVICES}.{path}")
    assert issue.position.line == 10


def test_host_devices_may_mix_their_sources():
    mixed = "hostDevices: [{name: a, deviceName: x/y}, {name: b, claimName: c, requestName: r}]"
    assert len(machine(vm(mixed)).devices) == 2


def test_a_device_with_both_sources_counts_as_plugin_device():
    text = vm("gpus: [{name: a, deviceName: x/y, claimName: c, requestName: r}]")
    (found,) = parse_manifest(text).machines
    assert isinstance(found.devices[0], PluginDevice)


def test_a_device_without_a_name_is_named_by_its_place():
    found = parse_manifest(vm("gpus: [{tag: x}]")).faults
    assert {issue.reason for issue in found} == {"MissingField", "DeviceWithoutSource"}
    assert "gpus[0]" in render(found[0]).message + render(found[1]).message


@pytest.mark.parametrize(
    "vmi",
    [
        "networks: [{name: a, pod: {}}, {name: a, pod: {}}]",
        "volumes: [{name: a}, {name: a}]",
        "resourceClaims: [{name: a}, {name: a}]",
    ],
)
def test_names_are_unique_in_their_list(vmi):
    issue = only(vm(vmi=vmi))
    assert (issue.reason, issue.path) == (
        "DuplicateName",
        f"{SPEC}.{vmi.partition(':')[0]}[1].name",
    )


@pytest.mark.parametrize(
    ("spec", "strategy"),
    [
        ("running: true", "Always"), ("running: false", "Halted"), ("runStrategy: Once", "Once"),
        ("runStrategy: null", None),
    ],
)  # fmt: skip
def test_run_strategies(spec, strategy):
    assert machine(vm(spec=spec)).run_strategy == strategy


def test_running_and_run_strategy_exclude_each_other():
    text = vm(spec="running: true\n  runStrategy: Manual")
    assert reasons(text) == [("InvalidValue", "spec.runStrategy")]
    assert parse_manifest(text).machines[0].run_strategy == "Manual"


@pytest.mark.parametrize(
    ("written", "ref"),
    [
        ("{name: a, kind: virtualmachineclusterinstancetypes}", Ref(CLUSTER_KIND, "a")),
        ("{name: a, kind: VirtualMachineInstancetype}", Ref(OWN_KIND, "a", "default")),
        ("{inferFromVolume: root}", None),
    ],
)
def test_instancetype_references(written, ref):
    text = vm(spec=f"runStrategy: Always\n  instancetype: {written}")
    assert machine(text).instancetype == ref


def test_an_instancetype_of_another_kind_is_a_fault():
    text = vm(spec="runStrategy: Always\n  preference: {name: a, kind: VirtualMachine}")
    assert reasons(text) == [("InvalidValue", "spec.preference.kind")]


@pytest.mark.parametrize(
    ("metadata", "reason", "path"),
    [
        ("{}", "MissingField", "metadata.name"),
        ("null", "MissingField", "metadata.name"),
        ("{name: 5}", "WrongType", "metadata.name"),
        ("{name: Bad}", "InvalidValue", "metadata.name"),
        ("{generateName: Bad-}", "InvalidValue", "metadata.generateName"),
        ("{name: a, namespace: b.c}", "InvalidValue", "metadata.namespace"),
        ("{name: a, nam: x}", "UnknownField", "metadata.nam"),
    ],
)
def test_metadata(metadata, reason, path):
    issue = only(vm(metadata=metadata))
    assert (issue.reason, issue.path, issue.position.line) == (reason, path, 3)


def test_a_generated_name_has_the_length_it_will_have():
    assert machine(vm(metadata="{generateName: web-}")).ref.name == "web-xxxxx"


def test_replicas_cannot_be_negative():
    text = (
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstanceReplicaSet\nmetadata: {name: a}\n"
        f"spec: {{replicas: -1, selector: {{}}, template: {{spec: {INNER}}}}}\n"
    )
    assert reasons(text) == [("InvalidValue", "spec.replicas")]
    assert parse_manifest(text).machines[0].replicas == 0


@pytest.mark.parametrize(
    ("head", "reason", "path"),
    [
        ("kind: VirtualMachine", "MissingField", "apiVersion"),
        ("apiVersion: kubevirt.io/v2\nkind: VirtualMachine", "InvalidValue", "apiVersion"),
        ("apiVersion: v1\nkind: VirtualMachine", "InvalidValue", "apiVersion"),
        ("apiVersion: kubevirt.io/v1\nkind: virtualmachine", "InvalidValue", "kind"),
        ("apiVersion: kubevirt.io/v1", "MissingField", "kind"),
        ("apiVersion: kubevirt.io/v1\nkind: 5", "MissingField", "kind"),
    ],
)
def test_kind_and_api_version(head, reason, path):
    text = vm().replace("apiVersion: kubevirt.io/v1\nkind: VirtualMachine", head)
    assert reasons(text) == [(reason, path)]


def test_the_right_api_versions_are_named():
    issue = only(vm().replace("kubevirt.io/v1", "v1"))
    problem = 'VirtualMachine is served as kubevirt.io/v1 or kubevirt.io/v1alpha3, not as "v1"'
    assert issue.params["problem"] == problem


def test_other_objects_beside_a_vm_are_left_alone():
    text = "apiVersion: v1\nkind: Secret\nfoo: bar\n---\n" + vm() + "---\nkind: DataVolume\n"
    assert machine(text).ref.name == "a"


def test_only_other_objects_are_a_fault_that_lists_them():
    issue = only("kind: Secret\n---\nkind: ConfigMap\n---\nkind: Secret\n")
    assert (issue.reason, issue.params["found"]) == ("UnsupportedKind", ("Secret", "ConfigMap"))
    assert str(issue.position) == "vm.yaml:1:1"


@pytest.mark.parametrize("text", ["", "# x\n", b"", "---\n---\n", "kind: List\nitems: []\n"])
def test_nothing_at_all(text):
    issue = only(text)
    assert issue.reason == "NoMachine"
    assert "VirtualMachinePool" in render(issue).remedy


def test_documents_that_are_no_objects():
    assert reasons("[1]\n---\nword\n---\n" + vm()) == [("WrongType", ""), ("WrongType", "")]


def test_items_of_a_list_count_as_documents():
    body = vm("gpus: [{name: a, devicename: x/y}]").replace("\n", "\n  ")
    text = f"apiVersion: v1\nkind: List\nitems:\n- kind: Secret\n- {body}\n"
    found = parse_manifest(text, "vm.yaml")
    assert [spec.ref.name for spec in found.machines] == ["a"]
    assert [issue.path for issue in found.faults] == [
        f"{DEVICES}.gpus[0]", f"{DEVICES}.gpus[0].devicename",
    ]  # fmt: skip
    assert found.faults[0].position.line == 14


def test_a_typed_list_gives_its_items_their_kind():
    text = (
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstanceList\n"
        f"items:\n- {{metadata: {{name: a}}, spec: {INNER}}}\n"
        f"- {{metadata: {{name: b}}, spec: {INNER}}}\n"
    )
    found = parse_manifest(text, "vm.yaml").require()
    assert [spec.ref.name for spec in found] == ["a", "b"]
    nested = "kind: List\nitems:\n- " + text.replace("\n", "\n  ")
    assert len(parse_manifest(nested).require()) == 2


def test_a_list_without_items_is_an_object_of_another_kind():
    assert only("kind: WorkList\nitems: 3\n").reason == "UnsupportedKind"


def test_all_faults_come_at_once_in_the_order_of_the_text():
    text = vm(
        "gpus: [{name: g}, {name: g, deviceName: bad}], gpu: []",
        vmi="evictionStrategie: None", metadata="{name: Bad}",
    )  # fmt: skip
    found = parse_manifest(text + "---\nkind: VirtualMachine\nkind: x\n---\na: [", "vm.yaml").faults
    assert [issue.reason for issue in found] == [
        "InvalidValue", "UnknownField", "DeviceWithoutSource", "DuplicateName", "InvalidValue",
        "UnknownField", "MissingField", "MissingField", "MissingField", "DuplicateKey",
        "InvalidSyntax",
    ]  # fmt: skip
    assert found == tuple(sorted(found, key=lambda issue: issue.position))


def test_views_take_what_is_there_when_types_are_wrong():
    text = vm(
        "gpus: [x, {name: 5, deviceName: x/y}], interfaces: 3",
        vmi="volumes: [[]]\n      nodeSelector: {a: 1, b: c}\n      networks: {}",
    )
    found = parse_manifest(text)
    assert found.machines[0].devices[0].name == "gpus[1]"
    assert found.machines[0].node_selector == {"b": "c"}
    text = vm().replace("domain:", "domain: 3\n      x:")
    found = parse_manifest(text)
    assert found.faults
    assert found.machines[0].cpu == Cpu()
    broken = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: a}\nspec: 3\n"
    assert parse_manifest(broken).machines[0].vmi.plain() == {}


def test_quantities_are_read_from_text_and_whole_numbers():
    limits = "{a: 2, b: 1.0, c: 1Gi, d: x, e: null, f: 0.5}"
    text = vm().replace("devices: {}", f"devices: {{}}\n        resources: {{limits: {limits}}}")
    found = parse_manifest(text).machines[0].limits
    assert {key: str(value) for key, value in found.items()} == {"a": "2", "b": "1", "c": "1Gi"}


def test_require_gives_the_machines_or_raises_with_all_faults():
    with pytest.raises(InvalidManifest, match=r"^1 fault in vm\.yaml$"):
        parse_manifest("", "vm.yaml").require()
    with pytest.raises(InvalidManifest, match=r"^2 faults in the input$") as caught:
        parse_manifest(vm("a: 1, b: 2")).require()
    assert len(caught.value.issues) == 2
    assert Manifest("f").require() == ()


def test_very_many_faulty_objects_are_given_up():
    found = parse_manifest("---\n[]\n" * 999 + "--- {kind: VirtualMachine}\n")
    assert len(found.faults) == MAX_FAULTS
    items = "".join("- {kind: VirtualMachine}\n" for _ in range(2000))
    found = parse_manifest(f"kind: List\nitems:\n{items}")
    assert len(found.faults) == MAX_FAULTS
    assert len(found.machines) < 2000
