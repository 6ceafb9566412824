"""Passway: why does this VM not get its device?

The package is a library, a command line and a REST service over one pure core:
text -> `manifest` -> `preflight` on a `cluster` snapshot -> verdict -> `plan` -> change.
Nothing is imported here, so that `passway --help` starts fast; the public functions load when they
are first asked for.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passway.kubevirt.hostdev import render_hostdev_xml
    from passway.kubevirt.hostdev_errors import TranslationError

__all__ = ["TranslationError", "__version__", "render_hostdev_xml"]
__version__ = "0.1.0"

_HOMES = {
    "render_hostdev_xml": "passway.kubevirt.hostdev",
    "TranslationError": "passway.kubevirt.hostdev_errors",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
