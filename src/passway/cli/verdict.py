"""A verdict as text: the headline, the findings with their place, the stages, the nodes.

Owns the order and the brevity: what stops the VM comes first, nodes are cut to the best few, and
nodes that lack the same resource are one line. The words themselves come with the document.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import click

from passway.cli import words
from passway.cli.table import Column, Table
from passway.service.documents import (
    IssueDocument,
    NodeGroupDocument,
    TrialDocument,
    VerdictDocument,
)

NODES_SHOWN: Final = 8
ORDER: Final = ("error", "unknown", "warning")
"""Severities, the most severe first; `--severity` shows those up to its own."""

_ANSWER: Final = {"yes": "fits", "no": "does not fit", "unknown": "unknown"}
_COLOUR: Final = {"yes": "green", "no": "red", "unknown": "magenta"}

ISSUES: Final = (
    Column("FILE", lambda row: row[1].file),
    Column("LINE", lambda row: row[1].line),
    Column("COLUMN", lambda row: row[1].column),
    Column("MACHINE", lambda row: row[0]),
    Column("SEVERITY", lambda row: row[1].severity),
    Column("REASON", lambda row: row[1].reason),
    Column("STAGE", lambda row: row[1].stage),
    Column("MESSAGE", lambda row: row[1].message),
    Column("REMEDY", lambda row: row[1].remedy, wide=True),
)


def issues_table(verdicts: Iterable[VerdictDocument], severity: str) -> Table:
    """Every finding as a row."""
    return Table(
        ISSUES,
        [
            (words.machine(verdict.machine), issue)
            for verdict in verdicts
            for issue in chosen(verdict.issues, severity)
        ],
    )


def chosen(issues: Iterable[IssueDocument], severity: str) -> list[IssueDocument]:
    """The issues of this severity and worse."""
    kept = ORDER[: ORDER.index(severity) + 1]
    return [issue for issue in issues if issue.severity in kept]


def text(verdict: VerdictDocument, severity: str, *, wide: bool, headers: bool = True) -> str:
    """The whole answer for one machine."""
    issues = chosen(verdict.issues, severity)
    issues.sort(key=lambda issue: ORDER.index(issue.severity))
    blocks = [
        headline(verdict),
        words.messages(issues),
        "\n".join(line for item in verdict.server for line in _tried(item)),
        _stages(verdict),
        _nodes(verdict, wide=wide, headers=headers),
    ]
    return "\n\n".join(block for block in blocks if block)


def headline(verdict: VerdictDocument) -> str:
    """`VirtualMachine ml/train-3: does not fit (3 errors, 1 warning)`."""
    counted = Counter(issue.severity for issue in verdict.issues)
    found = [
        words.count(counted[severity], "unknown" if severity == "unknown" else severity)
        for severity in ORDER
        if counted[severity]
    ]
    if verdict.fits != "no" and (verdict.nodes or verdict.node_groups):
        found.insert(0, words.count(verdict.places, "place"))
    subject = words.machine(verdict.machine)
    if verdict.replicas != 1:
        subject += f", {words.count(verdict.replicas, 'replica')}"
    answer = click.style(_ANSWER[verdict.fits], fg=_COLOUR[verdict.fits], bold=True)
    return f"{words.visible(subject)}: {answer}" + (f" ({', '.join(found)})" if found else "")


def _tried(trial: TrialDocument) -> Iterator[str]:
    """`API server: Pod ml/x: refused by ResourceQuota gpus: …`, and how that compares."""
    about = words.visible(words.machine(trial.object))
    said = words.visible(trial.message or "")
    match trial.outcome:
        case "accepted":
            note = f" ({said})" if said else ""
            yield f"API server: {about}: {click.style('accepted', fg='green')}{note}"
        case "refused":
            refused = click.style("refused", fg="red")
            yield f"API server: {about}: {refused} by {words.visible(trial.by or '')}: {said}"
        case "not_tried":
            yield f"API server: {about}: {click.style('not tried', fg='magenta')}: {said}"
    for cause in trial.causes:
        if cause.message not in (trial.message or ""):
            yield words.visible(f"  {cause.field}: {cause.message}")
    for warning in trial.warnings:
        yield f"  {words.word('warning')}: {words.visible(warning)}"
    if trial.agreement == "differs":
        ours = "accept" if trial.outcome == "refused" else "refuse"
        yield f"  our walk would {ours} it here; the API server is right, please report this"


def _stages(verdict: VerdictDocument) -> str:
    checked = [
        f"{stage.stage} {_outcome(stage.outcome)}"
        for stage in verdict.stages
        if stage.outcome != "not_checked"
    ]
    rest = [stage.stage for stage in verdict.stages if stage.outcome == "not_checked"]
    lines = [f"stages: {', '.join(checked)}"] if checked else []
    if rest:
        lines.append(f"not checked here: {', '.join(rest)}")
    return "\n".join(lines)


def _outcome(outcome: str) -> str:
    colour = {"fail": "red", "unknown": "magenta", "warn": "yellow"}.get(outcome)
    return click.style(outcome, fg=colour) if colour else outcome


def _nodes(verdict: VerdictDocument, *, wide: bool, headers: bool) -> str:
    best = sorted(verdict.nodes, key=lambda node: (-node.places, len(node.fails), node.name))
    shown = best if wide else best[:NODES_SHOWN]
    table = Table(
        (
            Column("NODE", lambda node: node.name),
            Column("PLACES", lambda node: node.places),
            Column("FAILS", lambda node: words.listed(node.fails)),
            Column("MEETS", lambda node: words.listed(node.meets), wide=True),
        ),
        shown,
    )
    lines = [table.text(wide, headers)] if shown else []
    if len(best) > len(shown):
        lines.append(f"and {words.count(len(best) - len(shown), 'more node')} (-o wide)")
    lines.extend(_group(group, bool(best)) for group in verdict.node_groups)
    return "\n".join(lines)


def _group(group: NodeGroupDocument, more: bool) -> str:
    """`7 more nodes lack nvidia.com/GA102GL_A10`."""
    noun = words.count(group.count, "more node" if more else "node")
    verb = "lacks" if group.count == 1 else "lack"
    return words.visible(f"{noun} {verb} {' and '.join(group.fails)}")


def exit_code(verdicts: Sequence[VerdictDocument], *, strict: bool) -> int:
    """The worst of several: no (1), unknown (3, or 1 if strict), yes (0).

    What the API server said on a dry run counts like our own answer.
    """
    from passway.model.errors import EXIT_NO, EXIT_OK, EXIT_UNKNOWN

    answers = {verdict.fits for verdict in verdicts}
    tried = {trial.outcome for verdict in verdicts for trial in verdict.server}
    if "no" in answers or "refused" in tried:
        return EXIT_NO
    if "unknown" in answers or "not_tried" in tried:
        return EXIT_NO if strict else EXIT_UNKNOWN
    return EXIT_OK
