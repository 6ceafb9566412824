"""`passway create vm`: a VirtualMachine from flags, written only after its preflight.

`--dry-run=client` prints the object and asks nobody, so it needs no source; `--dry-run=server` runs
the preflight and writes nothing. A preflight that says no refuses the creation.
"""

from typing import Any

import click
import msgspec

from passway.cli import words
from passway.cli.failures import without_places
from passway.cli.lazy import ExampleGroup
from passway.cli.machine import MachineFlags, flagged
from passway.cli.options import command, dry_run, namespaced, source_of, source_options
from passway.cli.output import Output, View, as_yaml, printing, show
from passway.cli.sources import answer, open_backend
from passway.model.errors import PasswayError
from passway.service.documents import MachineCreated


@click.group(
    "create",
    cls=ExampleGroup,
    examples=(
        "passway create vm train-3 --image IMAGE --gpu nvidia.com/GA102GL_A10 --dry-run -o yaml",
    ),
)
def create() -> None:
    """Create objects."""


@command(
    "vm",
    examples=(
        "passway create vm train-3 --image IMAGE --gpu nvidia.com/GA102GL_A10 --dry-run -o yaml",
        "passway create vm train-3 -n ml --image IMAGE --gpu nvidia.com/GA102GL_A10=2 --server URL",
    ),
)
@click.argument("name")
@click.option("--image", required=True, help="Container disk image to boot.")
@flagged
@namespaced
@dry_run
@source_options
@printing()
def vm(
    name: str,
    image: str,
    flags: MachineFlags,
    namespace: str,
    dry_run: str,
    output: Output,
    **given: Any,
) -> None:
    """Create the VirtualMachine NAME."""
    machine = flags.machine(name, namespace, image)
    resource = f"virtualmachine.kubevirt.io/{name}"
    if dry_run == "client":
        show(View(machine, [resource], text=as_yaml(machine)), output)
        return
    backend = open_backend(source_of(given), namespaces=[namespace])
    try:
        made = answer(backend.create(machine, dry_run=dry_run == "server"))
    except PasswayError as error:
        raise without_places(error) from None
    for issue in made.issues:
        placeless = msgspec.structs.replace(issue, file=None, line=None, column=None)
        click.echo(words.message(placeless), err=True)
    show(View(made, [resource], text=_text(resource, made)), output)


def _text(resource: str, made: MachineCreated) -> str:
    return words.visible(f"{resource} created") + (" (server dry run)" if made.dry_run else "")


create.add_command(vm)
