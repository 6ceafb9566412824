"""Writes the JSON Schemas of the published documents: `python -m tools.schema`."""

from pathlib import Path
from typing import Any

import msgspec

from passway.service.documents import PUBLISHED, Document

FOLDER = Path(__file__).parents[1] / "docs" / "schema"


def schema(document: type[Document]) -> dict[str, Any]:
    """The JSON Schema (2020-12) of one document."""
    made = msgspec.json.schema(document)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def name_of(document: type[Document]) -> str:
    """The value of the document's `kind`."""
    return document.__name__.removesuffix("Document")


def text(document: type[Document]) -> str:
    return msgspec.json.format(msgspec.json.encode(schema(document)), indent=2).decode() + "\n"


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for document in PUBLISHED:
        (FOLDER / f"{name_of(document)}.json").write_text(text(document), encoding="utf-8")


if __name__ == "__main__":
    main()
