"""Sources: files, folders, kinds, times, and the option rules."""

import json
import os
import re
import sys

import click
import pytest

from passway.cli import sources
from passway.cli.live import configuration
from passway.cli.options import Source, Usage, source_of
from passway.cli.sources import files_of, kind_named, moment, open_backend, progress, read_dump
from passway.cluster import dump
from passway.model.errors import InvalidInput, TooLarge

NODE = '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "%s", "creationTimestamp": "%s"}}'


def options(**given):
    fields = {
        "paths": (), "demo": False, "server": None, "token": None, "at": None, "complete": False,
        "read": (), "timeout_s": 30.0, "kubeconfig": None, "context": None, "cluster": None,
        "user": None, "as_user": None, "as_groups": (),
    }  # fmt: skip
    return {**fields, **given}


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    monkeypatch.delenv("PASSWAY_SERVER", raising=False)
    monkeypatch.delenv("PASSWAY_TOKEN", raising=False)


@pytest.mark.parametrize(
    "given",
    [
        {"demo": True, "context": "lab"},
        {"server": "http://x", "as_groups": ("g",)},
        {"demo": True, "paths": ("a",)},
        {"demo": True, "server": "http://x"},
        {"demo": True, "at": "2026-01-01T00:00:00Z"},
        {"demo": True, "complete": True},
        {"server": "http://x", "read": ("nodes",)},
    ],
)
def test_there_is_exactly_one_source_with_its_own_options(given):
    with pytest.raises(Usage):
        source_of(options(**given))


def test_without_a_source_it_is_the_cluster_of_the_kubeconfig():
    found = source_of(options())
    assert (found.live, found.server, found.kubeconfig) == (True, None, None)
    assert source_of(options(server="http://x")).live
    assert not source_of(options(demo=True)).live
    with pytest.raises(InvalidInput) as caught:
        open_backend(found)
    assert all(word in caught.value.hint for word in ("--kubeconfig", "--from", "--demo"))


def test_a_kubeconfig_is_named_in_every_way(tmp_path):
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "lab",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "contexts": [{"name": "lab", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {}}],
    }  # fmt: skip
    path = tmp_path / "config"
    path.write_text(json.dumps(config))
    found = configuration(
        source_of(options(kubeconfig=str(path), as_user="ada", as_groups=("dev",)))
    )
    assert (found.server, found.user) == ("https://127.0.0.1:1", "u")
    assert ("Impersonate-User", "ada") in found.impersonation
    with pytest.raises(InvalidInput, match="elsewhere"):
        configuration(source_of(options(kubeconfig=str(path), context="elsewhere")))


def test_the_environment_names_a_service_unless_something_else_is_named(monkeypatch):
    monkeypatch.setenv("PASSWAY_SERVER", "https://env.example.com")
    monkeypatch.setenv("PASSWAY_TOKEN", "secret")
    assert source_of(options()).server == "https://env.example.com"
    assert source_of(options()).token == "secret"
    assert source_of(options(token="mine")).token == "mine"
    sample = source_of(options(demo=True))
    assert (sample.server, sample.token) == (None, None)


def test_kinds_are_split_and_no_timeout_is_none():
    found = source_of(options(paths=("a",), read=("nodes,po", "vm,"), timeout_s=0.0))
    assert found.read == ("nodes", "po", "vm")
    assert found.timeout_s is None


@pytest.mark.parametrize(
    ("word", "plural"),
    [
        ("nodes", "nodes"), ("Node", "nodes"), ("no", "nodes"), ("PO", "pods"),
        ("vmi", "virtualmachineinstances"), ("kubevirts.kubevirt.io", "kubevirts"),
        ("nad", "network-attachment-definitions"), (" pvc ", "persistentvolumeclaims"),
    ],
)  # fmt: skip
def test_kinds_have_many_names(word, plural):
    assert kind_named(word).plural == plural


def test_every_short_name_leads_somewhere():
    for short, plural in sources._SHORT.items():
        assert kind_named(short).plural == plural


@pytest.mark.parametrize(
    ("word", "more"), [("nodez", "did you mean nodes"), ("qqqqqqq", "no kind")]
)
def test_a_kind_that_does_not_exist_is_a_usage_error(word, more):
    with pytest.raises(Usage, match=more):
        kind_named(word)


def test_moments_become_utc():
    assert moment("2026-06-12T11:30:00+02:00") == "2026-06-12T09:30:00Z"
    for wrong in ("yesterday", "2026-06-12T11:30:00", "12:00"):
        with pytest.raises(Usage, match="not a time"):
            moment(wrong)


def test_folders_are_read_flat_and_sorted(tmp_path):
    for name in ("b.json", "a.yaml", "c.yml", "notes.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "d.json").write_text("")
    single = tmp_path / "notes.txt"
    found = files_of((str(tmp_path), str(single)))
    assert [path.name for path in found] == ["a.yaml", "b.json", "c.yml", "notes.txt"]


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"has no \*\.json"):
        files_of((str(tmp_path),))


def test_a_dump_is_bounded_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(dump, "MAX_BYTES", 4)
    path = tmp_path / "big.json"
    path.write_text("12345")
    with pytest.raises(TooLarge, match="5 bytes"):
        read_dump(path)


def test_only_files_and_pipes_are_read(tmp_path):
    with pytest.raises(InvalidInput, match="not a file"):
        read_dump(sources.Path("/dev/zero"))
    with pytest.raises(InvalidInput, match="No such file"):
        read_dump(tmp_path / "none.json")
    with pytest.raises(InvalidInput):
        read_dump(sources.Path("nul\x00"))


def test_a_pipe_is_a_file():
    read, write = os.pipe()
    os.write(write, b"text")
    os.close(write)
    try:
        assert read_dump(sources.Path(f"/dev/fd/{read}")) == b"text"
    finally:
        os.close(read)


@pytest.mark.parametrize(
    "content", [b"", b"  \n", b"\x00\x01\x02\xff", b"{", b"[1, 2", b"just words", b"\xff\xfe{}"]
)
async def test_files_that_are_no_dumps_are_named(tmp_path, content):
    path = tmp_path / "dump.json"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=re.escape(str(path))):
        await open_backend(Source(paths=(str(path),))).nodes()


async def test_dumps_are_judged_at_their_newest_time_unless_told(tmp_path):
    (tmp_path / "a.json").write_text(NODE % ("a", "2026-01-01T00:00:00Z"))
    (tmp_path / "b.json").write_text(NODE % ("b", "2026-02-01T00:00:00Z"))
    found = await open_backend(Source(paths=(str(tmp_path),))).nodes()
    assert [node.name for node in found.items] == ["a", "b"]
    assert found.at == "2026-02-01T00:00:00Z"
    source = Source(paths=(str(tmp_path),), at="2026-03-01T01:00:00+01:00")
    assert (await open_backend(source).nodes()).at == "2026-03-01T00:00:00Z"


@pytest.mark.parametrize(
    ("given", "unread"),
    [({}, {"pods", "kubevirts"}), ({"read": ("po",)}, {"kubevirts"}), ({"complete": True}, set())],
)
async def test_a_kind_that_does_not_occur_is_unread_unless_told(tmp_path, given, unread):
    path = tmp_path / "a.json"
    path.write_text(NODE % ("a", "2026-01-01T00:00:00Z"))
    found = await open_backend(Source(paths=(str(path),), **given)).inventory()
    assert set(found.unread) & {"pods", "kubevirts", "nodes"} == unread


def test_a_file_without_anything_that_is_read_is_mentioned(tmp_path, capsys):
    path = tmp_path / "other.yaml"
    path.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    open_backend(Source(paths=(str(path),)))
    assert "holds no object that is read here" in capsys.readouterr().err


async def test_of_the_sample_everything_is_read():
    assert (await open_backend(Source(demo=True)).inventory()).unread == {}


class Terminal:
    def __init__(self, stream):
        self._stream = stream

    def isatty(self):
        return True

    def __getattr__(self, name):
        return getattr(self._stream, name)


@pytest.mark.parametrize(("patience", "shown"), [(0.0, True), (30.0, False)])
def test_progress_shows_only_after_a_while_and_is_wiped(monkeypatch, capsys, patience, shown):
    import time

    monkeypatch.setattr(sources, "PATIENCE_S", patience)
    monkeypatch.setattr(sys, "stderr", Terminal(sys.stderr))
    with progress("reading"):
        time.sleep(0.2 if shown else 0)
    err = click.unstyle(capsys.readouterr().err)
    assert ("reading" in err) is shown
