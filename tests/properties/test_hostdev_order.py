"""What the order of a machine's entries may change in its devices, and what it must not."""

import json
from copy import deepcopy
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties.devices import machines

import passway

LISTS = ("gpus", "hostDevices", "interfaces")


def elements(machine):
    """(list, source, name) of each device, and its element, in the launcher's order."""
    found = []
    for text in passway.render_hostdev_xml(machine.spec, **machine.around()):
        element = ET.fromstring(text)
        alias = element.find("alias").get("name")
        kind = next(one for one in machine.kinds if alias.endswith(f"-{one[2]}"))
        found.append((kind, element))
    return found


def text(element):
    return ET.tostring(element, encoding="unicode")


def shuffled(machine, place, random):
    """A copy with one list in another order."""
    copy = deepcopy(machine)
    random.shuffle(copy.spec["domain"]["devices"][place])
    return copy


def undisplayed(element):
    """The element's text but for the display, which the first mdev may get unasked."""
    for name in ("display", "ramfb"):
        element.attrib.pop(name, None)
    return text(element)


@pytest.mark.parametrize("place", LISTS)
@given(machine=machines(), random=st.randoms())
def test_the_order_of_a_list_changes_nothing_in_the_others(place, machine, random):
    def others(one):
        return [(kind, text(element)) for kind, element in elements(one) if kind[0] != place]

    assert others(shuffled(machine, place, random)) == others(machine)


@pytest.mark.parametrize("place", LISTS)
@given(machine=machines(), random=st.randoms())
def test_a_claim_or_a_network_gives_the_same_device_in_any_order(place, machine, random):
    def own(one):
        return {
            kind: undisplayed(element) for kind, element in elements(one) if kind[1] != "plugin"
        }

    assert own(shuffled(machine, place, random)) == own(machine)


@pytest.mark.parametrize("place", LISTS[:2])
@given(machine=machines(), random=st.randoms())
def test_a_resource_gives_the_same_addresses_in_any_order(place, machine, random):
    resources = {
        entry["name"]: entry.get("deviceName") for entry in machine.spec["domain"]["devices"][place]
    }

    def given_out(one):
        return sorted(
            (resources[name], element.get("type"), text(element.find("source")))
            for (where, source, name), element in elements(one)
            if (where, source) == (place, "plugin")
        )

    assert given_out(shuffled(machine, place, random)) == given_out(machine)


@given(machine=machines(), random=st.randoms())
def test_equal_devices_come_in_the_order_of_their_entries(machine, random):
    for place in LISTS:
        machine = shuffled(machine, place, random)
    listed = {
        entry["name"]: index
        for place in LISTS
        for index, entry in enumerate(machine.spec["domain"]["devices"][place])
    }
    groups = {}
    for (place, source, name), element in elements(machine):
        # Plugins' devices come by kind first, those of claims and networks as they are listed.
        kind = element.get("type") if source == "plugin" else ""
        groups.setdefault((place, source, kind), []).append(listed[name])
    assert all(order == sorted(order) for order in groups.values())


@given(machine=machines(), random=st.randoms())
def test_the_order_of_what_is_looked_up_by_name_changes_nothing(machine, random):
    before = [text(element) for _, element in elements(machine)]
    random.shuffle(machine.spec["networks"])
    if machine.network_info is not None:
        info = json.loads(machine.network_info)
        random.shuffle(info["interfaces"])
        machine.network_info = json.dumps(info)
    assert [text(element) for _, element in elements(machine)] == before
