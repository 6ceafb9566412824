"""Rules on devices, claims and Grace GPUs."""

import pytest
from tests.unit.kubevirt.vmis import causes, places, rules, settings, vmi

GRACE = {
    "pciHostDevices": [
        {"pciVendorSelector": "10DE:2342", "resourceName": "nvidia.com/grace"},
        {"pciVendorSelector": "10de:*", "resourceName": "nvidia.com/any"},
        {"pciVendorSelector": "10DE", "resourceName": "nvidia.com/odd"},
        {"pciVendorSelector": "10DE:2342:1", "resourceName": "nvidia.com/three"},
        {"pciVendorSelector": "8086:4940", "resourceName": "intel.com/qat"},
        {"pciVendorSelector": "", "resourceName": "x.com/y"},
    ]
}
GPUS = "spec.domain.devices.gpus"
HOST_DEVICES = "spec.domain.devices.hostDevices"


def plugin(name="a", resource="nvidia.com/x", **rest):
    return {"name": name, "deviceName": resource, **rest}


def claim(name="a", claim_name="c", request="r"):
    return {"name": name, "claimName": claim_name, "requestName": request}


def with_claims(devices, *names, **rest):
    listed = [{"name": name, "resourceClaimName": name} for name in names or ("c",)]
    return vmi(devices=devices, resourceClaims=listed, **rest)


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        ([plugin(), plugin()], {}),
        ([claim(), claim("b", request="s")], {}),
        ([{"name": "a"}], {"GpuHasNeither": (GPUS, f"{GPUS}[0]")}),
        ([plugin(claimName="c")], {"GpuHasNameAndClaim": (GPUS, f"{GPUS}[0]")}),
        ([plugin(), claim("b")], {"GpusMixed": (GPUS, GPUS)}),
        ([{"name": "a", "requestName": "r"}],
         {"GpuClaimNameMissing": (f"{GPUS}[0].claimName",) * 2}),
        ([{"name": "a", "claimName": "c"}],
         {"GpuRequestNameMissing": (f"{GPUS}[0].requestName",) * 2}),
        ([claim(), claim("b")],
         {"ClaimRequestReused": (f"{GPUS}[1]", f"{GPUS}[1].requestName")}),
        ([claim(claim_name="d")],
         {"ClaimNotDeclared": ("spec.resourceClaims", f"{GPUS}[0].claimName")}),
    ],
)  # fmt: skip
def test_gpus(gpus, expected):
    assert places(with_claims({"gpus": gpus})) == expected


def test_host_devices_may_mix():
    on = settings("HostDevices")
    given = with_claims({"hostDevices": [plugin(), claim("b"), {"name": "c"}]})
    assert rules(given, on) == ["HostDeviceHasNeither"]
    assert rules(with_claims({"hostDevices": [plugin(claimName="c")]}), on) == [
        "HostDeviceHasNameAndClaim"
    ]


def test_every_missing_claim_is_a_site_of_one_cause():
    given = with_claims({"gpus": [claim("a", "cc"), claim("b", "zzz")]})
    (cause,) = causes(given)
    assert [site.path for site in cause.sites] == [
        f"{GPUS}[0].claimName", f"{GPUS}[1].claimName",
    ]  # fmt: skip
    assert cause.sites[0].params["near"] == ("c",)
    assert "near" not in cause.sites[1].params


def test_gates_of_claims_hide_the_rest_of_the_list():
    off = settings("HostDevices", disabled=("GPUsWithDRA", "HostDevicesWithDRA"))
    given = with_claims({"gpus": [claim(), claim()], "hostDevices": [plugin(), claim("b", "zz")]})
    assert places(given, off) == {
        "GpuClaimGateOff": (GPUS, f"{GPUS}[0].claimName"),
        "HostDeviceClaimGateOff": (HOST_DEVICES, f"{HOST_DEVICES}[1].claimName"),
    }


def test_host_devices_need_their_gate():
    assert places(vmi(devices={"hostDevices": [plugin()]})) == {
        "HostDevicesGateOff": ("spec.HostDevices", HOST_DEVICES)
    }
    assert rules(vmi(devices={"hostDevices": []})) == []


def test_pairs_are_not_shared_between_lists():
    on = settings("HostDevices", "NetworkDevicesWithDRA")
    given = with_claims(
        {
            "gpus": [claim()],
            "hostDevices": [claim("b"), claim("c", request="s")],
            "interfaces": [{"name": name, "sriov": {}} for name in ("n", "m", "o")],
        },
        networks=[
            {"name": "n", "resourceClaim": {"claimName": "c", "requestName": "r"}},
            {"name": "m", "resourceClaim": {"claimName": "c", "requestName": "s"}},
            {"name": "o", "resourceClaim": {"claimName": "c", "requestName": "t"}},
        ],
    )
    found = causes(given, on)
    assert [cause.field for cause in found] == [
        f"{HOST_DEVICES}[0]", "spec.networks[0]", "spec.networks[1]",
    ]  # fmt: skip
    assert found[2].sites[0].params == {"claim": "c", "request": "s"}


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ({"name": "", "resourceClaimName": "x"}, ["ClaimNameMissing"]),
        ({"resourceClaimName": "x"}, ["ClaimNameMissing"]),
        ({"name": "Bad", "resourceClaimName": "x"}, ["ClaimNameMalformed"]),
        ({"name": "a"}, ["ClaimReferenceMissing"]),
        ({"name": "a", "resourceClaimName": "x", "resourceClaimTemplateName": "y"},
         ["ClaimReferenceAmbiguous"]),
        ({"name": "a", "resourceClaimName": ""}, ["ClaimReferenceMalformed"]),
        ({"name": "a", "resourceClaimTemplateName": "-x"}, ["ClaimReferenceMalformed"]),
        ({"name": "c", "resourceClaimTemplateName": "x.y"}, ["ClaimNameDuplicate"]),
    ],
)  # fmt: skip
def test_the_claim_list(listed, expected):
    first = {"name": "c", "resourceClaimName": "x"}
    assert rules(vmi(resourceClaims=[first, listed])) == expected


@pytest.mark.parametrize(
    ("display", "counts"),
    [
        ({}, True), ({"enabled": True}, True), ({"enabled": False}, False),
        ({"ramFB": {}}, True), ({"ramFB": {"enabled": False}}, False), (None, False),
    ],
)  # fmt: skip
def test_one_boot_display(display, counts):
    gpu = plugin(virtualGPUOptions={"display": display})
    given = vmi(devices={"gpus": [plugin("z", virtualGPUOptions={"display": {}}), gpu]})
    found = places(given)
    assert found == (
        {"BootDisplaysMany": ("spec.GPUs", f"{GPUS}[0].virtualGPUOptions.display")}
        if counts
        else {}
    )


def grace_vm(resource="nvidia.com/grace", **rest):
    cpu = {"dedicatedCpuPlacement": True, "cores": 2}
    return vmi({"cpu": cpu}, {"gpus": [plugin(resource=resource)]}, architecture="arm64", **rest)


def grace_on(*gates):
    return settings(*gates, permittedHostDevices=GRACE)


ALL_GRACE = ("GraceIOVirtualization", "PCINUMAAwareTopology", "IOMMUFD")


def test_grace_needs_its_gate():
    path = f"{GPUS}[0].deviceName"
    assert places(grace_vm(), grace_on()) == {"GraceGateOff": (path, path)}
    assert rules(grace_vm(), grace_on(*ALL_GRACE)) == []
    assert rules(grace_vm()) == []


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("nvidia.com/any", ["GraceSelectorAmbiguous"]),
        ("nvidia.com/odd", []), ("nvidia.com/three", []), ("intel.com/qat", []), ("x.com/y", []),
    ],
)  # fmt: skip
def test_selectors_that_are_no_grace_gpu(resource, expected):
    assert rules(grace_vm(resource), grace_on(*ALL_GRACE)) == expected
    assert rules(grace_vm(resource), grace_on()) == []


def test_what_grace_needs():
    given = vmi(devices={"gpus": [plugin(resource="nvidia.com/grace")]})
    assert rules(given, grace_on("GraceIOVirtualization")) == [
        "GraceArchitecture", "GraceMachineType", "GraceNeedsDedicatedCpus",
        "GraceNeedsPciNumaGate", "GraceNeedsIommufdGate",
    ]  # fmt: skip


def test_annotations_that_grace_does_not_stand():
    annotations = {
        "kubevirt.io/placePCIDevicesOnRootComplex": "true",
        "kubevirt.io/disablePCIHole64": "true",
    }
    given = grace_vm(metadata={"annotations": annotations})
    assert places(given, grace_on(*ALL_GRACE)) == {
        "GraceRootComplexPlacement": (
            "metadata.annotations[kubevirt.io/placePCIDevicesOnRootComplex]",
            'metadata.annotations["kubevirt.io/placePCIDevicesOnRootComplex"]',
        ),
        "GraceNeedsPciHole64": (
            "metadata.annotations[kubevirt.io/disablePCIHole64]",
            'metadata.annotations["kubevirt.io/disablePCIHole64"]',
        ),
    }
