"""The OpenAPI document: FastAPI's paths, our schemas.

Owns what FastAPI cannot know, because bodies are read and answers are written without it: the
components from msgspec and pydantic, the bodies of requests with examples, the security scheme,
and that malformed input is 400, never 422.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from passway import __version__
from passway.api.answers import DOCUMENTS, JSON, schema_ref
from passway.api.schemas import (
    MachineBody,
    MediatedPermit,
    PciPermit,
    PreflightBody,
    RenderXmlBody,
    UsbPermit,
    WhatIfBody,
)
from passway.service.gate import Right

TITLE: Final = "Passway"
DESCRIPTION: Final = (
    "Why does this VM not get its device? Preflight for GPU and host-device passthrough on "
    "KubeVirt. Errors are `application/problem+json`; 422 means only that a preflight says no."
)
_BODIES: Final[tuple[type[BaseModel], ...]] = (
    MachineBody, PreflightBody, PciPermit, MediatedPermit, UsbPermit, RenderXmlBody, WhatIfBody,
)  # fmt: skip
RIGHTS: Final = "x-passway-rights"
"""What an operation takes, in the words of RBAC."""
_TEMPLATE: Final = "#/components/schemas/{model}"
_FASTAPI: Final = ("HTTPValidationError", "ValidationError")
_NUMA: Final = {
    MachineBody.__name__: (
        "cpu_numa_passthrough", "cpu_dedicated_placement", "memory_hugepages_page_size",
    ),
    PreflightBody.__name__: ("numa_passthrough", "dedicated_cpus", "hugepages"),
}  # fmt: skip
"""Body -> the fields of the one rule between fields: NUMA needs dedicated CPUs and hugepages."""


def body(schema: dict[str, Any], **examples: Any) -> dict[str, Any]:
    """`openapi_extra` of a route with a JSON body."""
    return _request_body({JSON: {"schema": schema, "examples": _named(examples)}})


def manifest_body(example: dict[str, Any], text: str) -> dict[str, Any]:
    """`openapi_extra` of a route that takes a manifest."""
    written = {"schema": {"type": "string"}, "examples": _named({"manifest": text})}
    return _request_body(
        {
            "application/yaml": written,
            JSON: {"schema": {"type": "object"}, "examples": _named({"manifest": example})},
            "text/yaml": written,
            "text/plain": written,
        }
    )


def _request_body(content: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": content}}


def _named(examples: dict[str, Any]) -> dict[str, Any]:
    return {name: {"value": value} for name, value in examples.items()}


def openapi_of(app: FastAPI, rights: Mapping[tuple[str, str], tuple[Right, ...]]) -> dict[str, Any]:
    """The document, made once. `rights`: method and path of each route -> what it takes."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=TITLE,
            version=__version__,
            description=DESCRIPTION,
            routes=app.routes,
        )
        document["components"] = {
            "schemas": _schemas(),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        }
        for path, item in document["paths"].items():
            for method, operation in item.items():
                _correct(operation, secured=path.startswith("/api/"))
                if found := rights.get((method.upper(), path)):
                    operation[RIGHTS] = list(map(str, found))
        app.openapi_schema = document
    return app.openapi_schema


def _schemas() -> dict[str, Any]:
    _, documents = msgspec.json.schema_components(
        DOCUMENTS, ref_template="#/components/schemas/{name}"
    )
    _, bodies = models_json_schema(
        [(model, "validation") for model in _BODIES], ref_template=_TEMPLATE
    )
    schemas: dict[str, Any] = {**documents, **bodies["$defs"]}
    for name, (numa, dedicated, hugepages) in _NUMA.items():
        schemas[name] |= {
            "if": {"properties": {numa: {"const": True}}, "required": [numa]},
            "then": {
                "properties": {dedicated: {"const": True}, hugepages: {"enum": ["2Mi", "1Gi"]}},
                "required": [dedicated, hugepages],
            },
        }
    schemas["PermitBody"] = {
        "oneOf": [schema_ref(model.__name__) for model in (PciPermit, MediatedPermit, UsbPermit)],
        "discriminator": {"propertyName": "kind", "mapping": {
            "pci": "#/components/schemas/PciPermit",
            "mediated": "#/components/schemas/MediatedPermit",
            "usb": "#/components/schemas/UsbPermit",
        }},
    }  # fmt: skip
    return schemas


def _correct(operation: dict[str, Any], *, secured: bool) -> None:
    """Takes FastAPI's own 422 out, and says who needs a token."""
    refused = str(operation["responses"].get("422", ""))
    if any(name in refused for name in _FASTAPI):
        del operation["responses"]["422"]
    if secured:
        operation["security"] = [{"bearer": []}]
