"""Reads JSON into the builder, with positions.

JSON is almost YAML, but only almost: tabs between tokens, escaped surrogate pairs and line
separators inside strings mean something else there or nothing at all. kubectl tries JSON first for
that reason. Several objects may follow one another, as `kubectl get -o json` in a loop prints them.
Whatever is not strictly JSON raises NotJson and is left to the YAML reader and its messages.
"""

import json
import re
from bisect import bisect_right
from typing import Final

from passway.manifest.build import Builder
from passway.manifest.nodes import Scalar, ScalarNode
from passway.manifest.scalars import mend, resolve

_TOKEN: Final = re.compile(
    r'[ \t\r\n]*(?:(?P<string>"(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+")'
    r"|(?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?)"
    r"|(?P<word>true|false|null)"
    r"|(?P<mark>[{}\[\],:]))"
)
_START: Final = re.compile(r"[ \t\r\n]*[{\[]")
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_BREAK: Final = re.compile(r"\r\n?|\n")
_WORDS: Final[dict[str, Scalar]] = {"true": True, "false": False, "null": None}


class NotJson(Exception):
    """The text is not strictly JSON."""


def looks_like_json(text: str) -> bool:
    """Whether the text begins as a JSON object or list would."""
    return _START.match(text) is not None


def read_json(text: str, file: str, builder: Builder) -> None:
    """Pushes all values of the text; NotJson where it is none."""
    _Reader(text, file, builder).run()


_VALUE_STATES: Final = frozenset({"root", "first item", "item", "value"})
_END_STATES: Final = frozenset({"next", "first item", "first key"})
_CLOSE: Final = {"{": "}", "[": "]"}


class _Reader:
    """A state machine over tokens; `open` holds the closing mark of each open collection."""

    def __init__(self, text: str, file: str, builder: Builder) -> None:
        self._text = text
        self._file = file
        self._builder = builder
        self._starts = [0, *(match.end() for match in _BREAK.finditer(text))]
        self._open: list[str] = []

    def run(self) -> None:
        state, at = "root", 0
        while match := _TOKEN.match(self._text, at):
            at = match.end()
            state = self._step(state, match)
        if state != "root" or _SPACE.fullmatch(self._text, at) is None:
            raise NotJson

    def _step(self, state: str, match: re.Match[str]) -> str:
        kind = str(match.lastgroup)
        token = match[kind]
        start = match.start(kind)
        row = bisect_right(self._starts, start)
        line, column = row, start - self._starts[row - 1] + 1
        if kind == "mark":
            return self._mark(state, token, line, column)
        if state in {"first key", "key"}:
            if kind != "string":
                raise NotJson
            self._scalar(kind, token, line, column)
            return "colon"
        if state not in _VALUE_STATES or state == "root":
            raise NotJson
        self._scalar(kind, token, line, column)
        return "next"

    def _mark(self, state: str, mark: str, line: int, column: int) -> str:
        if mark in _CLOSE and state in _VALUE_STATES:
            if state == "root":
                self._builder.begin_document(line, column)
            self._open.append(_CLOSE[mark])
            self._builder.begin(mark == "{", line, column)
            return "first key" if mark == "{" else "first item"
        if self._open and mark == self._open[-1] and state in _END_STATES:
            self._open.pop()
            self._builder.end()
            return "next" if self._open else "root"
        if mark == ":" and state == "colon":
            return "value"
        if mark == "," and state == "next":
            return "key" if self._open[-1] == "}" else "item"
        raise NotJson

    def _scalar(self, kind: str, token: str, line: int, column: int) -> None:
        value: Scalar
        if kind == "string":
            token = mend(json.loads(token)) if "\\" in token else token[1:-1]
            value = token
        else:
            value = _WORDS[token] if kind == "word" else resolve(token)
        self._builder.scalar(ScalarNode(self._file, line, column, value, token))
