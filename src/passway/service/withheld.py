"""What of an object may be kept: everything but the secrets that people write into VMs.

Owns which fields hold such text (cloud-init, sysprep, and the copy of a manifest that kubectl
keeps in an annotation). In its place stands its SHA-256, so that it can be told whether two were
the same. References to Secrets are names, and stay. Pure; it knows no audit.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

import msgspec

LARGEST: Final = 64 * 1024
"""Bytes of an object that are kept; of a larger one only the hash is."""
_TEXTS: Final = frozenset({
    "userData", "userDataBase64", "networkData", "networkDataBase64", "sysprep",
    "kubectl.kubernetes.io/last-applied-configuration",
})  # fmt: skip
_VOLUME: Final = "cloudInit"


def without_secrets(value: Any) -> Any:
    """The same JSON, with hashes in place of what is secret."""
    if isinstance(value, Mapping):
        return {
            key: _hashed(item) if _secret(str(key)) and item else without_secrets(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [without_secrets(item) for item in value]
    return value


def kept(value: Mapping[str, Any] | None) -> str | None:
    """The object as JSON without secrets, for good; bounded."""
    if value is None:
        return None
    text = msgspec.json.encode(without_secrets(value))
    if len(text) > LARGEST:
        return msgspec.json.encode(
            {"bytes": len(text), "sha256": sha256(text).hexdigest()}
        ).decode()
    return text.decode()


def _secret(key: str) -> bool:
    return key in _TEXTS or key.startswith(_VOLUME)


def _hashed(value: Any) -> str:
    text = value.encode() if isinstance(value, str) else msgspec.json.encode(value, order="sorted")
    return f"sha256:{sha256(text).hexdigest()}"
