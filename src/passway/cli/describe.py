"""`passway describe`: all that is known of one node, VM or device, findings last.

Owns the layout (`Name:  value`, then lists). Findings are those of the drift report that speak of
the thing; nothing is judged here.
"""

from collections.abc import Iterable
from typing import Any, Final

import click
import msgspec

from passway.cli import listing, nouns, words
from passway.cli.nouns import DEVICES, NODES, VMS
from passway.cli.options import Source, Usage, command, namespaced, sourced
from passway.cli.output import Output, View, printing, show
from passway.cli.sources import answer, open_backend
from passway.service import documents as d
from passway.service.backend import Backend

Lines = list[tuple[str, object]]
DESCRIBED: Final = (NODES, VMS, DEVICES)


@command(
    "describe",
    examples=(
        "passway describe node gpu-a10-1 --demo",
        "passway describe vm notebook -n ml --demo",
        "passway describe device nvidia.com/GA102GL_A10 --demo",
    ),
)
@click.argument("what", nargs=-1, required=True, metavar="NOUN NAME", shell_complete=nouns.complete)
@namespaced
@sourced
@printing()
def describe(what: tuple[str, ...], namespace: str, source: Source, output: Output) -> None:
    """Everything about one node, VM or device."""
    word, name = nouns.split(what)
    noun = nouns.noun_of(word, DESCRIBED)
    if not name:
        raise Usage(f"which {noun.singular}?", f"passway get {noun.plural} lists them")
    backend = open_backend(source, namespaces=[namespace])
    if noun is NODES:
        document, text = answer(_node(backend, name))
    elif noun is VMS:
        document, text = answer(_machine(backend, name, namespace))
    else:
        document, text = answer(_device(backend, name))
    show(View(document, names=[f"{noun.singular}/{name}"], text=text), output)


async def _node(backend: Backend, name: str) -> tuple[Any, str]:
    found = await nouns.nodes(backend, name)
    unread = (await backend.inventory()).unread
    node = found.items[0]
    holders = [item for item in (await backend.machines()).items if item.node == name]
    findings = [item for item in (await backend.drift()).issues if name in item.nodes]
    counted = "pods" not in unread
    amounts = (*node.devices, *node.kubevirt_devices)
    text = _text(
        [
            ("Name", node.name),
            ("Status", listing.node_status(node)),
            ("Age", words.age(node.created, found.at or listing.now())),
            ("CPU manager", listing.answered(node.cpu_manager)),
            ("Free CPU", node.cpu_free if counted else words.UNKNOWN),
            ("Free memory", node.memory_free if counted else words.UNKNOWN),
        ],
        ("Taints", node.taints),
        ("Devices", [_amount(item, counted) for item in amounts]),
        ("Hugepages", [
            f"{page.page_size}: {page.free if counted else '?'} free of {page.allocatable}"
            for page in node.hugepages
        ]),
        ("VMs", [
            f"{item.namespace}/{item.name}: {listing.amounts_of(item.holds)}" for item in holders
        ]),
        findings=findings,
    )  # fmt: skip
    return found, text


def _amount(item: d.Amount, counted: bool) -> str:
    free = f"{item.free} free of {item.allocatable}" if counted else f"{item.allocatable}"
    lost = item.capacity - item.allocatable
    return f"{item.resource_name}: {free}" + (f", {lost} unhealthy" if lost > 0 else "")


async def _machine(backend: Backend, name: str, namespace: str) -> tuple[Any, str]:
    found = await nouns.machines(backend, namespace, name)
    item = found.items[0]
    findings = [
        issue
        for issue in (await backend.drift()).issues
        if issue.subject and (issue.subject.namespace, issue.subject.name) == (namespace, name)
    ]
    text = _text(
        [
            ("Name", item.name),
            ("Namespace", item.namespace),
            ("Status", item.status),
            ("Run strategy", item.run_strategy or words.NONE),
            ("Node", item.node or words.NONE),
            ("Age", words.age(item.created, found.at or listing.now())),
        ],
        ("Asks for", [f"{name} {item.devices.count(name)}" for name in sorted({*item.devices})]),
        ("Holds", [f"{name} {amount}" for name, amount in sorted(item.holds.items())]),
        findings=findings,
    )
    return found, text


async def _device(backend: Backend, name: str) -> tuple[Any, str]:
    whole = await backend.inventory()
    found = msgspec.structs.replace(whole, resources=nouns.named(DEVICES, whole.resources, name))
    item = found.resources[0]
    counted = "pods" not in found.unread
    findings = [issue for issue in (await backend.drift()).issues if f'"{name}"' in issue.message]
    text = _text(
        [
            ("Resource", item.resource_name),
            ("Kind", item.kind),
            ("Capacity", item.capacity),
            ("Advertised", item.advertised),
            ("Used", item.used if counted else words.UNKNOWN),
            ("Free", item.free if counted else words.UNKNOWN),
            ("Permitted", listing.answered(item.permitted)),
        ],
        ("Selectors", item.selectors),
        ("Nodes", [
            f"{node.name}: {_amount(amount, counted).partition(': ')[2]}"
            for node in found.nodes
            for amount in node.devices
            if amount.resource_name == name
        ]),
        ("Holders", item.holders),
        findings=findings,
    )  # fmt: skip
    return found, text


def _text(
    lines: Lines,
    *lists: tuple[str, Iterable[str]],
    findings: list[d.IssueDocument],
) -> str:
    width = max(len(name) for name, _ in (*lines, *lists)) + 3
    text = [f"{f'{name}:':{width}}{words.visible(str(value))}" for name, value in lines]
    for name, items in lists:
        safe = [words.visible(item) for item in items] or [words.NONE]
        text.append(f"{f'{name}:':{width}}{safe[0]}")
        text += [f"{'':{width}}{item}" for item in safe[1:]]
    if findings:
        text.append("Findings:")
        text += [f"  {line}" for item in findings for line in words.message(item).splitlines()]
    return "\n".join(text)
