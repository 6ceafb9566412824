"""`passway permit` and `passway unpermit`: changes of the permitted list, shown before they happen.

Owns the conversation: plan, diff, consequences, question, write. It is held on stderr, so that
stdout has only the result. Without a terminal nobody can be asked, so the word must come with the
command (`--yes`). What a change means, and whether it may be made, is the backend's.
"""

import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, TypeVar

import click

from passway.cli import words
from passway.cli.lazy import ExampleGroup
from passway.cli.options import Source, Usage, command, confirmable, dry_run, sourced
from passway.cli.output import Output, View, printing, show
from passway.cli.sources import answer, open_backend
from passway.kubevirt.permitted import Permit
from passway.plan.permit import permit_of
from passway.service.documents import MachineRef, PermitChange

F = TypeVar("F", bound=Callable[..., Any])
Ask = Callable[[bool, bool], Coroutine[Any, Any, PermitChange]]
"""(dry_run, confirm) -> the change."""

MACHINES_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class Consent:
    """How far to go without asking."""

    yes: bool
    dry_run: bool


def consenting(function: F) -> F:
    """Adds --yes and --dry-run; the command receives one `consent`."""

    @wraps(function)
    def wrapped(**given: Any) -> Any:
        consent = Consent(given.pop("yes"), given.pop("dry_run") != "none")
        return function(consent=consent, **given)

    return confirmable(dry_run(wrapped))  # type: ignore[return-value] # takes what click passes


# -- the conversation -----------------------------------------------------------------------------


def change(ask: Ask, source: Source, consent: Consent, output: Output) -> None:
    """Plans, shows, asks, writes; prints the result."""
    if not (consent.dry_run or consent.yes or sys.stdin.isatty()):
        raise Usage(
            "nobody can be asked here: stdin is not a terminal",
            "--yes makes the change, --dry-run only shows it",
        )
    # Files and the sample say by themselves that they cannot be changed.
    plan = answer(ask(consent.dry_run or source.live, False))
    if consent.dry_run or not plan.changed:
        _show(plan, output, dry_run=consent.dry_run)
        return
    if not consent.yes:
        click.echo(_explained(plan), err=True)
        click.confirm("Make this change?", abort=True, err=True)
    _show(answer(ask(False, True)), output, dry_run=False)


def _show(found: PermitChange, output: Output, *, dry_run: bool) -> None:
    target = words.machine(found.target)
    done = "changed" if found.applied else "would be changed" if found.changed else "unchanged"
    last = words.visible(f"{target}: {done}") + (" (dry run)" if dry_run else "")
    text = "\n".join(part for part in (_explained(found), last) if part)
    show(View(found, [f"{found.target.kind.lower()}/{found.target.name}"], text=text), output)


def _explained(found: PermitChange) -> str:
    """The diff and what follows from it."""
    lines = [_coloured(words.visible(line)) for line in found.diff.splitlines()]
    if found.changed and found.enforcement:
        lines.append(
            f"{words.word('warning')}: this list is the first: from now on KubeVirt refuses every "
            "device that is not in it"
        )
    if found.refused:
        lines.append(f"{words.word('warning')}: refused at next start: {_machines(found.refused)}")
    if found.in_use:
        lines.append(f"{words.word('warning')}: in use by {_machines(found.in_use)}")
    return "\n".join(lines)


def _machines(refs: tuple[MachineRef, ...]) -> str:
    names = [f"{ref.namespace}/{ref.name}" for ref in refs[:MACHINES_SHOWN]]
    more = f" and {len(refs) - MACHINES_SHOWN} more" if len(refs) > MACHINES_SHOWN else ""
    return words.visible(", ".join(names)) + more


def _coloured(line: str) -> str:
    colour = {"+": "green", "-": "red"}.get(line[:1])
    return click.style(line, fg=colour) if colour else line


# -- the commands ---------------------------------------------------------------------------------

_resource = click.argument("resource")
_selector = click.option("--selector", required=True, metavar="SELECTOR")
_external = click.option("--external", is_flag=True, help="Another device plugin advertises it.")


@click.group(
    "permit",
    cls=ExampleGroup,
    examples=(
        "passway permit pci nvidia.com/A10 --selector 10DE:2236 --external",
        'passway permit mediated nvidia.com/T4_1Q --selector "GRID T4-1Q"',
        "passway permit usb example.com/token --vendor 046d --product c52b --dry-run",
    ),
)
def permit() -> None:
    """Permit a device for VMs: shows the difference, asks, and changes the list."""


def _permit(entry: Permit, source: Source, consent: Consent, output: Output) -> None:
    backend = open_backend(source)
    change(
        lambda dry, confirm: backend.permit(entry, dry_run=dry, confirm=confirm),
        source, consent, output,
    )  # fmt: skip


@command(
    "pci",
    examples=(
        "passway permit pci nvidia.com/A10 --selector 10DE:2236 --external",
        "passway permit pci nvidia.com/A10 --selector 10DE:2236 --dry-run --demo",
    ),
)
@_resource
@_selector
@_external
@consenting
@sourced
@printing()
def pci(
    resource: str, selector: str, external: bool, source: Source, consent: Consent, output: Output
) -> None:
    """Permit the PCI devices of one vendor and device id under the name RESOURCE."""
    entry = permit_of("pci", resource, selector=selector, external=external)
    _permit(entry, source, consent, output)


@command(
    "mediated",
    examples=('passway permit mediated nvidia.com/T4_1Q --selector "GRID T4-1Q"',),
)
@_resource
@_selector
@_external
@consenting
@sourced
@printing()
def mediated(
    resource: str, selector: str, external: bool, source: Source, consent: Consent, output: Output
) -> None:
    """Permit the mediated devices (vGPU) of one type, by the type's name, as RESOURCE."""
    entry = permit_of("mediated", resource, selector=selector, external=external)
    _permit(entry, source, consent, output)


@command(
    "usb",
    examples=("passway permit usb example.com/token --vendor 046d --product c52b",),
)
@_resource
@click.option("--vendor", required=True, metavar="ID")
@click.option("--product", required=True, metavar="ID")
@_external
@consenting
@sourced
@printing()
def usb(
    resource: str,
    vendor: str,
    product: str,
    external: bool,
    source: Source,
    consent: Consent,
    output: Output,
) -> None:
    """Permit the USB devices of one vendor and product as RESOURCE."""
    entry = permit_of("usb", resource, vendor=vendor, product=product, external=external)
    _permit(entry, source, consent, output)


for _command in (pci, mediated, usb):
    permit.add_command(_command)


@command(
    "unpermit",
    examples=(
        "passway unpermit nvidia.com/GP104GL_TESLA_P4",
        "passway unpermit nvidia.com/A10 --selector 10DE:2236 --dry-run --demo",
    ),
)
@_resource
@click.option("--selector", metavar="SELECTOR", help="Only the entry with this selector.")
@click.option("--force", is_flag=True, help="Even if running VMs hold the device.")
@consenting
@sourced
@printing()
def unpermit(
    resource: str,
    selector: str | None,
    force: bool,
    source: Source,
    consent: Consent,
    output: Output,
) -> None:
    """Remove the permission of RESOURCE; refuses while running VMs hold it, unless --force."""
    backend = open_backend(source)
    change(
        lambda dry, confirm: backend.unpermit(
            resource, selector=selector, dry_run=dry, confirm=confirm, force=force
        ),
        source, consent, output,
    )  # fmt: skip
