"""The mirror under faults: in the end it is what a fresh list is, and never half of one."""

import asyncio
import logging
from contextlib import aclosing
from random import Random

import pytest
from tests.builders import GPU, kubevirt, namespace, node, pod, quota
from tests.faulty import Sleeps, plain, status, talking, until

from passway.cluster import kinds
from passway.cluster.records import ResourceQuota
from passway.cluster.snapshot import Read
from passway.kube.memory import MemoryCluster, Rule
from passway.model.errors import (
    Forbidden,
    InvalidInput,
    NotFound,
    NotSynced,
    PasswayError,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from passway.service import mirror as module
from passway.service.backoff import FIRST_S, LONGEST_S
from passway.service.mirror import Mirror
from passway.service.ports import Expired, OtherVersion, Page, WatchEvent
from passway.service.report import age_s

OBJECTS = (namespace("default"), *(node(f"n{number}", {GPU: 2}) for number in range(5)))


def names(mirror):
    return set(mirror.snapshot().nodes)


class Scripted(MemoryCluster):
    """Nodes come in pages of one; before each page and each event of theirs `fault` may raise.

    With `streams` they come with their watch.
    """

    def __init__(self, objects=OBJECTS, *, streams=False, **more):
        super().__init__(objects, **more)
        self.streams = streams
        self.fault = lambda place: None
        self.lists = self.watches = 0

    async def pages(self, kind, namespace=None):
        if kind != kinds.NODES:
            async for page in super().pages(kind, namespace):
                yield page
            return
        self.lists += 1
        self.fault("list")
        async for page in super().pages(kind, namespace):
            for number, record in enumerate(page.records):
                await asyncio.sleep(0)
                self.fault(f"page {number}")
                yield Page([record], page.version)
            if not page.records:
                yield page

    async def watch(self, kind, resource_version=None):
        if kind == kinds.NODES:
            if resource_version is None and not self.streams:
                raise Expired("nodes are listed")
            self.watches += resource_version is not None
            self.fault("watch")
        async with aclosing(super().watch(kind, resource_version)) as events:
            async for event in events:
                if kind == kinds.NODES:
                    await asyncio.sleep(0)
                    self.fault("event")
                yield event
                if event.complete and kind == kinds.NODES:
                    self.watches += 1


def once(*faults):
    """Raises at the named places, in that order, and then no more."""
    left = list(faults)

    def fault(place):
        if left and left[0][0] == place:
            raise left.pop(0)[1]

    return fault


ERRORS = (
    Unavailable("gone"), Expired("old"), TooLarge("line"), InvalidInput("odd"),
    Unauthenticated("who"), Forbidden("no"), NotFound("none"), OtherVersion("v2"),
    KeyError("a bug"), TimeoutError(),
)  # fmt: skip
PLACES = ("list", "page 0", "page 3", "watch", "event")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_after_a_fault_it_is_what_a_fresh_list_is(place, error):
    cluster, sleeps = Scripted(), Sleeps()
    async with Mirror(cluster, sleep=sleeps) as mirror:
        await mirror.ready(10)
        await until(lambda: cluster.watches)
        cluster.fault = once(("event", Expired("old")), (place, error))
        cluster.load([node("new", {GPU: 1})])
        await until(lambda: cluster.watches >= 2)
        await cluster.delete(kinds.NODES, "n0")
        expected = {"n1", "n2", "n3", "n4", "new"}
        await until(
            lambda: mirror.snapshot().read(kinds.NODES) == "read" and names(mirror) == expected
        )


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("seed", range(8))
async def test_after_many_faults_it_is_what_a_fresh_list_is(seed, streams):
    random, cluster = Random(seed), Scripted(history=20, streams=streams)

    def fault(place):
        if random.random() < 0.3:
            raise random.choice(ERRORS)

    cluster.fault = fault
    async with Mirror(cluster, relist_s=0.01, sleep=Sleeps()) as mirror:
        for step in range(60):
            name = f"x{random.randrange(6)}"
            try:
                if random.random() < 0.5:
                    await cluster.create(kinds.NODES, node(name, {GPU: random.randrange(4)}))
                else:
                    await cluster.delete(kinds.NODES, name)
            except PasswayError:
                continue
            await cluster.create(kinds.PODS, pod(f"p{step}", name, {GPU: "1"}))
        cluster.fault = lambda place: None
        fresh = Mirror(cluster)
        await fresh.read()
        wanted = fresh.snapshot()
        await mirror.ready(10)

        def same():
            found = mirror.snapshot()
            return all(
                getattr(found, part) == getattr(wanted, part)
                for part in ("nodes", "usage", "pending", "advertisers", "objects")
            ) and all(found.read(kind) == wanted.read(kind) for kind in kinds.ALL)

        await until(same)


async def test_nobody_sees_half_a_list():
    cluster, seen = Scripted(), []
    async with Mirror(cluster, sleep=Sleeps()) as mirror:
        await mirror.ready(10)
        before = mirror.snapshot()
        await until(lambda: cluster.watches)
        faults = once(("event", Expired("old")), ("page 2", Unavailable("cut")))
        cluster.fault = lambda place: (seen.append((place, names(mirror))), faults(place))
        await cluster.delete(kinds.NODES, "n0")
        await until(lambda: names(mirror) == {"n1", "n2", "n3", "n4"})
    whole = {f"n{number}" for number in range(5)}
    assert {place for place, _ in seen} >= {"event", "page 2", "page 3"}
    assert all(found == whole for place, found in seen if place.startswith("page"))
    assert set(before.nodes) == whole  # a snapshot in hand does not change


async def test_a_list_that_expires_is_begun_anew_at_once():
    cluster, sleeps = Scripted(), Sleeps()
    cluster.fault = once(("page 3", Expired("old")), ("page 2", Expired("old")))
    async with Mirror(cluster, sleep=sleeps) as mirror:
        await mirror.ready(10)
        assert len(names(mirror)) == 5
    assert (cluster.lists, sleeps) == (3, [])
    cluster.fault = once(*[("page 1", Expired("old"))] * 3)
    with pytest.raises(Expired):
        await Mirror(cluster).read()


# -- pauses ---------------------------------------------------------------------------------------


class Gate(Sleeps):
    """Sleeps that end at the test's word, after this many."""

    def __init__(self, most):
        super().__init__()
        self.most = most

    async def __call__(self, seconds):
        await super().__call__(seconds)
        if len(self) >= self.most:
            await asyncio.Event().wait()


@pytest.mark.parametrize("place", ["page 1", "watch"])
@pytest.mark.parametrize(
    "error", [Unavailable("gone"), Expired("old"), KeyError("bug")], ids=["gone", "old", "bug"]
)
async def test_the_pause_grows_while_a_fault_lasts(place, error):
    cluster, sleeps = Scripted(), Gate(9)

    def fault(where):
        if where == place:
            raise error

    cluster.fault = fault
    async with Mirror(cluster, sleep=sleeps):
        await until(lambda: len(sleeps) == 9)
    steps = [min(FIRST_S * 2**number, LONGEST_S) for number in range(9)]
    assert all(step / 2 <= slept <= step for slept, step in zip(sleeps, steps, strict=True))
    assert cluster.lists <= 9 * module.LISTS


@pytest.mark.parametrize("place", ["list", "watch"])
async def test_what_is_forbidden_is_tried_now_and_then(place, caplog):
    borne = module.REFUSALS if place == "watch" else 0  # what was never allowed is not waited for
    cluster, sleeps = Scripted(), Gate(borne + 3)

    def fault(where):
        if where == place:
            raise Forbidden("not allowed")

    cluster.fault = fault
    async with Mirror(cluster, relist_s=44.0, sleep=sleeps) as mirror:
        await mirror.ready(10)
        await until(lambda: len(sleeps) == borne + 3)
        expected = "forbidden" if place == "list" else "read"  # what was listed was listed
        assert mirror.snapshot().read(kinds.NODES) == expected
    assert sleeps[borne:] == [44.0] * 3
    assert all(slept < LONGEST_S for slept in sleeps[:borne])
    words = "nodes may not be read" if place == "list" else "nodes may be listed, but not watched"
    assert words in caplog.text


@pytest.mark.parametrize("place", ["list", "watch"])
async def test_a_refusal_that_passes_takes_nothing_away(place):
    """A server that has just started does not know all rights yet."""
    cluster, seen = Scripted(), set()
    async with Mirror(cluster, relist_s=44.0, sleep=(sleeps := Sleeps())) as mirror:
        await mirror.ready(10)
        await until(lambda: cluster.watches)
        for turn in range(3):
            refusals = [(place, Forbidden("not yet"))] * module.REFUSALS
            cluster.fault = once(("event", Expired("old")), *refusals)
            for name in (f"new-{turn}", f"event-{turn}"):
                await cluster.create(kinds.NODES, node(name, {GPU: 1}))
                while name not in names(mirror):
                    seen.add(mirror.snapshot().read(kinds.NODES))
                    await asyncio.sleep(0)
    assert seen == {Read.READ}
    assert 44.0 not in sleeps


async def test_a_watch_that_ends_by_itself_is_a_fault_too():
    class Ending(Scripted):
        async def watch(self, kind, resource_version=None):
            if resource_version is None:
                raise Expired("listed")
            if kind != kinds.NODES:
                await asyncio.Event().wait()
            for event in ():
                yield event

    cluster, sleeps = Ending(), Gate(3)
    async with Mirror(cluster, sleep=sleeps):
        await until(lambda: len(sleeps) == 3)
    assert FIRST_S / 2 <= sleeps[0] <= FIRST_S
    assert sleeps[2] >= sleeps[0]


async def test_a_bug_is_told_and_does_not_end_the_following(caplog):
    cluster = Scripted()
    cluster.fault = once(("event", ZeroDivisionError()))
    async with Mirror(cluster, sleep=Sleeps()) as mirror:
        await mirror.ready(10)
        await until(lambda: cluster.watches)
        cluster.load([node("new")])
        await until(lambda: "new" in names(mirror))
    [record] = [one for one in caplog.records if one.levelno == logging.ERROR]
    assert record.exc_info


# -- what is not there ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "read"),
    [(NotFound("not served"), Read.EMPTY), (Forbidden("no more"), Read.FORBIDDEN),
     (OtherVersion("in version v2"), Read.UNREAD)],
)  # fmt: skip
async def test_nothing_is_kept_of_a_kind_that_is_lost(error, read, caplog):
    """A definition that was removed takes its objects along, and a right its view of them."""
    cluster = Scripted()
    faults = once(("event", Expired("old")), *[("list", error)] * 9)
    cluster.fault = faults
    async with Mirror(cluster, sleep=Gate(module.REFUSALS + 2)) as mirror:
        await mirror.ready(10)
        await until(lambda: cluster.watches)
        before = mirror.snapshot()
        cluster.load([node("new")])
        await until(lambda: mirror.snapshot().read(kinds.NODES) == read)
        assert names(mirror) == set()
        assert mirror.snapshot().advertisers == {}
    assert len(before.nodes) == 5
    if read is Read.UNREAD:
        assert "nodes are not read: in version v2" in caplog.text


async def test_a_kind_in_another_version_is_unread_and_not_empty():
    class Served(Scripted):
        async def pages(self, kind, namespace=None):
            if kind == kinds.MACHINES:
                raise OtherVersion("the API server has it in version v2, and not in v1")
            async for page in super().pages(kind, namespace):
                yield page

    mirror = Mirror(Served())
    await mirror.read()
    snapshot = mirror.snapshot()
    assert snapshot.read(kinds.MACHINES) is Read.UNREAD
    assert snapshot.read(kinds.INSTANCES) is Read.EMPTY


# -- reading once ---------------------------------------------------------------------------------


async def test_reading_once_ends_in_one_error():
    async with talking() as (server, cluster, _):
        server.otherwise = status(401)
        mirror = Mirror(cluster)
        with pytest.raises(Unauthenticated):
            await mirror.read()
        with pytest.raises(NotSynced):
            mirror.snapshot()


async def test_a_server_that_is_gone_is_one_error():
    async with talking() as (_, cluster, _):
        pass
    async with cluster:
        with pytest.raises(Unavailable, match="cannot be reached"):
            await Mirror(cluster).read()


async def test_what_is_no_kubernetes_api_is_not_an_empty_cluster():
    async with talking() as (server, cluster, _):
        server.otherwise = plain(404, b"<html>not here</html>")
        with pytest.raises(Unavailable, match="no Kubernetes API"):
            await Mirror(cluster).read()


async def test_reading_once_with_few_rights():
    cluster = MemoryCluster(OBJECTS, rules=(Rule(("list",), ("",), ("nodes",)),))
    mirror = Mirror(cluster)
    await mirror.read()
    snapshot = mirror.snapshot()
    assert (len(snapshot.nodes), snapshot.read(kinds.PODS)) == (5, "forbidden")


LATER = "2026-06-12T09:30:00Z"


async def test_ages_are_judged_at_the_given_time_else_at_the_newest_there_is():
    item = node("a")
    item["metadata"]["creationTimestamp"] = "2026-06-01T08:00:00Z"
    for given, at in (({}, "2026-06-01T08:00:00Z"), ({"now": lambda: LATER}, LATER)):
        mirror = Mirror(MemoryCluster([item]), **given)
        await mirror.read()
        assert mirror.snapshot().at == at


class Wall:
    """The time, in seconds of one minute."""

    second = 0

    def __call__(self):
        return f"2026-06-12T09:30:{self.second:02}Z"


async def test_each_kind_tells_when_it_was_last_known_to_be_so():
    cluster, wall = Scripted(), Wall()
    async with Mirror(cluster, sleep=Sleeps(), now=wall) as mirror:
        await mirror.ready(10)
        await until(lambda: cluster.watches)
        wall.second = 20
        snapshot = mirror.snapshot()
        assert (age_s(snapshot, kinds.NODES), age_s(snapshot, kinds.PODS)) == (20, 20)
        await cluster.create(kinds.NODES, node("new"))
        await until(lambda: "new" in names(mirror))
        snapshot = mirror.snapshot()
        assert (age_s(snapshot, kinds.NODES), age_s(snapshot, kinds.PODS)) == (0, 20)
        assert snapshot.versions["nodes"] == str(cluster._version)
        await cluster.delete(kinds.NODES, "new")
        await until(lambda: "new" not in names(mirror))
        assert mirror.snapshot().versions["nodes"] == str(cluster._version)


async def test_a_bookmark_is_a_word_of_the_server_too():
    class Bookmarking(Scripted):
        async def watch(self, kind, resource_version=None):
            if resource_version is None:
                raise Expired("listed")
            if kind == kinds.NODES:
                await until(lambda: wall.second)
                yield WatchEvent("BOOKMARK", "77")
            await asyncio.Event().wait()

    wall = Wall()
    async with Mirror(Bookmarking(), sleep=Sleeps(), now=wall) as mirror:
        await mirror.ready(10)
        wall.second = 30
        await until(lambda: age_s(mirror.snapshot(), kinds.NODES) == 0)
        assert mirror.snapshot().versions["nodes"] == "77"
        assert age_s(mirror.snapshot(), kinds.PODS) == 30


async def test_what_cannot_be_read_any_more_grows_old():
    cluster, wall = Scripted(), Wall()
    async with Mirror(cluster, sleep=Sleeps(), now=wall) as mirror:
        await mirror.ready(10)
        await until(lambda: cluster.watches)

        def fault(place):
            raise Unavailable("gone")

        cluster.fault = fault
        cluster.load([node("new")])
        lists = cluster.lists
        await until(lambda: cluster.lists > lists + 3)
        wall.second = 45
        snapshot = mirror.snapshot()
        assert snapshot.read(kinds.NODES) is Read.READ
        assert age_s(snapshot, kinds.NODES) == 45
        cluster.fault = lambda place: None
        await until(lambda: age_s(mirror.snapshot(), kinds.NODES) == 0)


async def test_who_knows_no_time_knows_no_age():
    mirror = Mirror(MemoryCluster(OBJECTS))
    await mirror.read()
    assert age_s(mirror.snapshot(), kinds.NODES) is None


async def test_only_the_kinds_that_are_asked_for_are_read():
    cluster = Scripted()
    mirror = Mirror(cluster, read=(kinds.NODES, kinds.CRDS))
    with pytest.raises(NotSynced, match="not read yet: customresourcedefinitions, nodes"):
        mirror.snapshot()
    await mirror.read()
    snapshot = mirror.snapshot()
    assert len(snapshot.nodes) == 5
    assert (snapshot.read(kinds.CRDS), snapshot.read(kinds.PODS)) == (Read.EMPTY, Read.UNREAD)


# -- few rights -----------------------------------------------------------------------------------

LAB = Rule(("list", "get", "create"), ("*",), ("*",), ("lab",))


async def test_what_may_not_be_listed_everywhere_is_listed_where_it_may():
    objects = (
        *OBJECTS, quota("q", {"pods": "1"}, namespace="lab"), quota("r", {}, namespace="other"),
        pod("p", "n1", {GPU: "1"}, namespace="lab"), pod("o", "n1", namespace="other"),
        kubevirt(),
    )  # fmt: skip
    mirror = Mirror(MemoryCluster(objects, rules=(LAB,)), namespaces=("lab", "other"))
    await mirror.read()
    snapshot = mirror.snapshot()
    assert snapshot.read(kinds.QUOTAS) is Read.FORBIDDEN
    assert snapshot.read(kinds.QUOTAS, "lab") is Read.READ
    assert snapshot.read(kinds.LIMIT_RANGES, "lab") is Read.EMPTY
    assert snapshot.read(kinds.QUOTAS, "other") is Read.FORBIDDEN
    assert set(snapshot.all(kinds.QUOTAS, ResourceQuota)) == {("lab", "q")}
    assert snapshot.within["pods"] == {"lab"}
    assert [one.name for one in snapshot.pods_on("n1")] == ["p"]
    # Where KubeVirt is, is no business of the machine's namespace.
    assert snapshot.read(kinds.KUBEVIRTS, "lab") is Read.FORBIDDEN
    assert snapshot.read(kinds.NODES, "lab") is Read.FORBIDDEN


async def test_rights_that_come_are_seen(caplog):
    cluster = MemoryCluster(OBJECTS, rules=(LAB,))
    gate = Gate(10**9)
    async with Mirror(cluster, namespaces=("lab",), relist_s=0.0, sleep=gate) as mirror:
        await mirror.ready(10)
        assert mirror.snapshot().within["resourcequotas"] == {"lab"}
        cluster._rules = None
        await until(lambda: mirror.snapshot().read(kinds.QUOTAS) is Read.EMPTY)
        assert "resourcequotas" not in mirror.snapshot().within


async def test_a_fault_within_a_namespace_is_a_fault():
    class Torn(MemoryCluster):
        async def pages(self, kind, namespace=None):
            if namespace:
                raise Unavailable("gone")
            async for page in super().pages(kind, namespace):
                yield page

    with pytest.raises(Unavailable):
        await Mirror(Torn(OBJECTS, rules=(LAB,)), namespaces=("lab",)).read()


async def test_a_write_of_ours_makes_no_kind_known():
    cluster = MemoryCluster(OBJECTS, rules=(LAB,))
    mirror = Mirror(cluster)
    await mirror.read()
    mirror.apply(pod("mine", namespace="lab"))
    assert mirror.snapshot().read(kinds.PODS) is Read.FORBIDDEN
    assert not mirror.snapshot().pending
