"""docs/api.md is true: its curl commands work on the sample, its table has every route."""

import re
import shlex
from pathlib import Path

import pytest

from passway.api import problems
from passway.model import errors

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "three-reasons-fixed.yaml"


def curls():
    """The arguments of each curl command, in the order of the page."""
    text = re.sub(r"\\\n\s*", " ", PAGE)
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for command in re.findall(
            r"^\$ (curl .*?)(?=^\$ |^\{|\Z)", block, re.MULTILINE | re.DOTALL
        ):
            yield shlex.split(command)[1:]


def request_of(arguments):
    """method, path, headers and body of a curl command."""
    method, url, headers, body = None, None, {}, None
    words = iter(arguments)
    for word in words:
        match word:
            case "-s":
                pass
            case "-X":
                method = next(words)
            case "-H":
                name, _, value = next(words).partition(": ")
                headers[name] = value
            case "-d" | "--data-binary":
                body = next(words)
            case _:
                url = word
    if body is not None and body.startswith("@"):
        body = EXAMPLE.read_text(encoding="utf-8")
    return method or ("POST" if body else "GET"), url.split(":8080", 1)[1], headers, body


async def test_the_commands_of_the_page_work(api):
    answers = []
    for arguments in curls():
        method, path, headers, body = request_of(arguments)
        answer = await api.request(method, path, headers=headers, content=body)
        answers.append((method, path.partition("?")[0], answer.status_code))
    assert answers == [
        ("POST", "/api/vms", 201),
        ("POST", "/api/vms", 422),
        ("POST", "/api/v1/vms", 201),
        ("POST", "/api/v1/preflight", 200),
        ("POST", "/api/v1/devices/preflight", 200),
        ("GET", "/api/v1/vms/ml/train-big/explanation", 200),
        ("POST", "/api/v1/what-if", 200),
        ("POST", "/api/v1/render/xml", 200),
        ("POST", "/api/v1/render/pod", 200),
        ("POST", "/api/v1/devices/permitted", 200),
        ("DELETE", "/api/v1/devices/permitted", 200),
    ]


async def test_the_table_has_every_route(api):
    document = (await api.get("/openapi.json")).json()
    routes = {
        (method.upper(), path)
        for path, methods in document["paths"].items()
        for method in methods
        if method in {"get", "post", "delete", "put", "patch"}
    }
    listed = set(re.findall(r"`(GET|POST|DELETE) (/[^`?]*)(?:\?[^`]*)?`", PAGE))
    assert listed == routes


OWN = (
    problems.MethodNotAllowed, problems.TooSlow, problems.UnsupportedMediaType,
    problems.TooManyRequests, problems.Broken,
)  # fmt: skip
CONFLICTS = ("ENTRY_DIFFERS", "CONCURRENT_CHANGE", "CONFIRMATION_REQUIRED", "IN_USE")


@pytest.mark.parametrize(
    "code", [*CONFLICTS, *(error.kind.code for error in (*errors.ERRORS, *OWN)), "ALREADY_EXISTS"]
)
def test_the_table_has_every_code(code):
    assert code == "CONFLICT" or f"`{code}`" in PAGE
