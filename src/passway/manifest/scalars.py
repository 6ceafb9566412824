"""What an unquoted scalar means: YAML 1.1 as kubectl reads it.

kubectl turns YAML into JSON with sigs.k8s.io/yaml (goyaml.v2/resolve.go), and so do we: `yes`, `on`
and `y` are true, `0x10` and `010` are whole numbers, `1e3` is a number. Timestamps and base-60
numbers stay text, and so does a number that is too large for its type.
"""

import math
import re
from typing import Final

from passway.manifest.nodes import Scalar

MAX_DIGITS: Final = 4000

_INT: Final = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))"
)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BASES: Final = {2: 16, 3: 2, 4: 8, 5: 10}
_FIRST: Final = frozenset("-+.0123456789~yYnNtTfFoO")


def _cases(*words: str) -> tuple[str, ...]:
    return tuple(form for word in words for form in (word, word.capitalize(), word.upper()))


_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(_cases("y", "yes", "true", "on"), True),
    **dict.fromkeys(_cases("n", "no", "false", "off"), False),
    **dict.fromkeys(("", "~", *_cases("null")), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((sign + form for sign in ("", "+") for form in _cases(".inf")), math.inf),
    **dict.fromkeys((".Inf", "+.Inf"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}


def resolve(text: str) -> Scalar:
    """The value of a plain (unquoted) scalar."""
    if text and text[0] not in _FIRST:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if not text[0].isalpha() and len(text) <= MAX_DIGITS:
        return _number(text)
    return text


def _number(text: str) -> Scalar:
    digits = text if text[0] == "." else text.replace("_", "")
    match = _INT.fullmatch(digits)
    if match is not None and match.lastindex is not None:
        amount = int(match[match.lastindex], _BASES[match.lastindex])
        return -amount if match[1] == "-" else amount
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        return number if math.isfinite(number) else text
    return text


def key_text(value: Scalar, text: str) -> str | None:
    """The text of a mapping key, as kubectl writes it into JSON; None if it cannot be a key."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}" if math.isfinite(value) else text
    return str(value)


def mend(text: str) -> str:
    """Joins halves of surrogate pairs (from \\u escapes) and replaces lone ones, as Go does."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
