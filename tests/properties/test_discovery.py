"""Laws of discovery, whatever a tree and a list hold."""

from hypothesis import given
from hypothesis import strategies as st

from passway.host.tree import Directory, HostTree, Link, Text
from passway.kubevirt.discovery import discover
from passway.kubevirt.permitted import KUBEVIRT, permits_in

WORDS = [
    "sys", "bus", "dev", "pci", "mdev", "usb", "devices", "vfio", "a", "b", "uevent", "driver",
    "iommu_group", "numa_node", "mdev_type", "mdev_supported_types", "name", "idVendor", "nvidia",
    "current_vgpu_type", "vfio-dev", "..", ".", "", "é",
]  # fmt: skip
BASES = ["", "sys/bus/pci/devices/", "sys/bus/mdev/devices/", "sys/bus/usb/devices/", "dev/vfio/"]
parts = st.lists(st.sampled_from(WORDS), max_size=4).map("/".join)
paths = st.builds(str.__add__, st.sampled_from(BASES), parts)
texts = st.sampled_from([
    "PCI_ID=1:2\n", "PRODUCT=1/2/3\nBUSNUM=1\nDEVNUM=2\n", "PRODUCT=", "0\n", "a b\n", "",
]) | st.text(max_size=9)  # fmt: skip
links = st.one_of(paths, paths.map("/".__add__), parts, st.sampled_from(["x/vfio-pci", "x/nvidia"]))
entries = st.one_of(texts.map(Text), links.map(Link), st.just(Directory()))
trees = st.dictionaries(paths, entries, max_size=20).map(HostTree)
names = st.sampled_from(["n.com/a", "n.com/b", "plain", ""])
lists = st.fixed_dictionaries({}, optional={
    "pciHostDevices": st.lists(st.fixed_dictionaries({
        "resourceName": names,
        "pciVendorSelector": st.sampled_from(["1:2", ""]) | st.text(max_size=3),
    }), max_size=3),
    "mediatedDevices": st.lists(st.fixed_dictionaries({
        "resourceName": names, "mdevNameSelector": st.sampled_from(["a b", "a", ""]),
    }), max_size=3),
    "usb": st.lists(st.fixed_dictionaries({
        "resourceName": names,
        "selectors": st.lists(st.fixed_dictionaries({
            "vendor": st.sampled_from(["1", "x"]), "product": st.just("2"),
        }), max_size=2),
    }), max_size=3),
})  # fmt: skip


@given(trees, lists)
def test_no_tree_and_no_list_break_it(tree, permitted):
    permits = permits_in(permitted, KUBEVIRT)
    found = discover(tree, permits)
    assert found == discover(tree, permits)
    permitted_names = {permit.resource_name for permit in permits}
    for plugin in found.plugins:
        assert plugin.devices
        assert plugin.resource_name in permitted_names
        assert len(plugin.ids) <= len(plugin.devices)


@given(trees, paths)
def test_every_question_has_an_answer(tree, path):
    assert tree.exists(path) or tree.text(path) is None
    assert list(tree.names(path)) == sorted(tree.names(path))
    for found in tree.walk(path):
        assert found.is_link == (tree.link(found.path) is not None)
        assert not found.is_directory or tree.exists(found.path)
