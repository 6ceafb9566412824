"""`passway render`: XML and pods on stdout, failures in words and exit codes."""

import json
import re
from xml.etree import ElementTree as ET

import pytest
import yaml
from click.testing import CliRunner

from passway.main import cli

A10 = "nvidia.com/GA102GL_A10"
VARIABLE = "PCI_RESOURCE_NVIDIA_COM_GA102GL_A10"
ADDRESS = "0000:65:00.0"
METADATA = json.dumps(
    {"apiVersion": "metadata.resource.k8s.io/v1alpha1",
     "requests": [{"name": "r", "devices": [{"attributes": {
         "resource.kubernetes.io/pciBusID": {"string": ADDRESS}}}]}]}
)  # fmt: skip


def run(*args, code=0, stdin=None):
    result = CliRunner().invoke(cli, ["render", *args], input=stdin)
    assert result.exit_code == code, result.output
    return result


def machine(gpus, **spec):
    domain = {"memory": {"guest": "1Gi"}, "devices": {"gpus": gpus}}
    return yaml.safe_dump(
        {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
         "metadata": {"name": "a", "namespace": "ml"},
         "spec": {"runStrategy": "Always", "template": {"spec": {"domain": domain, **spec}}}},
    )  # fmt: skip


@pytest.fixture
def vm(tmp_path):
    path = tmp_path / "vm.yaml"
    path.write_text(machine([{"name": name, "deviceName": A10} for name in ("g1", "g2")]))
    return str(path)


@pytest.fixture
def env(tmp_path):
    path = tmp_path / "env"
    path.write_text(f"{VARIABLE}={ADDRESS},0000:66:00.0\n")
    return str(path)


def test_elements_are_readable_xml(vm, env):
    text = run("xml", "-f", vm, "--env", env).stdout
    assert text.count("\n  <source>\n    <address ") == 2
    root = ET.fromstring(f"<devices>{text}</devices>")
    assert [alias.get("name") for alias in root.iter("alias")] == ["ua-gpu-g1", "ua-gpu-g2"]


def test_the_document_has_an_element_for_each_device(vm, env):
    found = json.loads(run("xml", "-f", vm, "--env", env, "-o", "json").stdout)
    assert found["kind"] == "HostDevices"
    assert [item["device"] for item in found["elements"]] == ["gpus[0] 'g1'", "gpus[1] 'g2'"]
    assert yaml.safe_load(run("xml", "-f", vm, "--env", env, "-o", "yaml").stdout) == found
    columns = run("xml", "-f", vm, "--env", env, "-o", "custom-columns=D:.device").stdout
    assert columns.split("\n")[1] == "gpus[0] 'g1'"
    assert run("xml", "-f", vm, "--env", env, "-o", "table").stdout.startswith("DEVICE")


def test_variables_may_come_from_stdin(vm):
    assert run("xml", "-f", vm, "--env", "-", stdin=f"{VARIABLE}={ADDRESS},0000:66:00.0").stdout
    run("xml", "-f", "-", "--env", "-", code=2, stdin="")


def test_a_failure_is_told_and_stands_in_the_document(vm, tmp_path):
    for output in ("xml", "json"):
        result = run("xml", "-f", vm, "-o", output, code=1)
        assert result.stderr.startswith("error: DeviceCountMismatch: gpus[0] 'g1': no address")
        assert "\nhint: let KubeVirt's own plugin" in result.stderr
        assert f"note: no --env was given; it would hold {VARIABLE} or MDEV_" in result.stderr
    assert json.loads(result.stdout)["error"]["looked_for"] == [VARIABLE, f"MDEV_{VARIABLE}"]
    assert json.loads(result.stdout)["elements"] == []
    empty = tmp_path / "empty"
    empty.write_text("")
    assert "no --env" not in run("xml", "-f", vm, "--env", str(empty), code=1).stderr


def test_claims_are_resolved_from_a_folder(tmp_path):
    gpu = {"name": "g", "claimName": "c", "requestName": "r"}
    path = tmp_path / "vm.yaml"
    path.write_text(machine([gpu], resourceClaims=[{"name": "c", "resourceClaimName": "mine"}]))
    file = tmp_path / "base/resourceclaims/mine/r/x-metadata.json"
    file.parent.mkdir(parents=True)
    file.write_text(METADATA)
    args = ("xml", "-f", str(path), "--metadata", str(tmp_path / "base"))
    assert "ua-dra-gpu-g" in run(*args).stdout
    outside = tmp_path / "outside"
    file.rename(outside)
    file.symlink_to(outside)
    result = run(*args, code=1)
    assert "left out: a link out of the folder" in result.stderr
    assert "error: ClaimDeviceUnresolved" in result.stderr
    assert "note: no --env" not in result.stderr


def test_network_info_is_read(tmp_path):
    info = {"network": "fast", "deviceInfo": {"pci": {"pci-address": ADDRESS}}}
    (tmp_path / "info").write_text(json.dumps({"interfaces": [info]}))
    given = yaml.safe_load(machine([], networks=[{"name": "fast", "multus": {"networkName": "x"}}]))
    devices = given["spec"]["template"]["spec"]["domain"]["devices"]
    devices["interfaces"] = [{"name": "fast", "sriov": {}}]
    (tmp_path / "vm.yaml").write_text(yaml.safe_dump(given))
    args = ("xml", "-f", str(tmp_path / "vm.yaml"))
    assert "ua-sriov-fast" in run(*args, "--network-info", str(tmp_path / "info")).stdout
    assert "error: NetworkInfo" in run(*args, code=1).stderr


def test_controls_in_names_reach_no_terminal(tmp_path, env):
    path = tmp_path / "vm.yaml"
    path.write_text(machine([{"name": "g\x9b1", "deviceName": A10}]))
    for output in ("xml", "json", "table", "name"):
        args = ("xml", "-f", str(path), "--env", env, "-o", output)
        result = CliRunner().invoke(cli, ["render", *args])
        assert "\x9b" not in result.output


@pytest.mark.parametrize("what", [("xml",), ("pod", "--demo")])
def test_faults_of_the_manifest_have_places(tmp_path, what):
    path = tmp_path / "vm.yaml"
    path.write_text("apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nspec: 1\n")
    result = run(*what, "-f", str(path), code=2)
    assert f"error: {path}:3:" in result.stderr
    run(*what, code=2)
    run(*what, "-f", str(path), "-f", str(path), code=2)


# -- the pod ---------------------------------------------------------------------------------------


def test_the_pod_is_a_manifest(vm):
    pod = yaml.safe_load(run("pod", "-f", vm, "--demo").stdout)
    assert (pod["apiVersion"], pod["kind"]) == ("v1", "Pod")
    assert pod["metadata"]["generateName"] == "virt-launcher-a-"
    assert pod["metadata"]["labels"]["kubevirt.io"] == "virt-launcher"
    compute = pod["spec"]["containers"][0]
    assert (compute["name"], compute["resources"]["requests"][A10]) == ("compute", "2")
    found = json.loads(run("pod", "-f", vm, "--demo", "-o", "json").stdout)
    assert found["kind"] == "LauncherPod"
    assert found["pod"] == pod
    assert found["requests"][A10] == "2"
    assert run("pod", "-f", vm, "--demo", "-o", "name").stdout == "pod/virt-launcher-a-\n"


def test_the_overhead_is_a_table(vm):
    text = run("pod", "-f", vm, "--demo", "--overhead").stdout
    assert text == run("pod", "-f", vm, "--demo", "-o", "table").stdout
    rows = [re.split(" {3,}", line) for line in text.splitlines()]
    assert rows[0] == ["PART", "AMOUNT", "WHY"]
    assert [row[:2] for row in rows if row[0] == "passthrough devices"] == [
        ["passthrough devices", "1Gi"]
    ]
    assert rows[-1][:2] == ["total", "1292Mi"]
    assert all(len(row) == 3 and row[2] != "<none>" for row in rows)
    assert "BYTES" in run("pod", "-f", vm, "--demo", "-o", "wide").stdout
    run("pod", "-f", vm, "--demo", "--overhead", "-o", "json", code=2)


def test_a_refusal_is_told_beside_the_pod(tmp_path):
    path = tmp_path / "vm.yaml"
    path.write_text(machine([{"name": "g", "deviceName": "nvidia.com/none"}]))
    result = run("pod", "-f", str(path), "--demo", code=1)
    assert result.stderr.startswith('error: DeviceNotPermitted: KubeVirt creates no launcher: "nv')
    assert yaml.safe_load(result.stdout)["kind"] == "Pod"


def test_what_was_not_read_is_told(vm):
    result = run("pod", "-f", vm, "--from", vm)
    assert "defaults stand in for what was not read: kubevirts, namespaces" in result.stderr


def test_an_instance_type_is_left_out_of_the_xml(tmp_path, env):
    path = tmp_path / "vm.yaml"
    text = machine([{"name": "g1", "deviceName": A10}])
    path.write_text(text.replace("runStrategy:", "instancetype: {name: it}\n  runStrategy:"))
    result = run("xml", "-f", str(path), "--env", env)
    assert "devices of the instance type are left out" in result.stderr
    assert "ua-gpu-g1" in result.stdout
