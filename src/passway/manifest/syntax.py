"""Says what is wrong with a text that is not YAML.

Only the common slips get words of their own: tabs, unquoted colons, indentation, brackets, quotes
and unrendered templates. Anything else is told in the parser's words. The texts of libyaml and of
PyYAML's own scanner differ; both are known here.
"""

from typing import Final

import yaml

from passway.model.verdict import Position

TEMPLATE: Final = "; this looks like a template that was not rendered (helm template, kustomize)"

_WORDS: Final = (
    ("tab character", "a tab stands where only spaces may; indent with spaces"),
    ("'\\t'", "a tab stands where only spaces may; indent with spaces"),
    ("mapping values are not allowed",
     'a ": " stands where no field can begin; check the indentation, or quote the value'),
    ("unexpected end of stream", "the quote that opens here is not closed"),
    ("expected ',' or", "a bracket is not closed, or a comma is missing"),
    ("expected key", "the indentation does not fit the lines above"),
    ("expected '-' indicator", "the indentation does not fit the lines above"),
    ("expected <block end>", "the indentation does not fit the lines above"),
    ("expected ':'", "a line without a colon stands among the fields of a mapping"),
    ("maximum nesting depth", "the nesting is too deep"),
    ("expected '<document start>'", "text follows after the end of the document"),
    ("expected <document start>", "text follows after the end of the document"),
)  # fmt: skip


def explain(error: Exception, text: str, file: str) -> tuple[str, Position]:
    """What to say about a parser's error, and where."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if not isinstance(error, yaml.MarkedYAMLError) or mark is None:
        return "cannot be read as YAML", Position(file, 1, 1)
    line, column = int(mark.line), int(mark.column)
    lines = text.splitlines()
    shown = lines[line] if line < len(lines) else ""
    words = _words(error.problem or "", shown[column : column + 1])
    if "{{" in shown or "{%" in shown:
        words += TEMPLATE
    return f"cannot be read as YAML: {words}", Position(file, line + 1, column + 1)


def _words(problem: str, character: str) -> str:
    for part, words in _WORDS:
        if part in problem:
            return words
    if "cannot start any token" in problem:
        if character == "\t":
            return _WORDS[0][1]
        return f"{character!r} cannot begin a value; quote it"
    return problem
