"""The token file: a YAML or JSON list of {token, user, role, namespaces}.

Owns its limits and its validation, all before a server starts. Messages name the entry by its
number and never show a token.
"""

import re
import stat
from pathlib import Path
from typing import Final

import msgspec
import yaml

from passway.api.identity import Account, Credential
from passway.api.rights import Role
from passway.model.errors import InvalidInput
from passway.model.names import InvalidName, dns_label

MAX_BYTES: Final = 1024 * 1024
MAX_ENTRIES: Final = 10_000
MAX_NAMESPACES: Final = 1000
_TOKEN: Final = re.compile(r"[A-Za-z0-9\-._~+/]{16,512}=*")
_USER: Final = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,253}")


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    token: str
    user: str
    role: Role
    namespaces: list[str] = []


def read_tokens(path: Path) -> tuple[Credential, ...]:
    """The entries of the file; raises InvalidInput."""
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror or 'cannot be read'}") from None
    if len(text) > MAX_BYTES:
        raise InvalidInput(f"{path}: a token file has at most {MAX_BYTES} bytes")
    return parse_tokens(text, str(path))


def readable_by_others(path: Path) -> bool:
    """Anybody on this machine can read the file."""
    return bool(path.stat().st_mode & stat.S_IROTH)


def parse_tokens(text: bytes, file: str) -> tuple[Credential, ...]:
    """The entries of a text; `file` is its name in messages."""
    try:
        loaded = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        # The parser's message would quote the text, and so a token.
        raise InvalidInput(f"{file}: neither YAML nor JSON") from None
    if not isinstance(loaded, list) or not loaded:
        raise InvalidInput(f"{file}: a token file is a list of entries with token, user and role")
    if len(loaded) > MAX_ENTRIES:
        raise InvalidInput(f"{file}: at most {MAX_ENTRIES} entries")
    found = tuple(
        _credential(item, f"{file}: entry {number}") for number, item in enumerate(loaded, 1)
    )
    if len({credential.token for credential in found}) < len(found):
        raise InvalidInput(f"{file}: a token stands twice")
    return found


def _credential(item: object, where: str) -> Credential:
    try:
        entry = msgspec.convert(item, _Entry, strict=True)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{where}: {_without_values(error)}") from None
    if not _TOKEN.fullmatch(entry.token):
        raise InvalidInput(
            f"{where}: a token has 16 to 512 letters, digits and -._~+/ (openssl rand -hex 32)"
        )
    if not _USER.fullmatch(entry.user):
        raise InvalidInput(f"{where}: user must be a name of 1 to 253 characters")
    if len(entry.namespaces) > MAX_NAMESPACES:
        raise InvalidInput(f"{where}: at most {MAX_NAMESPACES} namespaces")
    try:
        namespaces = frozenset(map(dns_label, entry.namespaces))
    except InvalidName as error:
        raise InvalidInput(f"{where}: namespaces: {error}") from None
    return Credential(entry.token, Account(entry.user, role=entry.role, namespaces=namespaces))


def _without_values(error: msgspec.ValidationError) -> str:
    """msgspec quotes a wrong enum value; the rest of its messages name types and fields."""
    text = str(error)
    if text.startswith("Invalid enum value"):
        return f"role is one of {', '.join(Role)}"
    return text
