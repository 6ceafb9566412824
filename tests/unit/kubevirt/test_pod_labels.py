"""The labels by which KubeVirt finds a launcher."""

import pytest

from passway.kubevirt.pod_labels import pod_labels

LONG = "a" * 62 + "bcd"


@pytest.mark.parametrize(
    ("name", "hostname", "host", "identity"),
    [
        ("db", None, "db", "db"),
        ("db.prod", None, "db", "db.prod"),
        ("db", "other", "other", "db"),
        ("a" * 63, None, "a" * 63, "a" * 63),
        (LONG, None, LONG[:63], f"{'a' * 54}-c312e207"),
    ],
)
def test_name_and_identity(name, hostname, host, identity):
    vmi = {"spec": {"hostname": hostname}} if hostname else {"spec": {}}
    found = pod_labels("VirtualMachine", name, {"app": "x", "kubevirt.io": "mine"}, vmi)
    assert found == {
        "app": "x", "kubevirt.io": "virt-launcher", "vm.kubevirt.io/name": host,
        "vmi.kubevirt.io/id": identity,
    }  # fmt: skip


def test_a_name_that_a_controller_gives_is_not_known():
    found = pod_labels("VirtualMachinePool", "pool", {}, {"spec": {}})
    assert found == {"kubevirt.io": "virt-launcher"}
