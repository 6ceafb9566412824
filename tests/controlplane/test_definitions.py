"""Definitions beside KubeVirt's own on the real API server: ours, projects', official files."""

import json

import pytest
from click.testing import CliRunner
from tests.builders import GPU, VF, attachment, obj, pci
from tests.controlplane import definitions
from tests.controlplane.definitions import ATTACHMENTS, HYPERCONVERGEDS, MODULES
from tests.controlplane.injector import Injector
from tests.controlplane.plane import Answer, Plane

from passway.main import cli

pytestmark = [pytest.mark.plane, pytest.mark.slow]
OPERATORS = "/apis/hco.kubevirt.io/v1beta1/namespaces/{}/hyperconvergeds"


def run(plane: Plane, *args: str, code: int = 0) -> str:
    result = CliRunner().invoke(cli, [*args, "--kubeconfig", plane.admin()])
    assert result.exit_code == code, (result.output, result.exception)
    return result.stdout


def official(definition: definitions.Definition) -> definitions.Definition:
    found = definitions.official(definition)
    if found is None:
        pytest.skip("PASSWAY_CRDS names no folder of official definitions")
    return found


@pytest.fixture
def installed(plane: Plane):
    """Installs definitions for a test; they go with it."""
    made: list = []

    def install(found) -> list:
        made.extend(found)
        definitions.install(plane, found)
        return found

    yield install
    definitions.remove(plane, made)


@pytest.mark.parametrize("module", MODULES)
def test_the_definitions_of_a_project_are_served(plane, installed, module):
    found = installed(definitions.of_module(module))
    assert len(found) >= 4
    for definition in found:
        (version, *_) = [v["name"] for v in definition["spec"]["versions"] if v["served"]]
        group, plural = definition["spec"]["group"], definition["spec"]["names"]["plural"]
        assert plane.request("GET", f"/apis/{group}/{version}/{plural}")["items"] == []


@pytest.mark.parametrize("source", ["own", "official"])
def test_a_permit_goes_to_hyperconverged(plane, kubevirt, installed, namespace, source):
    """It owns the list of this cluster, and the official schema takes what is written."""
    installed([HYPERCONVERGEDS if source == "own" else official(HYPERCONVERGEDS)])
    made = obj("hco.kubevirt.io/v1beta1", "HyperConverged", "kubevirt-hyperconverged",
               namespace, spec={})  # fmt: skip
    operators = OPERATORS.format(namespace)
    plane.request("POST", operators, made)
    run(plane, "permit", "pci", GPU, "--selector", "10DE:2236", "--yes")
    found = plane.request("GET", f"{operators}/kubevirt-hyperconverged")
    (entry,) = found["spec"]["permittedHostDevices"]["pciHostDevices"]
    assert (entry["pciDeviceSelector"], entry["resourceName"]) == ("10DE:2236", GPU)


@pytest.mark.parametrize("source", ["own", "official"])
def test_an_attachment_is_read_and_its_functions_are_asked_for(
    plane, kubevirt, kubelet, namespace, source
):
    """The stand-in of the injector does what KubeVirt leaves to it."""
    if source == "official":
        definition = official(ATTACHMENTS)
        path = f"{definitions.COLLECTION}/{definition['metadata']['name']}"
        plane.request("PATCH", path, {"spec": definition["spec"]},
                      content="application/merge-patch+json")  # fmt: skip
    kubevirt.configure({"permittedHostDevices": {"pciHostDevices": [pci("10DE:2236", GPU)]}})
    kubelet.add("nic-1", {VF: 1})
    made = attachment("fast", namespace=namespace)
    plane.request("POST", f"/apis/k8s.cni.cncf.io/v1/namespaces/{namespace}/"
                  "network-attachment-definitions", {**made, "spec": {"config": "{}"}})  # fmt: skip
    asked = ("create", "vm", "one", "-n", namespace, "--image", "example.com/disk:1",
             "--sriov", "fast", "--memory", "1Gi")  # fmt: skip
    run(plane, *asked, code=1)  # nobody would ask for the function
    injector = Injector(plane)
    try:
        injector.install()
        run(plane, *asked)
        listed: list = []
        while not listed:
            listed = plane.request("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]
        assert listed[0]["spec"]["containers"][0]["resources"]["limits"][VF] == "1"
    finally:
        injector.remove()
        injector.stop()


def test_a_pod_that_names_a_missing_attachment_is_refused(plane, namespace):
    injector = Injector(plane)
    try:
        injector.install()
        pod = obj("v1", "Pod", "one", namespace,
                  meta={"annotations": {"k8s.v1.cni.cncf.io/networks": json.dumps(
                      [{"name": "none", "namespace": namespace}])}},
                  spec={"containers": [{"name": "a", "image": "a"}]})  # fmt: skip
        with pytest.raises(Answer, match="there is no network attachment"):
            plane.request("POST", f"/api/v1/namespaces/{namespace}/pods", pod)
    finally:
        injector.remove()
        injector.stop()
