"""`passway create vm`: a VirtualMachine from flags, written only after its preflight.

`--dry-run=client` prints the object and asks nobody, so it needs no source; `--dry-run=server` runs
the preflight and writes nothing. A preflight that says no refuses the creation.
"""

from pathlib import Path
from typing import Any, Final

import click
import msgspec

from passway.cli import words
from passway.cli.failures import without_places
from passway.cli.lazy import ExampleGroup
from passway.cli.machine import MachineFlags, flagged
from passway.cli.options import command, dry_run, namespaced, source_of, source_options
from passway.cli.output import Output, View, as_yaml, printing, show
from passway.cli.sources import answer, open_backend
from passway.model.errors import InvalidInput, PasswayError
from passway.plan.disks import CloudInit, DiskRequest, Kind
from passway.plan.machine import InterfaceRequest
from passway.service.documents import MachineCreated

FILE: Final = click.Path(path_type=Path, dir_okay=False)
MAX_BYTES: Final = 64 * 1024


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
        "passway create vm train-3 --data-volume train-3-root --ssh-key ~/.ssh/id_ed25519.pub",
    ),
)
@click.argument("name")
@click.option("--image", default="", help="Container disk image to boot.")
@click.option("--pvc", "claims", multiple=True, metavar="NAME", help="Disk on this claim.")
@click.option("--data-volume", "volumes", multiple=True, metavar="NAME", help="Disk on it.")
@click.option("--bridge", "bridges", multiple=True, metavar="NETWORK", help="One more interface.")
@click.option("--user-data", type=FILE, help="For cloud-init.")
@click.option("--ssh-key", "keys", multiple=True, type=FILE, help="Public key, by cloud-init.")
@click.option("--run-strategy", default="Always", show_default=True, metavar="WORD")
@click.option("--eviction-strategy", metavar="WORD", help="What a drain does.")
@flagged
@namespaced
@dry_run
@source_options
@printing()
def vm(
    name: str,
    image: str,
    claims: tuple[str, ...],
    volumes: tuple[str, ...],
    bridges: tuple[str, ...],
    user_data: Path | None,
    keys: tuple[Path, ...],
    run_strategy: str,
    eviction_strategy: str | None,
    flags: MachineFlags,
    namespace: str,
    dry_run: str,
    output: Output,
    **given: Any,
) -> None:
    """Create the VirtualMachine NAME. What it boots: the image, else the first disk."""
    machine = flags.machine(
        name,
        namespace,
        image=image,
        disks=(
            *_disks("data_volume", "volume", volumes),
            *_disks("persistent_volume_claim", "claim", claims),
        ),
        interfaces=tuple(
            InterfaceRequest(f"bridge{index}", network, None, "bridge")
            for index, network in enumerate(bridges, 1)
        ),
        cloud_init=CloudInit(
            None if user_data is None else _text_of(user_data),
            tuple(_text_of(path).strip() for path in keys),
        ),
        run_strategy=run_strategy,
        eviction_strategy=eviction_strategy,
        boots=True,
    )
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


def _disks(kind: Kind, word: str, sources: tuple[str, ...]) -> list[DiskRequest]:
    """Named by their number: volume1, volume2."""
    return [DiskRequest(f"{word}{n}", kind, source) for n, source in enumerate(sources, 1)]


def _text_of(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(MAX_BYTES + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path}: {error}", hint="name a text file that can be read") from None
    if len(text) > MAX_BYTES:
        raise InvalidInput(f"{path}: more than {MAX_BYTES} bytes", hint="use a Secret for it")
    return text


def _text(resource: str, made: MachineCreated) -> str:
    return words.visible(f"{resource} created") + (" (server dry run)" if made.dry_run else "")


create.add_command(vm)
