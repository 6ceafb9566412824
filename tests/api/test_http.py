"""HTTP itself: methods, headers, bodies that are too much or wrong, and how failures look."""

import asyncio
import json
import logging

import httpx
import pytest
from starlette.requests import ClientDisconnect
from tests.api.conftest import running, sample

from passway.api import bodies, examples
from passway.api.app import create_app
from passway.api.identity import DEMO, Tokens
from passway.api.validation import invalid
from passway.cluster import kinds
from passway.model.errors import Unavailable

JSON = {"Content-Type": "application/json"}
SECURE = {
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
}


@pytest.mark.parametrize("path", ["/healthz", "/api/v1/nodes", "/nowhere", "/openapi.json"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT"])
async def test_every_answer_carries_the_security_headers(api, path, method):
    headers = (await api.request(method, path)).headers
    assert {name: headers[name] for name in SECURE} == SECURE
    assert "server" not in headers
    assert not any(name.startswith("access-control") for name in headers)


@pytest.mark.parametrize(
    "path", ["/", "/api", "/api/v1", "/api/v1/devices/", "/docs", "/redoc", "/api/v1/vms/a/b/c",
             "/api/v1/nodes//drain-impact", "/%00", "/api/v1/nodes/a%2Fb/drain-impact"]
)  # fmt: skip
async def test_an_unknown_route_is_404(admin, path):
    for method in ("GET", "HEAD", "OPTIONS", "POST"):
        answer = await admin.request(method, path)
        assert answer.status_code == 404
        assert answer.headers["content-type"] == "application/problem+json"
    assert (await admin.get(path)).json()["code"] == "NOT_FOUND"


@pytest.mark.parametrize(
    ("path", "allow"),
    [
        ("/healthz", "GET, HEAD, OPTIONS"),
        ("/openapi.json", "GET, HEAD, OPTIONS"),
        ("/api/vms", "OPTIONS, POST"),
        ("/api/v1/vms", "GET, HEAD, OPTIONS, POST"),
        ("/api/v1/devices/permitted", "DELETE, GET, HEAD, OPTIONS, POST"),
        ("/api/v1/nodes/worker-1/drain-impact", "GET, HEAD, OPTIONS"),
    ],
)
async def test_methods_are_those_of_the_route(api, path, allow):
    options = await api.options(path)
    assert (options.status_code, options.headers["Allow"], options.content) == (204, allow, b"")
    for method in ("PUT", "PATCH", "TRACE", "BREW"):
        answer = await api.request(method, path)
        assert (answer.status_code, answer.headers["Allow"]) == (405, allow)
        assert answer.json()["code"] == "METHOD_NOT_ALLOWED"


async def test_head_is_get_without_a_body(admin):
    get, head = await admin.get("/api/v1/nodes"), await admin.head("/api/v1/nodes")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == get.headers["content-length"]
    assert (await admin.head("/api/vms")).status_code == 405


@pytest.mark.parametrize(
    ("headers", "path"),
    [
        ({}, "/api/vms"),
        ({"Content-Type": "application/x-www-form-urlencoded"}, "/api/vms"),
        ({"Content-Type": "text/plain"}, "/api/vms"),
        ({"Content-Type": "application/yaml"}, "/api/v1/devices/preflight"),
        ({"Content-Type": "application/json; charset=latin-1"}, "/api/vms"),
        ({"Content-Type": "application/json", "Content-Encoding": "gzip"}, "/api/vms"),
        ({"Content-Type": "application/xml"}, "/api/v1/preflight"),
        ({"Content-Type": ";;\x7f="}, "/api/v1/preflight"),
        ({}, "/api/v1/fit"),
    ],
)
async def test_a_body_of_another_type_is_415(user, headers, path):
    answer = await user.post(path, content=b"{}", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize(
    "media_type",
    ["Application/JSON", "application/json;charset=UTF-8", 'application/json; charset="utf8"'],
)
async def test_a_type_is_read_as_http_writes_it(user, media_type):
    headers = {"Content-Type": media_type}
    answer = await user.post("/api/v1/devices/preflight", content=b"{}", headers=headers)
    assert answer.status_code == 200


@pytest.mark.parametrize("path", ["/api/vms", "/api/v1/vms", "/api/v1/preflight"])
async def test_too_much_is_413_whether_announced_or_streamed(user, path):
    announced = {**JSON, "Content-Length": str(bodies.MAX_BYTES + 1)}
    answer = await user.post(path, content=b"{}", headers=announced)
    assert (answer.status_code, answer.json()["code"]) == (413, "TOO_LARGE")
    assert (await user.post(path, content=b"", headers={**JSON, "Content-Length": "9" * 5000})
            ).status_code == 413  # fmt: skip

    sent = 0

    async def endless():
        nonlocal sent
        while True:
            sent += 64 * 1024
            yield b" " * 64 * 1024

    answer = await user.post(path, content=endless(), headers=JSON)
    assert answer.status_code == 413
    assert sent <= bodies.MAX_BYTES + 256 * 1024


async def test_a_body_at_the_limit_is_read(user):
    body = json.dumps(examples.PREFLIGHT).encode().ljust(bodies.MAX_BYTES)
    answer = await user.post("/api/v1/devices/preflight", content=body, headers=JSON)
    assert answer.status_code == 200


async def test_a_body_that_does_not_arrive_is_408(user, monkeypatch):
    monkeypatch.setattr(bodies, "TIMEOUT_S", 0.05)

    async def slow():
        yield b"{"
        await asyncio.sleep(10)

    async with asyncio.timeout(5):
        answer = await user.post("/api/vms", content=slow(), headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (408, "REQUEST_TIMEOUT")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "must be one"),
        (b"   ", "must be one"),
        (b"{", "not JSON"),
        (b"{}{}", "must be one"),
        (b"name: a", "not JSON"),
        (b"{'name': 1}", "not JSON"),
        (b'{"name": "a",}', "not JSON"),
        (b"\xff\xfe", "not UTF-8 (byte 1)"),
        (b'{"name": "\xed\xa0\x80"}', "not UTF-8"),
        (b"\xef\xbb\xbf{}", "BOM"),
        (b'{"cpus": NaN}', "out of range"),
        (b'{"cpus": -Infinity}', "out of range"),
        (b'{"cpus": 1e999}', "out of range"),
        (b'{"cpus": 99999999999999999999}', "out of range"),
        (b'{"cpus": -9223372036854775809}', "out of range"),
        (b'{"cpus": ' + b"9" * 100_000 + b"}", "out of range"),
        (b'{"cpus": 0.' + b"1" * 5000 + b"}", "whole number"),
        (b'{"name": "a", "name": "b"}', "stands twice"),
        (b'{"labels": {"a": "b", "a": "c"}}', "stands twice"),
        (b"[" * 100_000, "levels of nesting"),
        (b'{"a":' * 100_000, "levels of nesting"),
        (b"NaN" + b"[" * 100_000, "out of range"),
        (b"1 " + b"[" * 100_000, "not JSON"),
        (b'{"a": 1e5' + b"," * 3, "not JSON"),
        (b"[" + b"1," * 100_001 + b"1]", "values"),
        (b"[]", "a mapping"),
        (b"1", "must be"),
        (b'"a"', "must be"),
        (b"null", "must be"),
        (b'{"name": "\\ud800"}', "missing"),
        (b'{"\\u0000": 1}', "unknown field"),
    ],
)
async def test_what_is_not_strictly_json_is_400(user, body, words):
    answer = await user.post("/api/vms", content=body, headers=JSON)
    assert answer.status_code == 400, answer.text
    problem = answer.json()
    told = [problem["detail"], *(issue["message"] for issue in problem["issues"])]
    assert any(words in text for text in told), told


@pytest.mark.parametrize(
    "text",
    ["a: " + "9" * 10_000, "a: .inf", "a: &x [*x]", "&a [*a]", "? [a]\n: b", "!!python/none x",
     "{" * 5000, "a: 1\na: 2", "\ufeff", "\x07", "--- " * 3000, "a: !!binary x",
     "metadata: {name: 1e999}\nkind: VirtualMachine\napiVersion: kubevirt.io/v1"],
)  # fmt: skip
async def test_hostile_manifests_are_400(user, text):
    headers = {"Content-Type": "application/yaml"}
    for path in ("/api/v1/vms", "/api/v1/preflight", "/api/v1/fit"):
        answer = await user.post(path, content=text.encode(), headers=headers)
        assert answer.status_code == 400, answer.text


async def test_a_bug_is_logged_once_with_an_id_and_tells_nothing(app, caplog, monkeypatch):
    monkeypatch.setattr("passway.service.report.reasons", lambda: {}["secret"])
    with caplog.at_level(logging.DEBUG):
        async with running(app) as client:
            headers = {"Authorization": "Bearer demo-admin"}
            answer = await client.get("/api/v1/reasons", headers=headers)
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (500, "INTERNAL_ERROR")
    assert "secret" not in answer.text
    assert "KeyError" not in answer.text
    (record,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert problem["detail"].split()[-1] in record.getMessage()
    assert "demo-admin" not in caplog.text


async def test_until_the_mirror_is_complete_the_answer_is_503(cluster):
    class Slow:
        def __getattr__(self, name):
            return getattr(cluster, name)

        async def pages(self, *_):
            await asyncio.sleep(3600)
            yield

        watch = pages

    async with running(create_app(Slow(), Tokens(DEMO)), synced=False) as client:
        client.headers["Authorization"] = "Bearer demo-admin"
        assert (await client.get("/healthz")).status_code == 200
        for path in ("/readyz", "/api/v1/nodes", "/api/v1/my/devices?namespace=ml"):
            answer = await client.get(path)
            assert (answer.status_code, answer.json()["code"]) == (503, "NOT_SYNCED")
            assert int(answer.headers["Retry-After"]) > 0
        posted = await client.post("/api/vms", json=examples.MACHINE)
        assert posted.status_code == 503
        assert (await client.get("/api/v1/reasons")).status_code == 200


async def test_a_cluster_that_cannot_be_reached_is_503(app, admin, monkeypatch):
    async def create(*_args, **_options):
        raise Unavailable("the API server does not answer")

    monkeypatch.setattr(app.state.service.cluster, "create", create)
    answer = await admin.post("/api/vms", json=examples.MACHINE)
    assert (answer.status_code, answer.json()["code"]) == (503, "UNAVAILABLE")


async def test_a_missing_right_is_named(cluster):
    from passway.kube.memory import MemoryCluster, Rule
    from passway.sample.cluster import sample_objects

    reading = (Rule(("get", "list", "watch"), ("*",), ("*",)),)
    poor = MemoryCluster(sample_objects(), kinds=kinds.ALL, rules=reading)
    async with running(create_app(poor, Tokens(DEMO))) as client:
        client.headers["Authorization"] = "Bearer demo-admin"
        answer = await client.post("/api/vms", json=examples.MACHINE)
        assert (answer.status_code, answer.json()["code"]) == (403, "RBAC_DENIED")
        assert "create virtualmachines.kubevirt.io" in answer.json()["detail"]
        change = await client.post("/api/v1/devices/permitted", json=examples.PCI)
        assert "patch kubevirts.kubevirt.io" in change.json()["detail"]


async def test_more_requests_than_the_limit_are_429_and_health_still_answers():
    held = asyncio.Event()

    async def waiting():
        yield b"{"
        await held.wait()
        yield b"}"

    app = create_app(sample(), Tokens(DEMO), max_in_flight=2)
    async with running(app) as client:
        client.headers["Authorization"] = "Bearer demo-user"
        busy = [
            asyncio.create_task(
                client.post("/api/v1/devices/preflight", content=waiting(), headers=JSON)
            )
            for _ in range(2)
        ]
        await asyncio.sleep(0.05)
        answer = await client.get("/api/v1/reasons")
        assert (answer.status_code, answer.json()["code"]) == (429, "TOO_MANY_REQUESTS")
        assert int(answer.headers["Retry-After"]) > 0
        assert (await client.get("/healthz")).status_code == 200
        held.set()
        assert [answer.status_code for answer in await asyncio.gather(*busy)] == [200, 200]
        assert (await client.get("/api/v1/reasons")).status_code == 200


async def test_a_client_that_is_gone_is_not_answered(app):
    sent = []

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/api/vms", "raw_path": b"/api/vms",
        "query_string": b"", "scheme": "http", "server": ("t", 80), "http_version": "1.1",
        "headers": [
            (b"authorization", b"Bearer demo-admin"), (b"content-type", b"application/json"),
        ],
    }  # fmt: skip
    await app(scope, receive, send)
    assert sent == []
    assert issubclass(ClientDisconnect, Exception)


def test_a_fault_that_pydantic_may_learn_is_told_in_a_neutral_way():
    error = invalid([{"type": "brand_new", "loc": ("query", "a"), "ctx": {"secret": 1}}])
    assert str(error) == "a: this is not a value that is accepted here"


async def test_the_framework_s_own_refusals_are_problems_too(app):
    from starlette.exceptions import HTTPException

    from passway.api.problems import on_http_error

    request = httpx.Request("GET", "http://t/")
    answer = await on_http_error(request, HTTPException(400))
    assert (answer.status_code, json.loads(answer.body)["code"]) == (400, "INVALID_REQUEST")
