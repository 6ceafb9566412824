"""The cluster as the authority: what reviews mean, how long they are believed, and their faults."""

import asyncio

import pytest
from tests.reviews import Reviewing

from passway.api.rights import ASK, INVENTORY
from passway.model.errors import Conflict, Forbidden, InvalidInput, Unauthenticated, Unavailable
from passway.service import authority as module
from passway.service.authority import Belief, ClusterAuthority
from passway.service.expiring import Expiring
from passway.service.gate import OPEN, Identity

ALICE = {
    "username": "alice", "uid": "7", "groups": ["dev", "system:authenticated"],
    "extra": {"b.example.com/key": ["2"], "a": ["1", "3"]},
}  # fmt: skip
BELIEF = Belief(known_s=60, unknown_s=5, allowed_s=10, refused_s=2)


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Bench:
    def __init__(self, **options):
        audiences = options.pop("asking", ())
        self.clock = Clock()
        self.cluster = Reviewing(people={"good": ALICE}, **options)
        self.authority = ClusterAuthority(
            self.cluster, audiences=audiences, belief=BELIEF, clock=self.clock
        )
        self.identify = self.authority.identify
        self.allows = self.authority.allows

    @property
    def asked(self):
        return len(self.cluster.asked)


async def test_the_cluster_says_whose_a_token_is():
    bench = Bench()
    assert await bench.identify(b"good") == Identity(
        "alice", "7", ("dev", "system:authenticated"),
        (("a", ("1", "3")), ("b.example.com/key", ("2",))),
    )  # fmt: skip
    assert await bench.identify(b"bad") is None
    assert bench.cluster.asked == [{"token": "good"}, {"token": "bad"}]


async def test_answers_are_believed_for_a_while():
    bench = Bench()
    for _ in range(2):
        await bench.identify(b"good")
        await bench.identify(b"bad")
    assert bench.asked == 2
    bench.clock.now = 5
    await bench.identify(b"good")
    await bench.identify(b"bad")
    assert bench.asked == 3
    bench.clock.now = 60
    del bench.cluster.people["good"]
    assert await bench.identify(b"good") is None


@pytest.mark.parametrize("token", [b"", b"a b", b"a\xe9", b"a\n", b"a" * 16385])
async def test_what_is_no_token_is_asked_of_nobody(token):
    bench = Bench()
    assert await bench.identify(token) is None
    assert bench.asked == 0


async def test_tokens_are_kept_nowhere():
    bench = Bench()
    await bench.identify(b"good")
    await bench.identify(b"evil")
    kept = [vars(part) for name, part in vars(bench.authority).items() if name != "_cluster"
            if hasattr(part, "__dict__")]  # fmt: skip
    assert "alice" in str(kept)
    assert not any(word in str(kept) for word in ("good", "evil"))


@pytest.mark.parametrize(
    ("served", "known"), [(("passway", "other"), True), (("other",), False), ((), False)]
)
async def test_a_token_must_be_meant_for_an_audience(served, known):
    bench = Bench(asking=("passway", "passway.example.com"), audiences=served)
    assert (await bench.identify(b"good") is not None) is known
    assert bench.cluster.asked[0]["audiences"] == ["passway", "passway.example.com"]


@pytest.mark.parametrize("user", [{}, {"username": ""}, {"username": "", "groups": ["a"]}])
async def test_somebody_without_a_name_is_nobody(user):
    bench = Bench()
    bench.cluster.people["good"] = user
    assert await bench.identify(b"good") is None


async def test_a_right_is_asked_for_with_everything_that_is_known():
    bench = Bench(grants=[("alice", "create", "preflights", "ml")])
    who = await bench.identify(b"good")
    assert await bench.allows(who, ASK, "ml")
    assert not await bench.allows(who, ASK, "web")
    assert not await bench.allows(who, ASK)
    assert bench.cluster.asked[1] == {
        "user": "alice", "uid": "7", "groups": ["dev", "system:authenticated"],
        "extra": {"a": ["1", "3"], "b.example.com/key": ["2"]},
        "resourceAttributes": {"group": "passway.dev", "resource": "preflights", "verb": "create",
                               "namespace": "ml"},
    }  # fmt: skip
    assert "namespace" not in bench.cluster.asked[3]["resourceAttributes"]
    assert bench.authority.where(who, ASK) is None


async def test_a_namespace_means_nothing_to_a_right_of_the_cluster():
    bench = Bench(grants=[("alice", "get", "inventories", "ml")])
    who = await bench.identify(b"good")
    assert not await bench.allows(who, INVENTORY, "ml")
    assert not await bench.allows(who, INVENTORY)
    assert bench.asked == 2


async def test_rights_are_believed_for_seconds_and_refusals_for_less():
    bench = Bench(grants=[("alice", "create", "preflights", "ml")])
    who = await bench.identify(b"good")
    for now, allowed, refused in ((0, True, False), (2, True, True), (10, False, True)):
        bench.clock.now = now
        assert await bench.allows(who, ASK, "ml") is allowed
        assert await bench.allows(who, ASK, "web") is refused
        bench.cluster.grants = {("alice", "create", "preflights", "web")}


async def test_nobodys_rights_are_anybody_elses():
    bench = Bench(grants=[("alice", "create", "preflights", "")])
    alice, bob = Identity("alice"), Identity("alice", groups=("other",))
    assert await bench.allows(alice, ASK, "ml")
    assert await bench.allows(bob, ASK, "ml")
    assert bench.asked == 2


FAULTS = [
    Unavailable("away"), Unauthenticated("our own token"), InvalidInput("strange"),
    Conflict("strange"),
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_review_that_fails_is_no_answer(fault):
    bench = Bench(grants=[("alice", "create", "preflights", "")])
    bench.cluster.failing = fault
    with pytest.raises(Unavailable):
        await bench.identify(b"good")
    with pytest.raises(Unavailable):
        await bench.allows(Identity("alice"), ASK, "ml")
    bench.cluster.failing = None
    assert await bench.identify(b"good")
    assert await bench.allows(Identity("alice"), ASK, "ml")


async def test_what_was_learned_holds_while_the_cluster_is_away():
    bench = Bench()
    await bench.identify(b"good")
    bench.cluster.failing = Unavailable("away")
    assert await bench.identify(b"good")
    bench.clock.now = 61
    with pytest.raises(Unavailable):
        await bench.identify(b"good")


async def test_the_missing_rule_is_named():
    bench = Bench()
    bench.cluster.failing = Forbidden("no", code="RBAC_DENIED")
    for asking, name in (
        (bench.identify(b"good"), "tokenreviews.authentication.k8s.io"),
        (bench.allows(Identity("a"), ASK, "ml"), "subjectaccessreviews.authorization.k8s.io"),
    ):
        with pytest.raises(Unavailable, match=name) as refused:
            await asking
        assert refused.value.code == "REVIEWS_NOT_ALLOWED"
        assert "system:auth-delegator" in refused.value.hint


@pytest.mark.parametrize("status", [{"allowed": "yes"}, {"allowed": 1}, []])
async def test_an_answer_of_another_shape_is_none(status):
    bench = Bench()

    async def strange(kind, obj, *, dry_run=False):
        return {**obj, "status": status or "x"}

    bench.cluster.create = strange
    with pytest.raises(Unavailable, match="SubjectAccessReview failed"):
        await bench.allows(Identity("a"), ASK, "ml")


@pytest.mark.parametrize("status", [None, {}, {"allowed": True, "denied": True}])
async def test_what_is_not_allowed_in_words_is_refused(status):
    bench = Bench()

    async def silent(kind, obj, *, dry_run=False):
        return {**obj, "status": status}

    bench.cluster.create = silent
    assert not await bench.allows(Identity("a"), ASK, "ml")
    assert await bench.identify(b"good") is None


async def test_no_answer_in_time_is_none(monkeypatch):
    monkeypatch.setattr(module, "REVIEW_S", 0.01)
    bench = Bench()

    async def hanging(kind, obj, *, dry_run=False):
        await asyncio.sleep(10)

    bench.cluster.create = hanging
    with pytest.raises(Unavailable, match="no answer to a TokenReview"):
        await bench.identify(b"good")


def test_a_store_is_bounded_and_forgets():
    clock = Clock()
    store = Expiring(2, clock)
    for key in "abc":
        store.put(key, key.upper(), 5)
    assert [store.get(key) for key in "abc"] == [None, "B", "C"]
    store.put("b", "again", 9)
    store.put("d", "D", 5)
    assert [store.get(key) for key in "bcd"] == ["again", None, "D"]
    clock.now = 5
    assert (store.get("b"), store.get("d"), len(store)) == ("again", None, 1)


async def test_the_open_gate_lets_everybody_see_all():
    assert await OPEN.see("ml") is None
    assert await OPEN.own() is None
    assert await OPEN.expect(ASK, "ml") is None
