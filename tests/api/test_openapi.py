"""The OpenAPI document: whole, honest, and with examples that work."""

import re

import jsonschema
import pytest
from tests.api.conftest import sample

from passway.api.app import create_app
from passway.api.identity import DEMO, Tokens

DOCUMENT = create_app(sample(), Tokens(DEMO)).openapi()
OPERATIONS = [
    (method, path, operation)
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
]
EXAMPLES = [
    (method, path, media_type, name, example["value"])
    for method, path, operation in OPERATIONS
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items()
    for name, example in content["examples"].items()
]
IDS = [f"{method} {path}" for method, path, _ in OPERATIONS]


def test_references_lead_somewhere():
    names = set(re.findall(r"#/components/schemas/([A-Za-z]+)", str(DOCUMENT)))
    assert names <= set(DOCUMENT["components"]["schemas"])
    assert DOCUMENT["openapi"].startswith("3.1")
    for name, schema in DOCUMENT["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert name != "HTTPValidationError"


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS, ids=IDS)
def test_an_operation_names_its_answers(method, path, operation):
    answers = set(operation["responses"])
    assert operation["summary"]
    assert operation["description"]
    assert operation["tags"]
    if path.startswith("/api/"):
        assert operation["security"] == [{"bearer": []}]
        assert answers >= {"200", "400", "401", "403", "429", "500", "503"}
    assert ("requestBody" in operation) == (method == "post")
    assert ({"408", "413", "415"} <= answers) == (method == "post")
    assert ("422" in answers) == (method == "post" and path.endswith("/vms"))
    for status, answer in operation["responses"].items():
        expected = "application/json" if status < "300" else "application/problem+json"
        assert list(answer["content"]) == [expected]


def test_every_body_has_an_example():
    bodies = [op for _, _, op in OPERATIONS if "requestBody" in op]
    assert all(
        content["examples"] for op in bodies for content in op["requestBody"]["content"].values()
    )
    assert len(EXAMPLES) >= len(bodies)


@pytest.mark.parametrize(("method", "path", "media_type", "name", "value"), EXAMPLES)
async def test_an_example_is_accepted(admin, method, path, media_type, name, value):
    body = {"content": value, "headers": {"Content-Type": media_type}}
    answer = await admin.request(
        method, path, **(body if isinstance(value, str) else {"json": value})
    )
    assert answer.status_code in {200, 201}, answer.text


def validator(name):
    return jsonschema.Draft202012Validator({"$ref": f"#/components/schemas/{name}", **DOCUMENT})


async def test_answers_are_as_their_schemas_say(admin):
    for path, name in (
        ("/api/v1/devices", "DeviceInventory"), ("/api/v1/reasons", "ReasonList"),
        ("/api/v1/audit", "AuditList"), ("/api/v1/my/devices?namespace=ml", "MyDevices"),
        ("/api/v1/vms/ml/train-1", "MachineDocument"), ("/nowhere", "Problem"),
        ("/api/v1/vms?x=1", "Problem"), ("/readyz", "Health"),
    ):  # fmt: skip
        validator(name).validate((await admin.get(path)).json())


@pytest.mark.parametrize(
    ("fields", "fits"),
    [({}, True), ({"numa_passthrough": False}, True), ({"numa_passthrough": True}, False),
     ({"numa_passthrough": True, "dedicated_cpus": True, "hugepages": "2Mi"}, True)],
)  # fmt: skip
def test_the_rule_between_fields_is_in_the_schema(fields, fits):
    assert validator("PreflightBody").is_valid(fields) is fits


def test_the_document_is_made_once():
    app = create_app(sample(), Tokens(DEMO))
    assert app.openapi() is app.openapi()
