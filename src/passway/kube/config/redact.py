"""Takes the secrets out of what a program wrote to stderr before that is part of an error. Pure.

Nobody can know what another program's secrets look like, so this errs on the side of hiding: what
it was given in confidence, what it also wrote to stdout, and everything that looks like a key.
"""

import re
from collections.abc import Iterable
from typing import Final

HIDDEN: Final = "…"
MAX_SHOWN: Final = 800
_SECRET_LENGTH: Final = 6
_WORD_LENGTH: Final = 12

_PEM: Final = re.compile(r"-----BEGIN [^-]+-----.*?(-----END [^-]+-----|\Z)", re.DOTALL)
_NAMED: Final = re.compile(
    r"((?:token|secret|passw(?:or)?d|passcode|assertion|api[-_]?key|credential)s?[\"']?\s*"
    r"(?:[:=]|\s--?\s)\s*[\"']?)[^\s\"',;]+",
    re.IGNORECASE,
)
_BEARER: Final = re.compile(r"\b(bearer|basic)\s+\S{4,}", re.IGNORECASE)
_USERINFO: Final = re.compile(r"://[^/\s@]+@")
_OPAQUE: Final = re.compile(r"[A-Za-z0-9_\-+=.~]{32,}|eyJ[\w.-]+")
_CONTROL: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_WORDS: Final = re.compile(r"[^\s\"',:;{}\[\]]+")


def without_secrets(text: str, secrets: Iterable[str] = (), output: str = "") -> str:
    """The end of the text in one line; `output`: what the program wrote to stdout."""
    text = _CONTROL.sub("", text)
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SECRET_LENGTH:
            text = text.replace(secret, HIDDEN)
    text = _PEM.sub(HIDDEN, text)
    text = _BEARER.sub(rf"\1 {HIDDEN}", text)
    text = _NAMED.sub(rf"\1{HIDDEN}", text)
    text = _USERINFO.sub(f"://{HIDDEN}@", text)
    text = _OPAQUE.sub(HIDDEN, text)
    text = _WORDS.sub(lambda word: HIDDEN if _told(word[0], output) else word[0], text)
    line = " ".join(text.split())
    return line if len(line) <= MAX_SHOWN else f"{HIDDEN}{line[-MAX_SHOWN:]}"


def _told(word: str, output: str) -> bool:
    return len(word) >= _WORD_LENGTH and word in output
