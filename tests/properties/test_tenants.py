"""No answer to a tenant has a foreign name in any byte of it, whatever the cluster holds.

Every foreign namespace, VM, pod, quota, claim and network has the same mark in its name, and so has
what owns the permitted list; the tenant's own objects have not.
"""

import asyncio
import json

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import (
    GPU,
    T4,
    VF,
    attachment,
    injector,
    instancetype,
    kubevirt,
    machine,
    namespace,
    node,
    obj,
    pci,
    pod,
    quota,
    referring,
    state,
    vm,
    vmi,
)
from tests.gates import Within

from passway.cluster import kinds
from passway.cluster.snapshot import Read
from passway.model.errors import PasswayError
from passway.preflight.walk import check
from passway.service import report
from passway.service.backend import SnapshotBackend

MARK, OWN = "zzforeign", "ml"
FOREIGN = (f"{MARK}-a", f"{MARK}-b", f"ml-{MARK}")
SPACES = (OWN, *FOREIGN)
DEVICES = (GPU, T4, VF)
LABELS = ({}, {"app": "web"}, {"app": "db"})
APART = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
RULES = (
    {},
    {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {**APART, "namespaceSelector": {}}]}}},
    {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {**APART, "namespaceSelector": {}}]}}},
    {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname",
                                    "whenUnsatisfiable": "DoNotSchedule",
                                    "labelSelector": {"matchLabels": {"app": "web"}}}]},
)  # fmt: skip


def named(space: str, name: str) -> str:
    return name if space == OWN else f"{MARK}-{name}"


spaces, devices = st.sampled_from(SPACES), st.sampled_from(DEVICES)
NODES = st.lists(
    st.dictionaries(devices, st.integers(0, 2), max_size=3), min_size=1, max_size=3
).map(lambda found: [node(f"n{i}", held) for i, held in enumerate(found)])
PODS = st.lists(
    st.tuples(
        spaces, st.integers(0, 2), devices, st.integers(1, 3), st.booleans(),
        st.sampled_from(LABELS), st.sampled_from(RULES), st.sampled_from([-5, 0, 5]),
        st.booleans(),
    ),
    max_size=6,
).map(
    lambda found: [
        pod(
            named(space, f"p{i}"), f"n{at}", {resource: str(count), "cpu": "8"}, namespace=space,
            machine=named(space, f"m{i}") if launcher else None, priority=priority,
            meta={"labels": {**labels, "kubevirt.io": "virt-launcher"},
                  "deletionTimestamp": "2026-01-01T00:00:00Z" if ending else None},
            **rules,
        )
        for i, (space, at, resource, count, launcher, labels, rules, priority, ending)
        in enumerate(found)
    ]
)  # fmt: skip


def other(number: int, space: str, kind: str, resource: str):
    name = named(space, f"{kind}{number}")
    match kind:
        case "vm":
            return vm(name, namespace=space, gpus=[resource])
        case "vmi":
            return vmi(name, space)
        case "quota":
            return quota(name, {f"requests.{resource}": "1"}, namespace=space)
        case "net":
            return attachment(name, resource, space)
        case "it":
            return instancetype(name, namespace=space)
        case _:
            spec = {"accessModes": ["ReadWriteOnce"]}
            return obj("v1", "PersistentVolumeClaim", name, space, spec=spec)


OTHERS = st.lists(
    st.tuples(spaces, st.sampled_from(["vm", "vmi", "quota", "net", "it", "disk"]), devices),
    max_size=6,
).map(lambda found: [other(number, *item) for number, item in enumerate(found)])
KEEPER = obj("hco.kubevirt.io/v1beta1", "HyperConverged", f"{MARK}-hco", f"{MARK}-b", spec={})
FIXED = [
    *map(namespace, SPACES), injector(),
    vm("mine", namespace=OWN, gpus=[GPU]), attachment("fast", VF, OWN),
]  # fmt: skip
LISTS = st.sampled_from([None, {"pciHostDevices": [pci("10DE:2236", GPU)]}])
ASKED = st.one_of(
    st.builds(
        lambda gpus, networks, rules, disk: vm(
            "asked", namespace=OWN, gpus=gpus, sriov=networks,
            volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "disk0"}}] * disk,
            **rules,
        ),
        st.lists(devices, max_size=2), st.sampled_from([[], ["fast"], ["net0"]]),
        st.sampled_from(RULES), st.integers(0, 1),
    ),
    st.just(referring("it0", name="asked", namespace=OWN)),
)  # fmt: skip
SCARCE = (
    kinds.PODS, kinds.QUOTAS, kinds.ATTACHMENTS, kinds.VOLUME_CLAIMS, kinds.KUBEVIRTS,
    kinds.INSTANCES,
)  # fmt: skip
READS = st.lists(st.tuples(st.sampled_from(SCARCE), st.booleans()), max_size=2)


def backend_of(objects, reads):
    made = state(objects)
    for kind, some in reads:
        within = frozenset({OWN, FOREIGN[0]}) if some else frozenset()
        made.mark(kind, Read.FORBIDDEN, within=within)
    backend = SnapshotBackend(made.snapshot(), "test", lambda: objects, complete=True)
    backend.gate = Within({OWN})
    return backend


async def told(backend, asked) -> list[bytes]:
    """Every answer to a tenant, as it would be sent."""
    text = json.dumps(asked)
    questions = (
        backend.check(text, "f"), backend.check(text, "f", replicas=3, expand=True),
        backend.fit(text, "f"), backend.render_pod(text, "f"), backend.my_devices(OWN),
        backend.machines(OWN), backend.machines(), backend.machine(OWN, "mine"),
        backend.explain(OWN, "mine"), created(backend, asked),
    )  # fmt: skip
    return [await answered(question) for question in questions]


async def created(backend, asked):
    await backend.admit(OWN)
    return await backend.create(asked, dry_run=True)


async def answered(question) -> bytes:
    try:
        return msgspec.json.encode(await question)
    except PasswayError as error:
        found = report.issues(error.issues, 1000)
        return msgspec.json.encode((str(error), error.hint, found))


@settings(max_examples=60)
@given(NODES, PODS, OTHERS, LISTS, ASKED, READS, st.booleans())
def test_no_foreign_name_is_in_any_answer(nodes, pods, others, permitted, asked, reads, kept):
    objects = [*FIXED, *nodes, *pods, *others, kubevirt(permitted), *[KEEPER] * kept]
    for answer in asyncio.run(told(backend_of(objects, reads), asked)):
        assert MARK.encode() not in answer, answer.decode()


def test_the_names_are_there_for_who_may_see_them():
    """So that the law above can fail."""
    objects = [
        *FIXED, node("n0", {GPU: 1}), kubevirt(),
        pod(f"{MARK}-p", "n0", {GPU: "1"}, namespace=FOREIGN[0], machine=f"{MARK}-m"),
    ]  # fmt: skip
    reads = [(kinds.QUOTAS, True)]
    backend = backend_of(objects, reads)
    verdict = check(machine(vm(namespace=OWN, gpus=[GPU])), backend.snapshot)
    seen = msgspec.json.encode(report.verdict(verdict, backend.snapshot)).decode()
    assert f"{FOREIGN[0]}/{MARK}-m" in seen
    assert f'"namespaces":["{OWN}","{FOREIGN[0]}"]' in seen
