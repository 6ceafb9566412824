"""The mirror and the preflight at scale: `python -m benchmarks.scale [NODES PODS GPU_NODES]`.

Prints one line a figure. CPU seconds of this process; memory as traced structures (tracemalloc in
a run of its own) and as the peak resident set.
"""

import gc
import json
import resource
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from benchmarks import synthetic
from passway.cluster import kinds
from passway.cluster.dump import decode_object
from passway.cluster.records import Node, Pod
from passway.cluster.snapshot import Read
from passway.cluster.state import ClusterState
from passway.manifest.vm import parse_manifest
from passway.preflight.walk import check

PAGE = 500
FIXED = 150_000


def encoded(objects: Iterator[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(item).encode() for item in objects]


def pages(items: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """List responses of 500 items, as the API server pages them."""
    page: list[str] = []
    for item in items:
        page.append(json.dumps(item))
        if len(page) == PAGE:
            yield ('{"items":[' + ",".join(page) + "]}").encode()
            page = []
    if page:
        yield ('{"items":[' + ",".join(page) + "]}").encode()


class PodList(msgspec.Struct):
    items: list[Pod]


class NodeList(msgspec.Struct):
    items: list[Node]


def build(node_count: int, pod_count: int, gpu_nodes: int) -> tuple[ClusterState, float, float]:
    """A fed state, CPU seconds of decoding, CPU seconds of folding."""
    state = ClusterState()
    for kind in kinds.ALL:
        state.mark(kind, Read.READ)
    node_decoder, pod_decoder = msgspec.json.Decoder(NodeList), msgspec.json.Decoder(PodList)
    for page in pages(synthetic.nodes(node_count, gpu_nodes)):
        for node in node_decoder.decode(page).items:
            state.apply(kinds.NODES, node)
    decoding = folding = 0.0
    for page in pages(synthetic.pods(pod_count, node_count, gpu_nodes)):
        start = time.process_time()
        items = pod_decoder.decode(page).items
        middle = time.process_time()
        for pod in items:
            state.apply(kinds.PODS, pod)
        folding += time.process_time() - middle
        decoding += middle - start
        items = []
    for obj in (synthetic.kubevirt(), *namespaces()):
        decoded = decode_object(obj)
        if decoded is not None:
            state.apply(*decoded)
    return state, decoding, folding


def namespaces() -> Iterator[dict[str, Any]]:
    for index in range(400):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"team-{index:03}"}}


def percentile(samples: list[float], share: float) -> float:
    return sorted(samples)[min(int(len(samples) * share), len(samples) - 1)]


def timed(repeat: int, work: Callable[[], object]) -> list[float]:
    samples = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        samples.append(time.perf_counter() - start)
    return samples


def preflight_ms(state: ClusterState, gpus: int, repeat: int) -> tuple[list[float], list[float]]:
    """Milliseconds of parsing a manifest and judging it, all samples, and of a fixed loop right
    after each: what the machine itself does to work of this length.
    """
    text = synthetic.machine(gpus)
    snapshot = state.snapshot()
    work: list[float] = []
    fixed: list[float] = []
    for _ in range(repeat):
        work += timed(1, lambda: check(parse_manifest(text).require()[0], snapshot))
        fixed += timed(1, lambda: sum(range(FIXED)))
    return [sample * 1e3 for sample in work], [sample * 1e3 for sample in fixed]


def _spread(samples: list[float]) -> str:
    return f"median {percentile(samples, 0.5):.2f}, p99 {percentile(samples, 0.99):.2f} ms"


def reference_us() -> float:
    """A fixed loop, to compare machines and moments by: sum(range(1000))."""
    return percentile(timed(2000, lambda: sum(range(1000))), 0.5) * 1e6


def event_us(state: ClusterState, node_count: int, gpu_nodes: int, events: int) -> float:
    """CPU of a decoded pod event that changes what is kept of the pod (its end, there and back),
    with a snapshot after every 25th: 500 events and 20 verdicts a second.
    """
    decoder = msgspec.json.Decoder(Pod)
    pods = [
        decoder.decode(json.dumps({**pod, "metadata": {**pod["metadata"], **end}}))
        for end in ({"deletionTimestamp": "2026-11-30T00:00:00Z"}, {})
        for pod in synthetic.pods(events // 2, node_count, gpu_nodes)
    ]
    start = time.process_time()
    for index, pod in enumerate(pods):
        state.apply(kinds.PODS, pod)
        if index % 25 == 0:
            state.snapshot()
    return (time.process_time() - start) / events * 1e6


def main(node_count: int = 5000, pod_count: int = 150_000, gpu_nodes: int = 500) -> None:
    print(f"cluster: {node_count} nodes, {pod_count} pods, {gpu_nodes} nodes with the resource")
    state, decoding, folding = build(node_count, pod_count, gpu_nodes)
    print(f"decode: {decoding / pod_count * 1e6:.1f} us a pod")
    print(f"fold: {folding / pod_count * 1e6:.1f} us a pod")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak RSS: {peak:.0f} MiB")
    gc.collect()
    gc.freeze()
    print(f"reference loop: {reference_us():.1f} us")
    for name, gpus, repeat in (
        (f"resource on {gpu_nodes} nodes", 1, 2000),
        ("refused (3 units, 2 free a node)", 3, 500),
        ("plain VM that fits everywhere", 0, 200),
    ):
        work, fixed = preflight_ms(state, gpus, repeat)
        print(f"preflight, {name}: {_spread(work)}; a fixed loop: {_spread(fixed)}")
    print(f"event, decoded: {event_us(state, node_count, gpu_nodes, 20_000):.1f} us")
    del state
    gc.unfreeze()
    gc.collect()
    tracemalloc.start()
    kept = build(node_count, pod_count, gpu_nodes)
    gc.collect()
    print(f"mirror: {tracemalloc.get_traced_memory()[0] / 2**20:.0f} MiB traced")
    del kept


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
