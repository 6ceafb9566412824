"""The support report: documents that are fit to be sent to somebody, in one archive.

Owns what keeps secrets out: only documents that hold none by their making are taken, and what
still looks like a credential is struck out. The same documents give the same bytes. What is asked,
and of whom, is the command's to know.
"""

import gzip
import io
import re
import tarfile
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

import msgspec

from passway.model.errors import PasswayError

FOLDER: Final = "passway-report"
MAX_ITEMS: Final = 1000
"""Of a longer list the beginning is kept, and how many there were."""
MAX_BYTES: Final = 8 * 1024 * 1024
"""Of one file; a larger document is left out."""
STRUCK: Final = "[struck out]"
_SECRETS: Final = re.compile(
    r"(?i:bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----(?:.(?!-----END))*.?(?:-----END [A-Z ]*PRIVATE KEY-----)?"
    r"|(?i:(?:token|password|passwd|secret)\s*[=:]\s*)[^\s\"',;&]+"
    r"|://[^\s/@\"]+@",
    re.DOTALL,
)


class Bundle:
    """Documents by name, and why others are not there."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}
        self._missing: dict[str, str] = {}

    def add(self, name: str, document: Any) -> None:
        """A document: lists in it are cut, and its texts looked through."""
        plain = _plain(msgspec.to_builtins(document))
        data = msgspec.json.format(msgspec.json.encode(plain, order="sorted"), indent=2)
        if len(data) > MAX_BYTES:
            self._missing[name] = f"has more than {MAX_BYTES} bytes"
        else:
            self._files[f"{name}.json"] = data

    def miss(self, name: str, why: PasswayError | str) -> None:
        """Says why a document is not there."""
        told = f"{why.code}: {why}" if isinstance(why, PasswayError) else why
        self._missing[name] = scrubbed(told)

    @property
    def missing(self) -> Mapping[str, str]:
        return dict(sorted(self._missing.items()))

    def archive(self) -> bytes:
        """All of it as tar.gz; `contents.json` names every file with its digest."""
        digests = {name: sha256(data).hexdigest() for name, data in sorted(self._files.items())}
        contents = {"files": digests, "missing": self.missing}
        listed = {
            **self._files,
            "contents.json": msgspec.json.format(msgspec.json.encode(contents), indent=2),
        }
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name, data in sorted(listed.items()):
                entry = tarfile.TarInfo(f"{FOLDER}/{name}")
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
        return gzip.compress(packed.getvalue(), mtime=0)


def scrubbed(text: str) -> str:
    """The text without what looks like a credential."""
    return _SECRETS.sub(STRUCK, text)


def _plain(value: Any) -> Any:
    match value:
        case str():
            return scrubbed(value)
        case dict():
            return {scrubbed(str(key)): _plain(item) for key, item in value.items()}
        case list() | tuple():
            kept = [_plain(item) for item in value[:MAX_ITEMS]]
            left = len(value) - len(kept)
            return [*kept, f"… and {left} more"] if left else kept
        case _:
            return value
