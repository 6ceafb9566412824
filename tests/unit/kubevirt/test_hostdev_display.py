"""The display decision over every combination of absent, unset, off and on."""

import itertools

import pytest

from passway.kubevirt.hostdev_display import shown, shows_by_default
from passway.kubevirt.hostdev_spec import Display, Entry, Toggle, VirtualGpuOptions

STATES = (None, False, True)
FRAMEBUFFERS = (None, Toggle(None), Toggle(False), Toggle(True))

# (enabled, ramFB) -> (display, ramfb); `absent` is no ramFB, `{}` one without enabled.
MDEV = {
    (None, "absent"): (True, True),
    (None, "{}"): (True, True),
    (None, False): (True, False),
    (None, True): (True, True),
    (False, "absent"): (False, False),
    (False, "{}"): (False, False),
    (False, False): (False, False),
    (False, True): (False, False),
    (True, "absent"): (True, True),
    (True, "{}"): (True, True),
    (True, False): (True, False),
    (True, True): (True, True),
}
PCI = {key: value if key[0] is True else (False, False) for key, value in MDEV.items()}


def key(framebuffer):
    if framebuffer is None:
        return "absent"
    return "{}" if framebuffer.enabled is None else framebuffer.enabled


@pytest.mark.parametrize(("backing", "table"), [("mdev", MDEV), ("pci", PCI)])
@pytest.mark.parametrize("by_default", [False, True])
def test_the_truth_table(backing, table, by_default):
    seen = {
        (enabled, key(framebuffer)): shown(
            Display(enabled, framebuffer), backing, by_default=by_default
        )
        for enabled, framebuffer in itertools.product(STATES, FRAMEBUFFERS)
    }
    assert seen == table


def test_without_a_display_only_the_default_counts():
    assert shown(None, "mdev") == shown(None, "pci") == (False, False)
    assert shown(None, "mdev", by_default=True) == (True, True)


def test_the_default_needs_a_list_in_which_nobody_has_a_display():
    silent, optioned = Entry(), Entry(options=VirtualGpuOptions())
    assert shows_by_default([])
    assert shows_by_default([silent, optioned])
    off = Entry(options=VirtualGpuOptions(Display(enabled=False)))
    assert not shows_by_default([silent, off])
