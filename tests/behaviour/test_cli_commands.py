"""The command line on the sample cluster: every command, every format."""

import csv
import io
import json

import click
import pytest
import yaml
from click.testing import CliRunner

from passway.main import COMMANDS, cli

A10 = "nvidia.com/GA102GL_A10"


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    for name in ("PASSWAY_SERVER", "PASSWAY_TOKEN", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


def run(*args: str, code: int = 0, stdin=None, **options):
    result = CliRunner().invoke(cli, args, input=stdin, **options)
    assert code is None or result.exit_code == code, result.output
    return result


def manifest(name: str = "vm", *resources: str, namespace: str = "ml") -> str:
    gpus = [{"name": f"g{n}", "deviceName": r} for n, r in enumerate(resources)]
    domain = {"cpu": {"cores": 2}, "memory": {"guest": "4Gi"}, "devices": {"gpus": gpus}}
    return yaml.safe_dump({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"runStrategy": "Always", "template": {"spec": {"domain": domain}}},
    })  # fmt: skip


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "good.yaml"
    path.write_text(manifest("good", A10))
    return str(path)


@pytest.fixture
def bad(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(manifest("bad", "nvidia.com/A10"))
    return str(path)


# -- help ------------------------------------------------------------------------------------------


def test_help_opens_with_five_examples_and_groups_the_commands():
    text = run("--help").stdout
    head, _, rest = text.partition("Usage:")
    assert head.startswith("Examples:\n")
    assert len(head.strip().splitlines()) == 6
    assert all(section in rest for section in ("Ask:", "Look:", "Change:", "Run:", "Other:"))
    assert all(f"\n  {name} " in rest for name in COMMANDS)


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"serve"}))
def test_every_command_s_help_opens_with_examples(name):
    assert run(name, "--help").stdout.startswith("Examples:\n  ")


@pytest.mark.parametrize("path", [("permit", "pci"), ("permit", "usb"), ("create", "vm")])
def test_so_does_that_of_their_parts(path):
    assert run(*path, "--help").stdout.startswith("Examples:\n  ")


def test_no_arguments_show_the_help():
    assert "Usage:" in run(code=2).stderr
    assert "mediated" in run("permit", code=2).stderr


# -- get -------------------------------------------------------------------------------------------


def test_devices_are_a_plain_table():
    rows = [line.split() for line in run("get", "devices", "--demo").stdout.splitlines()]
    assert rows[0] == [
        "RESOURCE", "KIND", "ADVERTISED", "USED", "FREE", "PERMITTED", "NODES",
    ]  # fmt: skip
    assert [A10, "gpu", "8", "5", "3", "yes", "2"] in rows
    assert ["intel.com/sriov_fast", "sriov", "4", "4", "0", "n/a", "2"] in rows
    assert all(len(row) == 7 for row in rows)


def test_nodes_show_state_devices_and_age():
    rows = {
        line.split()[0]: line.split() for line in run("get", "no", "--demo").stdout.splitlines()
    }
    assert rows["gpu-a10-1"] == ["gpu-a10-1", "Ready", f"{A10}=1/4", "2", "41d"]
    assert rows["net-2"][1] == "Ready,SchedulingDisabled"
    assert rows["control-1"][1:3] == ["Ready,NoKubeVirt", "<none>"]


@pytest.mark.parametrize("noun", ["vm", "vms", "virtualmachine", "VirtualMachines"])
def test_vms_are_those_of_the_namespace(noun):
    rows = run("get", noun, "-n", "telco", "--demo").stdout.splitlines()
    assert [row.split()[0] for row in rows] == ["NAME", "core-1", "edge-1", "edge-2"]


def test_all_namespaces_have_a_column():
    rows = run("get", "vms", "-A", "--demo", "-o", "wide").stdout.splitlines()
    assert rows[0].split()[:2] == ["NAMESPACE", "NAME"]
    assert len(rows) == 13


def test_an_empty_namespace_is_said_on_stderr():
    found = run("get", "vms", "--demo")
    assert found.stdout == ""
    assert "no vms found in namespace default" in found.stderr
    assert "-A" in found.stderr


@pytest.mark.parametrize(
    ("words", "name"),
    [(("vm/notebook", "-n", "ml"), "notebook"), (("node", "net-1"), "net-1"),
     (("device", A10), A10), ((f"dev/{A10}",), A10), (("permit", A10), A10),
     (("pool", "intel.com/sriov_fast"), "intel.com/sriov_fast")],
)  # fmt: skip
def test_one_thing_by_name(words, name):
    rows = run("get", *words, "--demo", "--no-headers").stdout.splitlines()
    assert [row.split()[0] for row in rows] == [name]


@pytest.mark.parametrize("noun", ["devices", "nodes", "permits", "pools"])
@pytest.mark.parametrize(
    "form", ["table", "wide", "json", "yaml", "name", "csv", "jsonpath={.kind}",
             "custom-columns=N:.kind"],
)  # fmt: skip
def test_every_listing_has_every_format(noun, form):
    assert run("get", noun, "--demo", "-o", form).stdout


def test_json_and_yaml_are_the_document():
    found = json.loads(run("get", "devices", "--demo", "-o", "json").stdout)
    assert found["apiVersion"] == "passway.dev/v1alpha1"
    assert found["kind"] == "DeviceInventory"
    assert yaml.safe_load(run("get", "devices", "--demo", "-o", "yaml").stdout) == found
    text = run("get", "nodes", "--demo", "-o", "json").stdout
    assert text.startswith('{\n  "apiVersion": ')
    assert text.endswith("}\n")


def test_names_are_kinds_and_names():
    assert run("get", "vms", "-n", "web", "--demo", "-o", "name").stdout == (
        "virtualmachine/shop-1\n"
    )


def test_csv_has_the_wide_columns():
    rows = list(csv.reader(io.StringIO(run("get", "devices", "--demo", "-o", "csv").stdout)))
    assert rows[0][-2:] == ["HOLDERS", "SELECTORS"]
    assert ["ml/infer-t4", "pci 10DE:1EB8"] in [row[-2:] for row in rows]
    bare = run("get", "devices", "--demo", "-o", "csv", "--no-headers").stdout
    assert len(bare.splitlines()) == len(rows) - 1


def test_jsonpath_prints_no_line_break_of_its_own():
    template = 'jsonpath={.resources[*].free}{"\\n"}'
    assert run("get", "dev", "--demo", "-o", template).stdout == "16 0 8 3 0 0 1\n"
    assert run("get", "dev", "--demo", "-o", "jsonpath={.kind}").stdout == "DeviceInventory"


def test_custom_columns_go_over_the_list():
    columns = "custom-columns=NAME:.resource_name,BY:.selectors[*],NO:.nothing"
    rows = run("get", "devices", A10, "--demo", "-o", columns).stdout.splitlines()
    assert [row.split() for row in rows] == [
        ["NAME", "BY", "NO"], [A10, "pci", "10DE:2236", "<none>"],
    ]  # fmt: skip
    bare = run("get", "devices", A10, "--demo", "-o", columns, "--no-headers").stdout
    assert bare.split()[0] == A10
    assert run("version", "-o", "custom-columns=KIND:.kind").stdout == "KIND\nVersion\n"


def test_sorting_holds_for_every_format():
    by = ("get", "devices", "--demo", "--sort-by", "{.free}")
    free = [int(line.split()[4]) for line in run(*by, "--no-headers").stdout.splitlines()]
    assert free == sorted(free)
    found = json.loads(run(*by, "-o", "json").stdout)
    assert [item["free"] for item in found["resources"]] == free


@pytest.mark.parametrize(
    "args",
    [
        ("get", "devicez", "--demo"), ("get", "qqq", "--demo"), ("get", "node", "a", "b", "--demo"),
        ("get", "vm/a", "b", "--demo"), ("get", "vms", "a", "-A", "--demo"), ("get", "--demo"),
        ("get", "devices", "--demo", "-o", "xml"), ("get", "devices", "--demo", "-o", "jsonpath"),
        ("get", "devices", "--demo", "-o", "json=x"), ("get", "devices", "--demo", "-o", "sarif"),
        ("get", "devices", "--demo", "-o", "custom-columns=x"),
        ("get", "devices", "--demo", "-o", "custom-columns=x:"),
        ("get", "devices", "--demo", "--sort-by", ".nothing"),
        ("get", "devices", "--demo", "--request-timeout", "soon"),
        ("describe", "vm", "a", "--demo", "-o", "csv"), ("describe", "node", "--demo"),
        ("describe", "pool", "a", "--demo"), ("tree", "node", "--demo"),
        ("tree", "vm", "a", "--demo"), ("fit", "--demo"), ("create", "vm", "a", "--dry-run"),
        ("permit", "usb", "a/b", "--vendor", "1", "--demo", "-y"),
        ("get", "nodes", "--no-such-option"), ("chekc",), ("qqqqqq",),
    ],
)  # fmt: skip
def test_wrong_usage_exits_with_2_and_says_why(args):
    found = run(*args, code=2 if args[:3] != ("describe", "vm", "a") else 6)
    assert found.stderr.startswith("error: ")
    assert found.stdout == ""


def test_a_command_with_a_typo_names_the_right_one():
    assert "did you mean check?" in run("chekc", code=2).stderr


# -- what was not read -----------------------------------------------------------------------------


@pytest.fixture
def nodes_only(tmp_path):
    node = {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n\x1b1"},
        "status": {"capacity": {A10: "2"}, "allocatable": {A10: "1"}},
    }  # fmt: skip
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node]}))
    return str(path)


def test_amounts_are_unknown_when_pods_were_not_read(nodes_only):
    found = run("get", "devices", "--from", nodes_only)
    assert found.stdout.splitlines()[1].split() == [
        A10, "gpu", "1", "<unknown>", "<unknown>", "<unknown>", "1",
    ]  # fmt: skip
    assert "incomplete, not known: pods (unread), kubevirts (unread)" in found.stderr


def test_control_characters_never_reach_the_terminal(nodes_only):
    for args in (("get", "nodes"), ("tree",), ("get", "nodes", "-o", "csv"),
                 ("get", "nodes", "-o", "name"), ("get", "nodes", "-o", "json"),
                 ("get", "nodes", "-o", "yaml"),
                 ("get", "nodes", "-o", "jsonpath={.items[*].name}"),
                 ("get", "nodes", "-o", "custom-columns=N:.name"),
                 ("describe", "node", "n\x1b1")):  # fmt: skip
        found = run(*args, "--from", nodes_only)
        assert found.stdout
        assert "\x1b" not in found.output


@pytest.mark.parametrize(
    ("noun", "text"),
    [("permits", "kubevirts (unread)"), ("vms", "virtualmachines (unread)"),
     ("pools", "network-attachment-definitions (unread)")],
)  # fmt: skip
def test_an_empty_table_says_what_was_not_read(nodes_only, noun, text):
    found = run("get", noun, "-A", "--from", nodes_only)
    assert text in found.stderr
    assert found.stdout == ""


def test_a_cluster_without_a_permitted_list_is_told(tmp_path):
    path = tmp_path / "kv.yaml"
    path.write_text(
        "apiVersion: kubevirt.io/v1\nkind: KubeVirt\nmetadata: {name: kv, namespace: kv}\n"
    )
    found = run("get", "permits", "--from", str(path), "--complete")
    assert "KubeVirt checks nothing" in found.stderr
    empty = run("get", "devices", "--from", str(path), "--complete")
    assert "no devices found" in empty.stderr
    assert "no node has a device" in run("tree", "--from", str(path), "--complete").stderr
    assert run("drift", "--from", str(path), "--complete").stdout == "no drift\n"
    entry = ("permit", "pci", "a.com/b", "--selector", "10DE:2236", "--dry-run")
    first = run(*entry, "--from", str(path), "--complete").stdout
    assert "this list is the first" in first


# -- describe, tree, drift, drain-impact -----------------------------------------------------------


def test_a_node_is_described_with_its_findings():
    text = run("describe", "node", "gpu-t4-2", "--demo").stdout
    assert "nvidia.com/TU104GL_TESLA_T4: 0 free of 0, 5 unhealthy" in text
    assert text.partition("Findings:\n")[2].startswith("  warning: gpu-t4-2: UnhealthyUnits: ")


def test_a_vm_is_described():
    text = run("describe", "vm", "train-1", "-n", "ml", "--demo").stdout
    assert f"Holds:         {A10} 2" in text
    gone = run("describe", "vm/archive", "-n", "design", "--demo").stdout
    assert "DeviceGone" in gone


def test_a_device_is_described():
    text = run("describe", "device", A10, "--demo").stdout
    assert "gpu-a10-2: 2 free of 4" in text
    assert "ml/batch-9k4mz" in text
    found = json.loads(run("describe", "device", A10, "--demo", "-o", "json").stdout)
    assert [item["resource_name"] for item in found["resources"]] == [A10]


def test_amounts_in_descriptions_are_unknown_without_pods(nodes_only):
    assert "<unknown>" in run("describe", "device", A10, "--from", nodes_only).stdout
    assert f"{A10}  1\n" in run("tree", "--from", nodes_only).stdout


def test_a_name_that_does_not_exist_has_neighbours():
    found = run("describe", "node", "gpu-a10-9", "--demo", code=6)
    assert "gpu-a10-1" in found.stderr
    assert "passway get nodes" in run("get", "node", "zzz", "--demo", code=6).stderr


def test_the_tree_counts_other_pods():
    text = run("tree", "node", "gpu-a10-2", "--demo").stdout
    assert text == (f"gpu-a10-2\n  {A10}  2 free of 4\n    ml/notebook  1\n    other pods  1\n")
    assert run("tree", "node", "worker-1", "--demo").stdout == "worker-1\n"
    assert "worker-1" not in run("tree", "--demo").stdout


def test_drift_exits_with_1_when_it_finds_something(nodes_only):
    text = run("drift", "--demo", code=1).stdout
    assert "warning: net-1: AdvertisedNotPermitted: " in text
    assert len(run("drift", "--demo", "-o", "csv", code=1).stdout.splitlines()) == 5
    assert json.loads(run("drift", "--demo", "-o", "json", code=1).stdout)["kind"] == "DriftReport"
    assert run("drift", "--from", nodes_only, "-o", "name", code=1).stdout


def test_a_drain_names_what_stops():
    rows = run("drain-impact", "gpu-a10-1", "--demo", "--no-headers").stdout.splitlines()
    assert [row.split()[:3] for row in rows] == [
        ["ml", "train-1", "stops"], ["ml", "train-2", "stops"],
    ]  # fmt: skip
    assert "no VM runs on" in run("drain-impact", "control-1", "--demo").stderr
    run("drain-impact", "nowhere", "--demo", code=6)


# -- check -----------------------------------------------------------------------------------------


def test_three_reasons_at_once():
    from importlib import resources

    text = (resources.files("passway.sample") / "examples" / "three-reasons.yaml").read_bytes()
    found = run("check", "-f", "-", "--demo", code=1, stdin=text).stdout
    assert found.splitlines()[0] == (
        "VirtualMachine telco/render-1: does not fit (3 errors, 1 warning)"
    )
    for line in (
        "error: <stdin>:25:15: DeviceNotPermitted: ",
        "error: <stdin>:40:13: AttachmentMissing: ",
        "error: <stdin>:22:15: ResourceExhausted: ",
        "warning: <stdin>:21:15: PinnedToNode: ",
        "stages: admission pass, permission fail, quota pass, networks fail, ",
        "not checked here: kubelet, host",
        "11 more nodes lack intel.com/QAT_4XXX_VF",
    ):
        assert f"\n{line}" in found
    assert "claims pass, scheduling fail, launcher pass, lifecycle warn\n" in found


def test_a_machine_that_fits(good):
    text = run("check", "-f", good, "--demo").stdout
    assert text.startswith("VirtualMachine ml/good: fits (3 places, 1 warning)\n")
    assert "10 more nodes lack" in text
    assert "PLACES" not in run("check", "-f", good, "--demo", "--no-headers").stdout


def test_wide_expands_the_nodes(good):
    text = run("check", "-f", good, "--demo", "-o", "wide").stdout
    assert "MEETS" in text
    assert "more nodes lack" not in text
    assert "\ncontrol-3 " in text


def test_many_nodes_are_cut_to_the_best(tmp_path):
    path = tmp_path / "plain.yaml"
    path.write_text(manifest("plain"))
    text = run("check", "-f", str(path), "--demo").stdout
    assert "and 1 more node (-o wide)\n3 more nodes lack" in text


def test_flags_instead_of_a_file():
    found = run("check", "--gpu", f"{A10}=2", "--cpus", "8", "--memory", "16Gi", "--demo").stdout
    assert found.startswith("VirtualMachine default/vm: fits (1 place")
    assert "flags" not in found
    refused = run("check", "--gpu", "nvidia.com/A10", "--demo", code=1).stdout
    assert "error: spec.template.spec.domain.devices.gpus[0].deviceName: DeviceNotPermitted" in (
        refused
    )


def test_replicas_are_asked_for_at_once(good):
    text = run("check", "-f", good, "--demo", "--replicas", "4", code=1).stdout
    assert text.startswith("VirtualMachine ml/good, 4 replicas: does not fit")


def test_severity_hides_findings_and_not_the_answer(bad):
    text = run("check", "-f", bad, "--demo", "--severity", "error", code=1).stdout
    assert "(2 errors, 1 warning)" in text
    assert "\nwarning: " not in text
    assert "\nerror: " in text


def test_several_files_have_the_worst_answer(good, bad):
    text = run("check", "-f", good, "-f", bad, "--demo", code=1).stdout
    assert "ml/good: fits" in text
    assert "ml/bad: does not fit" in text
    found = json.loads(run("check", "-f", good, "-f", bad, "--demo", "-o", "json", code=1).stdout)
    assert found["kind"] == "VerdictList"
    assert [item["fits"] for item in found["items"]] == ["yes", "no"]
    single = json.loads(run("check", "-f", good, "--demo", "-o", "json").stdout)
    assert single["kind"] == "Verdict"


def test_unknown_is_3_and_with_strict_1(good, nodes_only):
    found = run("check", "-f", good, "--from", nodes_only, code=3).stdout
    assert "ml/good: unknown (" in found
    run("check", "-f", good, "--from", nodes_only, "--strict", code=1)


def test_annotations(bad, good):
    found = run("check", "-f", bad, "--demo", "-o", "github", code=1).stdout
    assert found.startswith(f"::error file={bad},line=")
    log = json.loads(run("check", "-f", bad, "--demo", "-o", "sarif", code=1).stdout)
    assert log["runs"][0]["results"][0]["ruleId"] == "DeviceNotPermitted"
    errors = ("-o", "github", "--severity", "error")
    assert run("check", "-f", good, "--demo", *errors).stdout == ""


def test_other_forms_of_an_answer(bad):
    rows = list(csv.reader(io.StringIO(
        run("check", "-f", bad, "--demo", "-o", "csv", code=1).stdout
    )))  # fmt: skip
    assert rows[0][:6] == ["FILE", "LINE", "COLUMN", "MACHINE", "SEVERITY", "REASON"]
    assert rows[1][3:6] == ["VirtualMachine ml/bad", "error", "DeviceNotPermitted"]
    assert run("check", "-f", bad, "--demo", "-o", "name", code=1).stdout == "virtualmachine/bad\n"
    columns = "custom-columns=FITS:.fits"
    assert run("check", "-f", bad, "--demo", "-o", columns, code=1).stdout == "FITS\nno\n"


@pytest.mark.parametrize(
    "args",
    [("check", "--demo"), ("check", "-f", "none.yaml", "--demo"), ("check", "-f", ".", "--demo"),
     ("check", "-f", "-", "--gpu", A10, "--demo"), ("check", "--gpu", f"{A10}=x", "--demo")],
)  # fmt: skip
def test_nothing_to_check(args):
    assert run(*args, code=2).stderr.startswith("error: ")


def test_a_manifest_with_faults_lists_them_all(tmp_path):
    path = tmp_path / "faulty.yaml"
    path.write_text(manifest("vm").replace("cores: 2", "cores: two").replace("4Gi", "4Gx"))
    err = run("check", "-f", str(path), "--demo", code=2).stderr
    assert err.count(f"error: {path}:") == 2
    assert err.count("hint: ") == 2


def test_stdin_is_bounded():
    err = run("check", "-f", "-", "--demo", code=2, stdin="#" * (3 * 2**20)).stderr
    assert "InputTooLarge" in err


def test_colour_is_on_request_only(good):
    assert "\x1b[32m" in run("check", "-f", good, "--demo", "--color", "always", color=True).stdout
    assert "\x1b" not in run("check", "-f", good, "--demo", "--color", "never", color=True).stdout
    auto = run("check", "-f", good, "--demo", color=True, env={"NO_COLOR": "1"})
    assert "\x1b" not in auto.stdout


# -- fit -------------------------------------------------------------------------------------------


def test_fit_counts(good, bad, nodes_only):
    text = run("fit", "-f", good, "--demo").stdout
    assert text.startswith("VirtualMachine ml/good: 3 more fit\n")
    assert "gpu-a10-2   2" in text
    assert f"runs out first: {A10} on " in text
    assert json.loads(run("fit", "-f", good, "--demo", "-o", "json").stdout)["places"] == 3
    assert run("fit", "-f", good, "--demo", "-o", "name").stdout.startswith("node/")
    assert "DeviceNotPermitted" in run("fit", "-f", bad, "--demo", code=1).stdout
    run("fit", "-f", good, "--from", nodes_only, code=3)


def test_fit_counts_quota(tmp_path):
    path = tmp_path / "web.yaml"
    path.write_text(manifest("web", namespace="web"))
    text = run("fit", "-f", str(path), "--demo").stdout
    assert "quota allows" in text.splitlines()[0]


# -- permit, unpermit, create ----------------------------------------------------------------------


PERMIT = ("permit", "pci", "nvidia.com/A10", "--selector", "10de:2237")


@pytest.mark.parametrize("flag", ["--dry-run", "--dry-run=client", "--dry-run=server"])
def test_a_dry_run_shows_the_difference(flag):
    text = run(*PERMIT, flag, "--demo").stdout
    assert "+    pciVendorSelector: 10DE:2237" in text
    assert text.endswith("KubeVirt kubevirt/kubevirt: would be changed (dry run)\n")


def test_a_bare_dry_run_does_not_take_the_next_word():
    run("permit", "pci", "--dry-run", "nvidia.com/A10", "--selector", "10de:2237", "--demo")
    run("unpermit", "--dry-run", "--demo", "--", "nvidia.com/A10")


def test_other_kinds_are_permitted_too():
    usb = run("permit", "usb", "a.com/t", "--vendor", "046D", "--product", "c52b", "--dry-run",
              "--demo").stdout  # fmt: skip
    assert "vendor: 046d" in usb
    vgpu = run("permit", "mediated", "a.com/v", "--selector", "GRID T4-1Q", "--external",
               "--dry-run", "--demo").stdout  # fmt: skip
    assert "mdevNameSelector: GRID T4-1Q" in vgpu
    assert "externalResourceProvider: true" in vgpu


def test_the_sample_cannot_be_changed():
    assert "sample cluster" in run(*PERMIT, "--yes", "--demo", code=2).stderr


def test_without_a_terminal_nobody_is_asked():
    assert "--yes" in run(*PERMIT, "--demo", code=2).stderr


def test_what_is_permitted_already_is_unchanged():
    args = ("permit", "pci", A10, "--selector", "10DE:2236", "--external", "--yes", "--demo")
    assert run(*args).stdout == "KubeVirt kubevirt/kubevirt: unchanged\n"
    other = ("permit", "pci", A10, "--selector", "10DE:0000", "--dry-run", "--demo")
    assert "unpermit" in run(*other, code=5).stderr


def test_removing_tells_who_is_hit():
    text = run("unpermit", A10, "--dry-run", "--demo").stdout
    assert "warning: refused at next start: ml/notebook, ml/train-1" in text
    assert "warning: in use by ml/notebook" in text
    found = json.loads(run("unpermit", A10, "--dry-run", "--demo", "-o", "json").stdout)
    assert found["kind"] == "PermitChange"
    assert run("unpermit", A10, "--dry-run", "--demo", "-o", "name").stdout == (
        "kubevirt/kubevirt\n"
    )


@pytest.mark.parametrize(
    "args",
    [("permit", "pci", "a.com/b", "--selector", "10DE"), ("permit", "pci", "b", "--selector", "1"),
     ("permit", "usb", "a.com/b", "--vendor", "x", "--product", "1")],
)  # fmt: skip
def test_a_wrong_entry_is_refused(args):
    run(*args, "--dry-run", "--demo", code=2)


CREATE = ("create", "vm", "new", "-n", "ml", "--image", "quay.example/disk:1")


def test_a_client_dry_run_needs_no_source():
    made = yaml.safe_load(run(*CREATE, "--gpu", A10, "--dry-run", "-o", "yaml").stdout)
    assert made["kind"] == "VirtualMachine"
    assert made["metadata"] == {"name": "new", "namespace": "ml"}
    assert json.loads(run(*CREATE, "--gpu", A10, "--dry-run", "-o", "json").stdout) == made
    assert yaml.safe_load(run(*CREATE, "--gpu", A10, "--dry-run=client").stdout) == made
    name = run(*CREATE, "--dry-run", "-o", "name").stdout
    assert name == "virtualmachine.kubevirt.io/new\n"


def test_a_server_dry_run_is_a_preflight():
    found = run(*CREATE, "--gpu", A10, "--dry-run=server", "--demo")
    assert found.stdout == "virtualmachine.kubevirt.io/new created (server dry run)\n"
    assert "warning: spec.template" in found.stderr
    refused = run(*CREATE, "--gpu", "nvidia.com/A10", "--dry-run=server", "--demo", code=1)
    assert "DeviceNotPermitted" in refused.stderr
    assert "request:" not in refused.stderr


def made_by(*args):
    return json.loads(run(*args, "--dry-run", "-o", "json").stdout)


def test_a_vm_boots_from_what_it_is_given(tmp_path):
    key = tmp_path / "id.pub"
    key.write_text("ssh-ed25519 AAAAC3Nza me@here\n")
    made = made_by(
        "create", "vm", "new", "--data-volume", "root", "--pvc", "data", "--ssh-key", str(key),
        "--bridge", "lan", "--run-strategy", "Halted", "--eviction-strategy", "External",
    )  # fmt: skip
    spec = made["spec"]["template"]["spec"]
    assert made["spec"]["runStrategy"] == "Halted"
    assert spec["evictionStrategy"] == "External"
    assert spec["volumes"][:2] == [
        {"name": "volume1", "dataVolume": {"name": "root"}},
        {"name": "claim1", "persistentVolumeClaim": {"claimName": "data"}},
    ]
    assert "AAAAC3Nza" in spec["volumes"][2]["cloudInitNoCloud"]["userData"]
    assert spec["domain"]["devices"]["interfaces"][1] == {"name": "bridge1", "bridge": {}}
    data = tmp_path / "user-data"
    data.write_text("#!/bin/sh")
    made = made_by(*CREATE, "--user-data", str(data))
    assert made["spec"]["template"]["spec"]["volumes"][1]["cloudInitNoCloud"] == {
        "userData": "#!/bin/sh"
    }


@pytest.mark.parametrize(
    ("content", "said"), [(b"x" * 65537, "use a Secret"), (b"\xff", "text file")]
)
def test_files_for_a_vm_are_text_and_bounded(tmp_path, content, said):
    path = tmp_path / "data"
    path.write_bytes(content)
    assert said in run(*CREATE, "--user-data", str(path), "--dry-run", code=2).stderr
    missing = str(tmp_path / "none")
    assert "text file" in run(*CREATE, "--ssh-key", missing, "--dry-run", code=2).stderr


def test_a_vm_without_anything_to_boot_is_refused():
    assert "a disk to boot from" in run("create", "vm", "a", "--dry-run", code=2).stderr


def test_nothing_is_created_on_the_sample():
    run(*CREATE, "--gpu", A10, "--demo", code=2)


# -- the rest --------------------------------------------------------------------------------------


def test_version():
    assert run("version").stdout.startswith("passway 0.")
    assert json.loads(run("version", "-o", "json").stdout)["kind"] == "Version"


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_prints_a_script(shell):
    assert "_PASSWAY_COMPLETE" in run("completion", shell).stdout


@pytest.mark.parametrize(
    ("words", "count", "found"),
    [("passway dr", 1, {"drift", "drain-impact"}), ("passway get de", 2, {"devices"}),
     ("passway get devices -o j", 4, {"json", "jsonpath="}), ("passway --h", 1, {"--help"})],
)  # fmt: skip
def test_completion_knows_commands_nouns_and_formats(words, count, found):
    env = {"_PASSWAY_COMPLETE": "zsh_complete", "COMP_WORDS": words, "COMP_CWORD": str(count)}
    result = CliRunner().invoke(cli, [], prog_name="passway", env=env)
    assert found <= set(result.stdout.split("\n"))


def test_a_missing_extra_is_named(monkeypatch):
    import passway.cli.lazy as lazy

    def missing(name):
        raise ModuleNotFoundError("No module named 'uvicorn'", name="uvicorn")

    monkeypatch.setattr(lazy, "import_module", missing)
    assert "pip install 'passway[server]'" in run("serve", code=2).stderr
    assert "a bug in Passway" in run("check", code=70).stderr


def test_a_bug_exits_with_70_and_shows_its_place_only_on_request(monkeypatch):
    import passway.cli.get as get

    def broken(*_):
        raise RuntimeError("oh")

    monkeypatch.setattr(get, "open_backend", broken)
    quiet = run("get", "devices", "--demo", code=70).stderr
    assert "please report" in quiet
    assert "Traceback" not in quiet
    assert "Traceback" in run("get", "devices", "--demo", "-v", code=70).stderr


def test_a_reader_that_went_away_ends_it_silently(monkeypatch):
    import passway.cli.get as get

    def gone(*_):
        raise BrokenPipeError

    monkeypatch.setattr(get, "open_backend", gone)
    assert run("get", "devices", "--demo", code=141).output == ""


def test_the_group_can_be_called_from_python():
    assert cli.main(["version"], standalone_mode=False) == 0
    context = click.Context(cli)
    assert cli.list_commands(context) == list(COMMANDS)
    assert cli.get_command(context, "nothing") is None


def test_an_interruption_is_130(monkeypatch):
    import passway.cli.get as get

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(get, "open_backend", interrupted)
    run("get", "devices", "--demo", code=130)


# -- overhead in a quota issue ---------------------------------------------------------------------


@pytest.fixture
def over_quota(tmp_path):
    """A VM whose guest fits the namespace's quota, but not with KubeVirt's overhead."""
    made = yaml.safe_load(manifest("big", A10, namespace="web"))
    made["spec"]["template"]["spec"]["domain"]["memory"]["guest"] = "16Gi"
    path = tmp_path / "big.yaml"
    path.write_text(yaml.safe_dump(made))
    return str(path)


@pytest.mark.parametrize("command", ["check", "fit"])
def test_a_quota_issue_says_what_kubevirt_adds(over_quota, command):
    text = click.unstyle(run(command, "-f", over_quota, "--demo", code=1).stdout)
    lines = text.splitlines()
    (place,) = [index for index, line in enumerate(lines) if "QuotaExceeded" in line]
    assert lines[place].endswith("1300Mi of the request are KubeVirt's own overhead")
    assert lines[place + 1] == (
        "note: KubeVirt adds 1300Mi: passthrough devices 1Gi + launcher, libvirt and QEMU 220Mi"
        " + graphics 32Mi + vCPUs 16Mi + I/O thread 8Mi"
    )
    assert lines[place + 2].startswith("hint: ")


def test_the_document_of_a_quota_issue_has_the_parts_of_the_rendered_pod(over_quota):
    verdict = json.loads(run("check", "-f", over_quota, "--demo", "-o", "json", code=1).stdout)
    rendered = json.loads(run("render", "pod", "-f", over_quota, "--demo", "-o", "json").stdout)
    told = {one["reason"]: one["overhead"] for one in verdict["issues"]}
    assert told["QuotaExceeded"] == rendered["overhead"]
    assert all(part["why"] for part in rendered["overhead"])
    assert told["PinnedToNode"] == []


# -- explain ---------------------------------------------------------------------------------------


def test_a_vm_that_waits_is_explained_by_both():
    text = run("explain", "vm", "train-big", "-n", "ml", "--demo", code=1).stdout
    head, said, ours, stages = text.strip().split("\n\n")
    assert head == "VirtualMachine ml/train-big: waiting at scheduling (ErrorUnschedulable)"
    assert said.startswith("kube-scheduler says of Pod ml/virt-launcher-train-big-7xk2p (")
    assert ":\n  Unschedulable: 0/12 nodes are available: " in said
    assert ours.startswith("our walk, asked again, finds the same\nerror: ")
    assert stages.endswith("scheduling fail, kubelet not_reached, host not_reached, "
                           "launcher not_reached, lifecycle not_reached")  # fmt: skip


def test_a_vm_that_runs_and_one_that_is_stopped():
    assert run("explain", "vm/notebook", "-n", "ml", "--demo").stdout == (
        "VirtualMachine ml/notebook: running (Running, on gpu-a10-2)\n"
    )
    text = run("explain", "vm", "archive", "-n", "design", "--demo").stdout
    assert text.startswith("VirtualMachine design/archive: stopped (Stopped)\n\n"
                           "in the way, were it started now:\nerror: ")  # fmt: skip


def test_an_explanation_in_other_formats():
    document = json.loads(
        run("explain", "vm", "train-big", "-n", "ml", "--demo", "-o", "json", code=1).stdout
    )
    assert (document["apiVersion"], document["kind"]) == ("passway.dev/v1alpha1", "Explanation")
    rows = list(csv.reader(io.StringIO(
        run("explain", "vm", "train-big", "-n", "ml", "--demo", "-o", "csv", code=1).stdout
    )))  # fmt: skip
    assert rows[1][1] == "ResourceExhausted"
    named = run("explain", "vm", "train-big", "-n", "ml", "--demo", "-o", "name", code=1).stdout
    assert named == "virtualmachine/train-big\n"


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("vm",), 2, "which VM?"), (("node", "n"), 2, 'there is no "node"'),
        (("vm", "nobody"), 6, 'no VM "nobody" in namespace "default"'),
    ],
)  # fmt: skip
def test_a_vm_that_cannot_be_explained(args, code, words):
    assert words in run("explain", *args, "--demo", code=code).stderr


def dumped(tmp_path, *objects):
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*objects]}))
    return str(path)


def test_dumps_explain_as_far_as_they_go(tmp_path):
    machine = yaml.safe_load(manifest("one", A10))
    machine["status"] = {"startFailure": {"consecutiveFailCount": 2}}
    about = {"kind": "VirtualMachineInstance", "name": "one", "namespace": "ml"}
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "ml"},
             "involvedObject": about, "reason": "SyncFailed", "message": "x\x1b[2J", "count": 4,
             "lastTimestamp": "2026-01-01T00:00:00Z", "source": {"component": "virt-handler"},
             }  # fmt: skip
    path = dumped(tmp_path, machine, event)
    text = run("explain", "vm", "one", "-n", "ml", "--from", path, code=1).stdout
    assert text.startswith("VirtualMachine ml/one: failing at launcher\n\n")
    assert ("virt-handler says of VirtualMachineInstance ml/one (4 times, last "
            "2026-01-01T00:00:00Z):\n  SyncFailed: x\\x1b[2J\n") in text  # fmt: skip
    assert "error: VirtualMachine ml/one: DomainNotStarted: " in text
    assert "StartFailed: the start failed 2 times one after the other" in text
    text = run("explain", "vm", "one", "-n", "ml", "--from", dumped(tmp_path, machine | {
        "status": {}}), code=3).stdout  # fmt: skip
    assert "no component says anything\nunknown: VirtualMachine ml/one: NothingTold" in text
    assert text.endswith("\n\nnot read: events (unread)\n")


# -- what-if ---------------------------------------------------------------------------------------


@pytest.fixture
def arrival(tmp_path):
    """A node that comes, with four GPUs."""
    from tests.builders import node

    path = tmp_path / "node.yaml"
    path.write_text(yaml.safe_dump(node("new", {A10: 4})))
    return str(path)


def test_a_drain_answers_for_the_vms_that_it_moves(arrival):
    text = run("what-if", "--drain", "gpu-a10-1", "--demo", code=1).stdout
    assert "ml/train-1 stops, and starts elsewhere if it finds a place" in text
    assert "each finds a place alone, but there is none for all of them together" in text
    text = run("what-if", "--add-node", arrival, "--drain", "gpu-a10-1", "--demo").stdout
    assert text.startswith("if node new comes\nif node gpu-a10-1 is drained:\n")
    assert "all of them find a place together" in text
    text = run("what-if", "--drain", "gpu-a10-2", "--demo", code=1).stdout
    assert "ml/notebook refuses its eviction: the drain waits for ever" in text
    assert "evicted besides: 1 other pod, whose" in text
    text = run("what-if", "--drain", "net-1", "--demo", code=1).stdout
    assert "VirtualMachine telco/edge-1: does not fit (1 error)" in text


def test_changes_are_made_in_their_order(arrival):
    one = ("--add-node", arrival, "--drain", "new", "--drain", "gpu-a10-1")
    other = ("--add-node", arrival, "--drain", "gpu-a10-1", "--drain", "worker-1")
    for args in (one, other):
        found = json.loads(run("what-if", *args, "--demo", "-o", "json", code=None).stdout)
        assert [item["change"] for item in found["changes"]] == ["add-node", "drain", "drain"]
    run("what-if", "--drain", "new", "--add-node", arrival, "--demo", code=6)


def test_a_vm_before_and_after(good, bad, tmp_path):
    many = tmp_path / "many.yaml"
    many.write_text(manifest("many", *[A10] * 3))
    text = run("what-if", "--stop", "train-1", "-n", "ml", "-f", str(many), "--demo").stdout
    assert "before: VirtualMachine ml/many: does not fit (1 error" in text
    assert "after:  VirtualMachine ml/many: fits (1 place" in text
    assert "no longer in the way:\nerror: " in text
    text = run("what-if", "--stop", "ml/archive", "-f", bad, "--demo", code=6).stderr
    assert 'no VM "archive" in namespace "ml"' in text
    text = run("what-if", "--stop", "design/archive", "-f", bad, "--demo", code=1).stdout
    assert text.startswith("if VM design/archive stops (nothing changes by that)\n")
    assert "still in the way:\nerror: " in text
    named = run("what-if", "--stop", "ml/train-1", "-f", good, "--demo", "-o", "name").stdout
    assert named == "virtualmachine/good\n"


def test_a_permit_is_read_as_the_command_reads_it(tmp_path):
    wanted = tmp_path / "qat.yaml"
    wanted.write_text(manifest("q", "intel.com/QAT_4XXX_VF"))
    qat = ("--permit", "pci", "intel.com/QAT_4XXX_VF", "8086:4941")
    assert "DeviceNotPermitted" in run("what-if", *qat, "-f", str(wanted), "--demo").stdout
    usb = ("--permit", "usb", "a.b/c", "046d:c52b", "--permit", "mediated", "a.b/d", "T4")
    text = run("what-if", *usb, "-f", str(wanted), "--demo", code=1).stdout
    assert text.startswith("if a.b/c is permitted\nif a.b/d is permitted\n")
    run("what-if", "--permit", "pci", "a.b/c", "odd", "-f", str(wanted), "--demo", code=2)
    run("what-if", "--permit", "odd", "a.b/c", "odd", "-f", str(wanted), "--demo", code=2)


def test_a_drain_may_bring_something_new(tmp_path):
    wanted = tmp_path / "a10.yaml"
    wanted.write_text(manifest("a", A10))
    text = run("what-if", "--drain", "gpu-a10-1", "--drain", "gpu-a10-2", "-f", str(wanted),
               "--demo", code=1).stdout  # fmt: skip
    assert "new:\nerror: " in text


def test_a_node_must_be_one(tmp_path, good):
    path = tmp_path / "odd.yaml"
    path.write_text(manifest("vm"))
    text = run("what-if", "--drain", "worker-1", "--add-node", str(path), "--demo", code=2).stderr
    assert f"{path}: there is no Node in it" in text
    path.write_text("apiVersion: v1\nkind: Node\nmetadata: {}\n")
    text = run("what-if", "--drain", "worker-1", "--add-node", str(path), "--demo", code=2).stderr
    assert f"{path}: item 1 (Node): " in text


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "nothing to suppose"), (("--stop", "ml/train-1"), "nothing to ask about"),
        (("--drain", "a", "-f", "a", "-f", "b"), "what-if takes one manifest"),
    ],
)  # fmt: skip
def test_what_if_says_what_is_missing(args, words):
    assert words in run("what-if", *args, "--demo", code=2).stderr


def test_what_was_not_read_is_unknown(tmp_path):
    from tests.builders import node, pod

    machine = yaml.safe_load(manifest("one", A10))
    path = dumped(tmp_path, node("a", {A10: 1}), node("b", {A10: 1}), machine,
                  pod("l", "a", {A10: "1"}, namespace="ml", machine="one"))  # fmt: skip
    text = run("what-if", "--drain", "a", "--from", path, code=3).stdout
    assert "VirtualMachine ml/one: unknown (" in text


# -- the dry run ----------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [("--demo",), ("--from", "x")])
def test_only_a_cluster_can_be_asked_for_a_dry_run(good, source):
    text = run("check", "-f", good, "--server-dry-run", *source, code=2).stderr
    assert "--server-dry-run needs a cluster; files and the sample cannot be asked" in text
