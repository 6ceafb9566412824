"""`passway drift` and `passway drain-impact`: what is not as it should be, and what would stop.

Owns the layout of both reports. Drift exits with 1 when there are findings, so that a job can
watch it; a drain's impact is information and exits with 0.
"""

import click

from passway.cli import words
from passway.cli.listing import counted_names
from passway.cli.options import Source, command, sourced
from passway.cli.output import Output, View, printing, show
from passway.cli.sources import answer, open_backend
from passway.cli.table import Column, Table
from passway.model.errors import EXIT_NO, EXIT_OK, EXIT_UNKNOWN
from passway.service.documents import DriftReport


@command(
    "drift",
    examples=("passway drift --demo", "passway drift --from dumps/ -o csv"),
)
@sourced
@printing()
def drift(source: Source, output: Output) -> int:
    """Where what nodes advertise, what is permitted and what VMs ask for differ.

    Exits with 0 if nothing was found, 1 if something was, 3 if it could not be told.
    """
    found = output.sorted(answer(open_backend(source).drift()))
    table = Table(
        (
            Column("SEVERITY", lambda item: item.severity),
            Column("REASON", lambda item: item.reason),
            Column("SUBJECT", words.place),
            Column("MESSAGE", lambda item: item.message),
            Column("REMEDY", lambda item: item.remedy, wide=True),
        ),
        found.issues,
    )
    text = words.messages(found.issues) or "no drift"
    names = [f"{item.reason}/{words.place(item)}" for item in found.issues]
    show(View(found, names, table=table, text=text), output)
    return _code(found)


def _code(found: DriftReport) -> int:
    severities = {item.severity for item in found.issues}
    if severities - {"unknown"}:
        return EXIT_NO
    return EXIT_UNKNOWN if severities else EXIT_OK


@command(
    "drain-impact",
    examples=("passway drain-impact gpu-a10-1 --demo",),
)
@click.argument("node")
@sourced
@printing()
def drain_impact(node: str, source: Source, output: Output) -> None:
    """What a drain of NODE does to each VM on it, and where there would be room for it."""
    found = output.sorted(answer(open_backend(source).drain_impact(node)))
    table = Table(
        (
            Column("NAMESPACE", lambda item: item.namespace),
            Column("NAME", lambda item: item.name),
            Column("EFFECT", lambda item: item.effect),
            Column("DEVICES", lambda item: counted_names(item.devices)),
            Column("EVICTION", lambda item: item.eviction_strategy),
            Column("ROOM", lambda item: words.listed(item.room, None if output.wide else 3)),
        ),
        found.items,
    )
    if not found.items:
        words.complain(f"no VM runs on {node}", severity="warning")
    names = [f"virtualmachine/{item.name}" for item in found.items]
    show(View(found, names, table=table if found.items else None), output)
