"""Fixtures of the bench: one plane for the whole run, a namespace of its own for each test."""

import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.controlplane.build import Missing, programs
from tests.controlplane.kubevirts import KubeVirt
from tests.controlplane.nodes import Kubelet
from tests.controlplane.plane import Plane

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """The Kubernetes control plane; a machine that cannot build it fails in CI."""
    try:
        programs("kubernetes")
    except Missing as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    with Plane(Path(tmp_path_factory.mktemp("plane"))) as started:
        yield started


@pytest.fixture(scope="session")
def kubevirt(plane: Plane) -> KubeVirt:
    """KubeVirt on the plane."""
    started = KubeVirt(plane)
    started.start()
    return started


@pytest.fixture(autouse=True)
def _alive(request: pytest.FixtureRequest) -> Iterator[None]:
    """A component that died fails the test, with the end of its log."""
    yield
    if "plane" in request.fixturenames:
        request.getfixturevalue("plane").check()


def _end_pods(plane: Plane, namespace: str) -> None:
    """What a kubelet would end: so that what the pods hold is free for the next test."""
    kubelet, end = Kubelet(plane), time.monotonic() + 10
    path = f"/api/v1/namespaces/{namespace}/pods"
    while pods := plane.request("GET", path)["items"]:
        for pod in pods:
            kubelet.remove(namespace, pod["metadata"]["name"])
        assert time.monotonic() < end, "the pods of the namespace do not end"
        time.sleep(0.05)


@pytest.fixture
def namespace(plane: Plane) -> Iterator[str]:
    """A namespace of this test alone."""
    name = f"t{next(_numbers)}"
    plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    machines = f"/apis/kubevirt.io/v1/namespaces/{name}/virtualmachines"
    plane.request("DELETE", machines, expected=(200, 404))
    _end_pods(plane, name)
    plane.request("DELETE", f"/api/v1/namespaces/{name}", expected=(200, 404))


@pytest.fixture
def kubelet(plane: Plane) -> Iterator[Kubelet]:
    """Nodes; those of the test go with it."""
    made = Kubelet(plane)
    yield made
    nodes = plane.request("GET", "/api/v1/nodes")["items"]
    made.leave(*(item["metadata"]["name"] for item in nodes))
