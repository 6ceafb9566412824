"""The reasons about what a VM refers to: its instance type and its preference.

Told in the stage of admission, although KubeVirt takes a VM whose instance type or preference does
not exist: it is the VM controller that then never starts it.
"""

from typing import Final

from passway.model.reason import Reason

REFERENCES: Final = (
    Reason(
        "InstancetypeMissing",
        "The instance type does not exist",
        'there is no {kind} "{name}"; KubeVirt takes the VM, but never starts it',
        "Correct name and kind (the kind is VirtualMachineClusterInstancetype unless written), or "
        "create the instance type.",
        (("near", "; there is {near}"),),
    ),
    Reason(
        "PreferenceMissing",
        "The preference does not exist",
        'there is no {kind} "{name}"; KubeVirt takes the VM, but never starts it',
        "Correct name and kind (the kind is VirtualMachineClusterPreference unless written), or "
        "create the preference.",
        (("near", "; there is {near}"),),
    ),
    Reason(
        "MatcherInvalid",
        "A reference that KubeVirt cannot use",
        "{field} {problem}",
        "Name the object, or the volume whose labels name it.",
    ),
    Reason(
        "RevisionNotRead",
        "The VM takes an earlier revision",
        "{field} is taken as the ControllerRevision {revision} has it, which is not read",
        "Leave out revisionName to judge the VM with the object as it is now.",
    ),
    Reason(
        "InferenceFailed",
        "Nothing can be inferred from the volume",
        'no {field} can be inferred from the volume "{volume}": {problem}',
        "Name the object, label the volume's PersistentVolumeClaim with "
        "instancetype.kubevirt.io/default-{field}, or set inferFromVolumeFailurePolicy to Ignore.",
    ),
    Reason(
        "InferenceUndecided",
        "What the volume stands for is not read",
        'which {field} the volume "{volume}" stands for is up to {what}, which is not read',
        "Name the object to have it judged.",
    ),
    Reason(
        "InstancetypeConflict",
        "The VM sets what its instance type decides",
        'the VM sets {field}, which {kind} "{name}" decides',
        "Remove the field from the VM, or use another instance type.",
    ),
    Reason(
        "TopologyNotDivisible",
        "The vCPUs cannot be spread as the preference wants",
        '{kind} "{name}" gives {vcpus:vCPU}; the preference spreads them across {across} by a '
        "ratio of {ratio}, which does not divide them",
        "Use an instance type whose vCPUs divide by it, or another preference.",
    ),
    Reason(
        "PreferenceUnmet",
        "The VM has less than its preference requires",
        '{kind} "{name}" requires {resource} {wanted}; this VM has {given}',
        "Use a larger instance type or more in the VM itself, or another preference.",
        (("levels", ", counted by {levels}"),),
    ),
    Reason(
        "InstancetypeUnreadable",
        "An instance type or preference that is not understood",
        '{kind} "{name}" brings fields that no VM is known to have, so it was not applied',
        "Hand in the expanded VM (virtctl expand vm).",
    ),
)
