"""In which form lists and watches are asked for, and what becomes of answers in another one."""

import gzip
from contextlib import aclosing

import pytest
from tests import protobufs
from tests.faulty import line, plain, said, status, status_of, stream, talking

from passway.cluster import kinds
from passway.cluster.records import Meta, Node
from passway.kube import formats
from passway.kube.frames import PROTOBUF
from passway.model.errors import (
    Forbidden,
    InvalidInput,
    NotFound,
    TooLarge,
    Unavailable,
)
from passway.service.ports import Expired, OtherVersion, WatchEvent

TYPE = ("Content-Type", PROTOBUF)
ACCEPT = f"{PROTOBUF}, application/json"
NODES = {"metadata": {"resourceVersion": "9"}, "items": [{"metadata": {"name": "j"}}]}


def body(name, version="7", **more):
    meta = {"name": name, "resourceVersion": version}
    return protobufs.message(Node, {"metadata": meta, **more})


def listed(*names, **options):
    return protobufs.listed("Node", [body(name) for name in names], **options)


def frames(*events):
    return plain(200, b"".join(events), TYPE)


async def taken(cluster, kind=kinds.NODES):
    found, version = [], None
    async with aclosing(cluster.pages(kind)) as pages:
        async for page in pages:
            found += [record.metadata.name for record in page.records]
            version = page.version
    return found, version


async def test_nodes_are_listed_as_a_whole_in_protobuf():
    async with talking(plain(200, listed("a", "b"), TYPE)) as (server, cluster, _):
        assert await taken(cluster) == (["a", "b"], "5")
    [one] = server.asked
    assert (one.target, one.headers["Accept"]) == ("/api/v1/nodes", ACCEPT)


async def test_a_list_without_objects():
    async with talking(plain(200, listed(), TYPE)) as (_, cluster, _):
        assert await taken(cluster) == ([], "5")


async def test_a_compressed_list():
    packed = gzip.compress(listed("a"))
    async with talking(plain(200, packed, TYPE, ("Content-Encoding", "gzip"))) as (
        server, cluster, _,
    ):  # fmt: skip
        assert await taken(cluster) == (["a"], "5")
    assert "gzip" in server.asked[0].headers["Accept-Encoding"]


@pytest.mark.parametrize("first", [said(NODES), plain(406), plain(415)])
async def test_a_server_without_protobuf_is_asked_for_pages_of_json(first):
    async with talking(first, said(NODES)) as (server, cluster, _):
        assert await taken(cluster) == (["j"], "9")
    assert [one.headers["Accept"] for one in server.asked] == [ACCEPT, "application/json"]
    assert [one.query for one in server.asked] == [{}, {"limit": "500"}]


async def test_of_kinds_without_fields_only_the_metadata_is_asked_for():
    partial = {"kind": "PartialObjectMetadata", "metadata": {"name": "c", "resourceVersion": "3"}}
    found = {"metadata": {"resourceVersion": "4"}, "items": [partial]}
    async with talking(said(found), stream(line("ADDED", partial))) as (server, cluster, _):
        assert await taken(cluster, kinds.CRDS) == (["c"], "4")
        async with aclosing(cluster.watch(kinds.CRDS, "4")) as events:
            event = await anext(events)
    meta = Meta("c", resource_version="3")
    assert event == WatchEvent("ADDED", "3", kinds.CRDS.record(meta))
    assert [one.headers["Accept"] for one in server.asked] == [
        f"application/json;as=PartialObjectMetadata{which};g=meta.k8s.io;v=v1, application/json"
        for which in ("List", "")
    ]


async def test_a_server_that_refuses_metadata_is_asked_for_objects():
    found = {"metadata": {"resourceVersion": "4"}, "items": []}
    async with talking(plain(406), said(found)) as (server, cluster, _):
        assert await taken(cluster, kinds.CRDS) == ([], "4")
    assert server.asked[1].headers["Accept"] == "application/json"


async def test_a_form_that_is_always_refused():
    async with talking(*[plain(406)] * 2) as (_, cluster, _):
        with pytest.raises(InvalidInput):
            await taken(cluster, kinds.CRDS)
    async with talking(*[plain(406)] * 2) as (_, cluster, _):
        with pytest.raises(InvalidInput):
            await anext(cluster.watch(kinds.NODES, "1"))


DENIED = {"message": 'nodes is forbidden: User "b" cannot list resource "nodes"'}
ANSWERS = {
    "refused in protobuf": (
        plain(403, protobufs.envelope("Status", protobufs.status(status_of(403, **DENIED))), TYPE),
        Forbidden, "not allowed: list nodes at the cluster scope",
    ),
    "a Status that is none": (
        plain(403, protobufs.envelope("Status", b"\x0b"), TYPE), Forbidden, "answered 403",
    ),
    "no Kubernetes": (plain(404, b"404 page not found"), Unavailable, "no Kubernetes API"),
    "no envelope": (plain(200, b"<html>", TYPE), Unavailable, "there is no envelope"),
    "cut": (plain(200, listed("a")[:-20], TYPE), Unavailable, "bytes of the list are missing"),
    "no version": (plain(200, listed("a", version=""), TYPE), Unavailable, "no resourceVersion"),
    "no name": (plain(200, listed(""), TYPE), Unavailable, "no name"),
    "no object": (
        plain(200, protobufs.listed("Node", [b"\x0b"]), TYPE), Unavailable, "cannot be read",
    ),
    "no part of an object": (
        plain(200, protobufs.listed(
            "Node", [body("a") + protobufs.field(2, protobufs.field(5, b"\x0b"))]
        ), TYPE), Unavailable, "cannot be read",
    ),
    "no text": (
        plain(200, protobufs.listed("Node", [
            protobufs.field(1, protobufs.field(1, b"\xff"))
        ]), TYPE), Unavailable, "cannot be read",
    ),
    "too large": (
        plain(200, protobufs.envelope("NodeList", b"\x12\xff\xff\xff\x7f"), TYPE), TooLarge,
        "more than",
    ),
}  # fmt: skip


@pytest.mark.parametrize("answer", ANSWERS)
async def test_a_list_that_is_none(answer):
    given, error, words = ANSWERS[answer]
    async with talking(given) as (_, cluster, _):
        with pytest.raises(error, match=words) as told:
            await taken(cluster)
    assert type(told.value) is error


async def test_a_busy_server_is_asked_again():
    async with talking(status(429), status(503), plain(200, listed("a"), TYPE)) as (
        _, cluster, sleeps,
    ):  # fmt: skip
        assert await taken(cluster) == (["a"], "5")
    assert len(sleeps) == 2


async def test_a_kind_in_protobuf_may_be_absent(monkeypatch):
    monkeypatch.setattr(formats, "_IN_PROTOBUF", frozenset({kinds.MACHINES}))
    groups = {"versions": [{"version": "v3"}]}
    served = {"resources": [{"name": "virtualmachines"}]}
    async with talking(plain(404), said(groups), said(served)) as (_, cluster, _):
        with pytest.raises(OtherVersion):
            await taken(cluster, kinds.MACHINES)
    async with talking(plain(404), plain(404)) as (_, cluster, _):
        with pytest.raises(NotFound):
            await taken(cluster, kinds.MACHINES)


# -- watches --------------------------------------------------------------------------------------


def event(type_, name="n", version="8"):
    return protobufs.frame(type_, "Node", body(name, version))


async def test_a_watch_in_protobuf():
    mark = protobufs.frame("BOOKMARK", "Node", body("", "10"))
    events = [event("ADDED"), event("MODIFIED", version="9"), mark, event("DELETED", version="11")]
    async with (
        talking(frames(*events)) as (server, cluster, _),
        aclosing(cluster.watch(kinds.NODES, "7")) as watch,
    ):
        found = [await anext(watch) for _ in events]
    assert [(one.type, one.version) for one in found] == [
        ("ADDED", "8"), ("MODIFIED", "9"), ("BOOKMARK", "10"), ("DELETED", "11"),
    ]  # fmt: skip
    assert [one.record and one.record.metadata.name for one in found] == ["n", "n", None, "n"]
    assert server.asked[0].headers["Accept"] == ACCEPT


@pytest.mark.parametrize("first", [plain(406), plain(415)])
async def test_a_watch_that_is_refused_in_protobuf_goes_on_in_json(first):
    text = line("ADDED", {"kind": "Node", "metadata": {"name": "n", "resourceVersion": "8"}})
    async with (
        talking(first, stream(text)) as (server, cluster, _),
        aclosing(cluster.watch(kinds.NODES, "7")) as watch,
    ):
        assert (await anext(watch)).version == "8"
    assert server.asked[1].headers["Accept"] == "application/json"


AHEAD = {"causes": [{"reason": "ResourceVersionTooLarge"}]}


def error(code, message="", details=None):
    told = status_of(code, message, "", details)
    return protobufs.frame("ERROR", "Status", protobufs.status(told))


ENDS = {
    "expired": (error(410, "too old"), Expired),
    "set back": (error(504, "Timeout", AHEAD), Expired),
    "etcd": (error(500, "etcd"), Unavailable),
    "no status": (protobufs.frame("ERROR", "Status", b"\x0b"), Unavailable),
    "another kind": (protobufs.frame("ADDED", "Pod", body("p")), Unavailable),
    "an unknown type": (event("SURPRISE"), Unavailable),
    "no name": (event("ADDED", ""), Unavailable),
    "no version": (event("ADDED", version=""), Unavailable),
    "garbage": (b"\0\0\0\x04abcd", Unavailable),
    "too large": (b"\xff\0\0\0", TooLarge),
}  # fmt: skip


@pytest.mark.parametrize("end", ENDS)
async def test_what_the_one_who_watches_must_know(end):
    sent, expected = ENDS[end]
    async with (
        talking(frames(event("ADDED"), sent)) as (_, cluster, _),
        aclosing(cluster.watch(kinds.NODES, "7")) as watch,
    ):
        await anext(watch)
        with pytest.raises(expected) as told:
            await anext(watch)
    assert type(told.value) is expected
