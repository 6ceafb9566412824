"""The flags that describe a VM without a manifest, and the VirtualMachine they become.

Owns the grammar of the flags (`--gpu RESOURCE=N`, `--memory 16Gi`) and the names that devices get;
what is allowed is judged by `plan.machine` and by the stages, as for any other VM.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, TypeVar

import click

from passway.cli.options import Usage
from passway.model.devices import DeviceKind
from passway.model.quantity import InvalidQuantity, parse_quantity
from passway.plan.machine import (
    MAX_DEVICES,
    DeviceRequest,
    InterfaceRequest,
    MachineRequest,
    plan_machine,
)

F = TypeVar("F", bound=Callable[..., Any])

MIB: Final = 2**20
DEFAULT_MEMORY: Final = "1Gi"

_OPTIONS: Final = (
    click.option("--gpu", "gpus", multiple=True, metavar="RESOURCE[=N]", help="GPUs; repeatable."),
    click.option(
        "--host-device", "host_devices", multiple=True, metavar="RESOURCE[=N]",
        help="Other devices; repeatable.",
    ),
    click.option(
        "--sriov", "networks", multiple=True, metavar="NETWORK",
        help="SR-IOV interface on this network attachment; repeatable.",
    ),
    click.option("--cpus", type=int, help="Cores.  [default: 1]"),
    click.option("--memory", metavar="QUANTITY", help="Guest memory.  [default: 1Gi]"),
    click.option("--hugepages", metavar="SIZE", help="Back the memory by pages of 2Mi or 1Gi."),
    click.option("--dedicated-cpus", is_flag=True, help="Pin the CPUs."),
    click.option("--numa", is_flag=True, help="Show the host's NUMA layout to the guest."),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MachineFlags:
    """The flags as they were given."""

    gpus: tuple[str, ...] = ()
    host_devices: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    cpus: int | None = None
    memory: str | None = None
    hugepages: str | None = None
    dedicated_cpus: bool = False
    numa: bool = False

    @property
    def given(self) -> bool:
        return self != MachineFlags()

    def machine(self, name: str, namespace: str, **more: Any) -> dict[str, Any]:
        """The VirtualMachine, with `more` of its request; raises InvalidInput or a usage error."""
        interfaces = more.pop("interfaces", ())
        return plan_machine(
            MachineRequest(
                **more,
                name=name,
                namespace=namespace,
                cpus=1 if self.cpus is None else self.cpus,
                memory_mib=_mebibytes(self.memory or DEFAULT_MEMORY),
                devices=(
                    *_devices("--gpu", "gpu", self.gpus),
                    *_devices("--host-device", "host-device", self.host_devices),
                ),
                interfaces=(
                    *(
                        InterfaceRequest(f"sriov{index}", network)
                        for index, network in enumerate(self.networks, 1)
                    ),
                    *interfaces,
                ),
                dedicated_cpus=self.dedicated_cpus,
                hugepages=self.hugepages,
                numa_passthrough=self.numa,
            )
        )


def flagged(function: F) -> F:
    """Adds the flags; the command receives one `flags`."""

    @wraps(function)
    def wrapped(**given: Any) -> Any:
        fields = {name: given.pop(name) for name in MachineFlags.__dataclass_fields__}
        return function(flags=MachineFlags(**fields), **given)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[return-value] # takes what click passes, as F does


def _devices(flag: str, kind: DeviceKind, given: tuple[str, ...]) -> list[DeviceRequest]:
    """One request a unit, named by its number: gpu1, gpu2."""
    resources: list[str] = []
    for text in given:
        resource, equals, number = text.partition("=")
        if equals and not (number.isascii() and number.isdigit() and 0 < len(number) < 5):
            raise Usage(f"{flag} {text[:80]!r}: write RESOURCE=N, with N from 1 to {MAX_DEVICES}")
        units = int(number) if equals else 1
        if not 1 <= units <= MAX_DEVICES:
            raise Usage(f"{flag} {text[:80]!r}: a VM may ask for 1 to {MAX_DEVICES} devices")
        resources += [resource] * units
    word = kind.replace("-", "")
    return [
        DeviceRequest(f"{word}{index}", resource, kind)
        for index, resource in enumerate(resources, 1)
    ]


def _mebibytes(text: str) -> int:
    try:
        amount = parse_quantity(text)
    except InvalidQuantity as error:
        raise Usage(f"--memory: {error}") from None
    whole, rest = divmod(amount.value, MIB)
    if rest:
        raise Usage(f"--memory: {text[:40]} is no whole number of MiB; write it as 512Mi or 16Gi")
    return whole
