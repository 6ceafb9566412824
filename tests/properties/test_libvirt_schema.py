"""Every element that is rendered is libvirt's: it passes the RELAX NG schema of Debian's package.

Two attributes are exceptions, since KubeVirt writes what that schema (libvirt 9.0) does not know:
the type of a PCI device's source address, which libvirt's parser passes over, and a display on a
PCI device, which only later versions know. Each has a test of its own, so that neither hides
another fault.
"""

import os
import re
from collections import Counter
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from lxml import etree
from tests.conformance import run
from tests.conformance.kinds.hostdevice_translation import BUILDERS
from tests.properties.devices import EACH, KINDS, machines
from tools import libvirt_schema

import passway
from passway.kubevirt.hostdev import Environment
from passway.kubevirt.hostdev_element import render
from passway.kubevirt.hostdev_errors import TranslationError
from passway.kubevirt.hostdev_spec import read_vmi

DOMAIN = (
    '<domain type="kvm"><name>a</name><memory unit="KiB">1024</memory><vcpu>1</vcpu>'
    "<os><type>hvm</type></os><devices>{}</devices></domain>"
)
# Vectors with values that KubeVirt passes on unchecked and libvirt refuses: case -> what is wrong.
UNCHECKED = {
    "gpu-pci-address-slot-over-1f": 'slot="0x3f"',
    "gpu-name-needs-xml-escaping": "a&amp;b&lt;c&gt;",
    "gpu-mdev-uuid-not-validated": 'uuid="not-a-uuid"',
    "gpu-mdev-uuid-xml-escaping": 'uuid="a&lt;b&gt;&amp;&quot;c"',
    "dra-gpu-mdev-not-validated": 'uuid="whatever"',
    "hd-usb-address-empty-parts": "<address />",
    "hd-usb-address-empty-bus": '<address device="4" />',
    "hd-usb-address-nonnumeric": 'bus="bus"',
    "hd-usb-address-spaces": 'bus="1 "',
    "hd-usb-address-escape": 'device="&lt;4&gt;"',
    "sriov-boot-order-zero": 'order="0"',
    "sriov-dra-boot-order-zero": 'order="0"',
    "random-1893": "<address />",
    "random-1921": "<address />",
}


class Schema:
    """The compiled schema, and what its own text knows of the two exceptions."""

    def __init__(self, path):
        self._compiled = etree.RelaxNG(file=str(path / libvirt_schema.DOMAIN))
        text = (path / "domaincommon.rng").read_text(encoding="utf-8")
        pci = re.search(r'<define name="hostdevsubsyspci">(.*?)</define>', text, re.DOTALL)[1]
        source = re.search(r'<element name="source">(.*)', pci, re.DOTALL)[1]
        self.knows_pci_display = 'name="display"' in pci
        self.knows_source_type = 'name="type"' in source

    def accepts(self, *elements):
        """Whether a domain with these devices is valid."""
        return self._compiled.validate(etree.fromstring(DOMAIN.format("".join(elements))))

    def refused(self, elements):
        """Those of the elements that are not valid, each looked at alone."""
        return [element for element in elements if not self.accepts(element)]


def compiled(place, in_ci):
    """The schema; without one CI fails and anybody else skips, told how to get it."""
    if place is None:
        (pytest.fail if in_ci else pytest.skip)(libvirt_schema.MISSING)
    return Schema(place)


@pytest.fixture(scope="session")
def schema():
    return compiled(libvirt_schema.folder(), os.environ.get("CI") == "true")


def untyped(xml):
    """The element without the type of a PCI source address."""
    element = ET.fromstring(xml)
    if element.get("type") == "pci":
        element.find("source/address").attrib.pop("type")
    return ET.tostring(element, encoding="unicode")


def undisplayed(xml):
    """The element without its display, and whether it had one."""
    element = ET.fromstring(xml)
    had = [element.attrib.pop(name, None) for name in ("display", "ramfb")]
    return ET.tostring(element, encoding="unicode"), had[0] is not None


def shows_on_pci(xml):
    element = ET.fromstring(xml)
    return element.get("type") == "pci" and element.get("display") is not None


def rendered(machine):
    return passway.render_hostdev_xml(machine.spec, **machine.around())


@given(machine=machines())
def test_every_element_of_the_six_kinds_is_valid(schema, machine):
    elements = rendered(machine)
    assert len(elements) == len(machine.kinds)
    found = [untyped(element) for element in elements]
    assert schema.refused(found) == []
    assert schema.accepts(*found)


def test_the_machines_hold_all_kinds_and_backings():
    seen = Counter()

    @given(machines())
    @settings(max_examples=200, derandomize=True, database=None)
    def collect(machine):
        for element in map(ET.fromstring, rendered(machine)):
            alias = element.find("alias").get("name").removeprefix("ua-")
            kind = next(one for one in machine.kinds if alias.endswith(f"-{one[2]}"))
            seen[(*kind[:2], element.get("type"))] += 1

    collect()
    types = {"PCI": "pci", "mdev": "mdev", "USB": "usb"}
    assert set(seen) == {(place, source, types[backing]) for place, source, backing in EACH}
    assert len(KINDS) == 6


@given(machine=machines(pci_display=True))
def test_a_display_on_pci_is_what_the_schema_may_not_know(schema, machine):
    elements = [untyped(element) for element in rendered(machine)]
    shown = [element for element in elements if shows_on_pci(element)]
    assert len(shown) == 1
    assert schema.refused(elements) == ([] if schema.knows_pci_display else shown)
    assert schema.accepts(*(undisplayed(element)[0] for element in elements))


def test_debian_12_refuses_a_display_on_pci(schema):
    gpu = {"name": "g", "deviceName": "x/a", "virtualGPUOptions": {"display": {"enabled": True}}}
    env = {"PCI_RESOURCE_X_A": "0000:65:00.0"}
    (element,) = passway.render_hostdev_xml({"domain": {"devices": {"gpus": [gpu]}}}, env=env)
    assert 'display="on" ramfb="on"' in element
    assert schema.accepts(untyped(element)) is schema.knows_pci_display
    assert schema.accepts(undisplayed(untyped(element))[0])


def test_the_schema_may_not_know_the_type_of_a_source_address(schema):
    gpu = {"name": "g", "deviceName": "x/a"}
    env = {"PCI_RESOURCE_X_A": "0000:65:00.0"}
    (element,) = passway.render_hostdev_xml({"domain": {"devices": {"gpus": [gpu]}}}, env=env)
    assert '<source><address type="pci" ' in element
    assert schema.accepts(element) is schema.knows_source_type
    assert schema.accepts(untyped(element))


def vectors():
    """(case, element) of everything that the committed vectors translate to, made by us."""
    for case in run.cases(run.HERE / "vectors" / "hostdevice-translation.jsonl.gz"):
        given_ = case["input"]
        vmi = read_vmi(given_["vmi"])
        around = Environment(given_["env"], given_["files"], given_["networkInfo"])
        for name in case["expected"]:
            try:
                made = BUILDERS[name](vmi, around)
            except TranslationError:
                continue
            yield from ((case["name"], render(device)) for device in made)


def test_the_vectors_are_valid_but_for_what_nobody_checks(schema):
    count, displays, unchecked = 0, 0, {}
    for case, element in vectors():
        count += 1
        if schema.accepts(untyped(element)):
            continue
        if case in UNCHECKED and UNCHECKED[case] in element:
            unchecked[case] = UNCHECKED[case]
        else:
            displays += 1
            assert shows_on_pci(element), (case, element)
            assert schema.accepts(untyped(undisplayed(element)[0])), (case, element)
    assert unchecked == UNCHECKED
    assert (displays > 0) is not schema.knows_pci_display
    assert count == 4545


GOOD = (
    '<hostdev type="pci" managed="no"><source>'
    '<address domain="0x0000" bus="0x65" slot="0x00" function="0x0"/></source>'
    '<boot order="1"/><alias name="ua-gpu-g"/></hostdev>'
)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('type="pci"', 'type="pcie"'),
        ('managed="no"', 'managed="maybe"'),
        ('managed="no"', 'manage="no"'),
        ('bus="0x65"', 'bus="0x165"'),
        ('function="0x0"', 'function="0x8"'),
        ('order="1"', 'order="0"'),
        ('name="ua-gpu-g"', 'name="ua-gpu-g!"'),
        ("<source>", "<source><x/>"),
        ("alias", "aliases"),
    ],
)
def test_a_broken_element_is_refused(schema, right, wrong):
    assert schema.accepts(GOOD)
    assert schema.refused([GOOD, broken := GOOD.replace(right, wrong)]) == [broken]


def test_without_a_schema_ci_fails_and_others_skip():
    with pytest.raises(pytest.fail.Exception, match="make libvirt-schema"):
        compiled(None, in_ci=True)
    with pytest.raises(pytest.skip.Exception, match="make libvirt-schema"):
        compiled(None, in_ci=False)
