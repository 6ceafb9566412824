"""The network-info file: which network has which address."""

import json

import pytest

from passway.kubevirt.hostdev_json import NotJson
from passway.kubevirt.network_info import addresses_by_network


def info(*interfaces):
    return json.dumps({"interfaces": list(interfaces)})


def interface(network, address):
    return {"network": network, "deviceInfo": {"type": "pci", "pci": {"pci-address": address}}}


def test_networks_and_their_addresses_the_last_entry_wins():
    text = info(interface("a", "1"), interface("b", "2"), interface("a", "3"))
    assert addresses_by_network(text) == {"a": "3", "b": "2"}


def test_two_networks_may_have_one_address():
    assert addresses_by_network(info(interface("a", "1"), interface("b", "1"))) == {
        "a": "1",
        "b": "1",
    }


@pytest.mark.parametrize(
    "text",
    [
        "null", "{}", '{"interfaces": null}', info(), info(None), info({"network": "a"}),
        info({"network": "a", "deviceInfo": {}}), info({"network": "a", "deviceInfo": None}),
        info(interface("a", "")), info(interface("a", None)),
        info({"network": "a", "deviceInfo": {"type": "vdpa", "vdpa": {"pci-address": "1"}}}),
    ],
)  # fmt: skip
def test_nothing_to_find(text):
    assert addresses_by_network(text) == {}


def test_a_network_without_a_name_is_named_by_the_empty_string():
    assert addresses_by_network(info(interface(None, "1"))) == {"": "1"}


def test_keys_match_without_case():
    text = '{"Interfaces":[{"NETWORK":"a","DeviceInfo":{"PCI":{"PCI-Address":"1"}}}]}'
    assert addresses_by_network(text) == {"a": "1"}


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "{bad", "[]", '"x"', '{"interfaces": "x"}', '{"interfaces": {}}', "{}x",
        info(5), info({"network": 5}), info({"mac": 5}), info({"deviceInfo": []}),
        info({"deviceInfo": {"type": 5}}), info({"deviceInfo": {"version": 5}}),
        info({"deviceInfo": {"vdpa": 5}}), info({"deviceInfo": {"pci": []}}),
        *(
            info({"deviceInfo": {"pci": {field: 5}}})
            for field in (
                "pci-address", "pf-pci-address", "vhost-net", "rdma-device", "representor-device",
            )
        ),
    ],
)  # fmt: skip
def test_what_is_not_network_info(text):
    with pytest.raises(NotJson):
        addresses_by_network(text)
