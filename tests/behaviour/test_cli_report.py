"""`passway report`: what is in it, what is not, and from where it can be made."""

import json
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests import kubeconfigs
from tests.faulty import said, serving, status_of

from passway.main import cli
from passway.sample.cluster import sample_objects

MARK = "s3cr3tmarker"
ALWAYS = {"contents.json", "versions.json"}
OF_A_CLUSTER = {"devices.json", "nodes.json", "permits.json", "drift.json", "state.json"}


def run(*args: str, code: int = 0):
    result = CliRunner().invoke(cli, args)
    assert result.exit_code == code, result.output
    return result


def opened(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as tar:
        return {entry.name.split("/")[1]: tar.extractfile(entry).read() for entry in tar}


def missing(found: dict[str, bytes]) -> dict[str, str]:
    return json.loads(found["contents.json"])["missing"]


def marked_dump(folder: Path) -> Path:
    """The sample with secrets wherever an object can have them, and events that quote one."""
    secret = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s", "namespace": "ml"},
              "data": {"token": MARK}}  # fmt: skip
    event = {
        "kind": "Event", "apiVersion": "v1", "reason": "Started", "message": MARK,
        "metadata": {"name": "e", "namespace": "ml"},
        "involvedObject": {"kind": "VirtualMachine", "name": "infer-t4", "namespace": "ml"},
    }  # fmt: skip
    objects = sample_objects()
    for item in objects:
        meta = item["metadata"]
        meta.setdefault("annotations", {})["kubectl.kubernetes.io/last-applied"] = MARK
        meta.setdefault("managedFields", [{"manager": MARK}])
        template = item.get("spec", {}).get("template", {}).get("spec")
        spec = template or item.get("spec", {})
        if item["kind"] in {"VirtualMachine", "VirtualMachineInstance"}:
            spec.setdefault("volumes", []).append(
                {"name": "init", "cloudInitNoCloud": {"userData": f"password: {MARK}"}}
            )
        if item["kind"] == "Pod":
            spec["containers"][0]["env"] = [{"name": "TOKEN", "value": MARK}]
            spec["containers"][0]["args"] = [MARK]
    path = folder / "dump.json"
    items = [*objects, secret, event, event]
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    return path


def test_no_secret_of_a_dump_or_of_the_environment_is_in_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PASSWAY_TOKEN", MARK)
    monkeypatch.setenv("SECRET", MARK)
    out = tmp_path / "report.tar.gz"
    dump = str(marked_dump(tmp_path))
    run("report", "-o", str(out), "--from", dump, "--complete", "--vm", "ml/infer-t4")
    found = opened(out)
    assert set(found) == ALWAYS | OF_A_CLUSTER | {"events.json", "vm.json"}
    assert not [name for name, data in found.items() if MARK.encode() in data]
    assert json.loads(found["events.json"]) == {"FailedScheduling": 1, "Started": 2}
    assert json.loads(found["vm.json"])["machine"]["name"] == "infer-t4"
    state = json.loads(found["state.json"])
    assert state["objects"]["nodes"] > 0
    assert {item["kind"]: item["read"] for item in state["read"]}["nodes"] == "read"
    assert out.stat().st_mode & 0o777 == 0o600


def test_the_same_cluster_gives_the_same_bytes(tmp_path):
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        run("report", "-o", str(path), "--demo")
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_file_is_not_replaced_unless_that_is_said(tmp_path):
    out = tmp_path / "report"
    out.write_text("mine")
    assert "--overwrite" in run("report", "-o", str(out), "--demo", code=2).output
    assert out.read_text() == "mine"
    run("report", "-o", str(out), "--demo", "--overwrite")
    assert "devices.json" in opened(out)


@pytest.mark.parametrize("vm", ["trainer", "ml/", "/trainer", "a/b/c"])
def test_a_vm_is_named_with_its_namespace(tmp_path, vm):
    told = run("report", "-o", str(tmp_path / "r"), "--demo", "--vm", vm, code=2)
    assert "NAMESPACE/NAME" in told.output


def test_what_is_not_there_is_named_and_no_failure(tmp_path):
    out = tmp_path / "report"
    told = run("report", "-o", str(out), "--demo", "--vm", "ml/nowhere")
    assert 'vm is not in it: NOT_FOUND: there is no VM "nowhere"' in told.output
    empty = tmp_path / "empty.json"
    empty.write_text('{"kind": "List", "apiVersion": "v1", "items": []}')
    run("report", "-o", str(out), "--from", str(empty), "--overwrite")
    assert missing(opened(out)) == {"events": "NOT_FOUND: there are no events in the files"}


def test_a_file_that_cannot_be_written_is_an_error(tmp_path):
    told = run("report", "-o", str(tmp_path / "no" / "report"), "--demo", code=2)
    assert "No such file" in told.output


async def test_without_any_right_it_says_what_is_missing(tmp_path):
    """The API server refuses everything, and its words quote the token."""
    import asyncio

    words = status_of(403, f"Bearer {MARK}{MARK} may not list this", "Forbidden")
    async with serving(*[said(words, 403)] * 2000) as server:
        config = kubeconfigs.config(
            clusters=[kubeconfigs.cluster(server=server.url)],
            users=[kubeconfigs.user(token=MARK)],
        )
        path = kubeconfigs.write(tmp_path, config)
        out = tmp_path / "report"
        command = ("report", "-o", str(out), "--kubeconfig", path, "--vm", "ml/a")
        await asyncio.to_thread(run, *command)
    found = opened(out)
    assert not [name for name, data in found.items() if MARK.encode() in data]
    state = json.loads(found["state.json"])
    assert {item["read"] for item in state["read"]} == {"forbidden"}
    assert {"events", "vm"} <= set(missing(found))


def test_an_unreachable_cluster_still_gives_a_report(tmp_path):
    config = kubeconfigs.config(
        clusters=[kubeconfigs.cluster(server="http://127.0.0.1:1")],
        users=[kubeconfigs.user(token=MARK)],
    )
    path, out = kubeconfigs.write(tmp_path, config), tmp_path / "report"
    told = run("report", "-o", str(out), "--kubeconfig", path, "--request-timeout", "1s")
    assert "cluster is not in it: UNAVAILABLE" in told.output
    assert set(opened(out)) == ALWAYS
    assert MARK.encode() not in b"".join(opened(out).values())


@pytest.mark.slow
def test_a_service_is_asked_for_what_it_tells(tmp_path):
    from tests.api.test_server import process

    out = tmp_path / "report"
    with process() as (_, url):
        run("report", "-o", str(out), "--server", url, "--token", "demo-admin")
        found = opened(out)
        assert OF_A_CLUSTER - {"state.json"} <= set(found)
        assert set(missing(found)) == {"events", "state"}
        assert not [name for name, data in found.items() if b"demo-admin" in data]
        run("report", "-o", str(out), "--server", url, "--token", "demo-viewer", "--overwrite")
        assert "FORBIDDEN" in missing(opened(out))["devices"]
