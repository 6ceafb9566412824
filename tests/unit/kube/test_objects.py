"""What is refused before anybody is asked: names that would leave their place in a path."""

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passway.cluster.kinds import Kind
from passway.kube.objects import expect_segment, key_of, path_of, to_create
from passway.model.errors import InvalidInput

CONFIG = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
MACHINE = Kind("kubevirt.io", "v1", "VirtualMachine", "virtualmachines", namespaced=True)
NODE = Kind("", "v1", "Node", "nodes", namespaced=False)

OUTSIDE = (
    "", ".", "..", "../x", "a/b", "/a", "a/", "a%2Fb", "%2e%2e", "%", "a\nb", "a\0", "\r\n\r\n",
    "\ud800", "a/../../nodes",
)  # fmt: skip
ODD = {
    "a b": "a%20b",
    "é": "%C3%A9",
    "日本": "%E6%97%A5%E6%9C%AC",
    "a?b=c": "a%3Fb%3Dc",
    "a#b": "a%23b",
    "system:node": "system%3Anode",
    "...": "...",
    "a;b,c": "a%3Bb%2Cc",
    "a\\b": "a%5Cb",
}


@pytest.mark.parametrize(
    ("kind", "namespace", "name", "path"),
    [
        (CONFIG, None, None, "/api/v1/configmaps"),
        (CONFIG, "lab", None, "/api/v1/namespaces/lab/configmaps"),
        (CONFIG, "lab", "c", "/api/v1/namespaces/lab/configmaps/c"),
        (NODE, None, "n", "/api/v1/nodes/n"),
        (MACHINE, None, None, "/apis/kubevirt.io/v1/virtualmachines"),
        (MACHINE, "lab", "vm", "/apis/kubevirt.io/v1/namespaces/lab/virtualmachines/vm"),
    ],
)
def test_paths(kind, namespace, name, path):
    assert path_of(kind, namespace, name) == path


@pytest.mark.parametrize("name", ODD)
def test_odd_names_are_escaped(name):
    assert path_of(CONFIG, "lab", name) == f"/api/v1/namespaces/lab/configmaps/{ODD[name]}"
    assert path_of(CONFIG, name, "c") == f"/api/v1/namespaces/{ODD[name]}/configmaps/c"


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_name_cannot_leave_its_place(name):
    with pytest.raises(InvalidInput, match="cannot be a name"):
        path_of(CONFIG, "lab", name)
    with pytest.raises(InvalidInput, match=r"cannot be a namespace|none is named"):
        path_of(CONFIG, name)
    for kind in (
        Kind("x.dev", name, "X", "xs"),
        Kind("x.dev", "v1", "X", name),
        *([Kind(name, "v1", "X", "xs")] if name else []),
    ):
        with pytest.raises(InvalidInput, match="cannot be a name"):
            path_of(kind, "lab", "c")


@given(st.text(max_size=12), st.text(max_size=12))
def test_whatever_the_names_a_server_splits_the_path_where_we_do(namespace, name):
    try:
        path = path_of(CONFIG, namespace, name)
    except InvalidInput:
        return
    assert path.isascii()
    assert urlsplit(f"https://api:6443{path}?a=b").path == path
    # Go decodes the whole path before Kubernetes splits it.
    assert unquote(path).split("/") == [
        "",
        "api",
        "v1",
        "namespaces",
        namespace,
        "configmaps",
        name,
    ]


def test_what_is_shown_of_a_bad_name_is_short():
    with pytest.raises(InvalidInput) as refused:
        expect_segment("/" * 1000, "a name")
    assert len(str(refused.value)) < 120


def test_objects_are_sorted_by_namespace_first():
    places = [("a-b", "x"), ("a", "y"), ("a", "x"), (None, "n")]
    objects = [{"metadata": {"namespace": space, "name": name}} for space, name in places]
    assert [key_of(obj) for obj in sorted(objects, key=key_of)] == [
        ("", "n"), ("a", "x"), ("a", "y"), ("a-b", "x"),
    ]  # fmt: skip


@pytest.mark.parametrize("meta", [None, [], {"name": "n", "namespace": "lab"},
                                  {"name": "n", "resourceVersion": "5"}])  # fmt: skip
def test_a_malformed_object_is_not_sent(meta):
    with pytest.raises(InvalidInput):
        to_create(NODE, {"apiVersion": "v1", "kind": "Node", "metadata": meta})
