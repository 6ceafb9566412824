"""Disks and cloud-init of the short form: what they become, and which faults they have."""

import pytest
import yaml

from passway.model.errors import InvalidInput
from passway.plan.disks import MAX_DISKS, MAX_KEYS, CloudInit, DiskRequest, NewVolume
from passway.plan.machine import InterfaceRequest, MachineRequest, plan_machine

KEY = "ssh-ed25519 AAAAC3Nza me@here"


def planned(**fields):
    return plan_machine(MachineRequest("vm", **fields))["spec"]


def new(**fields):
    made = NewVolume(**{"storage": "1Gi", **fields})
    return {"disks": (DiskRequest("boot", "data_volume", "dv", made=made),)}


def test_an_image_boots_before_all_other_disks():
    spec = planned(image="a:1", disks=(DiskRequest("data", "persistent_volume_claim", "c"),))
    instance = spec["template"]["spec"]
    assert [item["name"] for item in instance["volumes"]] == ["root", "data"]
    assert instance["domain"]["devices"]["disks"] == [
        {"name": "root", "disk": {"bus": "virtio"}, "bootOrder": 1},
        {"name": "data", "disk": {"bus": "virtio"}},
    ]
    assert "dataVolumeTemplates" not in spec


@pytest.mark.parametrize(
    ("url", "source"),
    [
        (None, {"blank": {}}),
        ("https://example.com/a.img", {"http": {"url": "https://example.com/a.img"}}),
        ("docker://a/b:1", {"registry": {"url": "docker://a/b:1"}}),
    ],
)
def test_the_content_of_a_new_volume(url, source):
    (template,) = planned(**new(url=url))["dataVolumeTemplates"]
    assert template["spec"] == {
        "source": source, "storage": {"resources": {"requests": {"storage": "1Gi"}}},
    }  # fmt: skip


def test_user_data_is_passed_on_as_it_is():
    (volume,) = planned(cloud_init=CloudInit("#!/bin/sh\n"))["template"]["spec"]["volumes"]
    assert volume == {"name": "cloudinit", "cloudInitNoCloud": {"userData": "#!/bin/sh\n"}}


def test_keys_become_cloud_config():
    spec = planned(cloud_init=CloudInit(None, (f" {KEY}\n", "sk-ssh-ed25519@openssh.com AAAA")))
    (volume,) = spec["template"]["spec"]["volumes"]
    assert yaml.safe_load(volume["cloudInitNoCloud"]["userData"]) == {
        "ssh_authorized_keys": [KEY, "sk-ssh-ed25519@openssh.com AAAA"]
    }


def test_without_any_interface_none_is_added():
    spec = planned(pod_network=False)["template"]["spec"]
    assert spec["networks"] == []
    assert spec["domain"]["devices"] == {"interfaces": [], "autoattachPodInterface": False}


def test_an_interface_may_be_called_default_where_the_pod_network_has_none():
    planned(pod_network=False, interfaces=(InterfaceRequest("default", "lan", None, "bridge"),))


def disk(**fields):
    return {
        "disks": (DiskRequest(**{"name": "d", "kind": "container_disk", "source": "a", **fields}),)
    }


@pytest.mark.parametrize(
    ("fields", "path", "problem"),
    [
        ({"boots": True}, "image", "a disk to boot from"),
        (disk(name="D"), "disks[0].name", "DNS label"),
        (disk(source="a b"), "disks[0].container_disk", "no spaces"),
        (disk(source=""), "disks[0].container_disk", "not empty"),
        (disk(bus="ide"), "disks[0].bus", "virtio, scsi, sata"),
        (disk(kind="persistent_volume_claim", source="A"), "disks[0].persistent_volume_claim",
         "DNS subdomain"),
        (disk(kind="data_volume", source="../a"), "disks[0].data_volume", "DNS subdomain"),
        (new(storage="much"), "disks[0].new.storage", "quantity"),
        (new(storage="0"), "disks[0].new.storage", "not more than nothing"),
        (new(url="file:///etc/passwd"), "disks[0].new.url", "docker://, http://, https://"),
        (new(url="docker:a"), "disks[0].new.url", "docker://, http://, https://"),
        (new(storage_class="A"), "disks[0].new.storage_class", "DNS subdomain"),
        ({"image": "a", **disk(name="root")}, "disks", '"root" is used more than once'),
        ({"cloud_init": CloudInit("x"), **disk(name="cloudinit")}, "disks", "more than once"),
        ({"disks": tuple(DiskRequest(f"d{n}", "container_disk", "a")
                         for n in range(MAX_DISKS + 1))}, "disks", "at most 16"),
        ({"cloud_init": CloudInit("x", (KEY,))}, "ssh_keys", "put the keys into it"),
        ({"cloud_init": CloudInit(None, (KEY,) * (MAX_KEYS + 1))}, "ssh_keys", "at most 64"),
        ({"cloud_init": CloudInit(None, (KEY, f"{KEY}\nruncmd: [evil]"))}, "ssh_keys[1]",
         "one line"),
        ({"cloud_init": CloudInit(None, ("ssh-rsa",))}, "ssh_keys[0]", "public key"),
        ({"cloud_init": CloudInit(None, ("-----BEGIN OPENSSH PRIVATE KEY-----",))}, "ssh_keys[0]",
         "public key"),
        ({"cloud_init": CloudInit(None, ("",))}, "ssh_keys[0]", "public key"),
        ({"eviction_strategy": "Never"}, "eviction_strategy", "LiveMigrate"),
        ({"interfaces": (InterfaceRequest("a", "X", None, "bridge"),)},
         "interfaces[0].network_type.bridge.name", "DNS subdomain"),
    ],
)  # fmt: skip
def test_faults_name_the_field(fields, path, problem):
    with pytest.raises(InvalidInput, match=problem) as caught:
        planned(**fields)
    assert [issue.path for issue in caught.value.issues] == [path]
