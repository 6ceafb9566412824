"""Changes that leave a trace: what is written when, and what becomes of those nobody finished."""

import asyncio
import logging
from dataclasses import replace

import msgspec
import pytest
from tests.builders import GPU, kubevirt, namespace, obj, pci, vm

from passway.cluster import kinds
from passway.kube.memory import MemoryCluster, Rule
from passway.model.errors import Conflict, Forbidden, NotFound, Unavailable
from passway.model.verdict import Ref
from passway.service.audit import Actor, AuditUnavailable, Filter
from passway.service.changes import Attempt, Recorded, Unrecorded
from passway.service.dangling import Found, Resolver, judged
from passway.service.ports import OtherVersion
from passway.store.audit import SqlAudit
from passway.store.database import memory

NOW = "2026-06-12T09:30:00Z"
ALICE = Actor("alice", "192.0.2.7", "r-1")
BEFORE, AFTER = {}, {"pciHostDevices": [pci("10DE:2236", GPU)]}
OWNER = Ref("KubeVirt", "kubevirt", "kubevirt")
LIST = Attempt("permit", kinds.KUBEVIRTS, OWNER, BEFORE, AFTER)
MACHINE = vm("one")
CREATE = Attempt("create", kinds.MACHINES, Ref("VirtualMachine", "one", "default"), None, MACHINE)


class Bench:
    """An audit in memory, a cluster in memory, and a replica on both."""

    def __init__(self, *objects, **options):
        self.now = NOW
        self.audit = SqlAudit(memory(), write=lambda _: None)
        self.cluster = MemoryCluster(objects, now=lambda: NOW)
        self.changes = self.replica("here", **options)

    def replica(self, name, **options):
        return Recorded(self.audit, now=lambda: self.now, replica=name, **options)

    def resolver(self, changes=None, **options):
        return Resolver(
            self.cluster, self.audit, changes or self.changes, now=lambda: self.now, **options
        )

    async def rows(self):
        return [
            (row.phase, row.result, row.intent)
            for row in reversed(await self.audit.page(Filter(), 100))
        ]

    async def newest(self):
        return (await self.audit.page(Filter(), 1))[0]

    async def __aenter__(self):
        await self.audit.__aenter__()
        return self

    async def __aexit__(self, *_):
        await self.changes.__aexit__(None, None, None)
        await self.audit.__aexit__(None, None, None)


def raising(error):
    async def write():
        raise error

    return write


async def nothing():
    return "written"


async def test_a_change_has_an_intent_before_and_an_outcome_after():
    async with Bench() as bench:
        seen = []

        async def write():
            seen.extend(await bench.rows())
            return "written"

        assert await bench.changes.made(ALICE, LIST, write) == "written"
        assert seen == [("intent", None, None)]
        assert await bench.rows() == [("intent", None, None), ("outcome", "done", 1)]


async def test_a_refusal_by_the_cluster_is_the_outcome():
    async with Bench() as bench:
        with pytest.raises(Conflict):
            await bench.changes.made(ALICE, LIST, raising(Conflict("changed", code="CODE")))
        assert await bench.rows() == [("intent", None, None), ("outcome", "CODE", 1)]
        assert (await bench.newest()).detail == "changed"


async def test_a_refusal_before_is_an_outcome_alone():
    async with Bench() as bench:
        unknown = replace(LIST, kind=None, target=Ref("PermittedHostDevice", "x" * 2000))
        await bench.changes.refused(ALICE, unknown, Forbidden("no", code="RBAC_DENIED"))
        row = await bench.newest()
        assert (row.phase, row.result, row.intent, row.detail) == (
            "outcome", "RBAC_DENIED", None, "no",
        )  # fmt: skip
        assert (row.api_version, row.kind, len(row.name)) == ("", "PermittedHostDevice", 1024)


async def test_without_an_intent_nothing_is_written():
    bench, written = Bench(), []

    async def write():
        written.append(1)

    with pytest.raises(AuditUnavailable):
        await bench.changes.made(ALICE, LIST, write)
    with pytest.raises(AuditUnavailable):
        await bench.changes.refused(ALICE, LIST, Conflict("x"))
    assert written == []


async def test_an_outcome_that_cannot_be_kept_is_logged_and_the_answer_stays(caplog):
    async with Bench() as bench:

        async def write():
            await bench.audit.__aexit__(None, None, None)
            return "written"

        assert await bench.changes.made(ALICE, LIST, write) == "written"
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert '"result":"done"' in record.message


async def test_an_outcome_that_comes_too_late_is_logged(caplog):
    async with Bench() as bench:

        async def write():
            assert await bench.resolver(bench.replica("other"), stale_s=0).resolve() == 1

        await bench.changes.made(ALICE, LIST, write)
        assert (await bench.rows())[1:] == [("outcome", "unknown", 1)]
    assert "closed by another replica" in caplog.text


@pytest.mark.parametrize("error", [Unavailable("gone"), TimeoutError(), ValueError("a bug")])
async def test_an_effect_that_nobody_knows_leaves_the_intent_open(error):
    async with Bench(kubevirt(AFTER)) as bench:
        with pytest.raises((Unavailable, ValueError)):
            await bench.changes.made(ALICE, LIST, raising(error))
        assert await bench.rows() == [("intent", None, None)]
        assert await bench.resolver().resolve() == 1
        assert await bench.rows() == [("intent", None, None), ("outcome", "applied", 1)]


async def test_a_write_that_takes_too_long_is_left():
    async with Bench(write_s=0.01) as bench:
        with pytest.raises(Unavailable, match="being found out"):
            await bench.changes.made(ALICE, LIST, asyncio.Event().wait)
        assert await bench.rows() == [("intent", None, None)]


async def test_a_caller_that_leaves_does_not_stop_the_change():
    async with Bench() as bench:
        begun, may = asyncio.Event(), asyncio.Event()

        async def write():
            begun.set()
            await may.wait()

        caller = asyncio.create_task(bench.changes.made(ALICE, LIST, write))
        await begun.wait()
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        assert await bench.resolver(stale_s=60).resolve() == 0  # it is being worked on
        may.set()
        await bench.changes.__aexit__(None, None, None)
        assert await bench.rows() == [("intent", None, None), ("outcome", "done", 1)]


async def test_leaving_does_not_wait_for_ever():
    async with Bench(finish_s=0.01) as bench:
        begun = asyncio.Event()

        async def write():
            begun.set()
            await asyncio.Event().wait()

        caller = asyncio.create_task(bench.changes.made(ALICE, LIST, write))
        await begun.wait()
        async with bench.changes:
            pass
        with pytest.raises(asyncio.CancelledError):
            await caller
        assert await bench.rows() == [("intent", None, None)]


async def test_who_writes_as_themselves_is_recorded_elsewhere():
    changes = Unrecorded()
    assert await changes.made(ALICE, LIST, nothing) == "written"
    assert await changes.refused(ALICE, LIST, Conflict("x")) is None


# -- what became of it ----------------------------------------------------------------------------


async def resolved(bench, attempt, cluster=None):
    """The row that closes an intent of a replica that died."""
    dead = bench.replica("dead")
    with pytest.raises(Unavailable):
        await dead.made(ALICE, attempt, raising(Unavailable("died")))
    resolver = bench.resolver()
    assert await resolver.resolve() == 0  # it may be at work still
    bench.now = "2026-06-12T09:40:00Z"
    closed = await resolver.resolve()
    bench.now = NOW
    row = await bench.newest()
    if closed:
        assert (row.user, row.replica, row.intent) == ("alice", "here", 1)
    return (row.result, row.after) if closed else None


@pytest.mark.parametrize(
    ("objects", "result"),
    [
        ([kubevirt(AFTER)], "applied"),
        ([kubevirt(BEFORE)], "not_applied"),
        ([kubevirt({"usb": []})], "unknown"),
        ([kubevirt()], "unknown"),
        ([], "unknown"),
    ],
)
async def test_the_list_says_what_became_of_its_change(objects, result):
    async with Bench(*objects) as bench:
        assert (await resolved(bench, LIST))[0] == result


A, B, C = ({"resourceName": f"a.b/{name}", "pciVendorSelector": "10DE:0001"} for name in "abc")


@pytest.mark.parametrize(
    ("before", "after", "found", "result"),
    [
        ([A], [A, B], [A, B, C], "applied"),
        ([A], [A, B], [B], "applied"),
        ([A], [A, B], [A, C], "unknown"),
        ([A, B], [A], [A, C], "applied"),
        ([A, B], [A], [B], "unknown"),
        ([A], [A], [A, B], "unknown"),
        ([A], [A, B], "no list", "unknown"),
    ],
)
def test_what_others_changed_too_hides_only_what_cannot_be_told(before, after, found, result):
    def text(entries):
        return msgspec.json.encode({"pciHostDevices": entries}).decode()

    made = intent(before=text(before), after=text(after))
    assert judged(made, kinds.KUBEVIRTS, kubevirt({"pciHostDevices": found})).result == result


async def test_the_list_of_a_hyperconverged_is_looked_at_in_its_version():
    listing = {"pciHostDevices": [{"pciDeviceSelector": "10DE:2236", "resourceName": GPU}]}
    owner = obj("hco.kubevirt.io/v1beta1", "HyperConverged", "hco", "kubevirt")
    owner["spec"] = {"permittedHostDevices": listing}
    async with Bench(owner) as bench:
        target = Ref("HyperConverged", "hco", "kubevirt")
        attempt = Attempt("permit", kinds.HYPERCONVERGEDS, target, None, listing)
        assert (await resolved(bench, attempt))[0] == "applied"


@pytest.mark.parametrize(
    ("objects", "result"),
    [
        ([{**MACHINE, "status": {"ready": True}}], "applied"),
        ([vm("one", run_strategy="Halted")], "unknown"),
        ([], "not_applied"),
    ],
)
async def test_a_vm_says_whether_it_was_created(objects, result):
    async with Bench(namespace("default"), *objects) as bench:
        assert (await resolved(bench, CREATE))[0] == result


def intent(**changed):
    from tests.store.rows import draft

    from passway.service.audit import Head, chained

    return chained(draft(**changed), Head())


def test_a_vm_that_was_there_before_does_not_count():
    meta = {**MACHINE["metadata"], "creationTimestamp": "2026-06-12T09:29:59Z", "uid": "u"}
    made = intent(action="create", after='{"kind":"VirtualMachine"}', before=None)
    found = judged(made, kinds.MACHINES, {**MACHINE, "metadata": meta})
    assert (found.result, found.after) == (
        "unknown", '{"metadata":{"uid":"u","creationTimestamp":"2026-06-12T09:29:59Z"}}',
    )  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "found", "result"),
    [('{"a":[{"b":1}]}', {"a": [{"b": 1, "c": 2}]}, "applied"),
     ('{"a":[1]}', {"a": [1, 2]}, "unknown"), ('{"a":[1]}', {"a": 1}, "unknown"),
     ('{"a":{"b":1}}', {"a": 1}, "unknown"), ('{"a":{"b":1}}', {"a": {}}, "unknown")],
)  # fmt: skip
def test_what_the_api_server_added_does_not_count(wanted, found, result):
    made = {"metadata": {"creationTimestamp": NOW}, **found}
    assert judged(intent(action="create", after=wanted), kinds.MACHINES, made).result == result


async def test_what_may_not_be_read_is_unknown():
    async with Bench(kubevirt(AFTER)) as bench:
        bench.cluster = MemoryCluster([kubevirt(AFTER)], rules=(Rule(("list",), ("*",), ("*",)),))
        assert await resolved(bench, LIST) == ("unknown", None)


async def test_a_kind_in_another_version_or_that_is_not_looked_at_is_unknown():
    async with Bench() as bench:
        bench.cluster.get = raising_call(OtherVersion("other version"))
        assert await resolved(bench, LIST) == ("unknown", None)
    async with Bench() as bench:
        node = Attempt("label", kinds.NODES, Ref("Node", "a"))
        assert await resolved(bench, node) == ("unknown", None)
    assert judged(intent(), kinds.KUBEVIRTS, None) == Found("unknown", "the object is gone")


def raising_call(error):
    async def call(*_, **__):
        raise error

    return call


async def test_a_cluster_that_cannot_be_reached_is_asked_again():
    async with Bench(kubevirt(AFTER)) as bench:
        get = bench.cluster.get
        bench.cluster.get = raising_call(Unavailable("down"))
        assert await resolved(bench, LIST) is None
        bench.cluster.get = get
        bench.now = "2026-06-12T09:40:00Z"
        assert await bench.resolver().resolve() == 1
        assert (await bench.newest()).result == "applied"


async def test_it_goes_on_by_itself_whatever_happens(caplog):
    async with Bench(kubevirt(AFTER)) as bench:
        faults = [ValueError("a bug"), AuditUnavailable("away"), NotFound("odd")]
        dangling = bench.audit.dangling

        async def look(limit):
            if faults:
                raise faults.pop(0)
            return await dangling(limit)

        bench.audit.dangling = look
        with pytest.raises(Unavailable):
            await bench.changes.made(ALICE, LIST, raising(Unavailable("x")))
        async with bench.resolver(every_s=0.001), asyncio.timeout(10):
            while (await bench.newest()).phase == "intent":  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.001)
        assert await bench.rows() == [("intent", None, None), ("outcome", "applied", 1)]
        assert "a bug" in caplog.text


async def test_an_audit_that_goes_away_meanwhile_ends_the_look():
    async with Bench(kubevirt(AFTER)) as bench:
        with pytest.raises(Unavailable):
            await bench.changes.made(ALICE, LIST, raising(Unavailable("x")))
        bench.audit.append = raising_call(AuditUnavailable("away"))
        with pytest.raises(AuditUnavailable):
            await bench.resolver().resolve()


async def test_an_intent_that_is_being_written_is_not_given_up():
    async with Bench() as bench:
        append, seen = bench.audit.append, []

        async def slow(draft):
            row = await append(draft)
            seen.append(await bench.resolver(stale_s=60).resolve())
            return row

        bench.audit.append = slow
        await bench.changes.made(ALICE, LIST, nothing)
        assert seen == [0, 0]
        assert await bench.rows() == [("intent", None, None), ("outcome", "done", 1)]
