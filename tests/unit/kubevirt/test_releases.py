"""Each row of the table of releases, by what happens here: one function a row, named after it."""

import json

import pytest
from tests.builders import GPU, VF, ask, attachment, cluster, injector, kubevirt, machine, node, vm
from tests.builders import launcher as rendered
from tests.unit.kubevirt.test_discovery import card, pci, plugins
from tests.unit.kubevirt.vmis import settings

from passway.kubevirt.admission import mutate_and_judge
from passway.kubevirt.gates import STATES, gates_of
from passway.kubevirt.hostdev import render_hostdev_xml
from passway.kubevirt.hostdev_errors import TranslationError
from passway.kubevirt.releases import RELEASES
from passway.kubevirt.settings import settings_of

RUNNING = ("v1.5.3", "v1.6.2", "v1.7.0", "v1.8.1", "v1.9.0")


def snapshot(version, *objects, **options):
    return cluster(kubevirt(version=version, **options), *objects)


def on(gate, version, **options):
    return gates_of(snapshot(version, **options).kubevirt).on(gate)


def over_releases(gate, **options):
    return [on(gate, version, **options) for version in RUNNING]


def launcher(made, version, *objects, **options):
    return rendered(machine(made), snapshot(version, *objects, **options), {})


def refused(made, version, *objects, **options):
    verdict = ask(made, kubevirt(version=version, **options), node("a", {GPU: 4}), *objects)
    return {issue.reason for issue in verdict.issues if issue.severity == "error"}


def gate_states():
    states = [gates_of(snapshot(version).kubevirt).state("GPUsWithDRA") for version in RUNNING]
    assert states == [None, "Alpha", "Alpha", "Alpha", "Beta"]
    deprecated = [
        gates_of(snapshot(version).kubevirt).state("DisableMDEVConfiguration")
        for version in RUNNING
    ]
    assert deprecated == ["Alpha"] * 3 + ["Deprecated"] * 2
    assert all(over_releases("DisableMDEVConfiguration", gates=["DisableMDEVConfiguration"]))
    assert not any(over_releases("Passt", gates=["Passt"]))
    assert all(over_releases("VMLiveUpdateFeatures", disabled=["VMLiveUpdateFeatures"]))


def disabled_list():
    assert over_releases("Snapshot") == [False] * 3 + [True] * 2
    assert over_releases("Snapshot", gates=["Snapshot"], disabled=["Snapshot"]) == [True] * 5
    assert over_releases("Snapshot", disabled=["Snapshot"]) == [False] * 5


def image_volumes():
    made = vm(volumes=[{"name": "root", "containerDisk": {"image": "x"}}])

    def containers(version, **options):
        return [one.name for one in launcher(made, version, **options).launch.containers]

    listed = {"gates": ["ImageVolume"]}
    assert [containers(version) == ["compute"] for version in RUNNING] == [False] * 3 + [True] * 2
    assert [containers(version, **listed) == ["compute"] for version in RUNNING] == [False] + [
        True
    ] * 4


def network_resources():
    made = vm(sriov=["default/net"])
    pods = [launcher(made, version, attachment("net")) for version in RUNNING]
    assert [pod.requests.get(VF, 0) for pod in pods] == [1, 1, 1, 0, 0]
    causes = [launcher(made, version).launch.refusal for version in RUNNING]
    assert [cause.cause if cause else None for cause in causes] == (
        ["NetworkAttachmentMissing"] * 3 + [None] * 2
    )
    # Since then the webhook of another project asks for them.
    assert "InjectorMissing" in refused(made, "v1.9.0", attachment("net"))
    assert "InjectorMissing" not in refused(made, "v1.9.0", attachment("net"), injector())
    assert "InjectorMissing" not in refused(made, "v1.7.0", attachment("net"))


CLAIMED = {
    "devices": {"gpus": [{"name": "g", "claimName": "c", "requestName": "r"}]},
    "resourceClaims": [{"name": "c", "resourceClaimName": "k"}],
}


def claims_of_gpus_and_host_devices():
    made, gate = vm(**CLAIMED), "GPUsWithDRA"
    off = ["FeatureGateOff" in refused(made, version) for version in RUNNING]
    assert off == [True] * 4 + [False]
    listed = ["FeatureGateOff" in refused(made, version, gates=[gate]) for version in RUNNING]
    assert listed == [True] + [False] * 4
    assert over_releases("HostDevicesWithDRA") == over_releases(gate)


def claims_of_networks():
    gate = "NetworkDevicesWithDRA"
    made = vm(resourceClaims=CLAIMED["resourceClaims"])
    spec = made["spec"]["template"]["spec"]
    spec["networks"].append({"name": "n", "resourceClaim": {"claimName": "c", "requestName": "r"}})
    spec["domain"]["devices"]["interfaces"].append({"name": "n", "sriov": {}})
    off = ["FeatureGateOff" in refused(made, version, gates=[gate]) for version in RUNNING]
    assert off == [True] * 4 + [False]


def grace_and_iommufd():
    iommufd = "devices.kubevirt.io/iommufd"
    pods = [launcher(vm(), version, gates=["IOMMUFD"]) for version in RUNNING]
    assert [iommufd in pod.requests for pod in pods] == [False] * 4 + [True]
    assert over_releases("GraceIOVirtualization", gates=["GraceIOVirtualization"]) == [
        False, False, False, False, True,
    ]  # fmt: skip


def persistent_reservations():
    gate = "PersistentReservation"
    assert over_releases(gate) == [False] * 4 + [True]
    assert over_releases(gate, gates=[gate]) == [True] * 5
    disk = {"name": "d", "lun": {"reservation": True}}
    vmi = {
        "metadata": {"name": "vm", "namespace": "default"},
        "spec": {
            "domain": {"memory": {"guest": "1Gi"}, "devices": {"disks": [disk]}},
            "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "c"}}],
        },
    }
    before = [cause.rule for cause in mutate_and_judge(vmi, settings_of({}, version=(1, 8))).causes]
    assert before == ["PersistentReservationGateOff"]
    assert not mutate_and_judge(vmi, settings()).causes


def metadata_of_claims():
    """The files decide, whatever a status says."""
    spec = {"domain": {"devices": CLAIMED["devices"]}, "resourceClaims": CLAIMED["resourceClaims"]}
    status = {"deviceStatus": {"gpuStatuses": [{"name": "g", "deviceResourceClaimStatus": {
        "attributes": {"pciAddress": "0000:65:00.0"}}}]}}  # fmt: skip
    with pytest.raises(TranslationError) as caught:
        render_hostdev_xml({"spec": spec, "status": status})
    assert caught.value.because == "MetadataFileMissing"
    device = {"attributes": {"resource.kubernetes.io/pciBusID": {"string": "0000:66:00.0"}}}
    text = json.dumps({
        "apiVersion": "metadata.resource.k8s.io/v1alpha1",
        "requests": [{"name": "r", "devices": [device]}],
    })  # fmt: skip
    files = {"resourceclaims/k/r/x-metadata.json": text}
    (element,) = render_hostdev_xml({"spec": spec, "status": status}, metadata=files)
    assert 'bus="0x66"' in element


def two_ramfb_displays():
    """A VM that would pass its own door on 1.9.0 still gets no VMI."""
    display = {"virtualGPUOptions": {"display": {"ramFB": {}}}}
    gpus = [{"name": name, "deviceName": GPU, **display} for name in "ab"]
    for version in ("v1.9.0", "v1.10.0-alpha.0"):
        assert "BootDisplaysMany" in refused(vm(devices={"gpus": gpus}), version)


def vgpus_of_a_vendor_driver():
    tree = card(driver="nvidia", **{"nvidia/current_vgpu_type": "222"})
    (plugin,) = plugins(tree, pci())
    assert [device.pci_address for device in plugin.devices] == ["0000:81:00.0"]


def memory_of_qemu_itself():
    part, mib = "launcher, libvirt and QEMU", 2**20
    told = [launcher(vm(), version).overhead[part] // mib for version in (*RUNNING, "v1.10.0")]
    assert told == [220] * 5 + [240]


def guest_memory_as_a_request():
    for version in RUNNING:
        assert "page tables" not in launcher(vm(memory={"guest": "64Gi"}), version).overhead


CHECKS = {
    "gate states": gate_states,
    "disabled list": disabled_list,
    "image volumes": image_volumes,
    "network resources": network_resources,
    "claims of GPUs and host devices": claims_of_gpus_and_host_devices,
    "claims of networks": claims_of_networks,
    "Grace and IOMMUFD": grace_and_iommufd,
    "persistent reservations": persistent_reservations,
    "metadata of claims": metadata_of_claims,
    "two ramFB: {} displays": two_ramfb_displays,
    "vGPUs of a vendor driver": vgpus_of_a_vendor_driver,
    "memory of QEMU itself": memory_of_qemu_itself,
    "guest memory as a request": guest_memory_as_a_request,
}


@pytest.mark.parametrize("row", RELEASES, ids=lambda row: row.name)
def test_each_row_is_what_happens_here(row):
    CHECKS[row.name]()


def test_every_check_is_of_a_row():
    assert [*CHECKS] == [row.name for row in RELEASES]


@pytest.mark.parametrize("gate", sorted(STATES))
def test_states_hold_from_one_release_to_the_next(gate):
    since = [version for version, _ in STATES[gate]]
    assert since == sorted(set(since))
