"""Flags as a VirtualMachine."""

import pytest

from passway.cli.machine import MachineFlags
from passway.cli.options import Usage
from passway.model.errors import InvalidInput

GPU = "nvidia.com/GA102GL_A10"


def domain(flags: MachineFlags) -> dict:
    return flags.machine("vm", "ml")["spec"]["template"]["spec"]["domain"]


def test_devices_are_numbered_over_all_flags_of_a_kind():
    found = domain(MachineFlags(gpus=(f"{GPU}=2", "amd.com/X"), host_devices=("intel.com/Q",)))
    assert found["devices"]["gpus"] == [
        {"name": "gpu1", "deviceName": GPU},
        {"name": "gpu2", "deviceName": GPU},
        {"name": "gpu3", "deviceName": "amd.com/X"},
    ]
    assert found["devices"]["hostDevices"] == [{"name": "hostdevice1", "deviceName": "intel.com/Q"}]


def test_everything_else_has_its_field():
    made = MachineFlags(
        networks=("telco/fast",), cpus=8, memory="16Gi", hugepages="1Gi", dedicated_cpus=True,
        numa=True,
    )  # fmt: skip
    found = domain(made)
    assert found["cpu"] == {
        "cores": 8, "dedicatedCpuPlacement": True, "numa": {"guestMappingPassthrough": {}},
    }  # fmt: skip
    assert found["memory"] == {"guest": "16384Mi", "hugepages": {"pageSize": "1Gi"}}
    assert found["devices"]["interfaces"][1] == {"name": "sriov1", "sriov": {}}
    assert made.given
    assert not MachineFlags().given


@pytest.mark.parametrize(
    "flags",
    [
        MachineFlags(gpus=(f"{GPU}=0",)),
        MachineFlags(gpus=(f"{GPU}=",)),
        MachineFlags(gpus=(f"{GPU}=x",)),
        MachineFlags(gpus=(f"{GPU}=17",)),
        MachineFlags(gpus=(f"{GPU}=99999999999",)),
        MachineFlags(gpus=(f"{GPU}=²",)),
        MachineFlags(memory="lots"),
        MachineFlags(memory="1k"),
    ],
)
def test_what_is_no_flag_is_a_usage_error(flags):
    with pytest.raises(Usage):
        domain(flags)


@pytest.mark.parametrize(
    "flags",
    [MachineFlags(cpus=0), MachineFlags(memory="0"), MachineFlags(gpus=("A10",)),
     MachineFlags(hugepages="1G"), MachineFlags(gpus=(f"{GPU}=16", f"{GPU}=16"))],
)  # fmt: skip
def test_what_the_plan_refuses_is_refused(flags):
    with pytest.raises(InvalidInput):
        domain(flags)
