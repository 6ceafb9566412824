"""The models of KubeVirt in one process: `taskset -c 1 python -m benchmarks.models [WINDOWS]`.

Prints one line a figure: wall time, as the median of some windows of a quarter of a second each,
with the worst and the best of them. The reference loop is timed around every figure, to compare
machines and moments by. Vectors are the committed ones; a case that is refused counts like any
other, since finding that out is the work. Objects and caches are warm.
"""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from tests.builders import launcher
from tests.conformance import run

from benchmarks import synthetic
from benchmarks.scale import percentile, reference_us, timed
from passway.cluster import kinds
from passway.cluster.dump import decode_object
from passway.cluster.snapshot import Read, Snapshot
from passway.cluster.state import ClusterState
from passway.kubevirt.admission import review
from passway.kubevirt.hostdev import Environment, render_hostdev_xml, translate
from passway.kubevirt.hostdev_element import render
from passway.kubevirt.hostdev_errors import TranslationError
from passway.kubevirt.hostdev_spec import read_vmi
from passway.kubevirt.settings import settings_of
from passway.manifest.vm import parse_manifest

WINDOW_S = 0.25
WINDOWS = 20
UUID = "00000000-0000-4000-8000-000000000000"
Object = dict[str, Any]
Work = Callable[[], object]


def realistic_vmi() -> Object:
    """A GPU machine as people write them: two disks, cloud-init, a network, a taint."""
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "train", "namespace": "team", "labels": {"app": "train"}},
        "spec": {
            "domain": {
                "cpu": {"cores": 8, "dedicatedCpuPlacement": True},
                "memory": {"guest": "32Gi", "hugepages": {"pageSize": "1Gi"}},
                "devices": {
                    "disks": [
                        {"name": "root", "disk": {"bus": "virtio"}, "bootOrder": 1},
                        {"name": "data", "disk": {"bus": "virtio"}},
                        {"name": "init", "disk": {"bus": "virtio"}},
                    ],
                    "interfaces": [{"name": "default", "masquerade": {}}],
                    "gpus": [{"name": "gpu", "deviceName": synthetic.GPU}],
                    "rng": {},
                },
            },
            "networks": [{"name": "default", "pod": {}}],
            "volumes": [
                {"name": "root", "containerDisk": {"image": "example.com/os:1"}},
                {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
                {"name": "init", "cloudInitNoCloud": {"userData": "#cloud-config\n"}},
            ],
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "terminationGracePeriodSeconds": 60,
            "evictionStrategy": "None",
        },
    }


def snapshot() -> Snapshot:
    """The KubeVirt object and ten nodes; what is around the launcher does not depend on more."""
    state = ClusterState()
    for kind in kinds.ALL:
        state.mark(kind, Read.READ)
    for item in (synthetic.kubevirt(), *synthetic.nodes(10, 1)):
        decoded = decode_object(item)
        assert decoded is not None
        state.apply(*decoded)
    return state.snapshot()


def vectors(kind: str) -> list[Object]:
    return list(run.cases(run.HERE / "vectors" / f"{kind}.jsonl.gz"))


def rates(works: Sequence[Work], windows: int) -> list[float]:
    """Calls a second in each window, which goes round all the works at least once."""
    found = []
    for _ in range(windows):
        start, count, passed = time.perf_counter(), 0, 0.0
        while passed < WINDOW_S:
            for work in works:
                work()
            count += len(works)
            passed = time.perf_counter() - start
        found.append(count / passed)
    return sorted(found)


def tell(name: str, works: Sequence[Work], windows: int) -> None:
    before = reference_us()
    found = rates(works, windows)
    around = (before + reference_us()) / 2
    print(
        f"{name}: {found[windows // 2]:.0f} a second "
        f"(worst {found[0]:.0f}, best {found[-1]:.0f}; reference loop {around:.1f} us)"
    )


def one_translation() -> Work:
    spec = {"domain": {"devices": {"gpus": [{"name": "gpu", "deviceName": synthetic.GPU}]}}}
    env = {"PCI_RESOURCE_NVIDIA_COM_GA102GL_A10": "0000:65:00.0"}
    return lambda: render_hostdev_xml(spec, env=env)


def translation(given: Object) -> Work:
    """A whole machine: from the object to XML, or to the error."""
    around = Environment(given["env"], given["files"], given["networkInfo"])

    def work() -> object:
        try:
            return [render(device) for device in translate(read_vmi(given["vmi"]), around)]
        except TranslationError as error:
            return error

    return work


def admission(vmi: Object, config: Object, architecture: str | None) -> Work:
    """Schema, defaults and rules; the configuration was read once, as a cluster's is."""
    settings = settings_of(config, architecture)
    whole = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", **vmi}
    return lambda: review(whole, settings, UUID)


def main(windows: int = WINDOWS) -> None:
    cases = [translation(case["input"]) for case in vectors("hostdevice-translation")]
    refused = sum(isinstance(work(), TranslationError) for work in cases)
    tell("translate, one PCI GPU", [one_translation()], windows)
    tell(f"translate, {len(cases)} vectors ({refused} end in an error)", cases, windows)

    realistic = admission(realistic_vmi(), {}, None)
    assert realistic().allowed
    given = [case["input"] for case in vectors("vmi-admission")]
    reviews = [admission(one["vmi"], one["config"], one["clusterArchitecture"]) for one in given]
    refused = sum(not work().allowed for work in reviews)
    tell("admit, a GPU VMI with three disks", [realistic], windows)
    tell(f"admit, {len(reviews)} vectors ({refused} refused)", reviews, windows)

    spec = parse_manifest(synthetic.machine(1)).require()[0]
    view = snapshot()
    before = reference_us()
    samples = timed(windows * 100, lambda: launcher(spec, view))
    around = (before + reference_us()) / 2
    print(
        f"launcher, the GPU VM of benchmarks.scale: median {percentile(samples, 0.5) * 1e3:.2f}, "
        f"p99 {percentile(samples, 0.99) * 1e3:.2f} ms (reference loop {around:.1f} us)"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
