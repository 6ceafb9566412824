"""Links resolve inside the value, loops end, and nothing leaves the top."""

import pytest

from passway.host.tree import MAX_LINKS, Directory, Found, HostTree, Link, Text


def tree(**entries):
    return HostTree({path.replace("__", "/"): entry for path, entry in entries.items()})


def test_links_are_followed_on_the_way_and_at_the_end():
    found = HostTree({
        "sys/bus/a": Link("../devices/a"), "sys/devices/a/uevent": Text("x"),
        "sys/abs": Link("/sys/devices/a/uevent"),
    })  # fmt: skip
    assert found.text("sys/bus/a/uevent") == "x"
    assert found.text("/sys/./abs") == "x"
    assert found.link("sys/bus/a") == "../devices/a"
    assert found.link_name("sys/bus/a") == "a"
    assert found.link("sys/devices/a") is None
    assert found.link_name("sys/devices/a") is None
    assert found.names("sys/bus/a") == ("uevent",)
    assert found.names("sys/abs") == ()
    assert found.exists("sys/bus/a/..")
    assert found.text("sys/bus") is None


def test_nothing_is_above_the_top():
    found = HostTree({"a": Text("x"), "b/up": Link("../../../../a")})
    assert found.text("../../a") == "x"
    assert found.text("b/up") == "x"


@pytest.mark.parametrize("path", ["loop", "loop/x", "self", "gone", "empty", "file/x", "file/../a"])
def test_what_leads_nowhere_is_not_there(path):
    found = HostTree({
        "loop": Link("pool"), "pool": Link("loop"), "self": Link("self/x"), "gone": Link("none"),
        "empty": Link(""), "file": Text("x"), "a": Text("x"),
    })  # fmt: skip
    assert not found.exists(path)
    assert found.text(path) is None
    assert found.names(path) == ()


def test_as_many_links_are_followed_as_linux_follows():
    chain = {f"l{n}": Link(f"l{n + 1}") for n in range(MAX_LINKS)}
    end = {f"l{MAX_LINKS}": Text("x")}
    found = HostTree({**chain, **end, "more": Link("l0")})
    assert found.text("l0") == "x"
    assert found.text("more") is None


@pytest.mark.parametrize("first", [0, 1])
def test_a_path_that_is_both_is_a_directory(first):
    pair = [("a", Text("x")), ("a/b", Text("y"))]
    found = HostTree(dict(pair[first:] + pair[:first]))
    assert found.names("a") == ("b",)
    assert found.text("a") is None
    assert HostTree({"a": Directory(), "a/b": Directory()}).names("a") == ("b",)


def test_entries_without_a_place_are_left_out():
    found = HostTree({"": Text("x"), "a/../b": Text("x"), "/c/": Text("x")})
    assert found.names("") == ("c",)
    assert len(found.entries) == 3


def test_a_walk_is_sorted_and_follows_nothing():
    found = HostTree({
        "d/b/x": Text(""), "d/a": Link("b"), "d/c": Text(""), "link": Link("d"),
    })  # fmt: skip
    assert list(found.walk("d")) == [
        Found("d/a", "a", True, False), Found("d/b", "b", False, True),
        Found("d/b/x", "x", False, False), Found("d/c", "c", False, False),
    ]  # fmt: skip
    assert list(found.walk("link")) == []
    assert list(found.walk("none")) == []


def test_the_json_form():
    found = HostTree.of({"a": {"text": "x"}, "b": {"link": "a"}, "c": {"dir": True}})
    assert dict(found.entries) == {"a": Text("x"), "b": Link("a"), "c": Directory()}
    assert found.left_out == ()
