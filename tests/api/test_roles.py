"""Every route for every role: who may ask what, and that nobody unknown gets anywhere."""

import re

import pytest

from passway.api import examples
from passway.api.identity import DEMO, Tokens
from passway.api.rights import Role

NOBODY, VIEWER, USER, ADMIN = "", "demo-viewer", "demo-user", "demo-admin"
PERMITTED = "/api/v1/devices/permitted"

# method, path, body, status for viewer, user, admin
ROUTES = [
    ("POST", "/api/vms", examples.MACHINE, 403, 201, 201),
    ("POST", "/api/vms?dry_run=true", examples.MACHINE, 403, 200, 200),
    ("POST", "/api/v1/vms", examples.MANIFEST, 403, 201, 201),
    ("POST", "/api/v1/devices/preflight", examples.PREFLIGHT, 403, 200, 200),
    ("POST", "/api/v1/preflight", examples.MANIFEST, 403, 200, 200),
    ("POST", "/api/v1/fit", examples.MANIFEST, 403, 200, 200),
    ("POST", "/api/v1/render/xml", examples.RENDER_XML, 403, 200, 200),
    ("POST", "/api/v1/render/pod", examples.MANIFEST, 403, 200, 200),
    ("GET", "/api/v1/devices", None, 403, 403, 200),
    ("GET", PERMITTED, None, 403, 403, 200),
    ("POST", PERMITTED, examples.USB, 403, 403, 200),
    ("DELETE", f"{PERMITTED}?resource_name=nvidia.com/nothing", None, 403, 403, 200),
    ("GET", "/api/v1/nodes", None, 403, 403, 200),
    ("GET", "/api/v1/nodes/worker-1/drain-impact", None, 403, 403, 200),
    ("GET", "/api/v1/vms", None, 403, 403, 200),
    ("GET", "/api/v1/vms/ml/train-1", None, 403, 200, 200),
    ("GET", "/api/v1/vms/ml/train-1/explanation", None, 403, 200, 200),
    ("POST", "/api/v1/what-if", examples.WHAT_IF, 403, 403, 200),
    ("POST", "/api/v1/what-if", examples.WHAT_IF_DRAIN, 403, 403, 200),
    ("GET", "/api/v1/drift", None, 403, 403, 200),
    ("GET", "/api/v1/reasons", None, 200, 200, 200),
    ("GET", "/api/v1/my/devices?namespace=ml", None, 403, 200, 200),
    ("GET", "/api/v1/my/vms", None, 403, 200, 200),
    ("GET", "/api/v1/audit", None, 403, 403, 200),
    ("GET", "/healthz", None, 200, 200, 200),
    ("GET", "/readyz", None, 200, 200, 200),
    ("GET", "/openapi.json", None, 200, 200, 200),
]


async def ask(client, method, path, body, token):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return await client.request(method, path, json=body, headers=headers)


@pytest.mark.parametrize(("method", "path", "body", "viewer", "user", "admin"), ROUTES)
async def test_each_role_may_do_what_the_table_says(api, method, path, body, viewer, user, admin):
    wanted = {VIEWER: viewer, USER: user, ADMIN: admin}
    got = {}
    for token in wanted:
        named = {**body, "name": f"vm-{token}"} if body and "image" in body else body
        if body is examples.MANIFEST:
            named = {**body, "metadata": {"name": f"vm-{token}", "namespace": "ml"}}
        answer = await ask(api, method, path, named, token)
        got[token] = answer.status_code
        if answer.status_code == 403:
            problem = answer.json()
            assert problem["code"] == "FORBIDDEN"
            assert re.search("passway-(user|admin)", problem["hint"])
    assert got == wanted


STRANGERS = (
    None, "", "Bearer", "Bearer ", "Bearer nobody", "Basic ZGVtbzpkZW1v", "demo-admin",
    "Bearer demo-admin2", "Bearer DEMO-ADMIN", "Bearer d\xe9mo",
)  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body"), [route[:3] for route in ROUTES])
async def test_nobody_unknown_gets_an_answer(api, method, path, body):
    for given in STRANGERS:
        headers = {} if given is None else {"Authorization": given.encode("latin-1")}
        answer = await api.request(method, path, json=body, headers=headers)
        if not path.startswith("/api/"):
            assert answer.status_code == 200
            continue
        assert answer.status_code == 401, given
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["code"] == "UNAUTHENTICATED"
        assert "demo-admin" not in answer.text


async def test_two_authorization_headers_are_none(api):
    headers = [("Authorization", "Bearer demo-admin"), ("Authorization", "Bearer demo-user")]
    assert (await api.get("/api/v1/reasons", headers=headers)).status_code == 401


async def test_the_scheme_is_read_in_any_case(api):
    headers = {"Authorization": "bearer demo-admin"}
    assert (await api.get("/api/v1/nodes", headers=headers)).status_code == 200


async def test_who_asks_is_settled_before_the_body_is_read(api):
    bad = {"content": b"\xff", "headers": {"Authorization": "Bearer nobody"}}
    assert (await api.post("/api/vms?nonsense=1", **bad)).status_code == 401
    bad["headers"] = {"Authorization": "Bearer demo-viewer"}
    assert (await api.post("/api/vms?nonsense=1", **bad)).status_code == 403


FOREIGN = "kubevirt"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/vms", {**examples.MACHINE, "namespace": FOREIGN}),
        ("POST", "/api/v1/devices/preflight", {"namespace": FOREIGN}),
        ("POST", "/api/v1/vms?namespace=kubevirt",
         {**examples.MANIFEST, "metadata": {"name": "x"}}),
        ("POST", "/api/v1/preflight",
         {**examples.MANIFEST, "metadata": {"name": "x", "namespace": FOREIGN}}),
        ("POST", "/api/v1/fit?namespace=kubevirt",
         {**examples.MANIFEST, "metadata": {"name": "x"}}),
        ("POST", "/api/v1/render/xml?namespace=kubevirt",
         {"manifest": {**examples.MANIFEST, "metadata": {"name": "x"}}}),
        ("POST", "/api/v1/render/xml",
         {"manifest": examples.MANIFEST_TEXT.replace("namespace: ml", "namespace: kubevirt")}),
        ("POST", "/api/v1/render/pod",
         {**examples.MANIFEST, "metadata": {"name": "x", "namespace": FOREIGN}}),
        ("GET", "/api/v1/my/devices?namespace=kubevirt", None),
        ("GET", "/api/v1/my/vms?namespace=kubevirt", None),
        ("GET", "/api/v1/vms/kubevirt/anything", None),
    ],
)  # fmt: skip
async def test_a_user_stays_in_the_own_namespaces(user, method, path, body):
    answer = await user.request(method, path, json=body)
    assert answer.status_code == 403
    problem = answer.json()
    assert re.fullmatch(
        r'you may not (get|create) preflights.passway.dev in namespace "kubevirt"',
        problem["detail"],
    )
    assert problem["hint"] == (
        'the role user has it: a RoleBinding to passway-user in namespace "kubevirt"'
    )


async def test_one_foreign_machine_spoils_the_whole_manifest(user):
    text = f"{examples.MANIFEST_TEXT}---\n{examples.MANIFEST_TEXT}".replace(
        "namespace: ml", "namespace: kubevirt", 1
    )
    headers = {"Content-Type": "application/yaml"}
    assert (await user.post("/api/v1/preflight", content=text, headers=headers)).status_code == 403


async def test_a_token_is_kept_as_a_digest_and_shows_nowhere():
    tokens = Tokens(DEMO)
    assert "demo-admin" not in repr(vars(tokens)["_entries"]).replace("user='demo-admin'", "")
    assert "token" not in repr(DEMO[0])
    assert (await tokens.identify(b"demo-admin")).role is Role.ADMIN
    assert await tokens.identify(b"demo-admin ") is None
