"""The use cases on a snapshot and on a live (in-memory) cluster."""

import asyncio
import json

import pytest
from tests.builders import (
    GPU,
    T4,
    VF,
    attachment,
    cluster,
    instancetype,
    kubevirt,
    namespace,
    node,
    obj,
    pci,
    pod,
    referring,
    vm,
    vmi,
)

from passway.cluster import kinds
from passway.kube.memory import MemoryCluster, Rule
from passway.kubevirt.hostdev import Environment
from passway.model.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    NotSynced,
    PreflightFailed,
    Unavailable,
)
from passway.plan.machine import DeviceRequest, MachineRequest, plan_machine
from passway.plan.permit import permit_of
from passway.service.audit import Actor, Filter
from passway.service.backend import SnapshotBackend
from passway.service.changes import Recorded
from passway.service.cluster_backend import ClusterBackend
from passway.service.mirror import Mirror
from passway.service.ports import Expired, WatchEvent
from passway.store.audit import SqlAudit
from passway.store.database import memory

A10 = permit_of("pci", GPU, selector="10de:2236")
LISTED = {"pciHostDevices": [pci("10DE:2236", GPU)]}


def request(name="new", gpus=1):
    devices = tuple(DeviceRequest(f"g{index}", GPU) for index in range(gpus))
    return plan_machine(MachineRequest(name=name, image="disk:1", devices=devices))


# -- on a snapshot --------------------------------------------------------------------------------


def backend(*objects, **options):
    return SnapshotBackend(cluster(*objects, **options), "sample data")


async def test_the_inventory_has_everything_about_devices():
    found = await backend(
        kubevirt(LISTED),
        node("a", {GPU: 4, VF: 2}, capacity={GPU: "5"}, hugepages_1Gi="8Gi"),
        node("b", labels={"kubevirt.io/cpumanager": "true"}, unschedulable=True),
        pod("l", "a", {GPU: "1", "hugepages-1Gi": "2Gi"}, machine="m"),
        attachment("fast"), attachment("plain", None),
    ).inventory()  # fmt: skip
    gpu, vf = found.resources[1], found.resources[0]
    assert (gpu.resource_name, gpu.kind, gpu.capacity, gpu.advertised, gpu.used, gpu.free) == (
        GPU, "gpu", 5, 4, 1, 3,
    )  # fmt: skip
    assert (gpu.permitted, gpu.selectors, gpu.holders) == (True, ("pci 10DE:2236",), ("default/m",))
    assert (vf.kind, vf.permitted, found.kind_hints[VF]) == ("sriov", False, "sriov")
    a, b = found.nodes
    assert [item.resource_name for item in a.devices] == [VF, GPU]
    assert {item.resource_name.rpartition("/")[2] for item in a.kubevirt_devices} == {
        "kvm", "tun", "vhost-net",
    }  # fmt: skip
    assert [(item.page_size, item.allocatable, item.free) for item in a.hugepages] == [
        ("1Gi", "8Gi", "6Gi")
    ]
    assert (a.cpu_manager, b.cpu_manager, a.schedulable, b.schedulable) == (
        False, True, True, False,
    )  # fmt: skip
    assert (a.machines, a.cpu_free, b.memory_free) == (1, "64", "256Gi")
    assert found.feature_gates["HostDevices"] is True
    assert found.feature_gates["VGPULiveMigration"] is False
    assert (found.kubevirt_version, found.multus_installed, found.unread) == ("v1.9.0", True, {})
    (pool,) = found.sriov_pools
    assert (pool.resource_name, pool.networks, pool.free) == (VF, ("default/fast",), 2)


async def test_the_inventory_says_what_it_does_not_know():
    found = await backend(
        node("a", {GPU: 1, T4: 1}), unread=[kinds.CRDS], forbidden=[kinds.KUBEVIRTS]
    ).inventory()
    assert found.unread == {"customresourcedefinitions": "unread", "kubevirts": "forbidden"}
    assert (found.permitted, found.feature_gates, found.multus_installed) == (None, None, None)
    assert found.resources[0].permitted is None


async def test_an_absent_list_permits_everything_and_has_no_entries():
    found = await backend(kubevirt(), node("a", {GPU: 1, "a.b/c": 1})).inventory()
    assert (found.permitted, found.resources[1].permitted) == (None, True)
    assert found.kind_hints == {GPU: "gpu", "a.b/c": "host-device"}


@pytest.mark.parametrize(
    ("permitted", "kind"),
    [
        ({"mediatedDevices": [{"mdevNameSelector": "x", "resourceName": "a.b/c"}]}, "gpu"),
        ({"pciHostDevices": [pci("1002:73bf", "a.b/c")]}, "gpu"),
        ({"pciHostDevices": [pci("8086:4940", "a.b/c")]}, "host-device"),
        ({"usb": [{"resourceName": "a.b/c", "selectors": []}]}, "host-device"),
    ],
)
async def test_hints_come_from_the_permitted_list(permitted, kind):
    found = await backend(kubevirt(permitted)).inventory()
    assert found.kind_hints == {"a.b/c": kind}


async def test_permits_name_their_keeper():
    found = await backend(kubevirt(LISTED), node("a", {GPU: 1})).permits()
    assert (found.enforced, found.owner.kind) == (True, "KubeVirt")
    assert [(item.resource_name, item.selector, item.nodes) for item in found.items] == [
        (GPU, "10DE:2236", 1)
    ]
    absent = await backend(kubevirt()).permits()
    assert (absent.enforced, absent.items) == (False, ())
    owner = obj("hco.kubevirt.io/v1", "HyperConverged", "hco", "kubevirt")
    assert (await backend(kubevirt({}), owner).permits()).owner.kind == "HyperConverged"
    nothing = await backend().permits()
    assert (nothing.enforced, nothing.owner) == (None, None)


async def test_machines_in_every_state():
    headless = vmi("lonely", evictionStrategy="None")
    headless["status"]["nodeName"] = "b"
    running = vm("running", gpus=[GPU])
    running["status"] = {"printableStatus": "Running"}
    old = vm("old")
    del old["spec"]["runStrategy"]
    old["spec"]["running"] = True
    off = vm("off", run_strategy="Halted")
    bare = vm("bare")
    del bare["spec"]
    found = await backend(
        running, vmi("running"), pod("l", "a", {GPU: "2", "cpu": "1"}, machine="running"),
        pod("t", "a", {GPU: "1"}, machine="running"),
        headless, old, off, bare, pod("orphan", "a", machine="gone"), pod("other", "a"),
    ).machines()  # fmt: skip
    table = {item.name: item for item in found.items}
    assert (table["running"].status, table["running"].node) == ("Running", "a")
    assert table["running"].holds == {GPU: 3}
    assert (table["lonely"].status, table["lonely"].node) == ("Running", "b")
    assert (table["old"].status, table["old"].run_strategy) == ("Stopped", "Always")
    assert (table["off"].run_strategy, table["bare"].run_strategy) == ("Halted", None)
    assert (table["gone"].status, table["gone"].node) == ("Unknown", "a")
    assert [item.name for item in (await backend(vm("x")).machines("other")).items] == []


async def test_check_fit_drift_and_drain_are_documents():
    some = backend(kubevirt(LISTED), node("a", {GPU: 2}), pod("l", "a", {GPU: "1"}, machine="m"))
    text = json.dumps(vm(gpus=[GPU]))
    (verdict,) = await some.check(text, "vm.json")
    assert (verdict.fits, verdict.places, verdict.machine.name) == ("yes", 1, "vm")
    assert verdict.issues[0].file == "vm.json"
    fits = await some.fit(text, "vm.json")
    assert (fits.places, [item.name for item in fits.nodes]) == (1, ["a"])
    assert (await some.drift()).issues == ()
    assert [item.name for item in (await some.drain_impact("a")).items] == ["m"]


async def test_expanding_names_every_item_of_a_list():
    nodes = [node(f"n{index}", {GPU: 1}) for index in range(8)]
    pods = [pod(f"p{index}", f"n{index}", {GPU: "1"}) for index in range(8)]
    some = backend(kubevirt(), *nodes, *pods)
    text = json.dumps(vm(gpus=[GPU]))
    (short,) = await some.check(text, "-")
    (wide,) = await some.check(text, "-", expand=True)
    assert "and 3 more (-o wide)" in short.issues[0].message
    assert "more" not in wide.issues[0].message


async def test_questions_about_one_machine_take_one():
    two = json.dumps({"apiVersion": "v1", "kind": "List", "items": [vm("a"), vm("b")]})
    with pytest.raises(InvalidInput, match="holds 2 machines"):
        await backend(kubevirt()).fit(two, "two.json")
    many = json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": [vm(f"v{i}") for i in range(101)]}
    )
    with pytest.raises(InvalidInput, match="at most 100"):
        await backend(kubevirt()).check(many, "many.json")


async def test_a_snapshot_plans_changes_and_refuses_to_make_them():
    some = backend(kubevirt({}), node("a", {GPU: 1}))
    planned = await some.permit(A10, dry_run=True)
    assert (planned.changed, planned.applied) == (True, False)
    assert "+" in planned.diff
    with pytest.raises(InvalidInput, match="nothing can be changed on sample data"):
        await some.permit(A10)
    assert (await some.unpermit(GPU)).changed is False
    listed = backend(kubevirt(LISTED), node("a", {GPU: 1}))
    with pytest.raises(InvalidInput, match="nothing can be changed"):
        await listed.create(request())
    made = await listed.create(request(), dry_run=True)
    assert (made.name, made.dry_run, made.verdict.fits) == ("new", True, "yes")


async def test_a_create_that_does_not_fit_has_every_reason():
    with pytest.raises(PreflightFailed, match=r"not in permittedHostDevices.*; no node") as caught:
        await backend(kubevirt({}), node("a")).create(request(), dry_run=True)
    assert [item.reason for item in caught.value.issues if item.severity == "error"] == [
        "DeviceNotPermitted", "ResourceNotAdvertised",
    ]  # fmt: skip


async def test_a_create_keeps_the_references_and_judges_what_they_bring():
    live = Live(*OBJECTS, instancetype("it", gpus=[GPU]))
    wanted = referring("it", name="new")
    async with live:
        with pytest.raises(PreflightFailed, match="not in permittedHostDevices"):
            await live.backend.create(wanted)
    live = Live(
        namespace("default"), kubevirt(), node("a", {GPU: 1}), instancetype("it", gpus=[GPU])
    )
    async with live:
        await live.backend.create(wanted)
        made = await live.cluster.get(kinds.MACHINES, "new", "default")
    assert made["spec"] == wanted["spec"]


async def test_devices_of_an_instance_type_are_rendered():
    some = backend(kubevirt(), instancetype("it", gpus=[GPU]))
    around = Environment({"PCI_RESOURCE_NVIDIA_COM_GA102GL_A10": "0000:65:00.0"}, {}, None)

    async def rendered(spec):
        return await some.host_devices(json.dumps(spec), "vm.json", "default", around)

    found = await rendered(referring("it"))
    assert ([item.device for item in found.elements], found.error) == (["gpus[0] 'gpu0'"], None)
    assert (await rendered(vm(gpus=[GPU]))).elements == found.elements
    assert (await rendered(referring("gone"))).error.code == "InstancetypeMissing"
    with pytest.raises(InvalidInput, match=r"spec\.instancetype\.revisionName: .*not read"):
        await rendered(referring({"name": "it", "revisionName": "r"}))


async def test_unknowns_do_not_refuse_a_create():
    some = backend(kubevirt(), node("a", {GPU: 1}), unread=[kinds.QUOTAS])
    made = await some.create(request(), dry_run=True)
    assert made.verdict.fits == "unknown"
    assert "KindUnread" in [item.reason for item in made.issues]


# -- on a live cluster ----------------------------------------------------------------------------

OBJECTS = (namespace("default"), kubevirt({}), node("a", {GPU: 2}))


class Live:
    """A memory cluster, its mirror, an audit and a backend for one user."""

    def __init__(self, *objects, rules=None):
        self.cluster = MemoryCluster(objects, rules=rules)
        self.mirror = Mirror(self.cluster, relist_s=0.01)
        self.log = []
        self.audit = SqlAudit(memory(), write=self.log.append)
        changes = Recorded(self.audit, now=lambda: "2026-06-12T09:30:00Z", replica="here")
        self.backend = ClusterBackend(
            self.cluster, self.mirror, changes, Actor("alice", "192.0.2.7", "r-1")
        )

    async def rows(self):
        """Oldest first."""
        return (await self.audit.page(Filter(), 1000))[::-1]

    async def results(self):
        return [(row.phase, row.result) for row in await self.rows()]

    async def __aenter__(self):
        await self.audit.__aenter__()
        await self.mirror.__aenter__()
        await self.mirror.ready(10)
        return self

    async def __aexit__(self, *error):
        await self.mirror.__aexit__(None, None, None)
        await self.audit.__aexit__(None, None, None)


async def until(condition, timeout_s=5.0):
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 - the mirror tells nobody when it changes
            await asyncio.sleep(0.001)


async def test_before_the_mirror_is_complete_there_is_no_answer():
    live = Live(*OBJECTS)
    with pytest.raises(NotSynced, match="not read yet: csidrivers"):
        await live.backend.inventory()
    with pytest.raises(NotSynced):
        await live.mirror.ready(0.001)


async def test_the_mirror_follows_changes():
    async with Live(*OBJECTS) as live:
        assert (await live.backend.nodes()).items[0].name == "a"
        await live.cluster.create(kinds.NODES, node("b", {GPU: 1}))
        await until(lambda: "b" in live.mirror.snapshot().nodes)
        await live.cluster.delete(kinds.NODES, "b")
        await until(lambda: "b" not in live.mirror.snapshot().nodes)
        await live.cluster.create(kinds.PODS, pod("p", "a", {GPU: "1"}))
        await until(lambda: live.mirror.snapshot().free("a", GPU) == 1)
        await live.cluster.delete(kinds.PODS, "p", "default")
        await until(lambda: live.mirror.snapshot().free("a", GPU) == 2)


async def test_kinds_that_may_not_be_listed_are_forbidden_and_the_rest_is_read():
    rules = (Rule(("list", "watch"), ("*",), ("nodes", "kubevirts", "namespaces")),)
    async with Live(*OBJECTS, rules=rules) as live:
        snapshot = live.mirror.snapshot()
        assert snapshot.read(kinds.PODS) == "forbidden"
        assert snapshot.read(kinds.NODES) == "read"
        verdict = await live.backend.check(json.dumps(vm(gpus=[GPU])), "-")
        assert "pods may not be listed" in " ".join(item.message for item in verdict[0].issues)


class Broken(MemoryCluster):
    """Fails the first list of nodes in ways that an API server can."""

    errors = ()

    async def list(self, kind, namespace=None, **chosen):
        if kind == kinds.NODES and self.errors:
            error, *self.errors = self.errors
            raise error
        return await super().list(kind, namespace, **chosen)

    async def watch(self, kind, resource_version=None):
        if resource_version is None:
            raise Expired("listed")
        async for event in super().watch(kind, resource_version):
            yield event


@pytest.mark.parametrize("error", [Unavailable("gone"), NotFound("no such kind")])
async def test_the_mirror_tries_again(error):
    broken = Broken(OBJECTS)
    broken.errors = [error]
    async with Mirror(broken, relist_s=0.01) as mirror:
        await mirror.ready(10)
        await until(lambda: "a" in mirror.snapshot().nodes)


async def test_a_history_that_is_gone_is_listed_again():
    small = MemoryCluster(OBJECTS, history=1)
    async with Mirror(small, relist_s=0.01) as mirror:
        await mirror.ready(10)
        for index in range(5):
            small.load([node(f"b{index}")])
        await until(lambda: len(mirror.snapshot().nodes) == 6)


class Bookmarking(MemoryCluster):
    """Sends a bookmark before every event."""

    listed = 0

    async def list(self, kind, namespace=None, **chosen):
        self.listed += kind == kinds.NODES
        return await super().list(kind, namespace, **chosen)

    async def watch(self, kind, resource_version=None):
        if resource_version is None:
            raise Expired("listed")
        async for event in super().watch(kind, resource_version):
            yield WatchEvent("BOOKMARK", event.version)
            yield event


async def test_bookmarks_are_no_objects():
    cluster_ = Bookmarking(OBJECTS)
    async with Mirror(cluster_, relist_s=0.01) as mirror:
        await mirror.ready(10)
        await cluster_.create(kinds.NODES, node("b"))
        await until(lambda: set(mirror.snapshot().nodes) == {"a", "b"})
        await cluster_.create(kinds.NODES, node("c"))
        await until(lambda: set(mirror.snapshot().nodes) == {"a", "b", "c"})
    assert cluster_.listed == 1


async def test_objects_of_unread_kinds_are_no_error():
    async with Live(*OBJECTS) as live:
        live.mirror.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})


async def test_a_permit_is_written_audited_and_seen_at_once():
    async with Live(*OBJECTS) as live:
        change = await live.backend.permit(A10)
        assert (change.changed, change.applied) == (True, True)
        assert change.resource_version is not None
        assert [item.resource_name for item in (await live.backend.permits()).items] == [GPU]
        stored = await live.cluster.get(kinds.KUBEVIRTS, "kubevirt", "kubevirt")
        assert stored["spec"]["configuration"]["permittedHostDevices"]["pciHostDevices"] == [
            {"resourceName": GPU, "pciVendorSelector": "10DE:2236"}
        ]
        again = await live.backend.permit(A10)
        assert (again.changed, again.applied) == (False, False)
        intent, outcome = await live.rows()
        for row in (intent, outcome):
            assert (row.user, row.source, row.request_id, row.action, row.replica) == (
                "alice", "192.0.2.7", "r-1", "permit", "here",
            )  # fmt: skip
            assert (row.api_version, row.kind, row.namespace, row.name) == (
                "kubevirt.io/v1", "KubeVirt", "kubevirt", "kubevirt",
            )  # fmt: skip
        assert (intent.phase, intent.result, outcome.phase, outcome.result, outcome.intent) == (
            "intent", None, "outcome", "done", intent.sequence,
        )  # fmt: skip
        assert (intent.before, json.loads(intent.after)["pciHostDevices"][0]["resourceName"]) == (
            "{}", GPU,
        )  # fmt: skip
        assert [json.loads(line)["hash"] for line in live.log] == [intent.hash, outcome.hash]


async def test_a_dry_run_writes_nothing():
    async with Live(*OBJECTS) as live:
        change = await live.backend.permit(A10, dry_run=True)
        assert (change.changed, change.applied) == (True, False)
        assert (await live.backend.permits()).items == ()
        assert await live.rows() == ()


async def test_the_first_permit_waits_for_a_word_and_names_the_vms():
    async with Live(namespace("default"), kubevirt(), vm("other", gpus=[T4])) as live:
        with pytest.raises(Conflict, match="default/other") as caught:
            await live.backend.permit(A10)
        assert caught.value.code == "CONFIRMATION_REQUIRED"
        assert await live.results() == [("outcome", "CONFIRMATION_REQUIRED")]
        change = await live.backend.permit(A10, confirm=True)
        assert (change.enforcement, change.applied) == (True, True)
    async with Live(namespace("default"), kubevirt()) as live:
        with pytest.raises(Conflict, match="no VM that exists now"):
            await live.backend.permit(A10)


async def test_removing_waits_while_vms_use_it():
    objects = (namespace("default"), kubevirt(LISTED), node("a", {GPU: 1}),
               pod("l", "a", {GPU: "1"}, machine="m"))  # fmt: skip
    async with Live(*objects) as live:
        with pytest.raises(Conflict, match="in use by default/m") as caught:
            await live.backend.unpermit(GPU)
        assert caught.value.code == "IN_USE"
        change = await live.backend.unpermit(GPU, force=True)
        assert change.applied
        stored = await live.cluster.get(kinds.KUBEVIRTS, "kubevirt", "kubevirt")
        assert stored["spec"]["configuration"]["permittedHostDevices"] == {}


async def test_a_concurrent_change_is_an_answer_and_writes_nothing():
    async with Live(*OBJECTS) as live:
        stale = live.mirror.snapshot()
        await live.cluster.patch(
            kinds.KUBEVIRTS, "kubevirt", "kubevirt", {"metadata": {"labels": {"a": "b"}}}
        )
        live.mirror.snapshot = lambda: stale
        with pytest.raises(Conflict, match="changed meanwhile") as caught:
            await live.backend.permit(A10)
        assert caught.value.code == "CONCURRENT_CHANGE"
        assert await live.results() == [("intent", None), ("outcome", "CONCURRENT_CHANGE")]
        stored = await live.cluster.get(kinds.KUBEVIRTS, "kubevirt", "kubevirt")
        assert stored["spec"]["configuration"]["permittedHostDevices"] == {}


async def test_a_change_that_the_api_server_does_not_keep_is_not_called_done():
    async with Live(*OBJECTS) as live:
        write = live.cluster.patch

        async def forgetful(kind, name, namespace, patch):
            return await write(kind, name, namespace, {"metadata": patch["metadata"]})

        live.cluster.patch = forgetful
        with pytest.raises(Conflict, match="did not keep it") as caught:
            await live.backend.permit(A10, confirm=True)
        assert caught.value.code == "NOT_KEPT"
        assert await live.results() == [("intent", None), ("outcome", "NOT_KEPT")]


async def test_two_concurrent_permits_lose_nothing():
    async with Live(*OBJECTS) as live:
        wanted = [permit_of("pci", f"a.b/r{i}", selector=f"10de:000{i}") for i in range(6)]

        async def add(permit):
            for _ in range(100):
                try:
                    return await live.backend.permit(permit)
                except Conflict:
                    await asyncio.sleep(0.001)
            raise AssertionError

        await asyncio.gather(*map(add, wanted))
        names = {item.resource_name for item in (await live.backend.permits()).items}
        assert names == {permit.resource_name for permit in wanted}


async def test_without_the_right_a_permit_is_refused_and_audited():
    rules = (Rule(("list", "watch", "get"), ("*",), ("*",)),)
    async with Live(*OBJECTS, rules=rules) as live:
        with pytest.raises(Forbidden, match="patch"):
            await live.backend.permit(A10)
        assert await live.results() == [("intent", None), ("outcome", "RBAC_DENIED")]


async def test_other_conflicts_pass_through():
    async with Live(*OBJECTS) as live:

        async def patch(*_, **__):
            raise Conflict("locked", code="LOCKED")

        live.cluster.patch = patch
        with pytest.raises(Conflict, match="locked"):
            await live.backend.permit(A10)


async def test_creating_a_vm_checks_creates_and_audits():
    async with Live(namespace("default"), kubevirt(LISTED), node("a", {GPU: 2})) as live:
        dry = await live.backend.create(request(), dry_run=True)
        assert (dry.dry_run, (await live.cluster.list(kinds.MACHINES))[0]) == (True, [])
        made = await live.backend.create(request())
        assert made.uid
        assert [item.reason for item in made.issues] == ["PinnedToNode"]
        assert [item.name for item in (await live.backend.machines()).items] == ["new"]
        with pytest.raises(Conflict) as caught:
            await live.backend.create(request())
        assert caught.value.code == "ALREADY_EXISTS"
        assert [(row.action, row.result) for row in await live.rows()] == [
            ("create", None), ("create", "done"), ("create", None), ("create", "ALREADY_EXISTS"),
        ]  # fmt: skip
        assert json.loads((await live.rows())[0].detail) == {
            "fits": "yes", "reasons": ["PinnedToNode"],
        }  # fmt: skip


async def test_a_refused_create_leaves_nothing():
    async with Live(*OBJECTS) as live:
        with pytest.raises(PreflightFailed):
            await live.backend.create(request(gpus=3))
        assert (await live.cluster.list(kinds.MACHINES))[0] == []
        assert await live.results() == [("outcome", "DEVICE_PREFLIGHT_FAILED")]
        with pytest.raises(PreflightFailed):
            await live.backend.create(request(gpus=3), dry_run=True)
        assert len(await live.rows()) == 1


async def test_every_question_is_answered_live_too():
    async with Live(*OBJECTS) as live:
        assert [item.reason for item in (await live.backend.drift()).issues] == [
            "AdvertisedNotPermitted"
        ]
        assert (await live.backend.drain_impact("a")).items == ()
        text = json.dumps(vm(gpus=[GPU]))
        assert (await live.backend.fit(text, "-")).places == 0
        assert (await live.backend.inventory()).resources[0].resource_name == GPU


async def test_what_contradicts_the_list_is_recorded_under_the_name_of_the_entry():
    async with Live(namespace("default"), kubevirt(LISTED)) as live:
        with pytest.raises(Conflict) as caught:
            await live.backend.permit(permit_of("pci", GPU, selector="10de:0001"))
        assert caught.value.code == "ENTRY_DIFFERS"
        (row,) = await live.rows()
        assert (row.kind, row.name, row.result) == ("PermittedHostDevice", GPU, "ENTRY_DIFFERS")
        with pytest.raises(InvalidInput, match="only a service keeps an audit"):
            await live.backend.audit()


async def test_a_change_that_nobody_can_look_at_afterwards_stays_open():
    async with Live(*OBJECTS) as live:
        see = live.mirror.snapshot

        async def patch(*given, write=live.cluster.patch):
            written = await write(*given)
            live.mirror.snapshot = broken
            return written

        def broken():
            raise NotSynced("gone")

        live.cluster.patch = patch
        with pytest.raises(Unavailable, match="what became of it is not known"):
            await live.backend.permit(A10, confirm=True)
        live.mirror.snapshot = see
        assert await live.results() == [("intent", None)]
