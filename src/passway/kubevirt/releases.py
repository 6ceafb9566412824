"""Where KubeVirt's releases differ from what is modelled, row by row, and what is done about it.

The models follow kubevirt main of 2026-08-22 (d923fdb815cd), in which release 1.9.0 differs only
where a row says so. `decided` rows follow `status.observedKubeVirtVersion`; the others are what a
reader of an answer for such a release must know. Each row has a test of what happens here
(tests/unit/kubevirt/test_releases.py). Read, not run.
Sources: the enhancements (VEP) and pull requests named, featuregate/{active,inactive}.go.
"""

from dataclasses import dataclass
from typing import Final, Literal

Here = Literal["decided", "no", "main"]
"""`decided`: by the version. `no`: the answer there is a no as well. `main`: judged as by main."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs in `releases`."""

    name: str
    releases: str
    what: str
    here: Here


RELEASES: Final = (
    Difference(
        "gate states", "1.5 to 1.9",
        "a gate's state (Alpha, Beta, GA, Deprecated, Discontinued) changes with the release",
        "decided",
    ),
    Difference(
        "disabled list", "before 1.8",
        "there is no disabledFeatureGates list, and a Beta gate is off unless it is listed",
        "decided",
    ),
    Difference(
        "image volumes", "before 1.8",
        "containerDisks are containers of their own unless the gate ImageVolume (1.6) is listed",
        "decided",
    ),
    Difference(
        "network resources", "before 1.8",
        "virt-controller itself reads the network attachments and asks for their virtual functions",
        "decided",
    ),
    Difference(
        "claims of GPUs and host devices", "before 1.9",
        "they need their gates listed (Alpha since 1.6), and before 1.6 do not exist",
        "decided",
    ),
    Difference(
        "claims of networks", "before 1.9",
        "a network cannot name a claim (VEP 183)",
        "no",
    ),
    Difference(
        "Grace and IOMMUFD", "before 1.9",
        "neither gate exists; listing IOMMUFD asks for nothing",
        "decided",
    ),
    Difference(
        "persistent reservations", "before 1.9",
        "they need the gate PersistentReservation",
        "decided",
    ),
    Difference(
        "metadata of claims", "before 1.8",
        "the launcher takes claimed devices from the VMI's status, not from its files (VEP 10)",
        "main",
    ),
    Difference(
        "two ramFB: {} displays", "1.9.0",
        "they pass the door for VMs and are refused at the door for VMIs; main refuses at both",
        "no",
    ),
    Difference(
        "vGPUs of a vendor driver", "before 1.9",
        "virt-handler does not offer functions bound to the driver nvidia (pull request 16890)",
        "main",
    ),
    Difference(
        "memory of QEMU itself", "1.9.0",
        "30Mi of the overhead are QEMU's, where main counts 50Mi; what earlier releases count was "
        "not seen and is taken to be the same",
        "decided",
    ),
    Difference(
        "guest memory as a request", "older, release not known",
        "the guest's memory is written into the VMI as a request, so page tables of guest/512 "
        "count as overhead",
        "main",
    ),
)  # fmt: skip
