"""Parameters that several routes share; what is written must be exactly one of the forms."""

import re
from typing import Annotated, Any, Final

from fastapi import Header, Query
from pydantic import BeforeValidator, Field

from passway.api.schemas import LABEL
from passway.model.names import dns_label

MAX_REPLICAS: Final = 10_000
MAX_ENTRIES: Final = 1000
_WORDS: Final = {"true": True, "false": False}
_WHOLE: Final = re.compile("[0-9]{1,9}")


def _flag(value: Any) -> Any:
    if value not in _WORDS:
        raise ValueError("write true or false")
    return _WORDS[value]


def _whole(value: Any) -> Any:
    if isinstance(value, str) and not _WHOLE.fullmatch(value):
        raise ValueError("write a whole number")
    return value


def _label(value: Any) -> Any:
    """A namespace; the ValueError that names raise is a pydantic value_error."""
    return dns_label(value) if isinstance(value, str) else value


_NAMESPACE = Query(
    description="A namespace.",
    json_schema_extra={"pattern": f"^{LABEL}$", "maxLength": 63},
)
Flag = Annotated[bool, BeforeValidator(_flag), Query()]
Namespace = Annotated[str, BeforeValidator(_label), _NAMESPACE]
OptionalNamespace = Annotated[str | None, BeforeValidator(_label), _NAMESPACE]
DefaultNamespace = Annotated[
    str,
    BeforeValidator(_label),
    Query(
        description="The namespace of objects that name none.",
        json_schema_extra={"pattern": f"^{LABEL}$", "maxLength": 63},
    ),
]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key", min_length=1, max_length=255, pattern="^[!-~]+$",
        description="A request that is sent again with the same key makes one VM.",
    ),
]  # fmt: skip
Replicas = Annotated[
    int | None,
    BeforeValidator(_whole),
    Field(ge=1, le=MAX_REPLICAS),
    Query(description="So many at once; the manifest's own number by default."),
]
Limit = Annotated[int, BeforeValidator(_whole), Field(ge=1, le=MAX_ENTRIES), Query()]
Cursor = Annotated[
    int | None,
    BeforeValidator(_whole),
    Field(ge=1),
    Query(description="Only rows below this sequence number: `next` of the page before."),
]
