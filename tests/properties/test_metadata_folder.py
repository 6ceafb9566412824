"""A claim metadata folder whose names and links lead elsewhere: nothing outside is ever read."""

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passway.cli import surroundings
from passway.cli.surroundings import read_metadata
from passway.kubevirt.hostdev import render_hostdev_xml
from passway.kubevirt.hostdev_errors import TranslationError
from passway.model.errors import InvalidInput

VERSION = "metadata.resource.k8s.io/v1alpha1"
SECRET = "dead:be:0f.7"
SHOWN = 'domain="0xdead"'
BASE = "here"
FILE = "x-metadata.json"

# A layout that would serve request `r` of claim `c`, were it inside.
OUTSIDE = ("outside/c/r", "outside/r", "resourceclaims/c/r", "c/r")
parts = st.sampled_from(["resourceclaims", "resourceclaimtemplates", "c", "r", FILE, "other"])
paths = st.lists(parts, min_size=1, max_size=4).map("/".join)
targets = st.sampled_from(
    [
        "..", "../..", "../../..", "../../../..", "../outside", "../../outside", "../../../outside",
        "{top}", "{top}/outside", "{top}/outside/c/r", f"{{top}}/outside/c/r/{FILE}",
        "{top}/resourceclaims", "{top}/resourceclaims/c", f"../../../../resourceclaims/c/r/{FILE}",
        "/", "/etc/passwd", "/proc/self/environ", ".", "loop", "c", "r", FILE, "nowhere",
    ]
)  # fmt: skip
nodes = st.one_of(
    st.tuples(st.just("file"), st.just("")),
    st.tuples(st.just("folder"), st.just("")),
    st.tuples(st.just("link"), targets),
)
trees = st.lists(st.tuples(paths, nodes), max_size=10)
names = st.sampled_from(
    [
        "c", "r", "..", ".", "", "../..", "../../outside/c", "outside", "c/r", "c/../c", "\0",
        "/etc", "*", "r\0", "..\\outside", "\u2025", "%2e%2e", "~", "C",
    ]
)  # fmt: skip


def metadata(address):
    device = {"attributes": {"resource.kubernetes.io/pciBusID": {"string": address}}}
    requests = [{"name": name, "devices": [device]} for name in ("r", "..", "c/r", "outside", "*")]
    return json.dumps({"apiVersion": VERSION, "requests": requests})


def grown(top, tree):
    """The base folder, full of `tree`, and files outside it that no answer may tell of."""
    for folder in OUTSIDE:
        (top / folder).mkdir(parents=True, exist_ok=True)
        (top / folder / FILE).write_text(metadata(SECRET))
    base = top / BASE
    base.mkdir()
    for path, (kind, target) in tree:
        place = base / path
        try:
            if not place.parent.resolve().is_relative_to(base):
                continue  # a link of this tree: what lies behind it is not ours to write
            place.parent.mkdir(parents=True, exist_ok=True)
            if kind == "file":
                place.write_text(metadata("0000:65:00.0")) if not place.is_symlink() else None
            elif kind == "folder":
                place.mkdir(exist_ok=True)
            elif not place.is_symlink():
                place.symlink_to(target.format(top=top))
        except (OSError, RuntimeError):
            continue  # a file where a folder was, a circle: another tree says it
    return base


class Watched:
    """Records the real paths of what is opened or listed."""

    def __init__(self):
        self.seen = []

    def watch(self, function):
        def watched(path, *more, **named):
            self.seen.append(Path(os.path.realpath(path)))
            return function(path, *more, **named)

        return watched


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setattr(surroundings, "complain", lambda *_, **__: None)


@given(tree=trees, claim=names, entry=names, request=names)
def test_nothing_outside_the_folder_is_read(tree, claim, entry, request):
    with TemporaryDirectory() as made:
        top = Path(made).resolve()
        base, watched = grown(top, tree), Watched()
        with (
            mock.patch.object(surroundings.os, "open", watched.watch(os.open)),
            mock.patch.object(surroundings.os, "scandir", watched.watch(os.scandir)),
        ):
            try:
                found = read_metadata(str(base))
            except InvalidInput:
                found = {}
        assert all(path.is_relative_to(base) for path in watched.seen)
        assert watched.seen
    assert SECRET not in "".join(found.values())
    assert not any(".." in path.split("/") for path in found)
    spec = {
        "domain": {
            "devices": {"gpus": [{"name": "g", "claimName": entry, "requestName": request}]}
        },
        "resourceClaims": [{"name": entry, "resourceClaimName": claim}],
    }
    answer = told(spec, found)
    assert SECRET not in answer
    assert SHOWN not in answer


def told(spec, metadata):
    """Everything that comes out: the element, or the error with its hint."""
    try:
        return "".join(render_hostdev_xml(spec, metadata=metadata))
    except TranslationError as error:
        return f"{error} {error.hint}"


def test_the_tree_would_serve_were_it_inside():
    """The files outside are real ones: read from there, the device comes out."""
    with TemporaryDirectory() as made:
        top = Path(made)
        grown(top, [])
        spec = {
            "domain": {"devices": {"gpus": [{"name": "g", "claimName": "c", "requestName": "r"}]}},
            "resourceClaims": [{"name": "c", "resourceClaimName": "c"}],
        }
        assert SHOWN in told(spec, read_metadata(str(top)))
