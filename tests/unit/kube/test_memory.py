"""What only the store in memory promises: injected clock and chance, rules, a bounded history."""

import asyncio
from contextlib import aclosing
from random import Random

import pytest

from passway.cluster.kinds import Kind
from passway.kube.memory import MemoryCluster, Rule
from passway.kube.objects import kind_of
from passway.model.errors import Conflict, Forbidden, InvalidInput
from passway.service.ports import Expired

VM = Kind("kubevirt.io", "v1", "VirtualMachine", "virtualmachines", namespaced=True)
NODE = Kind("", "v1", "Node", "nodes", namespaced=False)


def vm(name="vm", namespace="lab", **more):
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": metadata} | more


def node(name="n1", **more):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}} | more


@pytest.mark.parametrize(
    ("api_version", "name", "group", "plural", "namespaced"),
    [
        ("v1", "Node", "", "nodes", False),
        ("v1", "Endpoints", "", "endpoints", True),
        ("v1", "PersistentVolumeClaim", "", "persistentvolumeclaims", True),
        ("storage.k8s.io/v1", "StorageClass", "storage.k8s.io", "storageclasses", False),
        ("resource.k8s.io/v1", "ResourceSlice", "resource.k8s.io", "resourceslices", False),
        ("networking.k8s.io/v1", "Ingress", "networking.k8s.io", "ingresses", True),
        ("networking.k8s.io/v1", "NetworkPolicy", "networking.k8s.io", "networkpolicies", True),
        ("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", "k8s.cni.cncf.io",
         "network-attachment-definitions", True),
        ("kubevirt.io/v1", "KubeVirt", "kubevirt.io", "kubevirts", True),
        ("example.dev/v1", "Box", "example.dev", "boxes", True),
        ("example.dev/v1", "Match", "example.dev", "matches", True),
    ],
)  # fmt: skip
def test_a_kind_follows_from_an_object(api_version, name, group, plural, namespaced):
    kind = kind_of({"apiVersion": api_version, "kind": name})
    assert (kind.group, kind.plural, kind.namespaced) == (group, plural, namespaced)
    assert kind.api_version == api_version
    assert kind.resource == (f"{plural}.{group}" if group else plural)


def test_a_known_kind_goes_before_guessing():
    series = Kind("example.dev", "v1", "Series", "series", namespaced=False)
    other = Kind("example.org", "v1", "Series", "serieses", namespaced=True)
    assert kind_of({"apiVersion": "example.dev/v2", "kind": "Series"}, [other, series]) is series


@pytest.mark.parametrize("obj", [{}, {"kind": "Node"}, {"apiVersion": "v1"}, {"apiVersion": 1,
                                 "kind": "Node"}, {"apiVersion": "", "kind": "Node"}])  # fmt: skip
def test_an_object_without_a_kind_is_refused(obj):
    with pytest.raises(InvalidInput, match="no apiVersion or no kind"):
        kind_of(obj)


async def test_objects_are_loaded_as_they_are_and_replace_others():
    series = Kind("example.dev", "v1", "Series", "series", namespaced=False)
    loaded = {"apiVersion": "example.dev/v1", "kind": "Series", "metadata": {"name": "s:1"}}
    status = {"allocatable": {"cpu": "4"}}
    cluster = MemoryCluster([node(status=status), loaded], kinds=[series])
    first = await cluster.get(NODE, "n1")
    assert first["status"] == status
    assert (await cluster.get(series, "s:1"))["metadata"]["generation"] == 1
    _, version = await cluster.list(NODE)
    cluster.load([node(status={})])
    second = await cluster.get(NODE, "n1")
    assert second["metadata"]["uid"] == first["metadata"]["uid"]
    async with aclosing(cluster.watch(NODE, version)) as events:
        event = await anext(events)
    assert (event.type, event.version) == ("MODIFIED", second["metadata"]["resourceVersion"])
    assert event.record.metadata.uid == second["metadata"]["uid"]


@pytest.mark.parametrize(
    "obj",
    [
        {"apiVersion": "v1", "kind": "Node"},
        {"apiVersion": "v1", "kind": "Node", "metadata": {"generateName": "n-"}},
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "namespace": "lab"}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}},
    ],
)
def test_a_malformed_object_is_not_loaded(obj):
    with pytest.raises(InvalidInput):
        MemoryCluster([obj])


async def test_versions_of_the_api_share_one_collection():
    old = {"apiVersion": "hco.kubevirt.io/v1beta1", "kind": "HyperConverged",
           "metadata": {"name": "h", "namespace": "cnv"}}  # fmt: skip
    cluster = MemoryCluster([old])
    new = Kind("hco.kubevirt.io", "v1", "HyperConverged", "hyperconvergeds", namespaced=True)
    assert (await cluster.get(new, "h", "cnv"))["apiVersion"] == "hco.kubevirt.io/v1beta1"
    with pytest.raises(Conflict):
        await cluster.create(new, old | {"apiVersion": "hco.kubevirt.io/v1"})


async def test_clock_and_chance_come_from_outside():
    def cluster():
        return MemoryCluster(now=lambda: "2026-01-01T00:00:00Z", random=Random(1))

    nameless = vm() | {"metadata": {"generateName": "x" * 70, "namespace": "lab"}}
    first, second = [await cluster().create(VM, nameless) for _ in range(2)]
    assert first == second
    assert first["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert len(first["metadata"]["name"]) == 63


async def test_generated_names_that_are_taken_are_tried_again_but_not_for_ever():
    class Fixed(Random):
        def __init__(self, endings):
            super().__init__(1)
            self.endings = iter(endings)

        def choices(self, *args, **kwargs):
            return list(next(self.endings))

    nameless = vm() | {"metadata": {"generateName": "a-", "namespace": "lab"}}
    cluster = MemoryCluster([vm("a-bbbbb")], random=Fixed(["bbbbb", "ccccc"] + ["ccccc"] * 8))
    assert (await cluster.create(VM, nameless))["metadata"]["name"] == "a-ccccc"
    with pytest.raises(Conflict, match="exists already"):
        await cluster.create(VM, nameless)


async def test_without_any_namespace_object_namespaces_are_not_checked():
    assert await MemoryCluster().create(VM, vm(namespace="anywhere"))


async def test_what_the_server_keeps_is_not_taken_from_outside():
    cluster = MemoryCluster()
    forged = {"uid": "x", "generation": 9, "deletionTimestamp": "x", "creationTimestamp": "x"}
    created = await cluster.create(VM, vm() | {"metadata": vm()["metadata"] | forged})
    meta = created["metadata"]
    assert meta["generation"] == 1
    assert "deletionTimestamp" not in meta
    assert "x" not in (meta["uid"], meta["creationTimestamp"])
    del forged["uid"]
    assert await cluster.patch(VM, "vm", "lab", {"metadata": forged}) == created
    cleared = {"metadata": {"uid": None, "resourceVersion": None, "generation": None}}
    assert await cluster.patch(VM, "vm", "lab", cleared) == created


async def test_the_generation_grows_with_the_spec_only():
    cluster = MemoryCluster([vm(spec={"running": True})])
    for patch, generation in (
        ({"status": {"ready": True}}, 1),
        ({"spec": {"running": 1}}, 2),
        ({"spec": None}, 3),
        ({"metadata": {"labels": {"a": "b"}}}, 3),
    ):
        done = await cluster.patch(VM, "vm", "lab", patch)
        assert done["metadata"]["generation"] == generation


async def test_a_patch_cannot_make_something_else_of_an_object():
    cluster = MemoryCluster([vm()])
    for patch in ([{"op": "replace", "path": "", "value": []}],
                  [{"op": "remove", "path": "/metadata"}]):  # fmt: skip
        with pytest.raises(InvalidInput, match="an object with metadata"):
            await cluster.patch(VM, "vm", "lab", patch)


async def test_cluster_scoped_kinds_take_no_namespace():
    cluster = MemoryCluster([node()])
    assert await cluster.get(NODE, "n1")
    for call in (cluster.get(NODE, "n1", "lab"), cluster.list(NODE, "lab")):
        with pytest.raises(InvalidInput, match="nodes are not in namespaces"):
            await call
    await cluster.delete(NODE, "n1")
    assert (await cluster.list(NODE))[0] == []


def rules(*verbs, namespaces=("lab",)):
    return (Rule(verbs, ("kubevirt.io",), ("virtualmachines",), namespaces),)


async def calls(cluster):
    """Which verbs are refused, with the words."""
    refused = {}

    async def watching():
        _, version = await MemoryCluster().list(VM)
        async with aclosing(cluster.watch(VM, version)) as events:
            await anext(events)

    for verb, call in {
        "get": cluster.get(VM, "vm", "lab"),
        "list": cluster.list(VM, "lab"),
        "create": cluster.create(VM, vm("new"), dry_run=True),
        "patch": cluster.patch(VM, "vm", "lab", {}),
        "watch": watching(),
        "delete": cluster.delete(VM, "vm", "lab"),
    }.items():
        try:
            await call
        except Forbidden as error:
            refused[verb] = error
    assert all(error.code == "RBAC_DENIED" for error in refused.values())
    return {verb: str(error) for verb, error in refused.items()}


async def test_without_rules_everything_is_allowed_and_with_none_nothing():
    assert await calls(MemoryCluster([vm()])) == {}
    refused = await calls(MemoryCluster([vm()], rules=()))
    assert refused["patch"] == 'not allowed: patch virtualmachines.kubevirt.io in namespace "lab"'
    assert refused["watch"] == "not allowed: watch virtualmachines.kubevirt.io at the cluster scope"
    assert len(refused) == 6


@pytest.mark.parametrize(
    ("granted", "refused"),
    [
        (rules("get", "list"), {"watch", "create", "patch", "delete"}),
        (rules("*"), {"watch"}),
        (rules("*", namespaces=("other",)), {"get", "list", "watch", "create", "patch", "delete"}),
        (rules("*", namespaces=None), set()),
        ((Rule(("*",), ("*",), ("*",)),), set()),
        ((Rule(("*",), ("",), ("*",)),), {"get", "list", "watch", "create", "patch", "delete"}),
        (rules("get") + rules("watch", namespaces=None), {"list", "create", "patch", "delete"}),
    ],
)
async def test_rules_add_up_and_a_namespace_is_not_the_cluster(granted, refused):
    assert set(await calls(MemoryCluster([vm()], rules=granted))) == refused


async def test_a_refusal_does_not_tell_what_exists():
    with pytest.raises(Forbidden):
        await MemoryCluster(rules=()).get(VM, "no-such-vm", "lab")


async def test_a_version_older_than_the_history_has_expired():
    cluster = MemoryCluster([node()], history=2)
    _, version = await cluster.list(NODE)
    for number in range(3):
        await cluster.patch(NODE, "n1", None, {"metadata": {"labels": {"n": str(number)}}})
    with pytest.raises(Expired) as expired:
        await anext(cluster.watch(NODE, version))
    assert (expired.value.kind.status, expired.value.kind.exit_code) == (410, 7)
    async with aclosing(cluster.watch(NODE, str(int(version) + 1))) as events:
        assert (await anext(events)).record.metadata.labels == {"n": "1"}


async def test_a_busy_kind_does_not_push_out_the_history_of_another():
    cluster = MemoryCluster([node()], history=2)
    _, version = await cluster.list(NODE)
    for number in range(10):
        await cluster.create(VM, vm(f"vm-{number}"))
    await cluster.delete(NODE, "n1")
    async with aclosing(cluster.watch(NODE, version)) as events:
        assert (await anext(events)).type == "DELETED"


async def test_a_watcher_that_is_too_slow_expires_instead_of_growing():
    cluster = MemoryCluster([node()], history=3)
    _, version = await cluster.list(NODE)
    async with aclosing(cluster.watch(NODE, version)) as events:
        for number in range(2):
            await cluster.patch(NODE, "n1", None, {"metadata": {"labels": {"n": str(number)}}})
        assert (await anext(events)).record.metadata.labels == {"n": "0"}
        for number in range(10):
            await cluster.patch(NODE, "n1", None, {"metadata": {"labels": {"n": str(number)}}})
        with pytest.raises(Expired):
            await anext(events)


@pytest.mark.parametrize("version", ["99", "9" * 30])
async def test_a_version_of_the_future_has_to_be_listed_again(version):
    with pytest.raises(Expired):
        await anext(MemoryCluster().watch(NODE, version))


@pytest.mark.parametrize("version", ["", "-1", "x", "\u0661"])
async def test_a_version_is_a_number(version):
    with pytest.raises(InvalidInput):
        await anext(MemoryCluster().watch(NODE, version))


async def test_many_watchers_get_every_event_and_cancelling_them_leaves_nothing():
    cluster = MemoryCluster([node()])
    _, version = await cluster.list(NODE)
    seen = [[] for _ in range(5)]

    async def follow(into):
        async with aclosing(cluster.watch(NODE, version)) as events:
            async for event in events:
                into.append(int(event.record.metadata.labels["n"]))

    tasks = [asyncio.create_task(follow(into)) for into in seen]
    await asyncio.sleep(0.01)
    for number in range(50):
        await cluster.patch(NODE, "n1", None, {"metadata": {"labels": {"n": str(number)}}})
    tasks[0].cancel()
    for number in (50, 51):
        last = node()
        last["metadata"]["labels"] = {"n": str(number)}
        cluster.load([last])
    await asyncio.sleep(0.01)
    assert seen[1:] == [list(range(52))] * 4
    for task in tasks:
        task.cancel()
    assert all(
        isinstance(result, asyncio.CancelledError)
        for result in await asyncio.gather(*tasks, return_exceptions=True)
    )
    assert not cluster._waiting
