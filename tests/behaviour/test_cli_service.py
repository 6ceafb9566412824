"""The command line against the real service: the same answers as on the sample, and changes."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from passway.cli import permits
from passway.main import cli

A10 = "nvidia.com/GA102GL_A10"
READY = "serving on "


@pytest.fixture
def server():
    """A fresh `passway serve --demo` on a free port."""
    child = subprocess.Popen(
        [sys.executable, "-m", "passway", "serve", "--demo", "--port", "0"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        line = child.stdout.readline()
        assert line.startswith(READY)
        yield line.removeprefix(READY).strip()
    finally:
        child.terminate()
        child.wait(30)
        child.stdout.close()


def run(*args: str, code: int = 0, stdin=None):
    result = CliRunner().invoke(cli, args, input=stdin)
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def ask(server):
    def ask(*args: str, code: int = 0, token: str = "demo-admin"):
        return run(*args, "--server", server, "--token", token, code=code)

    return ask


def test_a_service_answers_as_the_sample_does(ask, tmp_path):
    path, node = tmp_path / "vm.yaml", tmp_path / "node.json"
    node.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "new", "labels": {"a": "b"}},
        "status": {"allocatable": {A10: "4", "cpu": "1500m"}},
    }))  # fmt: skip
    made = run("create", "vm", "a", "--image", "i", "--gpu", f"{A10}=5", "--dry-run").stdout
    path.write_text(made)
    for args, code in (
        (("get", "devices"), 0), (("get", "nodes", "-o", "wide"), 0), (("get", "vms", "-A"), 0),
        (("get", "vms", "-n", "ml"), 0), (("get", "permits"), 0), (("get", "pools"), 0),
        (("describe", "node", "gpu-t4-2"), 0), (("tree",), 0), (("drift",), 1),
        (("drain-impact", "gpu-a10-1"), 0), (("drain-impact", "nowhere"), 6),
        (("check", "-f", str(path)), 1), (("check", "-f", str(path), "-o", "wide"), 1),
        (("check", "--gpu", A10), 0), (("fit", "-f", str(path)), 1),
        (("render", "pod", "-f", str(path)), 0),
        (("render", "pod", "-f", str(path), "--overhead"), 0),
        (("explain", "vm", "train-big", "-n", "ml"), 1),
        (("explain", "vm", "archive", "-n", "design"), 0), (("explain", "vm", "nobody"), 6),
        (("what-if", "--drain", "gpu-a10-1"), 1),
        (("what-if", "--stop", "ml/train-1", "--permit", "pci", "a.b/c", "10de:1111",
          "--permit", "usb", "a.b/usb", "046d:c52b", "--permit", "mediated", "a.b/m", "T4",
          "--add-node", str(node), "-f", str(path)), 1),
    ):  # fmt: skip
        there, here = ask(*args, code=code), run(*args, "--demo", code=code)
        assert _ageless(there.stdout) == _ageless(here.stdout), args


def _ageless(text: str) -> list[list[str]]:
    """A live cluster is judged now, the sample at its own moment."""
    rows = [line.split() for line in text.splitlines()]
    return [[word for word in row if not _is_age(word)] for row in rows]


def _is_age(word: str) -> bool:
    return word[-1] in "dhms" and word[0].isdigit()


def test_several_machines_come_as_a_list(ask, tmp_path):
    path = tmp_path / "two.yaml"
    made = run("create", "vm", "a", "--image", "i", "--dry-run").stdout
    path.write_text(f"{made}---\n{made.replace('name: a', 'name: b')}")
    found = json.loads(ask("check", "-f", str(path), "-o", "json").stdout)
    assert [item["machine"]["name"] for item in found["items"]] == ["a", "b"]


def test_faults_name_the_local_file(ask, tmp_path):
    path = tmp_path / "faulty.yaml"
    path.write_text("kind: VirtualMachine\n")
    err = ask("check", "-f", str(path), code=2).stderr
    assert f"error: {path}:1:1: MissingField" in err


@pytest.mark.parametrize(("token", "code"), [("wrong", 4), ("demo-viewer", 4), ("demo-user", 4)])
def test_rights_are_the_service_s(ask, token, code):
    ask("get", "devices", token=token, code=code)


def test_a_permit_is_written_once(ask):
    entry = ("permit", "pci", "nvidia.com/A10", "--selector", "10DE:2237", "--yes")
    assert ask(*entry).stdout.endswith("KubeVirt kubevirt/kubevirt: changed\n")
    assert ask(*entry).stdout == "KubeVirt kubevirt/kubevirt: unchanged\n"
    assert "nvidia.com/A10" in ask("get", "permits").stdout
    done = json.loads(ask("unpermit", "nvidia.com/A10", "-y", "-o", "json").stdout)
    assert done["applied"] is True


def test_a_device_in_use_is_kept_unless_forced(ask):
    err = ask("unpermit", A10, "--yes", code=5).stderr
    assert "in use by" in err
    assert "--force" in err
    assert "changed" in ask("unpermit", A10, "--yes", "--force").stdout


class Terminal:
    """A standard input that says it is a terminal."""

    def __init__(self, stream):
        self._stream = stream

    def isatty(self):
        return True

    def __getattr__(self, name):
        return getattr(self._stream, name)


class OnTerminal:
    @property
    def stdin(self):
        return Terminal(sys.stdin)


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 130), ("", 130)])
def test_on_a_terminal_the_question_is_asked(server, monkeypatch, answer, code):
    monkeypatch.setattr(permits, "sys", OnTerminal())
    entry = ("permit", "pci", "nvidia.com/A10", "--selector", "10DE:2237", "-o", "name")
    found = run(*entry, "--server", server, "--token", "demo-admin", code=code, stdin=answer)
    assert "+    pciVendorSelector: 10DE:2237" in found.stderr
    assert "Make this change?" in found.stderr
    assert found.stdout == ("kubevirt/kubevirt\n" if code == 0 else "")


def test_a_vm_is_created_once(ask):
    create = ("create", "vm", "fresh", "-n", "ml", "--image", "i", "--gpu", A10)
    assert ask(*create, "--dry-run=server").stdout.endswith("(server dry run)\n")
    assert ask(*create).stdout == "virtualmachine.kubevirt.io/fresh created\n"
    assert "fresh" in ask("get", "vm", "fresh", "-n", "ml").stdout
    ask(*create, code=5)
    refused = ask("create", "vm", "b", "--image", "i", "--gpu", "nvidia.com/A10", code=1)
    assert "DeviceNotPermitted" in refused.stderr


def test_the_dry_run_is_the_service_s(ask):
    made = ask("check", "--gpu", A10, "-n", "ml", "--server-dry-run", "-o", "json").stdout
    assert [item["outcome"] for item in json.loads(made)["server"]] == ["accepted", "accepted"]


def test_places_of_a_what_if_are_those_of_the_local_file(ask, tmp_path):
    path = tmp_path / "vm.yaml"
    path.write_text(run("create", "vm", "a", "--image", "i", "--gpu", "a.b/c", "--dry-run").stdout)
    change = ("what-if", "--stop", "ml/train-1", "-f")
    (item,) = json.loads(ask(*change, str(path), "-o", "json", code=1).stdout)["asked"]
    assert {issue["file"] for issue in item["after"]["issues"]} == {str(path)}
    path.write_text("kind: VirtualMachine\n")
    assert f"error: {path}:1:1: MissingField" in ask(*change, str(path), code=2).stderr


def test_the_audit_of_a_service_is_listed(ask):
    ask("permit", "pci", "nvidia.com/A10", "--selector", "10DE:2237", "--yes")
    rows = [line.split() for line in ask("get", "audit").stdout.splitlines()]
    assert rows[0] == ["ROW", "TIME", "USER", "ACTION", "KIND", "OBJECT", "RESULT", "OF-ROW"]
    assert [row[2:] for row in rows[1:]] == [
        ["demo-admin", "permit", "KubeVirt", "kubevirt/kubevirt", "done", "1"],
        ["demo-admin", "permit", "KubeVirt", "kubevirt/kubevirt", "intent", "<none>"],
    ]
    assert ask("get", "audit", "kubevirt", "-o", "name").stdout.split() == ["audit/2", "audit/1"]
    assert "no audit found" in ask("get", "audit", "nobody").stderr
    assert "127.0.0.1" in ask("get", "audit", "-o", "wide").stdout
    ask("get", "audit", token="demo-user", code=4)
    assert "only a service keeps an audit" in run("get", "audit", "--demo", code=2).output
    for index in range(51):
        ask("unpermit", "nvidia.com/A10", "--yes") if index % 2 == 0 else ask(
            "permit", "pci", "nvidia.com/A10", "--selector", "10DE:2237", "--yes"
        )
    found = ask("get", "audit", "--sort-by", ".sequence")
    assert len(found.stdout.splitlines()) == 101
    assert "older rows: GET /api/v1/audit?before=5" in found.stderr
