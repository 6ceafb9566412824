"""Rights, roles and the ClusterRoles of the chart, with a cluster in memory as the authority."""

from pathlib import Path

import pytest
import yaml
from tests.api.conftest import running
from tests.reviews import Reviewing

from passway.api import examples
from passway.api.app import create_app, route_rights
from passway.api.rights import AUDIT, CLUSTER_ROLES, ROLES, Role, remedy
from passway.cluster import kinds
from passway.model.errors import Unavailable
from passway.sample.cluster import sample_objects
from passway.service.authority import ClusterAuthority
from passway.service.gate import CREATE_MACHINES, GROUP, Right

CHART = Path(__file__).parents[2] / "charts" / "passway" / "files" / "roles.yaml"


def granted(role) -> set[tuple[str, str, str]]:
    return {
        (verb, resource, group)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_the_charts_roles_are_those_of_a_token_file():
    roles = {item["metadata"]["name"]: item for item in yaml.safe_load_all(CHART.read_text())}
    assert set(roles) == set(CLUSTER_ROLES.values())
    for role, name in CLUSTER_ROLES.items():
        assert roles[name]["kind"] == "ClusterRole"
        assert set(roles[name]) == {"apiVersion", "kind", "metadata", "rules"}
        assert granted(roles[name]) == {(r.verb, r.resource, r.group) for r in ROLES[role]}


def test_every_right_of_a_route_is_in_a_role_and_the_other_way_round():
    asked = {right for rights in route_rights().values() for right in rights}
    assert asked - {CREATE_MACHINES} == set(ROLES[Role.ADMIN])
    assert set(ROLES[Role.VIEWER]) < set(ROLES[Role.USER]) < set(ROLES[Role.ADMIN])


def test_only_routes_about_the_service_itself_are_open():
    assert {path for (_, path), rights in route_rights().items() if not rights} == {
        "/healthz", "/readyz",
    }  # fmt: skip


def test_a_refusal_says_what_to_ask_for():
    assert remedy(AUDIT, "ml") == "the role cluster.admin has it: a binding to passway-admin"
    assert remedy(CREATE_MACHINES, "ml") == (
        'ask for the right to create virtualmachines.kubevirt.io in namespace "ml", beside the role'
    )
    patch = Right("patch", "kubevirts", "kubevirt.io", namespaced=True)
    assert remedy(patch, None) == "ask for the right to patch kubevirts.kubevirt.io"


# -- with the cluster as the authority -----------------------------------------------------------


@pytest.fixture
def reviewing() -> Reviewing:
    people = {"t-ann": {"username": "ann"}, "t-root": {"username": "root"}}
    grants = [("ann", verb, "preflights", "ml") for verb in ("get", "create")]
    grants += [("root", r.verb, r.resource, "") for r in (*ROLES[Role.ADMIN], CREATE_MACHINES)]
    return Reviewing(sample_objects(), kinds=kinds.ALL, people=people, grants=grants)


@pytest.fixture
async def client(reviewing):
    async with running(create_app(reviewing, ClusterAuthority(reviewing))) as found:
        found.headers["Authorization"] = "Bearer t-ann"
        yield found


FORM = {**examples.MACHINE, "name": "new"}


async def test_a_tenant_asks_where_a_role_is_bound(client):
    assert (await client.post("/api/v1/preflight", json=examples.MANIFEST)).status_code == 200
    foreign = {**examples.MANIFEST, "metadata": {"name": "x", "namespace": "web"}}
    answer = await client.post("/api/v1/preflight", json=foreign)
    assert answer.status_code == 403
    assert answer.json()["detail"] == (
        'you may not create preflights.passway.dev in namespace "web"'
    )
    assert (await client.get("/api/v1/devices")).status_code == 403
    assert (await client.get("/api/v1/my/vms?namespace=ml")).status_code == 200
    assert (await client.get("/api/v1/my/vms")).status_code == 403


async def test_all_namespaces_for_who_has_the_right_in_all(client, reviewing):
    reviewing.grants.add(("ann", "get", "preflights", ""))
    found = (await client.get("/api/v1/my/vms")).json()["items"]
    assert {vm["namespace"] for vm in found} > {"ml", "web"}


async def test_creating_takes_the_clusters_own_right_too(client, reviewing):
    answer = await client.post("/api/vms", json=FORM)
    assert answer.status_code == 403
    assert answer.json()["detail"] == (
        'you may not create virtualmachines.kubevirt.io in namespace "ml"'
    )
    dry = await client.post("/api/v1/preflight?server_dry_run=true", json=examples.MANIFEST)
    assert dry.status_code == 403
    assert not [
        item for item in (await reviewing.list(kinds.MACHINES, "ml"))[0]
        if item["metadata"]["name"] == "new"
    ]  # fmt: skip


async def test_the_list_takes_the_right_on_its_object(client, reviewing):
    client.headers["Authorization"] = "Bearer t-root"
    url = "/api/v1/devices/permitted"
    assert (await client.post(url, json={**examples.PCI, "dry_run": True})).status_code == 200
    answer = await client.post(url, json=examples.PCI)
    assert answer.status_code == 403
    assert answer.json()["detail"].startswith("you may not patch ")
    entry = (await client.get("/api/v1/audit")).json()["items"][0]
    assert (entry["user"], entry["result"]) == ("root", "FORBIDDEN")


async def test_order_of_refusals(client):
    bad = {"content": b"\xff"}
    client.headers["Authorization"] = "Bearer nobody"
    assert (await client.post("/api/v1/what-if?junk=1", **bad)).status_code == 401
    client.headers["Authorization"] = "Bearer t-ann"
    assert (await client.post("/api/v1/what-if?junk=1", **bad)).status_code == 403
    assert (await client.get("/api/v1/my/devices?namespace=web&junk=1")).status_code == 403
    assert (await client.get("/api/v1/my/devices?namespace=ml&junk=1")).status_code == 400
    assert (await client.get("/api/v1/my/devices?namespace=M_L")).status_code == 400
    assert (await client.post("/api/v1/preflight?junk=1", **bad)).status_code == 400


async def test_nobody_is_let_in_while_reviews_fail(client, reviewing):
    reviewing.failing = Unavailable("away")
    for method, path in route_rights():
        if path.startswith("/api/"):
            answer = await client.request(method, path.format(namespace="ml", name="x"))
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2"), path


async def test_writes_are_made_on_the_cluster_of_the_person(reviewing):
    asked = []

    def acting(who):
        asked.append(who.user)
        return reviewing

    app = create_app(reviewing, ClusterAuthority(reviewing), acting=acting)
    async with running(app) as client:
        headers = {"Authorization": "Bearer t-root"}
        assert (await client.post("/api/vms", json=FORM, headers=headers)).status_code == 201
    assert asked == ["root"]


def test_rights_are_those_of_the_group():
    assert {right.group for rights in ROLES.values() for right in rights} == {GROUP}


async def test_the_document_names_the_rights(client):
    paths = (await client.get("/openapi.json")).json()["paths"]
    assert paths["/api/vms"]["post"]["x-passway-rights"] == [
        "create preflights.passway.dev", "create virtualmachines.kubevirt.io",
    ]  # fmt: skip
    assert "x-passway-rights" not in paths["/healthz"]["get"]
