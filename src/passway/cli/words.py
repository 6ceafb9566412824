"""Text for terminals: safe characters, ages, and the one form that messages have.

Owns what may reach a terminal: names and messages come from clusters and files, so every control
character in them is shown as an escape. Colour is added here and dropped again by click where the
output is no terminal.
"""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final

import click

from passway.model.quantity import quantity
from passway.service.documents import IssueDocument, MachineRef, OverheadPart

NONE: Final = "<none>"
UNKNOWN: Final = "<unknown>"
COLOURS: Final = {
    "error": "red",
    "warning": "yellow",
    "unknown": "magenta",
    "hint": "cyan",
    "note": "cyan",
}
_NODES_SHOWN: Final = 5

# C0 and C1 controls, line and paragraph separators, bidirectional overrides, lone surrogates.
_CONTROLS: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def visible(text: str) -> str:
    """The text with every control character as an escape."""
    return _CONTROLS.sub(_escaped, text)


def visible_lines(text: str) -> str:
    """As `visible`, but line breaks and tabs stay."""
    return _CONTROLS.sub(lambda m: m[0] if m[0] in "\n\t" else _escaped(m), text)


def json_safe(text: str) -> str:
    r"""JSON text with the controls that JSON allows inside strings written as \u escapes."""
    return _CONTROLS.sub(lambda m: m[0] if m[0] == "\n" else f"\\u{ord(m[0]):04x}", text)


def xml_safe(text: str) -> str:
    """XML text with controls as character references, which say the same."""
    return _CONTROLS.sub(lambda m: m[0] if m[0] in "\n\t" else f"&#x{ord(m[0]):x};", text)


def count(number: int, noun: str) -> str:
    """`1 error`, `3 errors`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(names: Iterable[str], shown: int | None = None) -> str:
    """Names joined by commas, the first few and a count; `<none>` for none."""
    names = list(names)
    cut = len(names) if shown is None else shown
    text = ",".join(names[:cut])
    return f"{text} +{len(names) - cut}" if len(names) > cut else text or NONE


def machine(ref: MachineRef) -> str:
    """`VirtualMachine ml/train-3`."""
    return f"{ref.kind} {ref.namespace}/{ref.name}" if ref.namespace else f"{ref.kind} {ref.name}"


def age(created: str | None, at: str | None) -> str:
    """How old something is at a moment, as kubectl writes it."""
    if created is None or at is None:
        return UNKNOWN
    try:
        passed = datetime.fromisoformat(at) - datetime.fromisoformat(created)
        return human(int(passed.total_seconds()))
    except (ValueError, TypeError):
        return UNKNOWN


def human(seconds: int) -> str:
    """k8s.io/apimachinery/pkg/util/duration HumanDuration: 45s, 3m20s, 5h2m, 41d, 2y10d."""
    if seconds < -1:
        return "<invalid>"
    seconds = max(seconds, 0)
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    steps = (
        (120, f"{seconds}s"),
        (600, _two(minutes, "m", seconds % 60, "s")),
        (3 * 3600, f"{minutes}m"),
        (8 * 3600, _two(hours, "h", minutes % 60, "m")),
        (48 * 3600, f"{hours}h"),
        (8 * 86400, _two(days, "d", hours % 24, "h")),
        (2 * 365 * 86400, f"{days}d"),
        (8 * 365 * 86400, _two(days // 365, "y", days % 365, "d")),
    )
    return next((text for limit, text in steps if seconds < limit), f"{days // 365}y")


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = f"{small}{small_unit}" if small else ""
    return f"{large}{large_unit}{rest}"


# -- messages -------------------------------------------------------------------------------------


def word(severity: str, text: str | None = None) -> str:
    """A severity (or a text in its colour)."""
    return click.style(text or severity, fg=COLOURS[severity], bold=severity != "hint")


def place(issue: IssueDocument) -> str:
    """Where an issue is: `file:line:column`, else its field, its object or its nodes."""
    if issue.file:
        parts = [issue.file, *(str(n) for n in (issue.line, issue.column) if n is not None)]
        return ":".join(parts)
    if issue.path:
        return issue.path
    if issue.subject:
        return machine(issue.subject)
    return listed(issue.nodes, _NODES_SHOWN) if issue.nodes else ""


def message(issue: IssueDocument) -> str:
    """`error: vm.yaml:14:9: Reason: what` and `hint: what to do`, a line each.

    Between them, where there is one, what KubeVirt's overhead is made of.
    """
    return messages([issue])


def messages(issues: Iterable[IssueDocument]) -> str:
    """The messages of several issues; the same overhead is told with the first only."""
    lines, told = [], set[tuple[OverheadPart, ...]]()
    for issue in issues:
        where = place(issue)
        text = visible(f"{where}: " if where else "") + visible(f"{issue.reason}: {issue.message}")
        lines.append(f"{word(issue.severity)}: {text}")
        if issue.overhead and issue.overhead not in told:
            told.add(issue.overhead)
            lines.append(f"{word('note')}: {visible(_overhead(issue.overhead))}")
        if issue.remedy:
            lines.append(hint(issue.remedy))
    return "\n".join(lines)


def _overhead(parts: tuple[OverheadPart, ...]) -> str:
    """`KubeVirt adds 1336Mi: passthrough devices 1Gi + ...`, the largest part first."""
    by_size = sorted(parts, key=lambda part: -part.bytes)
    total = quantity(sum(part.bytes for part in parts), "BinarySI")
    shown = " + ".join(f"{part.part} {quantity(part.bytes, 'BinarySI')}" for part in by_size)
    return f"KubeVirt adds {total}: {shown}"


def hint(text: str) -> str:
    return f"{word('hint')}: {visible(text)}"


def complain(text: str, hinted: str = "", severity: str = "error") -> None:
    """One message on stderr."""
    click.echo(f"{word(severity)}: {visible(text)}", err=True)
    if hinted:
        click.echo(hint(hinted), err=True)
