"""`passway what-if`: the same question on a changed cluster; nothing is changed.

Owns the options that make the changes, in the order in which they stand on the command line, and
the layout: what each change comes to, the answers before and after, and for a drain every VM that
would lose its node.
"""

from collections.abc import Iterator
from typing import Any, Final

import click

from passway.cli import verdict as verdicts
from passway.cli import words
from passway.cli.options import Source, Usage, command, in_order, manifests, namespaced, sourced
from passway.cli.output import Output, View, printing, show
from passway.cli.sources import answer, open_backend, read_manifest
from passway.cli.table import Column, Table
from passway.cluster import dump
from passway.cluster.records import Node
from passway.model.errors import EXIT_NO, EXIT_OK, EXIT_UNKNOWN, InvalidInput
from passway.plan.permit import permit_of
from passway.plan.what_if import AddNode, Allow, Drain, Fact, Stop
from passway.service.documents import (
    ComparisonDocument,
    MoveDocument,
    SuppositionDocument,
    WhatIfDocument,
)

_EFFECTS: Final = {
    "stops": "stops, and starts elsewhere if it finds a place",
    "migrates": "migrates, if it finds a place",
    "blocks": "refuses its eviction: the drain waits for ever",
    "external": "is evicted by somebody else's controller",
}
_TOGETHER: Final = {
    "yes": "all of them find a place together",
    "no": "each finds a place alone, but there is none for all of them together",
    "unknown": "each finds a place alone; whether all of them do together was not decided",
}
_CHANGES: Final = ("drain", "stop", "permit", "add_node")


@command(
    "what-if",
    examples=(
        "passway what-if --drain gpu-a10-1 --demo",
        "passway what-if --stop ml/train-1 -f examples/three-reasons.yaml --demo",
        "passway what-if --permit pci intel.com/QAT_4XXX_VF 8086:4941 -f vm.yaml",
        "passway what-if --drain gpu-a10-1 --add-node node.yaml -f vm.yaml --from dumps/",
    ),
)
@manifests
@click.option("--drain", multiple=True, metavar="NODE", help="NODE is cordoned and drained.")
@click.option("--stop", multiple=True, metavar="[NAMESPACE/]VM", help="VM stops.")
@click.option(
    "--permit",
    multiple=True,
    nargs=3,
    metavar="KIND RESOURCE SELECTOR",
    help="RESOURCE is permitted; KIND is pci, mediated or usb (selector VENDOR:PRODUCT).",
)
@click.option(
    "--add-node",
    multiple=True,
    metavar="FILE",
    type=click.Path(),
    help="A node comes: its manifest, YAML or JSON, as kubectl get node -o yaml prints one.",
)
@namespaced
@sourced
@printing()
@in_order(*_CHANGES)
def what_if(
    files: tuple[str, ...],
    namespace: str,
    source: Source,
    output: Output,
    ordered: list[tuple[str, Any]],
) -> int:
    """Would this VM get running, if a node were drained, a VM stopped, a device permitted?

    A drain also answers for every VM that it would move. Several changes are made in their order.
    Exits with 0 if everything finds a place, 1 if something does not, 3 if it cannot be told.
    """
    facts = [fact for name, value in ordered for fact in _facts(name, value, namespace)]
    if not facts:
        raise Usage("nothing to suppose", "--drain NODE, --stop VM, --permit … or --add-node FILE")
    if len(files) > 1:
        raise Usage("what-if takes one manifest", "-f FILE")
    if not files and not any(isinstance(fact, Drain) for fact in facts):
        raise Usage("nothing to ask about", "-f FILE names the VM; only --drain asks by itself")
    text, file = read_manifest(files[0]) if files else (None, "")
    found = answer(open_backend(source).what_if(facts, text, file, namespace=namespace))
    show(_view(found, output), output)
    return _code(found)


def _facts(name: str, value: Any, namespace: str) -> Iterator[Fact]:
    match name:
        case "drain":
            yield Drain(value)
        case "stop":
            place, slash, vm = value.partition("/")
            yield Stop((place, vm) if slash else (namespace, place))
        case "permit":
            kind, resource, selector = value
            if kind == "usb":
                vendor, _, product = selector.partition(":")
                yield Allow(permit_of(kind, resource, vendor=vendor, product=product))
            else:
                yield Allow(permit_of(kind, resource, selector=selector))
        case _:
            yield from _nodes(value)


def _nodes(name: str) -> Iterator[AddNode]:
    """The nodes of a file."""
    text, file = read_manifest(name)
    found = [AddNode(item) for _, item in dump.decode(text, file) if isinstance(item, Node)]
    if not found:
        raise InvalidInput(
            f"{file}: there is no Node in it", hint="kubectl get node NAME -o yaml prints one"
        )
    yield from found


# -- the answer -----------------------------------------------------------------------------------


def _code(found: WhatIfDocument) -> int:
    answers = {item.after.fits for item in found.asked} | {found.together or "yes"}
    blocked = any(item.effect == "blocks" for change in found.changes for item in change.impacts)
    if "no" in answers or blocked:
        return EXIT_NO
    return EXIT_UNKNOWN if "unknown" in answers else EXIT_OK


def _view(found: WhatIfDocument, output: Output) -> View:
    table = Table(
        (
            Column("NAMESPACE", lambda item: item.machine.namespace),
            Column("NAME", lambda item: item.machine.name),
            Column("FITS", lambda item: item.verdict.fits),
            Column("PLACES", lambda item: item.verdict.places),
            Column("NODE", lambda item: item.node),
        ),
        found.moved,
    )
    blocks = [
        "\n".join(line for change in found.changes for line in _change(change)),
        *(_compared(item) for item in found.asked),
        _moved(found, table, output),
    ]
    text = "\n\n".join(block for block in blocks if block)
    machines = [*(item.machine for item in found.asked), *(item.machine for item in found.moved)]
    names = [f"{machine.kind.lower()}/{machine.name}" for machine in machines]
    return View(found, names=names, table=table, text=text)


def _change(change: SuppositionDocument) -> Iterator[str]:
    words_of = {
        "drain": f"node {change.target} is drained",
        "stop": f"VM {change.target} stops",
        "permit": f"{change.target} is permitted",
        "add-node": f"node {change.target} comes",
    }
    same = "" if change.changed else " (nothing changes by that)"
    colon = ":" if change.impacts else ""
    yield words.visible(f"if {words_of[change.change]}{same}{colon}")
    for item in change.impacts:
        yield words.visible(f"  {item.namespace}/{item.name} {_EFFECTS[item.effect]}")
    if change.other_pods:
        pods = words.count(change.other_pods, "other pod")
        yield f"  evicted besides: {pods}, whose replacements go where nobody foresees"


def _compared(item: ComparisonDocument) -> str:
    lines = [
        f"before: {verdicts.headline(item.before)}",
        f"after:  {verdicts.headline(item.after)}",
    ]
    for title, issues in (("no longer in the way", item.resolved), ("new", item.added)):
        told = [issue for issue in issues if issue.severity != "warning"]
        if told:
            lines += [f"{title}:", words.messages(told)]
    left = [issue for issue in item.after.issues if issue.severity != "warning"]
    left = [issue for issue in left if issue not in item.added]
    if left:
        lines += ["still in the way:", words.messages(left)]
    return "\n".join(lines)


def _moved(found: WhatIfDocument, table: Table, output: Output) -> str:
    if not found.moved:
        return ""
    lines = [table.text(output.wide, output.headers)]
    lines += [_refused(item) for item in found.moved if item.verdict.fits != "yes"]
    each = all(item.verdict.fits == "yes" for item in found.moved)
    if each and len(found.moved) > 1:
        lines.append(_TOGETHER[found.together or "unknown"])
    return "\n\n".join(lines)


def _refused(item: MoveDocument) -> str:
    told = [issue for issue in item.verdict.issues if issue.severity != "warning"]
    return f"{verdicts.headline(item.verdict)}\n{words.messages(told)}"
