"""`passway fit`: how many more of one VM fit, on which nodes, and what runs out first.

Owns the layout; the numbers are the backend's. When the VM is refused at all, the findings of its
preflight follow.
"""

import click

from passway.cli import verdict as verdicts
from passway.cli import words
from passway.cli.options import Source, Usage, command, manifests, namespaced, sourced
from passway.cli.output import Output, View, printing, show
from passway.cli.sources import answer, namespaces_of, open_backend, read_manifest
from passway.cli.table import Column, Table
from passway.model.errors import EXIT_NO
from passway.service.documents import FitDocument


@command(
    "fit",
    examples=("passway fit -f vm.yaml --demo", "passway fit -f vm.yaml --from dumps/ -o json"),
)
@manifests
@namespaced
@sourced
@printing()
def fit(files: tuple[str, ...], namespace: str, source: Source, output: Output) -> int:
    """How many more of this VM fit now, on which nodes, and what ends it.

    Exits with 0 if one more fits, 1 if not, 3 if it cannot be told.
    """
    if len(files) != 1:
        raise Usage("fit takes one manifest", "-f FILE")
    text, file = read_manifest(files[0])
    backend = open_backend(source, namespaces=namespaces_of([(text, file)], namespace))
    found = output.sorted(answer(backend.fit(text, file, namespace=namespace)))
    table = Table(
        (
            Column("NODE", lambda node: node.name),
            Column("PLACES", lambda node: node.places),
        ),
        found.nodes,
    )
    show(
        View(
            found,
            names=[f"node/{node.name}" for node in found.nodes],
            table=table,
            text=_text(found, table, output),
        ),
        output,
    )
    code = verdicts.exit_code([found.verdict], strict=False)
    return code if found.places or code else EXIT_NO


def _text(found: FitDocument, table: Table, output: Output) -> str:
    subject = words.visible(words.machine(found.machine))
    number = click.style(str(found.places), bold=True)
    blocks = [f"{subject}: {number} more fit{'s' if found.places == 1 else ''}"]
    if found.by_quota is not None:
        blocks[0] += f" (nodes take {found.by_nodes}, quota allows {found.by_quota})"
    if found.verdict.fits != "yes":
        blocks.append(words.messages(found.verdict.issues))
    if found.nodes:
        blocks.append(table.text(output.wide, output.headers))
    if found.limits:
        blocks.append("\n".join(words.visible(line) for line in _limits(found)))
    return "\n\n".join(blocks)


def _limits(found: FitDocument) -> list[str]:
    """What ends it; a quota's limit counts no nodes."""
    return [
        f"runs out first: {name}" + (f" on {words.count(nodes, 'node')}" if nodes else "")
        for name, nodes in sorted(found.limits.items(), key=lambda item: (-item[1], item[0]))
    ]
