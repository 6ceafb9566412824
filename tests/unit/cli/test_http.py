"""Requests to a service that misbehaves in every way, and addresses that are none."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from passway.cli import http
from passway.cli.failures import issues_of
from passway.cli.options import Usage
from passway.cli.remote import RemoteBackend
from passway.kubevirt.permitted import Permit
from passway.model import errors

NODES = {"apiVersion": "passway.dev/v1alpha1", "kind": "NodeList", "items": []}
ISSUE = {
    "reason": "InvalidValue", "stage": "manifest", "severity": "error", "message": "bad",
    "remedy": "mend", "docs": "", "file": "request", "line": 3, "column": 5,
}  # fmt: skip


@asynccontextmanager
async def serving(handler):
    """A server that gives every request to `handler`; gives its address."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"
    finally:
        await runner.cleanup()


def always(status=200, body=b"", headers=None):
    async def handler(_request):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return web.Response(status=status, body=data, headers=headers)

    return handler


def problem(status, code, **more):
    return {"title": "t", "status": status, "code": code, "detail": "what happened", **more}


async def asked(handler, timeout_s=10.0):
    async with serving(handler) as url:
        return await RemoteBackend(url, "token", timeout_s).nodes()


async def test_a_good_answer_is_a_document():
    assert (await asked(always(body=NODES))).items == ()


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "INVALID_REQUEST", errors.InvalidInput),
        (400, "INVALID_MANIFEST", errors.InvalidManifest),
        (401, "UNAUTHENTICATED", errors.Unauthenticated),
        (403, "RBAC_DENIED", errors.Forbidden),
        (404, "NOT_FOUND", errors.NotFound),
        (408, "REQUEST_TIMEOUT", errors.Unavailable),
        (409, "IN_USE", errors.Conflict),
        (413, "TOO_LARGE", errors.TooLarge),
        (415, "UNSUPPORTED_MEDIA_TYPE", errors.InvalidInput),
        (422, "DEVICE_PREFLIGHT_FAILED", errors.PreflightFailed),
        (429, "TOO_MANY_REQUESTS", errors.Unavailable),
        (500, "INTERNAL_ERROR", errors.PasswayError),
        (503, "NOT_SYNCED", errors.NotSynced),
        (503, "SOMETHING_NEW", errors.Unavailable),
        (418, "TEAPOT", errors.PasswayError),
    ],
)
async def test_a_problem_becomes_its_error(status, code, kind):
    with pytest.raises(errors.PasswayError, match="what happened") as caught:
        await asked(always(status, problem(status, code, hint="do", issues=[ISSUE])))
    error = caught.value
    assert isinstance(error, kind)
    assert error.kind.exit_code == kind.kind.exit_code
    assert (error.code, error.hint) == (code, "do")
    assert [issue.message for issue in issues_of(error)] == ["bad"]


@pytest.mark.parametrize(
    ("status", "kind"),
    [(404, errors.NotFound), (502, errors.Unavailable), (500, errors.PasswayError),
     (204, errors.PasswayError)],
)  # fmt: skip
async def test_what_is_no_problem_document_goes_by_status(status, kind):
    with pytest.raises(errors.PasswayError, match=f"status {status}") as caught:
        await asked(always(status, b"" if status == 204 else b"<html>"))
    assert type(caught.value) is kind


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'{"kind": "NodeList"}'])
async def test_what_is_no_document_is_not_the_service(body):
    with pytest.raises(errors.Unavailable, match="did not give what was asked for"):
        await asked(always(body=body))


async def test_a_redirect_is_not_followed():
    seen = []

    async def handler(request):
        seen.append(request.path)
        raise web.HTTPFound("/elsewhere")

    with pytest.raises(errors.Unavailable, match="redirects"):
        await asked(handler)
    assert seen == ["/api/v1/nodes"]


async def test_a_huge_answer_is_cut_off(monkeypatch):
    monkeypatch.setattr(http, "MAX_BYTES", 1000)
    with pytest.raises(errors.Unavailable, match="larger than 1000 bytes"):
        await asked(always(body=b" " * 100_000))


async def test_a_slow_answer_is_not_waited_for():
    done = asyncio.Event()

    async def handler(_request):
        await done.wait()
        return web.Response()

    async with serving(handler) as url:
        with pytest.raises(errors.Unavailable, match="in time"):
            await RemoteBackend(url, None, 0.1).nodes()
        done.set()


async def test_nobody_there():
    async with serving(always()) as url:
        pass
    with pytest.raises(errors.Unavailable, match="cannot reach"):
        await RemoteBackend(url, None, 5.0).nodes()


async def test_a_connection_that_breaks_off():
    async def handler(request):
        request.transport.close()
        return web.Response()

    with pytest.raises(errors.Unavailable, match="cannot reach"):
        await asked(handler)


async def test_https_is_verified():
    async with serving(always(body=NODES)) as url:
        with pytest.raises(errors.Unavailable):
            await RemoteBackend(url.replace("http:", "https:"), None, 5.0).nodes()


async def test_requests_carry_what_the_routes_take():
    seen = []

    async def handler(request):
        query = dict(request.query)
        seen.append((request.method, request.rel_url.raw_path, query, await request.text(),
                     request.content_type, request.headers.get("Authorization")))  # fmt: skip
        return web.json_response(problem(409, "IN_USE"), status=409)

    async with serving(handler) as url:
        backend = RemoteBackend(f"{url}/prefix/", "secret", 5.0)
        for question in (
            backend.machines("ml"),
            backend.machines(),
            backend.drain_impact("a/b%"),
            backend.check(b"x: 1", "f", namespace="ml", replicas=2, expand=True),
            backend.fit("x: 1", "f"),
            backend.permit(Permit("a/b", "pci", ("10DE:2236",), True), confirm=True),
            backend.permit(Permit("a/b", "mediated", ("GRID T4",)), dry_run=True),
            backend.permit(Permit("a/b", "usb", ("046d:c52b",))),
            backend.unpermit("a/b", selector="s", force=True),
            backend.create({"kind": "VirtualMachine"}, dry_run=True),
        ):
            with pytest.raises(errors.Conflict):
                await question
    assert {row[5] for row in seen} == {"Bearer secret"}
    methods = [row[:3] for row in seen]
    assert methods == [
        ("GET", "/prefix/api/v1/vms", {"namespace": "ml"}),
        ("GET", "/prefix/api/v1/vms", {}),
        ("GET", "/prefix/api/v1/nodes/a%2Fb%25/drain-impact", {}),
        ("POST", "/prefix/api/v1/preflight",
         {"namespace": "ml", "replicas": "2", "expand": "true"}),
        ("POST", "/prefix/api/v1/fit", {"namespace": "default"}),
        ("POST", "/prefix/api/v1/devices/permitted", {}),
        ("POST", "/prefix/api/v1/devices/permitted", {}),
        ("POST", "/prefix/api/v1/devices/permitted", {}),
        ("DELETE", "/prefix/api/v1/devices/permitted",
         {"resource_name": "a/b", "selector": "s", "dry_run": "false", "confirm": "false",
          "force": "true"}),
        ("POST", "/prefix/api/v1/vms", {"dry_run": "true"}),
    ]  # fmt: skip
    assert [row[4] for row in seen[3:6]] == ["application/yaml"] * 2 + ["application/json"]
    assert seen[3][3] == seen[4][3] == "x: 1"
    bodies = [json.loads(row[3]) for row in seen[5:8]]
    assert bodies[0] == {
        "kind": "pci", "resource_name": "a/b", "external_resource_provider": True,
        "confirm": True, "dry_run": False, "pci_vendor_selector": "10DE:2236",
    }  # fmt: skip
    assert bodies[1]["mdev_name_selector"] == "GRID T4"
    assert (bodies[2]["vendor"], bodies[2]["product"]) == ("046d", "c52b")


async def test_faults_of_a_manifest_name_the_local_file():
    handler = always(400, problem(400, "INVALID_MANIFEST", issues=[ISSUE, {**ISSUE, "file": None}]))
    async with serving(handler) as url:
        with pytest.raises(errors.InvalidManifest) as caught:
            await RemoteBackend(url, None, 5.0).check(b"x", "my.yaml")
    assert [issue.file for issue in issues_of(caught.value)] == ["my.yaml", None]


@pytest.mark.parametrize(
    "url",
    ["", "passway.example.com", "ftp://x", "http://", "http://x:99999", "http://x:0", "http://[",
     "http://user:secret@x", "http://x?a=1", "http://x#a"],
)  # fmt: skip
def test_what_is_no_address_is_a_usage_error(url):
    with pytest.raises(Usage, match="not the address"):
        RemoteBackend(url, None, 1.0)


@pytest.mark.parametrize("token", ["a b", "a\nb", "ä"])
def test_a_token_that_no_header_can_carry_is_a_usage_error(token):
    with pytest.raises(Usage, match="token"):
        RemoteBackend("https://x", token, 1.0)


@pytest.mark.parametrize(
    ("url", "warned"),
    [("http://far.example.com", True), ("HTTP://far.example.com", True),
     ("https://far.example.com", False), ("http://localhost:1", False), ("http://[::1]:1", False)],
)  # fmt: skip
def test_a_token_that_travels_in_the_open_is_mentioned(url, warned, capsys):
    RemoteBackend(url, "t", 1.0)
    assert ("unencrypted" in capsys.readouterr().err) is warned
