"""What every adapter of `service.ports.Cluster` does, whether a store in memory or an API server.

The tests use only kinds and rules that a bare API server has, and two namespaces, `lab` and
`other`, that are empty when a test begins. The API server is a real one.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from passway.cluster.kinds import QUOTAS, Kind
from passway.kube.client import KubeCluster
from passway.kube.config import load_config
from passway.kube.memory import MemoryCluster
from passway.model.errors import Conflict, InvalidInput, NotFound
from passway.service.ports import Cluster, Expired, Object, WatchEvent

LAB = "lab"
CONFIG = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
QUOTA = Kind("", "v1", "ResourceQuota", "resourcequotas", namespaced=True)
NAMESPACE = Kind("", "v1", "Namespace", "namespaces", namespaced=False)


@pytest.fixture(
    params=["memory", pytest.param("kubernetes", marks=[pytest.mark.plane, pytest.mark.slow])]
)
async def cluster(request) -> AsyncIterator[Cluster]:
    if request.param == "memory":
        yield MemoryCluster(
            [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
             for name in (LAB, "other")]
        )  # fmt: skip
        return
    plane = request.getfixturevalue("plane")
    plane.empty(LAB, "other")
    async with KubeCluster(load_config(plane.admin())) as cluster:
        yield cluster


def config(name: str = "c", namespace: str = LAB, **data: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data,
    }


async def take(events: AsyncIterator[WatchEvent], count: int) -> list[WatchEvent]:
    taken = []
    async with asyncio.timeout(10):
        while len(taken) < count:
            event = await anext(events)
            if event.type != "BOOKMARK":
                taken.append(event)
    return taken


def told(events: list[WatchEvent]) -> list[tuple[str, str]]:
    return [(event.type, event.record.metadata.name) for event in events]


async def test_what_is_created_can_be_read_and_carries_what_the_server_sets(cluster):
    created = await cluster.create(CONFIG, config(a="1"))
    meta = created["metadata"]
    assert created["data"] == {"a": "1"}
    assert meta["uid"]
    assert meta["resourceVersion"]
    assert meta["creationTimestamp"].endswith("Z")
    assert await cluster.get(CONFIG, "c", LAB) == created


async def test_a_name_is_taken_once_in_each_namespace(cluster):
    await cluster.create(CONFIG, config())
    await cluster.create(CONFIG, config(namespace="other"))
    with pytest.raises(Conflict) as refused:
        await cluster.create(CONFIG, config())
    assert refused.value.code == "ALREADY_EXISTS"


async def test_a_name_can_be_generated(cluster):
    nameless = config()
    nameless["metadata"] = {"generateName": "run-", "namespace": LAB}
    names = {(await cluster.create(CONFIG, nameless))["metadata"]["name"] for _ in range(5)}
    assert len(names) == 5
    assert all(name.startswith("run-") and len(name) == 9 for name in names)


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"namespace": LAB}},
        {"metadata": {"name": "c"}},
        {"metadata": {"name": "Not A Name", "namespace": LAB}},
        {"metadata": {"name": "c", "namespace": LAB, "resourceVersion": "1"}},
        {"metadata": None},
        {"kind": None},
        {"kind": "Secret"},
    ],
)
async def test_a_malformed_object_is_refused(cluster, change):
    with pytest.raises(InvalidInput):
        await cluster.create(CONFIG, config() | change)


async def test_nothing_is_created_in_a_missing_namespace(cluster):
    with pytest.raises(NotFound, match='namespace "nowhere"'):
        await cluster.create(CONFIG, config(namespace="nowhere"))


async def test_what_does_not_exist_is_not_found(cluster):
    for call in (
        cluster.get(CONFIG, "c", LAB),
        cluster.patch(CONFIG, "c", LAB, {}),
        cluster.delete(CONFIG, "c", LAB),
    ):
        with pytest.raises(NotFound, match='configmaps "c" in namespace "lab"'):
            await call


async def test_a_kind_with_namespaces_needs_one(cluster):
    with pytest.raises(InvalidInput, match="none is named"):
        await cluster.get(CONFIG, "c")


@pytest.mark.parametrize("name", ["", ".", "..", "c/status", "c%2Fstatus"])
async def test_a_name_that_is_no_part_of_a_path_is_refused(cluster, name):
    """An API server would take the escaped ones for a subresource, and none for all objects."""
    await cluster.create(CONFIG, config())
    for call in (
        cluster.get(CONFIG, name, LAB),
        cluster.patch(CONFIG, name, LAB, {"data": {"a": "1"}}),
        cluster.delete(CONFIG, name, LAB),
        cluster.get(CONFIG, "c", name),
        cluster.list(CONFIG, name),
    ):
        with pytest.raises(InvalidInput):
            await call
    assert not (await cluster.get(CONFIG, "c", LAB)).get("data")


async def test_a_list_is_sorted_and_may_be_of_one_namespace(cluster):
    for name, namespace in (("b", LAB), ("a", "other"), ("a", LAB)):
        await cluster.create(CONFIG, config(name, namespace))
    here, _ = await cluster.list(CONFIG, LAB)
    assert [item["metadata"]["name"] for item in here] == ["a", "b"]
    everywhere, _ = await cluster.list(CONFIG)
    places = [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in everywhere]
    ours = [place for place in places if place[0] in (LAB, "other")]
    assert ours == [("lab", "a"), ("lab", "b"), ("other", "a")]
    spaces, _ = await cluster.list(NAMESPACE)
    assert {"lab", "other"} <= {item["metadata"]["name"] for item in spaces}


async def test_a_merge_patch_sets_and_removes_keys_and_replaces_lists(cluster):
    await cluster.create(CONFIG, config(a="1", b="2"))
    done = await cluster.patch(CONFIG, "c", LAB, {"data": {"a": None, "c": "3"}})
    assert done["data"] == {"b": "2", "c": "3"}
    assert await cluster.get(CONFIG, "c", LAB) == done


async def test_a_json_patch_applies_whole_or_not_at_all(cluster):
    await cluster.create(CONFIG, config(a="1"))
    done = await cluster.patch(
        CONFIG,
        "c",
        LAB,
        [
            {"op": "test", "path": "/data/a", "value": "1"},
            {"op": "replace", "path": "/data/a", "value": "2"},
        ],
    )
    assert done["data"] == {"a": "2"}
    with pytest.raises(Conflict) as refused:
        await cluster.patch(
            CONFIG,
            "c",
            LAB,
            [
                {"op": "replace", "path": "/data/a", "value": "3"},
                {"op": "test", "path": "/data/a", "value": "1"},
            ],
        )
    assert refused.value.code == "CONCURRENT_CHANGE"
    with pytest.raises(InvalidInput):
        await cluster.patch(CONFIG, "c", LAB, [{"op": "remove", "path": "/data/x"}])
    assert (await cluster.get(CONFIG, "c", LAB))["data"] == {"a": "2"}


async def test_a_patch_with_an_old_version_is_a_concurrent_change(cluster):
    old = (await cluster.create(CONFIG, config()))["metadata"]["resourceVersion"]
    done = await cluster.patch(CONFIG, "c", LAB, {"data": {"a": "1"}})
    stale = {"metadata": {"resourceVersion": old}, "data": {"a": "2"}}
    with pytest.raises(Conflict, match="has changed since") as refused:
        await cluster.patch(CONFIG, "c", LAB, stale)
    assert refused.value.code == "CONCURRENT_CHANGE"
    fresh = {"metadata": {"resourceVersion": done["metadata"]["resourceVersion"]}}
    assert (await cluster.patch(CONFIG, "c", LAB, fresh | {"data": {"a": "2"}}))["data"] == {
        "a": "2"
    }


async def test_a_patch_that_changes_nothing_writes_nothing(cluster):
    created = await cluster.create(CONFIG, config(a="1"))
    assert await cluster.patch(CONFIG, "c", LAB, {"data": {"a": "1"}}) == created
    assert await cluster.get(CONFIG, "c", LAB) == created


@pytest.mark.parametrize(
    "patch",
    [
        {"metadata": {"name": "d"}},
        {"metadata": {"namespace": "other"}},
        {"metadata": {"uid": "00000000-0000-4000-8000-000000000000"}},
        {"kind": "Secret"},
        {"apiVersion": "v2"},
        {"metadata": "none"},
    ],
)
async def test_the_identity_of_an_object_cannot_change(cluster, patch):
    created = await cluster.create(CONFIG, config())
    with pytest.raises(InvalidInput):
        await cluster.patch(CONFIG, "c", LAB, patch)
    assert await cluster.get(CONFIG, "c", LAB) == created


async def test_the_generation_counts_changes_of_the_spec(cluster):
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": LAB},
        "spec": {"hard": {"requests.a.b/gpu": "1"}},
    }
    created = await cluster.create(QUOTA, quota)
    labelled = await cluster.patch(QUOTA, "q", LAB, {"metadata": {"labels": {"a": "b"}}})
    assert labelled["metadata"].get("generation") == created["metadata"].get("generation")
    assert labelled["metadata"]["resourceVersion"] != created["metadata"]["resourceVersion"]


async def test_a_dry_run_says_what_would_be_and_stores_nothing(cluster):
    tried = await cluster.create(CONFIG, config(a="1"), dry_run=True)
    assert tried["data"] == {"a": "1"}
    with pytest.raises(NotFound):
        await cluster.get(CONFIG, "c", LAB)
    created = await cluster.create(CONFIG, config(a="1"))
    tried = await cluster.patch(CONFIG, "c", LAB, {"data": {"a": "2"}}, dry_run=True)
    assert tried["data"] == {"a": "2"}
    assert await cluster.get(CONFIG, "c", LAB) == created
    with pytest.raises(Conflict):
        await cluster.create(CONFIG, config(), dry_run=True)


async def test_a_deleted_object_is_gone(cluster):
    await cluster.create(CONFIG, config())
    await cluster.delete(CONFIG, "c", LAB)
    with pytest.raises(NotFound):
        await cluster.get(CONFIG, "c", LAB)
    listed, _ = await cluster.list(CONFIG, LAB)
    assert "c" not in [item["metadata"]["name"] for item in listed]


async def test_a_finalizer_holds_a_deleted_object_until_it_is_taken_away(cluster):
    held = config()
    held["metadata"]["finalizers"] = ["passway.dev/test"]
    await cluster.create(CONFIG, held)
    _, version = await cluster.list(CONFIG)
    await cluster.delete(CONFIG, "c", LAB)
    await cluster.delete(CONFIG, "c", LAB)
    marked = await cluster.get(CONFIG, "c", LAB)
    assert marked["metadata"]["deletionTimestamp"]
    await cluster.patch(CONFIG, "c", LAB, {"metadata": {"finalizers": None}})
    with pytest.raises(NotFound):
        await cluster.get(CONFIG, "c", LAB)
    async with aclosing(cluster.watch(CONFIG, version)) as events:
        assert told(await take(events, 2)) == [("MODIFIED", "c"), ("DELETED", "c")]


async def test_a_watch_goes_on_from_a_list_and_misses_nothing(cluster):
    await cluster.create(CONFIG, config("before"))
    _, version = await cluster.list(CONFIG)
    await cluster.create(CONFIG, config("c"))
    async with aclosing(cluster.watch(CONFIG, version)) as events:
        assert told(await take(events, 1)) == [("ADDED", "c")]
        later = asyncio.create_task(take(events, 2))
        await asyncio.sleep(0)
        await cluster.patch(CONFIG, "c", LAB, {"data": {"a": "1"}})
        await cluster.delete(CONFIG, "c", LAB)
        assert told(await later) == [("MODIFIED", "c"), ("DELETED", "c")]


async def test_a_watch_goes_on_from_any_event_of_it(cluster):
    _, version = await cluster.list(CONFIG)
    for name in ("a", "b", "c"):
        await cluster.create(CONFIG, config(name))
    async with aclosing(cluster.watch(CONFIG, version)) as events:
        first, *_ = await take(events, 1)
    version = first.version
    async with aclosing(cluster.watch(CONFIG, version)) as events:
        assert told(await take(events, 2)) == [("ADDED", "b"), ("ADDED", "c")]


async def test_a_watch_tells_only_of_its_kind(cluster):
    _, version = await cluster.list(CONFIG)
    await cluster.create(
        NAMESPACE,
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "fresh-"}},
    )
    await cluster.create(CONFIG, config())
    async with aclosing(cluster.watch(CONFIG, version)) as events:
        assert told(await take(events, 1)) == [("ADDED", "c")]


async def test_versions_in_a_watch_grow(cluster):
    _, version = await cluster.list(CONFIG)
    await asyncio.gather(*(cluster.create(CONFIG, config(f"c{n}")) for n in range(10)))
    async with aclosing(cluster.watch(CONFIG, version)) as events:
        versions = [int(e.version) for e in await take(events, 10)]
    assert versions == sorted(set(versions))


async def test_a_watch_from_a_version_that_is_not_one_is_refused(cluster):
    with pytest.raises((InvalidInput, Expired)):
        async with aclosing(cluster.watch(CONFIG, "never")) as events:
            await anext(events)


async def begun(events: AsyncIterator[WatchEvent]) -> tuple[dict[str, WatchEvent], str]:
    """What there is in our namespace, by name, and the version of the bookmark that ends it."""
    found = {}
    async with asyncio.timeout(20):
        async for event in events:
            if event.complete:
                assert (event.type, event.record) == ("BOOKMARK", None)
                return found, event.version
            assert event.type == "ADDED"
            assert event.record is not None
            if event.record.metadata.namespace == LAB:
                found[event.record.metadata.name] = event
    raise AssertionError("the watch ended")


async def test_a_watch_may_begin_with_what_there_is(cluster):
    for name in ("b", "a"):
        await cluster.create(CONFIG, config(name))
    kept, _ = await cluster.list(CONFIG, LAB)
    async with aclosing(cluster.watch(CONFIG)) as events:
        found, version = await begun(events)
        assert {name: event.version for name, event in found.items()} == {
            item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in kept
        }
        later = asyncio.create_task(take(events, 2))
        await asyncio.sleep(0)
        await cluster.patch(CONFIG, "a", LAB, {"data": {"a": "1"}})
        await cluster.delete(CONFIG, "b", LAB)
        assert told(await later) == [("MODIFIED", "a"), ("DELETED", "b")]
    async with aclosing(cluster.watch(CONFIG, version)) as events:
        assert told(await take(events, 2)) == [("MODIFIED", "a"), ("DELETED", "b")]


async def test_a_watch_may_begin_with_nothing_whether_all_or_the_metadata_is_read(cluster):
    for kind in (QUOTAS, QUOTA):
        async with aclosing(cluster.watch(kind)) as events:
            found, _ = await begun(events)
            assert found == {}
            made = {"apiVersion": "v1", "kind": "ResourceQuota",
                    "metadata": {"generateName": "q-", "namespace": LAB}}  # fmt: skip
            created = await cluster.create(kind, made)
            name = created["metadata"]["name"]
            assert told(await take(events, 1)) == [("ADDED", name)]
            await cluster.delete(kind, name, LAB)


async def test_read_modify_write_with_a_version_loses_nothing(cluster):
    writers = 20
    await cluster.create(CONFIG, config(entries=""))
    conflicts = 0

    async def append(entry: str) -> None:
        nonlocal conflicts
        while True:
            seen = await cluster.get(CONFIG, "c", LAB)
            change = {
                "metadata": {"resourceVersion": seen["metadata"]["resourceVersion"]},
                "data": {"entries": seen["data"]["entries"] + entry},
            }
            try:
                await cluster.patch(CONFIG, "c", LAB, change)
            except Conflict:
                conflicts += 1
            else:
                return

    async with asyncio.timeout(30):
        await asyncio.gather(*(append(chr(ord("a") + number)) for number in range(writers)))
    entries = (await cluster.get(CONFIG, "c", LAB))["data"]["entries"]
    assert sorted(entries) == [chr(ord("a") + number) for number in range(writers)]
    assert conflicts > 0


async def test_nobody_shares_objects_with_the_cluster(cluster):
    mine = config(a="1")
    created = await cluster.create(CONFIG, mine)
    _, version = await cluster.list(CONFIG)
    change = {"data": {"b": "2"}, "metadata": {"labels": {"l": "1"}}}
    patched = await cluster.patch(CONFIG, "c", LAB, change)
    kept = await cluster.get(CONFIG, "c", LAB)
    async with aclosing(cluster.watch(CONFIG, version)) as events:
        (event,) = await take(events, 1)
    listed, _ = await cluster.list(CONFIG, LAB)
    event.record.metadata.labels.clear()
    for handed in (mine, created, change, patched, *listed):
        handed["data"].clear()
    assert (await cluster.get(CONFIG, "c", LAB)) == kept
    async with aclosing(cluster.watch(CONFIG, version)) as events:
        assert (await take(events, 1))[0].record.metadata.labels == {"l": "1"}


# -- choosing, and asking without creating --------------------------------------------------------


async def test_a_list_may_be_of_some_labels_and_fields(cluster):
    for name, labels in (("a", {"x": "1", "y": "2"}), ("b", {"x": "1"}), ("c", None)):
        made = config(name)
        if labels:
            made["metadata"]["labels"] = labels
        await cluster.create(CONFIG, made)

    async def names(**chosen):
        found, _ = await cluster.list(CONFIG, LAB, **chosen)
        return [item["metadata"]["name"] for item in found]

    assert await names(labels={"x": "1"}) == ["a", "b"]
    assert await names(labels={"x": "1", "y": "2"}) == ["a"]
    assert await names(fields={"metadata.name": "c"}) == ["c"]
    assert await names(labels={"x": "1"}, fields={"metadata.name": "c"}) == []
    assert await names() == ["a", "b", "c"]


async def test_a_trial_says_what_would_be_and_creates_nothing(cluster):
    assert (await cluster.trial(CONFIG, config("a"))).accepted
    assert (await cluster.list(CONFIG, LAB))[0] == []
    await cluster.create(CONFIG, config("a"))
    found = await cluster.trial(CONFIG, config("a"))
    assert (found.accepted, found.reason) == (True, "AlreadyExists")
    found = await cluster.trial(CONFIG, config("No Name"))
    assert (found.accepted, bool(found.message)) == (False, True)
    found = await cluster.trial(CONFIG, config("a", "missing"))
    assert (found.accepted, "missing" in found.message) == (False, True)
