"""What a preference adds to a VMI spec: a field only where nothing set it yet.

Two fields are the exception, because KubeVirt cannot see whether a user set them: ACPI here and
`disableHotplug` among the devices are overwritten. Sources: kubevirt
pkg/instancetype/preference/apply/*.go (v1.9.0); the architecture is filled in by the mutating
webhook of VMs, the rest by every later step. Comes after the instance type. Works in place on a
plain VMI and shares what it copies: a value of the preference is never written to.
"""

from typing import Final

from passway.kubevirt.fields import Tree, at, entries, flag, mapping, present, text, texts
from passway.kubevirt.overlay import Spec, fill, section
from passway.kubevirt.preference_devices import apply_device_preferences

_PLAIN: Final = {
    ("preferredSubdomain",): ("subdomain",),
    ("preferredArchitecture",): ("architecture",),
    ("preferredTerminationGracePeriodSeconds",): ("terminationGracePeriodSeconds",),
    ("preferredLaunchSecurity",): ("domain", "launchSecurity"),
    ("machine", "preferredMachineType"): ("domain", "machine", "type"),
    ("clock", "preferredTimer"): ("domain", "clock", "timer"),
    ("features", "preferredApic"): ("domain", "features", "apic"),
    ("features", "preferredKvm"): ("domain", "features", "kvm"),
    ("features", "preferredPvspinlock"): ("domain", "features", "pvspinlock"),
    ("features", "preferredSmm"): ("domain", "features", "smm"),
}
"""Where the preference has it -> where the VMI spec does."""
_CLOCK: Final = ("utc", "timezone")


def apply_preference(vmi: Spec, preference: Tree) -> None:
    """Fills in what the VMI leaves open."""
    spec = vmi["spec"]
    for source, target in _PLAIN.items():
        fill(spec, target, at(preference, *source))
    _cpu_features(spec, preference)
    apply_device_preferences(spec, mapping(preference, "devices"))
    _acpi(spec, preference)
    _hyperv(spec, preference)
    if present(preference, "firmware"):
        _boot_loader(section(spec, "domain", "firmware", "bootloader"), preference)
    _clock_offset(spec, preference)
    own = section(vmi, "metadata", "annotations")
    for key, value in texts(preference, "annotations").items():
        own.setdefault(key, value)


def _cpu_features(spec: Spec, preference: Tree) -> None:
    wanted = entries(preference, "cpu", "preferredCPUFeatures")
    own = entries(spec, "domain", "cpu", "features")
    named = {text(feature, "name") for feature in own}
    missing = [feature for feature in wanted if text(feature, "name") not in named]
    if missing:
        section(spec, "domain", "cpu")["features"] = [*own, *missing]


def _acpi(spec: Spec, preference: Tree) -> None:
    if present(preference, "features", "preferredAcpi"):
        wanted = at(preference, "features", "preferredAcpi")
        section(spec, "domain", "features")["acpi"] = wanted


def _hyperv(spec: Spec, preference: Tree) -> None:
    """One by one, unless the VM takes all that the host has."""
    wanted = at(preference, "features", "preferredHyperv")
    if wanted is None or flag(spec, "domain", "features", "hypervPassthrough", "enabled"):
        return
    own = section(spec, "domain", "features", "hyperv")
    for feature, state in mapping(wanted).items():
        fill(own, (feature,), state)


def _boot_loader(loader: Spec, preference: Tree) -> None:
    """BIOS or EFI, where the VM says neither; the deprecated flags come last."""
    firmware = mapping(preference, "firmware")

    def is_open() -> bool:
        return not present(loader, "bios") and not present(loader, "efi")

    if flag(firmware, "preferredUseBios") and is_open():
        loader["bios"] = {}
    if present(loader, "bios"):
        fill(loader, ("bios", "useSerial"), flag(firmware, "preferredUseBiosSerial"))
    if is_open() and present(firmware, "preferredEfi"):
        loader["efi"] = firmware["preferredEfi"]
        return
    if flag(firmware, "preferredUseEfi") and is_open():
        loader["efi"] = {}
    if present(loader, "efi"):
        fill(loader, ("efi", "secureBoot"), flag(firmware, "preferredUseSecureBoot"))


def _clock_offset(spec: Spec, preference: Tree) -> None:
    """As a whole, so that the VM's own offset is never mixed with the preferred one."""
    wanted = mapping(preference, "clock", "preferredClockOffset")
    if any(present(spec, "domain", "clock", key) for key in _CLOCK):
        return
    for key in _CLOCK:
        fill(spec, ("domain", "clock", key), wanted.get(key))
