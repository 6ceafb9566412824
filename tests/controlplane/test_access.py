"""Who may ask what, by the real API server's own reviews and the chart's ClusterRoles.

One table has every route of the OpenAPI document and what each person gets; the API server, asked
directly, agrees with every cell.
"""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import asynccontextmanager

import httpx
import pytest
from tests.builders import GPU, pci, vm
from tests.controlplane.people import IMPERSONATING, READING, WRITING, People
from tests.controlplane.plane import Plane

from passway.api.app import create_app, route_rights
from passway.kube.client import KubeCluster
from passway.kube.config import load_config
from passway.service.authority import Belief, ClusterAuthority

pytestmark = [pytest.mark.plane, pytest.mark.slow]
LIMIT_S = 30
QUICK = Belief(known_s=1.0, unknown_s=0.5, allowed_s=1.0, refused_s=0.3)
PERMITTED = "/api/v1/devices/permitted"
USB = {"kind": "usb", "resource_name": "example.com/key", "vendor": "046d", "product": "c52b"}

# method, path as the OpenAPI document has it, query, body: viewer, user, creator, admin, nobody
A, R, U = (200, 200, 200, 200, 200), (403, 200, 200, 200, 403), (403, 403, 403, 200, 403)
TABLE = [
    ("GET", "/healthz", "", None, A),
    ("GET", "/readyz", "", None, A),
    ("GET", "/api/v1/reasons", "", None, (200, 200, 200, 200, 403)),
    ("POST", "/api/vms", "", "form", (403, 403, 201, 201, 403)),
    ("POST", "/api/v1/vms", "dry_run=true", "manifest", (403, 403, 200, 200, 403)),
    ("POST", "/api/v1/devices/preflight", "", "devices", R),
    ("POST", "/api/v1/preflight", "", "manifest", R),
    ("POST", "/api/v1/fit", "", "manifest", R),
    ("POST", "/api/v1/render/xml", "", "render", R),
    ("POST", "/api/v1/render/pod", "", "manifest", R),
    ("GET", "/api/v1/vms/{namespace}/{name}", "", None, R),
    ("GET", "/api/v1/vms/{namespace}/{name}/explanation", "", None, R),
    ("GET", "/api/v1/my/devices", "namespace={namespace}", None, R),
    ("GET", "/api/v1/my/vms", "namespace={namespace}", None, R),
    ("POST", "/api/v1/what-if", "", "what-if", U),
    ("GET", "/api/v1/devices", "", None, U),
    ("GET", PERMITTED, "", None, U),
    ("POST", PERMITTED, "", "permit", U),
    ("DELETE", PERMITTED, "resource_name=example.com/none", None, U),
    ("GET", "/api/v1/nodes", "", None, U),
    ("GET", "/api/v1/nodes/{name}/drain-impact", "", None, U),
    ("GET", "/api/v1/vms", "", None, U),
    ("GET", "/api/v1/drift", "", None, U),
    ("GET", "/api/v1/audit", "", None, U),
]
NAMES = ("viewer", "user", "creator", "admin", "nobody")


def body_of(kind: str | None, name: str, namespace: str) -> dict | None:
    manifest = vm(f"{name}-2", namespace=namespace, gpus=[GPU], run_strategy="Halted")
    form = {"namespace": namespace, "cpus": 1, "memory": 1024,
            "devices": [{"name": "g", "device_name": GPU}],
            "run_strategy": "Halted"}  # fmt: skip
    bodies = {
        "form": {**form, "name": name, "image": "example.com/disk:1"},
        "devices": {"namespace": namespace, "devices": form["devices"]},
        "manifest": manifest, "render": {"manifest": manifest}, "permit": USB,
        "what-if": {"changes": [{"drain": "gpu-1"}]},
    }  # fmt: skip
    return bodies[kind] if kind else None


@pytest.fixture
def people(plane: Plane, namespace: str) -> Iterator[People]:
    found = People(plane, namespace)
    yield found
    found.leave()


@pytest.fixture
def tokens(people: People) -> dict[str, str]:
    """A token for each person of the table; `user` may not create VMs, `creator` may."""
    found = {name: people.account(name) for name in NAMES}
    create, patch = (people.role(f"w{i}", rule) for i, rule in enumerate(WRITING))
    people.bind("viewer", "passway-viewer", everywhere=True)
    people.bind("user", "passway-user")
    people.bind("creator", "passway-user")
    people.bind("creator", create)
    for role in ("passway-admin", create, patch):
        people.bind("admin", role, everywhere=True)
    # Reasons are the cluster's: a RoleBinding does not reach them.
    for name in ("user", "creator"):
        people.bind(name, "passway-viewer", everywhere=True)
    return found


@pytest.fixture
def own(people: People) -> str:
    """The kubeconfig of the service itself: it reads, writes VMs and permits, and reviews."""
    return service_account(people, "passway", READING, *WRITING)


def service_account(people: People, name: str, *rules: dict) -> str:
    token = people.account(name)
    people.bind(name, "system:auth-delegator", everywhere=True)
    people.bind(name, people.role(name, *rules), everywhere=True)
    return people.plane.kubeconfig(f"{name}-{people.namespace}", {"token": token})


@asynccontextmanager
async def serving(config: str, belief: Belief = QUICK, *, impersonate: bool = False, **options):
    cluster = KubeCluster(load_config(config), timeout_s=10)
    authority = ClusterAuthority(cluster, belief=belief, **options)
    app = create_app(cluster, authority, acting=cluster.acting if impersonate else None)
    async with app.router.lifespan_context(app):
        await app.state.service.mirror.ready(LIMIT_S)
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app), base_url="http://passway", timeout=LIMIT_S
        ) as client:
            yield client


def bearer(token: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


async def until(ask, status: int, limit_s: float) -> float:
    """Seconds until an answer has this status."""
    begun = time.monotonic()
    while (answer := await ask()).status_code != status:
        assert time.monotonic() - begun < limit_s, answer.text
        await asyncio.sleep(0.1)
    return time.monotonic() - begun


def url_of(path: str, query: str, namespace: str) -> str:
    name = "gpu-1" if "/nodes/" in path else "one"
    filled = path.format(namespace=namespace, name=name)
    return f"{filled}?{query.format(namespace=namespace)}" if query else filled


@pytest.fixture
def cluster(plane: Plane, kubevirt, kubelet, namespace: str) -> Plane:
    """A node with GPUs, which are permitted, and a VM `one`."""
    kubevirt.configure({"permittedHostDevices": {"pciHostDevices": [pci("10DE:2236", GPU)]}})
    kubelet.add("gpu-1", {GPU: 9})
    path = f"/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachines"
    plane.request("POST", path, vm("one", namespace=namespace, run_strategy="Halted"))
    return plane


async def test_every_route_for_every_person(cluster, namespace, people, tokens, own):
    rights = route_rights()
    async with serving(own) as client:
        document = (await client.get("/openapi.json")).json()["paths"]
        routes = {(method.upper(), path) for path, item in document.items() for method in item}
        assert {row[:2] for row in TABLE} == routes == set(rights)
        strangers = {
            "anonymous": None, "wrong": "nothing", "cut": tokens["admin"][:-8],
            "static": "x" * 40, "expired": people.resigned(tokens["admin"], -60),
        }  # fmt: skip
        for method, path, query, kind, wanted in TABLE:
            url, got = url_of(path, query, namespace), []
            for name in NAMES:
                body = body_of(kind, f"vm-{name}", namespace)
                answer = await client.request(method, url, json=body, headers=bearer(tokens[name]))
                got.append(answer.status_code)
                if answer.status_code == 403:
                    assert answer.json()["code"] == "FORBIDDEN"
                    assert "passway-" in answer.text or "virtualmachines" in answer.text
                said = all(
                    people.allowed(
                        name, right.verb, right.group, right.resource,
                        namespace if right.namespaced else "",
                    )
                    for right in rights[method, path]
                )  # fmt: skip
                assert said is (answer.status_code in {200, 201}), (url, name)
            assert tuple(got) == wanted, (method, url)
            for name, token in strangers.items():
                answer = await client.request(method, url, json=body, headers=bearer(token))
                assert answer.status_code == (401 if path.startswith("/api/") else 200), (url, name)
        # The signature of the expired one was good: only its time was not.
        good = people.resigned(tokens["admin"], 600)
        assert (await client.get("/api/v1/nodes", headers=bearer(good))).status_code == 200


async def test_rights_end_at_the_namespace(cluster, namespace, people, tokens, own):
    """A tenant of one namespace asks about another: refused, and told nothing of it."""
    other = f"{namespace}-other"
    cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": other}})
    async with serving(own) as client:
        for method, path, query, kind, _ in TABLE:
            if not any(right.namespaced for right in route_rights()[method, path]):
                continue
            answer = await client.request(
                method, url_of(path, query, other), json=body_of(kind, "x", other),
                headers=bearer(tokens["creator"]),
            )  # fmt: skip
            assert answer.status_code == 403, path
            assert answer.json()["detail"].endswith(f'in namespace "{other}"')
            answer = await client.request(
                method, url_of(path, query, other), json=body_of(kind, "x", other),
                headers=bearer(tokens["admin"]),
            )  # fmt: skip
            assert answer.status_code in {200, 201, 404}, (path, answer.text)
        both = json.dumps({"apiVersion": "v1", "kind": "List", "items": [
            vm("a", namespace=namespace), vm("b", namespace=other),
        ]})  # fmt: skip
        headers = bearer(tokens["user"]) | {"Content-Type": "application/json"}
        answer = await client.post("/api/v1/preflight", content=both, headers=headers)
        assert (answer.status_code, answer.json()["detail"].split()[-1]) == (403, f'"{other}"')
        answer = await client.get("/api/v1/my/vms", headers=bearer(tokens["user"]))
        assert (answer.status_code, answer.json()["hint"]) == (403, "name one of yours")
    cluster.request("DELETE", f"/api/v1/namespaces/{other}")


async def test_changing_the_list_takes_the_right_on_the_object_too(
    cluster, namespace, people, tokens, own
):
    permits = people.role("permits", {
        "apiGroups": ["passway.dev"], "resources": ["permits"], "verbs": ["get", "create"],
    })  # fmt: skip
    people.bind("user", permits, everywhere=True)
    async with serving(own) as client:

        async def asked(**more):
            return await client.post(
                PERMITTED, json={**USB, **more}, headers=bearer(tokens["user"])
            )

        await until(lambda: asked(dry_run=True), 200, LIMIT_S)
        answer = await asked()
        assert answer.status_code == 403
        assert "patch kubevirts.kubevirt.io in namespace" in answer.json()["detail"]
        headers = bearer(tokens["admin"])
        audit = (await client.get("/api/v1/audit", headers=headers)).json()["items"]
        assert audit[0]["user"] == people.user("user")
        assert audit[0]["result"] == "FORBIDDEN"


async def test_a_revoked_binding_and_a_deleted_account_end_soon(people, namespace, own):
    token = people.account("guest")
    binding = people.bind("guest", "passway-user")
    async with serving(own) as client:

        def asked():
            return client.get(f"/api/v1/my/devices?namespace={namespace}", headers=bearer(token))

        assert (await asked()).status_code == 200
        people.plane.request("DELETE", binding)
        assert await until(asked, 403, LIMIT_S) < QUICK.allowed_s + 5
        people.bind("guest", "passway-user")
        await until(asked, 200, LIMIT_S)
        people.remove("guest")
        # The API server itself believes in a token for 10 s.
        assert await until(asked, 401, LIMIT_S) < QUICK.known_s + 15


async def test_a_token_for_another_audience_is_nobodys(people, namespace, own):
    token = people.account("guest")
    people.bind("guest", "passway-viewer", everywhere=True)
    made = people.plane.request(
        "POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/guest/token",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
         "spec": {"audiences": ["passway"]}},
    )["status"]["token"]  # fmt: skip
    seen = {}
    for name, options in (("api", {}), ("passway", {"audiences": ["passway"]})):
        async with serving(own, **options) as client:
            for kind, given in (("api", token), ("passway", made)):
                answer = await client.get("/api/v1/reasons", headers=bearer(given))
                seen[name, kind] = answer.status_code
    assert seen == {
        ("api", "api"): 200, ("api", "passway"): 401,
        ("passway", "api"): 401, ("passway", "passway"): 200,
    }  # fmt: skip


async def test_a_service_that_may_not_review_says_so(people, tokens):
    poor = people.plane.kubeconfig("poor", {"token": tokens["nobody"]})
    async with serving(poor) as client:
        answer = await client.get("/api/v1/reasons", headers=bearer(tokens["admin"]))
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (503, "REVIEWS_NOT_ALLOWED")
    assert "tokenreviews.authentication.k8s.io" in problem["detail"]
    assert "system:auth-delegator" in problem["hint"]
    assert answer.headers["Retry-After"]


async def test_writes_count_as_the_persons_own(cluster, namespace, people, tokens):
    """The service may impersonate, and may not create VMs: so whoever created it was the person."""
    config = service_account(people, "impersonating", READING, *IMPERSONATING)
    form = body_of("form", "mine", namespace)
    async with serving(config) as client:
        answer = await client.post("/api/vms", json=form, headers=bearer(tokens["creator"]))
        assert (answer.status_code, answer.json()["code"]) == (403, "RBAC_DENIED")
    async with serving(config, impersonate=True) as client:
        answer = await client.post("/api/vms", json=form, headers=bearer(tokens["creator"]))
        assert answer.status_code == 201, answer.text
        answer = await client.get(f"/api/v1/vms/{namespace}/mine", headers=bearer(tokens["user"]))
        assert answer.status_code == 200


async def test_while_the_api_server_is_away_nobody_is_let_in(tmp_path):
    with Plane(tmp_path, only_api=True) as plane:
        plane.empty("lab")
        people = People(plane, "lab")
        token, other = people.account("viewer"), people.account("late")
        people.bind("viewer", "passway-viewer", everywhere=True)
        async with serving(service_account(people, "passway", READING)) as client:

            async def asked(given=token):
                return await client.get("/api/v1/reasons", headers=bearer(given))

            assert (await asked()).status_code == 200
            await asyncio.to_thread(plane.component("kube-apiserver").stop)
            await until(asked, 503, 10)
            for given in (token, other, "nothing"):
                answer = await asked(given)
                assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2"), given
            await asyncio.to_thread(plane.start_apiserver)
            await until(asked, 200, LIMIT_S)
            assert (await asked(other)).status_code == 403
