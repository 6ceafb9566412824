"""Display and boot framebuffer of a GPU: one decision over three states.

Owns the whole of it, since each level may be absent, empty or false, and absent never means false.
`ramFB: {}` reads as on, as the API documents it; KubeVirt itself crashes there on an mdev unless
its webhook has filled the field in.
Source: kubevirt pkg/virt-launcher/virtwrap/device/hostdevice/hostdev.go.
"""

from collections.abc import Iterable
from typing import Literal

from passway.kubevirt.hostdev_element import Shown
from passway.kubevirt.hostdev_spec import Display, Entry


def shown(
    display: Display | None, backing: Literal["pci", "mdev"], *, by_default: bool = False
) -> Shown:
    """What `virtualGPUOptions.display` means for a device of that backing.

    A PCI device shows only when told so; an mdev as soon as there is a display that is not off.
    `by_default` is for the mdev that shows when nobody says anything.
    """
    if display is None:
        return Shown(display=by_default, ram_fb=by_default)
    on = display.enabled is True if backing == "pci" else display.enabled is not False
    framebuffer = display.ram_fb is None or display.ram_fb.enabled is not False
    return Shown(display=on, ram_fb=on and framebuffer)


def shows_by_default(gpus: Iterable[Entry]) -> bool:
    """Whether the first mdev shows unasked: no GPU of the spec, however backed, has a display."""
    return all(gpu.display is None for gpu in gpus)
