"""Findings for machines that read code reviews: SARIF 2.1.0 and GitHub's workflow commands.

Owns the two formats and their escaping. A finding that has no place in a file (flags, stdin) stays
in the list without one.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final
from urllib.parse import quote

import msgspec

from passway import __version__
from passway.cli.words import json_safe, machine, visible
from passway.model.reasons import REASONS
from passway.service.documents import IssueDocument, VerdictDocument

Found = tuple[VerdictDocument, IssueDocument]

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVEL: Final = {"error": "error", "warning": "warning", "unknown": "note"}
_COMMAND: Final = {"error": "error", "warning": "warning", "unknown": "warning"}


def sarif(found: Sequence[Found]) -> str:
    """One run with a rule for each reason that occurs."""
    remedies = {issue.reason: issue.remedy for _, issue in found}
    rules = sorted(remedies)
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "passway",
                        "version": __version__,
                        "rules": [_rule(reason, remedies[reason]) for reason in rules],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(verdict, issue, rules) for verdict, issue in found],
            }
        ],
    }
    return json_safe(msgspec.json.format(msgspec.json.encode(log), indent=2).decode()) + "\n"


def _rule(reason: str, remedy: str) -> dict[str, Any]:
    known = REASONS.get(reason)
    return {
        "id": reason,
        "name": reason,
        "shortDescription": {"text": known.title if known else reason},
        "help": {"text": remedy or reason},
    }


def _result(verdict: VerdictDocument, issue: IssueDocument, rules: list[str]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": issue.reason,
        "ruleIndex": rules.index(issue.reason),
        "level": _LEVEL[issue.severity],
        "message": {"text": f"{machine(verdict.machine)}: {issue.message}"},
    }
    if issue.file and not issue.file.startswith("<"):
        place: dict[str, Any] = {"artifactLocation": {"uri": quote(issue.file)}}
        if issue.line is not None:
            place["region"] = {"startLine": issue.line, "startColumn": issue.column or 1}
        result["locations"] = [{"physicalLocation": place}]
    return result


def github(found: Iterable[Found]) -> str:
    """One workflow command a finding (docs.github.com: workflow commands)."""
    return "\n".join(_command(verdict, issue) for verdict, issue in found)


def _command(verdict: VerdictDocument, issue: IssueDocument) -> str:
    place: dict[str, object] = {}
    if issue.file and not issue.file.startswith("<"):
        place = {"file": issue.file, "line": issue.line, "col": issue.column}
    place["title"] = issue.reason
    properties = ",".join(
        f"{name}={_property(str(value))}" for name, value in place.items() if value is not None
    )
    text = f"{machine(verdict.machine)}: {issue.message}"
    if issue.remedy:
        text += f"\n{issue.remedy}"
    return f"::{_COMMAND[issue.severity]} {properties}::{_data(text)}"


def _data(text: str) -> str:
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return visible(escaped)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
