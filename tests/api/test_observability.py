"""What is told of requests: ids, log lines and metrics, and that no secret is in any of them."""

import asyncio
import io
import json
import logging
import random
import re
from contextlib import contextmanager

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.api.conftest import quiet, running, sample

from passway.api import examples, logs
from passway.api.app import create_app
from passway.api.identity import Account, Credential, Tokens
from passway.api.metrics import Metrics
from passway.api.rights import Role
from passway.api.routes.health import STALE_S
from passway.model.errors import Conflict
from passway.model.reasons import REASONS
from passway.service.mirror import Mirror

ADMIN = {"Authorization": "Bearer demo-admin"}
PERMITTED = "/api/v1/devices/permitted"


@contextmanager
def captured(form="json"):
    """All that a handler of the service's form writes meanwhile."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(logs.formatter(form))
    root, ours = logging.getLogger(), logging.getLogger("passway")
    before = root.level, ours.level
    client = logging.getLogger("httpx")  # of the tests, which is not the service's
    client.disabled = True
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    ours.setLevel(logging.DEBUG)
    try:
        yield written
    finally:
        client.disabled = False
        root.removeHandler(handler)
        root.setLevel(before[0])
        ours.setLevel(before[1])


def lines(written: io.StringIO, logger: str) -> list[dict]:
    found = [json.loads(line) for line in written.getvalue().splitlines()]
    return [line for line in found if line["logger"] == logger]


class NoRows:
    """An audit whose end is not known yet."""

    head = None


def logged_app(**more):
    return quiet(access_log=True, **more)


def samples(metrics: Metrics) -> dict:
    """(name, labels) -> value, as Prometheus reads them."""
    families = text_string_to_metric_families(metrics.exposition().decode())
    return {
        (one.name, tuple(sorted(one.labels.items()))): one.value
        for family in families
        for one in family.samples
    }


def value(metrics: Metrics, name: str, **labels) -> float:
    return samples(metrics)[(name, tuple(sorted(labels.items())))]


# -- ids --------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["a", "4bf92f35-77b3", "A" * 64, "x_1.2-3"])
async def test_an_id_that_is_plain_is_kept(api, given):
    answer = await api.get("/healthz", headers={"X-Request-ID": given})
    assert answer.headers.get_list("x-request-id") == [given]


@pytest.mark.parametrize(
    "given", ["", "A" * 65, "a b", "a\tb", "ä".encode(), 'a"b', "a;b", "<x>", b"\xff", "a=b"]
)
async def test_another_one_is_replaced(api, given):
    answer = await api.get("/healthz", headers=[(b"X-Request-ID", given)])
    assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])


async def test_each_request_has_its_own_id_whatever_its_answer(api):
    twice = [("X-Request-ID", "a"), ("X-Request-ID", "b")]
    asked = [("GET", "/healthz"), ("GET", "/nowhere"), ("BREW", "/healthz"), ("GET", "/api/v1/vms")]
    answers = [await api.request(*one, headers=twice) for one in asked]
    found = {answer.headers["x-request-id"] for answer in answers}
    assert len(found) == len(asked)
    assert not found & {"a", "b"}


# -- logs -------------------------------------------------------------------------------------


async def test_a_line_says_what_was_asked_by_its_template_and_by_whom():
    with captured() as written:
        async with running(logged_app()) as client:
            place = "/api/v1/vms/ml/secret-name/explanation"
            await client.get(place, headers={**ADMIN, "X-Request-ID": "one"})
            await client.get("/nowhere/secret-name", headers={"X-Request-ID": "two"})
    one, two = lines(written, "passway.access")
    assert (one["method"], one["status"], one["user"]) == ("GET", 404, "demo-admin")
    assert one["route"] == "/api/v1/vms/{namespace}/{name}/explanation"
    assert (one["request_id"], one["source"]) == ("one", "127.0.0.1")
    assert one["duration_ms"] >= 0
    assert (two["route"], two["user"], two["request_id"]) == ("none", None, "two")
    assert "secret-name" not in written.getvalue()


async def test_lines_that_are_written_meanwhile_carry_the_id(monkeypatch):
    monkeypatch.setattr("passway.service.report.reasons", lambda: {}["what somebody sent"])
    with captured() as written:
        async with running(logged_app()) as client:
            answer = await client.get("/api/v1/reasons", headers={**ADMIN, "X-Request-ID": "here"})
    (line,) = lines(written, "passway.api")
    assert answer.json()["detail"].endswith(" here")
    assert (line["request_id"], line["level"]) == ("here", "error")
    assert line["exception"].startswith("KeyError at ")
    assert "cluster.py" in line["exception"]
    assert "what somebody sent" not in written.getvalue()


def test_an_exception_is_told_with_its_causes_and_without_its_words():
    def fail():
        try:
            int("secret one")
        except ValueError as error:
            raise RuntimeError("secret two") from error

    for form in ("json", "text"):
        with captured(form) as written:
            try:
                fail()
            except RuntimeError:
                logging.getLogger("passway.x").exception("it failed")
        text = written.getvalue()
        assert text.count("\n") == 1
        assert "RuntimeError at " in text
        assert " from ValueError at " in text
        assert "secret" not in text


def test_text_is_one_line_whatever_is_in_it():
    with captured("text") as written:
        logging.getLogger("passway.x").warning("a\nb\x1b[31m %s", "c\u2028d")
    (line,) = written.getvalue().splitlines()
    assert line.endswith(" warning passway.x: a\\u000ab\\u001b[31m c\\u2028d")


def test_the_root_logger_is_configured_once(monkeypatch):
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    ours = logging.getLogger("passway").level
    written = io.StringIO()
    try:
        logs.configure("json", written)
        logs.configure("json", written)
        logging.getLogger("passway.y").info("ours")
        logging.getLogger("httpx").info("theirs")
        logging.getLogger("uvicorn.error").warning("warned")
    finally:
        root.handlers[:] = before
        root.setLevel(level)
        logging.getLogger("passway").setLevel(ours)
    told = [json.loads(line)["message"] for line in written.getvalue().splitlines()]
    assert told == ["ours", "warned"]


MARK = "s3cr3t-marker"
TOKEN = f"{MARK}-0123456789abcdef"
KNOWN = "known-0123456789abcdef"
MANIFEST = f"""
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: marked
  namespace: ml
  annotations: {{kubectl.kubernetes.io/last-applied-configuration: {MARK}}}
spec:
  runStrategy: Halted
  template:
    spec:
      domain:
        devices: {{disks: [{{name: c, disk: {{bus: virtio}}}}]}}
        resources: {{requests: {{memory: 1Gi}}}}
      volumes:
      - name: c
        cloudInitNoCloud: {{userData: "#cloud-config\\npassword: {MARK}"}}
"""


@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize("broken", [False, True])
async def test_no_secret_is_in_any_line_whatever_the_route(form, broken, monkeypatch):
    """Every route and method, with a marked token, cookie, query, path, body and header."""
    tokens = Tokens([Credential(KNOWN, Account("root", role=Role.ADMIN))])
    app = create_app(sample(), tokens, access_log=True)  # its audit is in the log
    with captured(form) as written:
        async with running(app) as client:
            if broken:  # a bug whose exception quotes what was sent

                def fail(*_args):
                    raise RuntimeError(MARK, MANIFEST)

                monkeypatch.setattr(type(app.state.service), "backend", fail)
            asked = 0
            for path, item in app.openapi()["paths"].items():
                for method in (*item, "put", "options"):
                    for token in (TOKEN, KNOWN):
                        await client.request(
                            method,
                            re.sub("{[a-z]+}", MARK, path),
                            params={"namespace": "ml"} if token == KNOWN else {"q": MARK},
                            headers={
                                "Authorization": f"Bearer {token}",
                                "Cookie": f"session={MARK}",
                                "X-Forwarded-For": MARK,
                                "Referer": f"https://a/{MARK}",
                                "X-Request-ID": "b" * 65,
                                "Content-Type": "application/yaml",
                            },
                            content=None if method in ("get", "options") else MANIFEST,
                        )
                        asked += 1
    text = written.getvalue()
    assert text.count("/api/v1/vms/{namespace}/{name}") > 4
    assert asked > 100
    assert ("unexpected error" in text) == broken
    assert ("passway.audit" in text) != broken
    assert MARK not in text
    assert KNOWN not in text


# -- metrics ----------------------------------------------------------------------------------


async def test_what_is_answered_is_counted(app, admin):
    metrics = app.state.service.metrics
    ask = {"Content-Type": "application/yaml"}
    await admin.post("/api/v1/preflight", content=examples.MANIFEST_TEXT, headers=ask)
    bad = {**examples.MACHINE, "devices": [{"name": "g", "device_name": "nvidia.com/NO_SUCH"}]}
    assert (await admin.post("/api/vms", json=bad)).status_code == 422
    assert (await admin.post("/api/vms", json=examples.MACHINE)).status_code == 201
    assert (await admin.get("/api/v1/vms/ml/none")).status_code == 404
    found = samples(metrics)
    judged = {
        key[1][0][1]: given for key, given in found.items() if key[0] == "passway_verdicts_total"
    }
    assert sum(judged.values()) == 3
    assert judged["no"] == 1
    reasons = {key[1][0][1] for key in found if key[0] == "passway_verdict_reasons_total"}
    assert "ResourceNotFound" in reasons or reasons
    assert reasons <= set(REASONS)
    count = "passway_http_request_duration_seconds_count"
    assert value(metrics, count, route="/api/vms", method="POST", status="422") == 1
    assert value(metrics, count, route="/api/v1/vms/{namespace}/{name}", method="GET",
                 status="404") == 1  # fmt: skip
    assert value(metrics, "passway_problems_total", code="DEVICE_PREFLIGHT_FAILED") == 1
    assert value(metrics, "passway_http_requests_in_flight") == 0


async def test_changes_of_the_list_are_counted_by_their_result(app, admin, monkeypatch):
    metrics = app.state.service.metrics
    await admin.post(PERMITTED, json={**examples.PCI, "dry_run": True})
    await admin.post(PERMITTED, json=examples.PCI)
    await admin.post(PERMITTED, json=examples.PCI)
    name = examples.PCI["resource_name"]

    async def patch(*_args, **_given):
        raise Conflict("somebody else", code="CONCURRENT_CHANGE")

    with monkeypatch.context() as patched:
        patched.setattr(app.state.service.cluster, "patch", patch)
        await admin.delete(PERMITTED, params={"resource_name": name, "force": "true"})
    await admin.delete(PERMITTED, params={"resource_name": name, "force": "true"})
    found = {
        tuple(label for _, label in key[1]): given
        for key, given in samples(metrics).items()
        if key[0] == "passway_permit_changes_total"
    }
    assert found == {
        ("permit", "dry_run"): 1, ("permit", "done"): 1, ("permit", "unchanged"): 1,
        ("unpermit", "CONCURRENT_CHANGE"): 1, ("unpermit", "done"): 1,
    }  # fmt: skip


async def test_the_state_of_the_cluster_is_told(app, api):
    metrics = app.state.service.metrics
    assert value(metrics, "passway_cluster_synced") == 1
    snapshot = app.state.service.mirror.snapshot()
    assert value(metrics, "passway_cluster_objects", kind="nodes") == len(snapshot.nodes) > 0
    assert value(metrics, "passway_cluster_objects", kind="pods") > 0
    assert value(metrics, "passway_cluster_kind_state", kind="nodes", state="read") == 1
    assert value(metrics, "passway_cluster_kind_state", kind="nodes", state="unread") == 0
    metrics.look_for_drift()
    told = sum(value(metrics, "passway_drift_findings", severity=one)
               for one in ("error", "warning", "unknown"))  # fmt: skip
    api.headers.update(ADMIN)
    assert told == len((await api.get("/api/v1/drift")).json()["issues"]) > 0


async def test_before_the_cluster_is_read_only_that_is_told():
    mirror = Mirror(sample())
    metrics = Metrics(mirror, NoRows())
    metrics.look_for_drift()
    names = {name for name, _ in samples(metrics)}
    assert value(metrics, "passway_cluster_synced") == 0
    assert not names & {"passway_cluster_objects", "passway_drift_findings"}
    assert {"passway_build_info", "process_resident_memory_bytes"} <= names


async def test_ages_grow_and_old_kinds_are_named_while_it_stays_ready():
    clock = ["2026-06-12T09:30:00Z"]
    cluster = sample()
    mirror = Mirror(cluster, now=lambda: clock[0])
    app = quiet(cluster, mirror=mirror)
    async with running(app) as client:
        assert (await client.get("/readyz")).json() == {"status": "ready"}
        clock[0] = "2026-06-12T09:40:00Z"
        answer = await client.get("/readyz")
        assert answer.status_code == 200
        assert {"kind": "nodes", "age_seconds": 600} in answer.json()["stale"]
        metrics = app.state.service.metrics
        assert value(metrics, "passway_cluster_state_age_seconds", kind="nodes") == 600 > STALE_S
        app.state.draining = True
        answer = await client.get("/readyz")
        assert (answer.status_code, answer.json()["code"]) == (503, "SHUTTING_DOWN")
        assert (await client.get("/healthz")).status_code == 200
        assert (await client.get("/api/v1/reasons", headers=ADMIN)).status_code == 200


def test_the_end_of_the_audit_is_told_where_it_has_one():
    class Chained:
        class head:  # noqa: N801 - an attribute
            sequence, hash = 7, "ab" * 32

    metrics = Metrics(Mirror(sample()), Chained())
    assert value(metrics, "passway_audit_entries_total") == 7
    assert value(metrics, "passway_audit_head_info", hash="ab" * 32) == 1


async def test_labels_are_bounded_whatever_is_asked():
    drawn = random.Random(4)
    app = logged_app()
    methods = ["GET", "POST", "BREW", "PUT", "DELETE", "X" * 30]
    async with running(app) as client:
        metrics = app.state.service.metrics
        for number in range(60):
            await ask_oddly(client, drawn, methods, number)
        before = len(samples(metrics))
        for number in range(60, 500):
            await ask_oddly(client, drawn, methods, number)
        after = samples(metrics)
    routes = {dict(labels)["route"] for name, labels in after if name.endswith("seconds_count")}
    assert routes <= {*app.openapi()["paths"], "/openapi.json", "none"}
    assert {dict(labels).get("method", "GET") for _, labels in after} <= {
        "GET", "POST", "PUT", "DELETE", "other"}  # fmt: skip
    assert len(after) < before * 3


async def ask_oddly(client: httpx.AsyncClient, drawn, methods, number):
    paths = [f"/x/{number}", f"/api/v1/vms/ns-{number}/vm", f"/api/v1/vms?namespace=n{number}",
             f"/api/v1/nodes/{number}/drain-impact", "/api/v1/reasons"]  # fmt: skip
    token = drawn.choice(["demo-admin", f"unknown-{number}"])
    await client.request(
        drawn.choice(methods), drawn.choice(paths), headers={"Authorization": f"Bearer {token}"}
    )


def test_the_first_problem_of_a_kind_is_an_increase():
    metrics = Metrics(Mirror(sample()), NoRows())
    for code in ("AUDIT_UNAVAILABLE", "UNAVAILABLE"):
        assert value(metrics, "passway_problems_total", code=code) == 0
        metrics.problem(code)
        assert value(metrics, "passway_problems_total", code=code) == 1


def test_codes_reasons_and_answers_have_a_bound_of_their_own():
    metrics = Metrics(Mirror(sample()), NoRows())
    for number in range(500):
        metrics.problem(f"CODE_{number}")
        metrics.changed("permit", f"CODE_{number}")
        metrics.judged(f"fits {number}", [(f"Reason{number}", "error")])
    found = samples(metrics)
    assert sum(name == "passway_problems_total" for name, _ in found) == 65
    assert sum(name == "passway_permit_changes_total" for name, _ in found) <= 65
    assert value(metrics, "passway_verdicts_total", fits="other") == 500
    assert value(metrics, "passway_verdict_reasons_total", reason="other", severity="error") == 500


async def test_two_applications_count_for_themselves():
    first, second = logged_app(), logged_app()
    async with running(first) as client, running(second):
        await client.get("/healthz")
    count = "passway_http_request_duration_seconds_count"
    assert any(name == count for name, _ in samples(first.state.service.metrics))
    assert not any(name == count for name, _ in samples(second.state.service.metrics))


async def test_a_request_that_nobody_waits_for_is_counted_too(app):
    async def receive():
        return {"type": "http.disconnect"}

    async def send(_message):
        raise AssertionError

    scope = {
        "type": "http", "method": "POST", "path": "/api/vms", "raw_path": b"/api/vms",
        "query_string": b"", "scheme": "http", "server": ("t", 80), "http_version": "1.1",
        "headers": [
            (b"authorization", b"Bearer demo-admin"), (b"content-type", b"application/json"),
        ],
    }  # fmt: skip
    await asyncio.wait_for(app(scope, receive, send), 5)
    count = "passway_http_request_duration_seconds_count"
    metrics = app.state.service.metrics
    assert value(metrics, count, route="/api/vms", method="POST", status="499") == 1
