"""What pydantic finds in a request, as issues in our words.

Owns the translation from its error types to reasons of the registry, with the field path and, for
a body, the line and column. All faults are told at once.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from passway.manifest.fields import found_words
from passway.manifest.nodes import MAX_NAME, Node, child, shorten
from passway.model.errors import InvalidInput
from passway.model.reasons import render
from passway.model.verdict import Issue, Param, Severity, Stage

BODY: Final = "the body"
_WANTED: Final[Mapping[str, str]] = {
    "string_type": "text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "int_from_float": "a whole number",
}


def invalid(faults: Sequence[Any], body: Node | None = None) -> InvalidInput:
    """The error for what pydantic found; `body` gives the places."""
    found = tuple(_issue(fault, body) for fault in faults)
    return refused(found)


def refused(issues: tuple[Issue, ...], error: type[InvalidInput] = InvalidInput) -> InvalidInput:
    """An error that tells the first issue and how many there are."""
    first = issues[0]
    message = render(first).message
    told = message.startswith(f"{first.path} ") or f'"{first.path}"' in message
    where = f"{first.path}: " if first.path and not told else ""
    more = f" (and {len(issues) - 1} more)" if len(issues) > 1 else ""
    return error(f"{where}{message}{more}", issues=issues)


def _issue(fault: Mapping[str, Any], body: Node | None) -> Issue:
    steps = [
        step for step in fault["loc"] if body is not None or step not in ("query", "path", "header")
    ]
    path = ""
    for step in steps:
        path = child(path, step)
    reason, params = _words(fault, path, body)
    return Issue(
        reason,
        Stage.MANIFEST,
        Severity.ERROR,
        path=path,
        params=params,
        position=body.locate(path) if body is not None and path else None,
    )


def _words(fault: Mapping[str, Any], path: str, body: Node | None) -> tuple[str, dict[str, Param]]:
    name = shorten(str(fault["loc"][-1])) if fault["loc"] else BODY
    kind = fault["type"]
    if kind == "missing":
        return "MissingField", {"field": name}
    if kind == "extra_forbidden":
        return "UnknownField", {"field": name}
    if kind in _WANTED:
        node = body.find(path) if body is not None else None
        found = found_words(node) if node is not None else "something else"
        return "WrongType", {"path": path or BODY, "wanted": _WANTED[kind], "found": found}
    return "InvalidValue", {"problem": _problem(kind, fault.get("ctx") or {})}


def _problem(kind: str, context: Mapping[str, Any]) -> str:
    match kind:
        case "literal_error":
            return f"use {context['expected']}"
        case "too_long":
            return f"at most {context['max_length']} entries are allowed"
        case "string_too_long":
            return f"at most {context['max_length']} characters are allowed"
        case "string_too_short":
            return "this must not be empty"
        case "string_pattern_mismatch":
            return f"this does not match {context['pattern']}"
        case "greater_than_equal":
            return f"this must be at least {context['ge']}"
        case "less_than_equal":
            return f"this must be at most {context['le']}"
        case "union_tag_invalid" | "union_tag_not_found":
            kinds = context.get("expected_tags", "'pci', 'mediated', 'usb'")
            return f"{context['discriminator']} must be one of {kinds}"
        case "value_error":
            return str(context["error"])[:MAX_NAME]
        case _:
            return "this is not a value that is accepted here"
