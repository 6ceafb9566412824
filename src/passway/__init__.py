"""Passway: why does this VM not get its device?

The package is a library, a command line and a REST service over one pure core:
text -> `manifest` -> `preflight` on a `cluster` snapshot -> verdict -> `plan` -> change.
Nothing is imported here, so that `passway --help` starts fast.
"""

__version__ = "0.1.0"
