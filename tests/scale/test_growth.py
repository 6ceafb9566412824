"""Work grows with what is asked, not with the cluster: counted in calls, never in seconds."""

import cProfile
import json

import msgspec
import pytest
from benchmarks import synthetic

from passway.cluster import kinds
from passway.cluster.dump import decode_object
from passway.cluster.records import Node, Pod
from passway.cluster.snapshot import Read
from passway.cluster.state import ClusterState
from passway.manifest.vm import parse_manifest
from passway.preflight.walk import check

GPU_NODES = 20
SMALL, LARGE = 100, 1000
NODE, POD = msgspec.json.Decoder(Node), msgspec.json.Decoder(Pod)


def cluster(node_count, gpu_nodes=GPU_NODES, pods_a_node=8):
    state = ClusterState()
    for kind in kinds.ALL:
        state.mark(kind, Read.READ)
    for node in synthetic.nodes(node_count, gpu_nodes):
        state.apply(kinds.NODES, NODE.decode(json.dumps(node)))
    for pod in synthetic.pods(node_count * pods_a_node, node_count, gpu_nodes):
        state.apply(kinds.PODS, POD.decode(json.dumps(pod)))
    for obj in (
        synthetic.kubevirt(),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-000"}},
    ):
        state.apply(*decode_object(obj))
    return state


@pytest.fixture(scope="module")
def small():
    return cluster(SMALL)


@pytest.fixture(scope="module")
def large():
    return cluster(LARGE)


def calls(work):
    """How many Python and C functions the work calls (after a first time that fills caches)."""
    work()
    profile = cProfile.Profile()
    profile.enable()
    work()
    profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


def ask(state, gpus):
    snapshot, text = state.snapshot(), synthetic.machine(gpus)
    return lambda: check(parse_manifest(text).require()[0], snapshot)


@pytest.mark.parametrize("gpus", [1, 3, 9])
def test_a_preflight_grows_with_the_nodes_that_have_the_resource(small, large, gpus):
    """One unit is free, three are not, nine never were: yes and both kinds of no."""
    assert calls(ask(large, gpus)) <= calls(ask(small, gpus)) * 1.05


def test_a_preflight_does_grow_with_the_nodes_that_have_the_resource(small):
    """The count can tell: each further node that has the resource costs its calls."""
    wide = cluster(SMALL, gpu_nodes=SMALL)
    assert calls(ask(wide, 1)) > calls(ask(small, 1)) + 5 * (SMALL - GPU_NODES)


def event(state, changed):
    """A pod event on node 50: the same pod again, or with another request."""
    node = "node-00050"
    requests = {"cpu": "400m", "memory": "5000Mi"}
    pods = [
        POD.decode(json.dumps(synthetic.pod(50, node, requests | extra)))
        for extra in ({}, {"cpu": "500m"} if changed else {})
    ]

    def apply():
        for pod in pods:
            state.apply(kinds.PODS, pod)
        state.snapshot()

    return apply


@pytest.mark.parametrize("changed", [False, True])
def test_an_event_does_not_grow_with_the_cluster(small, large, changed):
    assert calls(event(large, changed)) <= calls(event(small, changed)) * 1.05


def test_folding_grows_with_the_pods_and_no_faster():
    def fold(count):
        pods = [POD.decode(json.dumps(pod)) for pod in synthetic.pods(count, 50, 10)]

        def work():
            state = ClusterState()
            for pod in pods:
                state.apply(kinds.PODS, pod)

        return work

    assert calls(fold(4000)) <= calls(fold(1000)) * 4.4


def test_the_mirror_keeps_little_of_a_pod():
    import tracemalloc

    lines = [json.dumps(pod).encode() for pod in synthetic.pods(3000, 100, 10)]
    state = ClusterState()
    tracemalloc.start()
    try:
        for line in lines:
            state.apply(kinds.PODS, POD.decode(line))
        kept = tracemalloc.get_traced_memory()[0] / len(lines)
    finally:
        tracemalloc.stop()
    assert kept < 900  # bytes; 150 MB for 150,000 pods leaves room for 5,000 nodes
