"""The calls of the port over HTTP: what is sent, paging, and what answers are taken for."""

import json

import pytest
from tests.faulty import plain, said, status, talking

from passway.cluster import kinds
from passway.cluster.kinds import Kind
from passway.kube import client
from passway.model.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    PasswayError,
    Unauthenticated,
    Unavailable,
)
from passway.service.ports import Expired, OtherVersion

CONFIG = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
MACHINE = Kind("kubevirt.io", "v1", "VirtualMachine", "virtualmachines", namespaced=True)
GONE = status(410, "The provided continue parameter is too old", "Expired")


def config(name="c", namespace="lab", **data):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "resourceVersion": "7"},
        "data": data,
    }


def item(name, namespace="lab"):
    return {"metadata": {"name": name, "namespace": namespace}}


def page(*names, version="10", more=""):
    return said({
        "kind": "ConfigMapList", "apiVersion": "v1",
        "metadata": {"resourceVersion": version} | ({"continue": more} if more else {}),
        "items": [item(name) for name in names],
    })  # fmt: skip


def names(objects):
    return [obj["metadata"]["name"] for obj in objects]


# -- what is sent ---------------------------------------------------------------------------------


async def test_an_object_is_read_and_deleted_at_its_path():
    async with talking(
        said(config()), said({"kind": "Status", "status": "Success"}), said(config(), 202)
    ) as (server, cluster, _):
        assert await cluster.get(CONFIG, "a b", "lab") == config()
        await cluster.delete(CONFIG, "c", "lab")
        await cluster.delete(CONFIG, "c", "lab")
    assert [(one.method, one.target) for one in server.asked] == [
        ("GET", "/api/v1/namespaces/lab/configmaps/a%20b"),
        ("DELETE", "/api/v1/namespaces/lab/configmaps/c"),
        ("DELETE", "/api/v1/namespaces/lab/configmaps/c"),
    ]
    assert server.asked[0].headers["User-Agent"] == "passway"
    assert server.asked[0].headers["Accept"] == "application/json"


@pytest.mark.parametrize("name", ["", ".", "..", "vm/status", "%2e%2e", "\ud800"])
async def test_a_bad_name_is_never_sent(name):
    """The empty one would delete everything, the one with a slash names a subresource."""
    async with talking() as (server, cluster, _):
        for call in (
            cluster.get(CONFIG, name, "lab"),
            cluster.get(CONFIG, "c", name),
            cluster.list(CONFIG, name),
            cluster.patch(CONFIG, name, "lab", {}),
            cluster.patch(CONFIG, name, "lab", []),
            cluster.delete(CONFIG, name, "lab"),
            cluster.create(CONFIG, config(namespace=name)),
        ):
            with pytest.raises(InvalidInput):
                await call
    assert server.asked == []


@pytest.mark.parametrize("dry_run", [False, True])
async def test_writes_are_strict_and_may_be_dry(dry_run):
    new = config(a="1")
    del new["metadata"]["resourceVersion"]
    async with talking(*[said(config(), code) for code in (201, 200, 200)]) as (
        server, cluster, _,
    ):  # fmt: skip
        await cluster.create(CONFIG, new, dry_run=dry_run)
        await cluster.patch(CONFIG, "c", "lab", {"data": {"a": None}}, dry_run=dry_run)
        tests = [{"op": "test", "path": "/data/a", "value": "1"}]
        await cluster.patch(CONFIG, "c", "lab", tests, dry_run=dry_run)
    create, merge, patch = server.asked
    for one in server.asked:
        assert one.query == {"fieldValidation": "Strict", "fieldManager": "passway"} | (
            {"dryRun": "All"} if dry_run else {}
        )
    assert (create.method, create.path) == ("POST", "/api/v1/namespaces/lab/configmaps")
    assert (create.headers["Content-Type"], json.loads(create.body)) == ("application/json", new)
    assert (merge.method, merge.path) == ("PATCH", "/api/v1/namespaces/lab/configmaps/c")
    assert merge.headers["Content-Type"] == "application/merge-patch+json"
    assert json.loads(merge.body) == {"data": {"a": None}}
    assert patch.headers["Content-Type"] == "application/json-patch+json"
    assert json.loads(patch.body) == tests


async def test_what_is_not_json_is_not_sent():
    nested = []
    for _ in range(5000):
        nested = [nested]
    async with talking() as (server, cluster, _):
        for value in ("\udc80", object(), nested):
            with pytest.raises(InvalidInput, match="this is not JSON"):
                await cluster.patch(CONFIG, "c", "lab", {"data": {"a": value}})
    assert server.asked == []


# -- what the answers are taken for ---------------------------------------------------------------


@pytest.mark.parametrize(
    "body", [b"", b"<html>log in</html>", b"[]", b'"x"', b"{", b'{"a": "\xff"}', b'{"a":' * 99_999]
)
async def test_a_success_that_is_no_object(body):
    async with talking(*[plain(200, body)] * 4) as (_, cluster, _):
        for call in (
            cluster.get(CONFIG, "c", "lab"),
            cluster.patch(CONFIG, "c", "lab", {}),
            cluster.delete(CONFIG, "c", "lab"),
            cluster.list(CONFIG),
        ):
            with pytest.raises(Unavailable, match="cannot be read"):
                await call


@pytest.mark.parametrize(
    "listed",
    [
        {"items": []},
        {"metadata": {"resourceVersion": 5}, "items": []},
        {"metadata": {"resourceVersion": "5"}, "items": {}},
        {"metadata": {"resourceVersion": "5"}, "items": ["x"]},
        {"metadata": {"resourceVersion": "5"}, "items": [{}]},
        {"metadata": {"resourceVersion": "5"}, "items": [{"metadata": {"name": 5}}]},
    ],
)
async def test_a_list_that_is_none(listed):
    async with talking(said(listed), said(listed)) as (_, cluster, _):
        with pytest.raises(Unavailable, match="the list of resourcequotas cannot be read"):
            await cluster.list(kinds.QUOTAS)
        with pytest.raises(Unavailable, match="the list of resourcequotas cannot be read"):
            [one async for one in cluster.pages(kinds.QUOTAS)]


async def test_an_empty_list_may_have_no_items_at_all():
    empty = {"metadata": {"resourceVersion": "5"}, "items": None}
    async with talking(*[said(empty)] * 3) as (_, cluster, _):
        assert await cluster.list(CONFIG) == ([], "5")
        for _ in range(2):
            [only] = [one async for one in cluster.pages(kinds.QUOTAS)]
            assert (list(only.records), only.version) == ([], "5")


async def test_refusals_name_what_was_asked_for():
    async with talking(
        status(401), status(409, reason="AlreadyExists"), status(404, details={"name": "c"}),
        status(403, 'pods is forbidden: User "b" cannot list resource "pods"'),
    ) as (_, cluster, _):  # fmt: skip
        with pytest.raises(Unauthenticated):
            await cluster.get(CONFIG, "c", "lab")
        with pytest.raises(Conflict, match='configmaps in namespace "lab" exists already'):
            await cluster.create(CONFIG, item("c") | {"apiVersion": "v1", "kind": "ConfigMap"})
        with pytest.raises(NotFound, match='configmaps "c" in namespace "lab" does not exist'):
            await cluster.patch(CONFIG, "c", "lab", {})
        with pytest.raises(Forbidden, match="not allowed: list configmaps at the cluster scope"):
            await cluster.list(CONFIG)


# -- paging ---------------------------------------------------------------------------------------


async def test_a_list_comes_in_pages(monkeypatch):
    monkeypatch.setattr(client, "PAGE", 2)
    async with talking(page("a", "b", more="a/b&c="), page("c")) as (server, cluster, _):
        objects, version = await cluster.list(CONFIG, "lab")
    assert (names(objects), version) == (["a", "b", "c"], "10")
    assert {(obj["apiVersion"], obj["kind"]) for obj in objects} == {("v1", "ConfigMap")}
    assert [one.query for one in server.asked] == [
        {"limit": "2"}, {"limit": "2", "continue": "a/b&c="},
    ]  # fmt: skip


async def test_a_list_is_sorted_by_namespace_and_name_and_not_by_the_servers_keys():
    served = [item("x", "a-b"), item("y", "a"), item("x", "a")]
    async with talking(said({"metadata": {}, "items": served})) as (_, cluster, _):
        objects, version = await cluster.list(CONFIG)
    assert [(o["metadata"]["namespace"], o["metadata"]["name"]) for o in objects] == [
        ("a", "x"), ("a", "y"), ("a-b", "x"),
    ]  # fmt: skip
    assert version == ""


async def test_a_list_that_expires_is_begun_anew_and_never_mixed():
    async with talking(page("old", more="t"), GONE, page("new", version="20", more="u"),
                       page("newer", version="20")) as (server, cluster, _):  # fmt: skip
        objects, version = await cluster.list(CONFIG)
    assert (names(objects), version) == (["new", "newer"], "20")
    assert [one.query.get("continue") for one in server.asked] == [None, "t", None, "u"]


async def test_a_list_that_always_expires_is_given_up():
    async with talking(*[page("old", more="t"), GONE] * 3) as (server, cluster, _):
        with pytest.raises(Expired):
            await cluster.list(CONFIG)
    assert len(server.asked) == 6


async def test_whoever_takes_pages_is_told_that_they_are_no_list():
    async with talking(page("old", more="t"), GONE) as (_, cluster, _):
        pages = cluster.pages(kinds.QUOTAS)
        assert [quota.metadata.name for quota in (await anext(pages)).records] == ["old"]
        with pytest.raises(Expired):
            await anext(pages)


async def test_a_watch_from_pages_of_several_moments_misses_nothing():
    async with talking(page("a", version="5", more="t"), page("b", version="9")) as (_, cluster, _):
        assert [one.version async for one in cluster.pages(kinds.QUOTAS)] == ["5", "5"]


async def test_the_same_page_again_and_again_is_no_list():
    async with talking(*[page("a", more="t")] * 3) as (server, cluster, _):
        with pytest.raises(Unavailable, match="the same page twice"):
            await cluster.list(CONFIG)
    assert len(server.asked) == 2


async def test_a_page_that_is_refused_ends_the_list():
    async with talking(page("a", more="t"), status(500, "etcd"), *[status(500)] * 3) as (
        _, cluster, sleeps,
    ):  # fmt: skip
        with pytest.raises(Unavailable):
            await cluster.list(CONFIG)
    assert len(sleeps) == 3


# -- JSON patches ---------------------------------------------------------------------------------

REFUSED = status(422, "the server rejected our request due to an error in our request", "Invalid")
TEST = [{"op": "test", "path": "/data/a", "value": "1"}]


async def test_a_test_that_fails_is_a_conflict():
    async with talking(REFUSED, said(config(a="2"))) as (server, cluster, _):
        with pytest.raises(Conflict) as refused:
            await cluster.patch(CONFIG, "c", "lab", TEST)
    assert refused.value.code == "CONCURRENT_CHANGE"
    assert [one.method for one in server.asked] == ["PATCH", "GET"]


async def test_an_operation_that_cannot_work_is_named():
    async with talking(REFUSED, said(config())) as (_, cluster, _):
        with pytest.raises(InvalidInput, match="nothing is at '/data/x'"):
            await cluster.patch(CONFIG, "c", "lab", [{"op": "remove", "path": "/data/x"}])


async def test_where_the_patch_itself_works_the_servers_words_stand():
    refused = status(422, "data: Forbidden: immutable", "Invalid")
    async with talking(refused, said(config(a="1"))) as (_, cluster, _):
        with pytest.raises(InvalidInput, match="immutable"):
            await cluster.patch(CONFIG, "c", "lab", TEST)


async def test_where_nothing_can_be_read_the_refusal_stands():
    for answer in (status(403), plain(200, b"<html>")):
        async with talking(REFUSED, answer) as (_, cluster, _):
            with pytest.raises(InvalidInput, match="rejected our request"):
                await cluster.patch(CONFIG, "c", "lab", TEST)


async def test_an_object_that_is_gone_meanwhile():
    async with talking(REFUSED, status(404, details={"name": "c"})) as (_, cluster, _):
        with pytest.raises(NotFound):
            await cluster.patch(CONFIG, "c", "lab", TEST)


async def test_a_merge_patch_is_not_tried_here():
    async with talking(REFUSED) as (server, cluster, _):
        with pytest.raises(InvalidInput):
            await cluster.patch(CONFIG, "c", "lab", {"data": {}})
    assert len(server.asked) == 1


# -- a kind that cannot be found ------------------------------------------------------------------

NOT_HERE = plain(404, b"404 page not found\n")


def group(*versions):
    return said({"kind": "APIGroup", "versions": [{"groupVersion": f"kubevirt.io/{one}",
                 "version": one} for one in versions]})  # fmt: skip


def resources(*plurals):
    return said({"kind": "APIResourceList", "resources": [{"name": one} for one in plurals]})


async def listed(*answers):
    """The error of listing virtual machines, and what was asked after the list."""
    async with talking(NOT_HERE, *answers) as (server, cluster, _):
        with pytest.raises(PasswayError) as refused:
            await cluster.list(MACHINE)
    return refused.value, server.paths[1:]


async def test_a_group_that_is_not_there_has_no_objects():
    error, asked = await listed(NOT_HERE)
    assert type(error) is NotFound
    assert error.code == "KIND_NOT_SERVED"
    assert asked == ["/apis/kubevirt.io"]


async def test_a_group_that_lacks_the_kind_has_no_objects():
    error, asked = await listed(
        group("v1", "v1alpha3", "v9"), resources("kubevirts"), resources("x"), NOT_HERE
    )
    assert type(error) is NotFound
    assert len(asked) == 4


async def test_a_kind_in_another_version_is_not_absent():
    error, asked = await listed(
        group("v1alpha3", "v2"), resources("kubevirts"), resources("virtualmachines")
    )
    assert isinstance(error, OtherVersion)
    assert error.code == "KIND_IN_OTHER_VERSION"
    assert "virtualmachines.kubevirt.io in version v2, and not in v1" in str(error)
    assert asked == [
        "/apis/kubevirt.io", "/apis/kubevirt.io/v1alpha3", "/apis/kubevirt.io/v2",
    ]  # fmt: skip


async def test_a_kind_that_has_come_meanwhile_is_tried_again():
    error, _ = await listed(group("v1"), resources("virtualmachines"))
    assert type(error) is Unavailable


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([status(403, "no", "Forbidden")], Forbidden),
        ([status(500)] * 4, Unavailable),
        ([plain(200, b"<html>")], Unavailable),
        ([group("v2"), status(503)] + [status(503)] * 3, Unavailable),
        ([group("../../api/v1")], InvalidInput),
    ],
)
async def test_what_cannot_be_found_out_is_not_absent(answers, expected):
    error, _ = await listed(*answers)
    assert type(error) is expected


async def test_the_core_group_is_always_there():
    async with talking(NOT_HERE) as (server, cluster, _):
        with pytest.raises(Unavailable, match="no Kubernetes API"):
            [one async for one in cluster.pages(kinds.QUOTAS)]
    assert len(server.asked) == 1
