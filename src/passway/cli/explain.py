"""`passway explain`: why an existing VM does not run, in the component's words and in ours.

Owns the layout: the headline, the words with who says them, our reasons with their remedies, what
else would stop a start, the stages. Nothing is judged here.
"""

from typing import Final

import click

from passway.cli import nouns, words
from passway.cli.nouns import VMS
from passway.cli.options import Source, Usage, command, namespaced, sourced
from passway.cli.output import Output, View, printing, show
from passway.cli.sources import answer, open_backend
from passway.cli.table import Column, Table
from passway.model.errors import EXIT_NO, EXIT_OK, EXIT_UNKNOWN
from passway.service.documents import ExplanationDocument, WordsDocument

_COLOUR: Final = {"running": "green", "waiting": "yellow", "failing": "red"}
_AGREEMENT: Final = {
    "agrees": "our walk, asked again, finds the same",
    "cause_gone": "our walk, asked again, finds nothing in the way here any more",
    "differs": "our walk, asked again, finds nothing in the way here",
    "undecided": "our walk, asked again, cannot decide it",
    "not_modelled": "",
    "nothing_said": "no component says anything",
}


@command(
    "explain",
    examples=(
        "passway explain vm train-big -n ml --demo",
        "passway explain vm train-3 -n ml --from dumps/",
        "passway explain vm train-3 -n ml -o json",
    ),
)
@click.argument("what", nargs=-1, required=True, metavar="vm NAME", shell_complete=nouns.complete)
@namespaced
@sourced
@printing()
def explain(what: tuple[str, ...], namespace: str, source: Source, output: Output) -> int:
    """Why an existing VM does not run: where it stands, who says so, and what to do.

    Exits with 0 if nothing stands in its way, 1 if something does, 3 if it cannot be told.
    """
    word, name = nouns.split(what)
    noun = nouns.noun_of(word, (VMS,))
    if not name:
        raise Usage("which VM?", "passway get vms -A lists them")
    found = answer(open_backend(source).explain(namespace, name))
    table = Table(
        (
            Column("SEVERITY", lambda item: item.severity),
            Column("REASON", lambda item: item.reason),
            Column("STAGE", lambda item: item.stage),
            Column("MESSAGE", lambda item: item.message),
            Column("REMEDY", lambda item: item.remedy, wide=True),
        ),
        found.issues,
    )
    text = _text(found)
    show(View(found, names=[f"{noun.singular}/{name}"], table=table, text=text), output)
    return _code(found)


def _code(found: ExplanationDocument) -> int:
    severities = {issue.severity for issue in found.issues}
    if "error" in severities:
        return EXIT_NO
    return EXIT_UNKNOWN if "unknown" in severities else EXIT_OK


def _text(found: ExplanationDocument) -> str:
    blocks = [_headline(found), "\n".join(map(_said, found.said)), _reasons(found), _also(found)]
    if found.stage:
        stages = ", ".join(
            f"{stage.stage} {stage.outcome}"
            for stage in found.stages
            if stage.outcome != "not_checked"
        )
        blocks.append(f"stages: {stages}")
    if found.unread:
        told = ", ".join(f"{kind} ({state})" for kind, state in found.unread.items())
        blocks.append(f"not read: {told}")
    return "\n\n".join(block for block in blocks if block)


def _headline(found: ExplanationDocument) -> str:
    """`VirtualMachine ml/train-3: waiting at scheduling (ErrorUnschedulable)`."""
    state = click.style(found.state, fg=_COLOUR.get(found.state), bold=True)
    at = f" at {found.stage}" if found.stage else ""
    where = [found.status or found.phase, f"on {found.node}" if found.node else None]
    told = ", ".join(words.visible(item) for item in where if item)
    return f"{words.visible(words.machine(found.machine))}: {state}{at}" + (
        f" ({told})" if told else ""
    )


def _said(said: WordsDocument) -> str:
    """`kube-scheduler says of Pod ml/x: Unschedulable: 0/12 nodes are available: ...`."""
    who = words.visible(f"{said.component} says of {words.machine(said.about)}")
    when = [f"{said.count} times" if said.count > 1 else None, said.time]
    times = ", last ".join(item for item in when if item) if said.count > 1 else said.time or ""
    what = ": ".join(item for item in (said.reason, said.message) if item)
    return f"{who}{f' ({times})' if times else ''}:\n  {words.visible(what)}"


def _reasons(found: ExplanationDocument) -> str:
    agreement = _AGREEMENT[found.agreement] if found.stage else ""
    return "\n".join(filter(None, [agreement, words.messages(found.issues)]))


def _also(found: ExplanationDocument) -> str:
    if not found.also:
        return ""
    what = "also in the way" if found.stage else "in the way, were it started now"
    return f"{what}:\n{words.messages(found.also)}"
