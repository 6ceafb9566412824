"""What a VMI loses when KubeVirt reads and writes it."""

from passway.kubevirt.tidy import tidy


def test_empty_things_are_the_same_as_none():
    spec = {
        "domain": {
            "devices": {"hostDevices": [], "gpus": [{"name": "", "claimName": "", "tag": "x"}],
                        "tpm": None, "rng": {}},
            "cpu": {"cores": 0, "sockets": 2.0, "numa": {}, "isolateEmulatorThread": False},
            "resources": {"requests": {}, "limits": {"cpu": None}},
            "memory": {"guest": "1024Mi"},
        },
        "nodeSelector": {}, "hostname": "", "evictionStrategy": "",
        "resourceClaims": [{"resourceClaimName": ""}],
        "networks": [{"name": "n", "multus": {"networkName": "", "default": False}}],
        "volumes": [{"name": "v", "emptyDisk": {}, "hostDisk": {}}],
        "topologySpreadConstraints": [{}],
        "strange": {"kept": []},
    }  # fmt: skip
    assert tidy(spec) == {
        "domain": {
            "devices": {"gpus": [{"name": "", "tag": "x"}], "rng": {}},
            "cpu": {"sockets": 2, "numa": {}},
            "resources": {},
            "memory": {"guest": "1Gi"},
        },
        "evictionStrategy": "",
        "resourceClaims": [{"name": "", "resourceClaimName": ""}],
        "networks": [{"name": "n", "multus": {"networkName": ""}}],
        "volumes": [
            {"name": "v", "emptyDisk": {"capacity": "0"}, "hostDisk": {"path": "", "type": ""}}
        ],
        "topologySpreadConstraints": [
            {"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": ""}
        ],
        "strange": {"kept": []},
    }  # fmt: skip


def test_the_levels_that_rules_need_are_there():
    assert tidy({}) == {"domain": {"devices": {}, "resources": {}}}


def test_a_whole_number_is_one_however_it_is_written():
    cores = tidy({"domain": {"cpu": {"cores": 2.0}}})["domain"]["cpu"]["cores"]
    assert (cores, type(cores)) == (2, int)
