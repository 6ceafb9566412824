"""Which device a claim's request got, and why there may be none."""

import json

import pytest

from passway.kubevirt.hostdev_spec import ClaimEntry
from passway.kubevirt.metadata import BASE, MDEV_UUID, PCI_BUS_ID, Resolved, Unresolved, resolve

CLAIMS = (ClaimEntry("c", "claim"), ClaimEntry("t"), ClaimEntry("c", "other"))
FILE = "resourceclaims/claim/gpu/gpu.example.com-metadata.json"
PATTERN = f"{BASE}/resourceclaims/claim/gpu/*-metadata.json"
VERSION = "metadata.resource.k8s.io/v1alpha1"


def document(*devices, request="gpu", version=VERSION, **more):
    requests = [{"name": request, "devices": list(devices)}]
    return json.dumps({"apiVersion": version, "requests": requests, **more})


def device(**attributes):
    return {"attributes": {name: {"string": value} for name, value in attributes.items()}}


GPU = device(**{PCI_BUS_ID: "0000:65:00.0"})
FOUND = Resolved(f"{BASE}/{FILE}", {PCI_BUS_ID: "0000:65:00.0"})


def look(files, claim="c", request="gpu"):
    return resolve(files, CLAIMS, claim, request)


def test_a_claim_and_a_template():
    assert look({FILE: document(GPU)}) == FOUND
    path = "resourceclaimtemplates/t/gpu/x-metadata.json"
    assert look({path: document(GPU)}, claim="t") == Resolved(f"{BASE}/{path}", FOUND.attributes)


def test_only_strings_with_text_count():
    attributes = {
        MDEV_UUID: {"string": ""}, "a": {"int": 5}, "b": {"bool": True}, "c": {"version": "1.0.0"},
        "d": None, "e": {"string": None}, "F": {"String": "x"},
    }  # fmt: skip
    assert look({FILE: document({"attributes": attributes})}) == Resolved(
        f"{BASE}/{FILE}", {"F": "x"}
    )
    for empty in ({}, {"attributes": None}, None):
        assert look({FILE: document(empty)}) == Resolved(f"{BASE}/{FILE}", {})


def test_a_claim_that_is_not_listed():
    assert look({FILE: document(GPU)}, claim="x") == Unresolved(
        "ClaimNotListed", "spec.resourceClaims", "x"
    )
    assert resolve({}, (ClaimEntry(),), "", "gpu").because == "MetadataFileMissing"


@pytest.mark.parametrize(
    "path",
    [
        "resourceclaims/claim/gpu/gpu.example.com-metadata.json.bak",
        "resourceclaims/claim/gpu/metadata.json",
        "resourceclaims/claim/gpu2/x-metadata.json",
        "resourceclaims/claim/gpu-metadata.json",
        "resourceclaims/claim/gpu/sub/x-metadata.json",
        "resourceclaimtemplates/claim/gpu/x-metadata.json",
        "/resourceclaims/claim/gpu/x-metadata.json",
        "./resourceclaims/claim/gpu/x-metadata.json",
        f"{BASE}/resourceclaims/claim/gpu/x-metadata.json",
        "resourceclaims/claim/gpu/x-METADATA.json",
    ],
)
def test_files_that_are_not_the_requests(path):
    assert look({path: document(GPU)}) == Unresolved("MetadataFileMissing", PATTERN)


@pytest.mark.parametrize("name", ["-metadata.json", ".x-metadata.json", "a b-metadata.json"])
def test_file_names_that_match(name):
    path = f"resourceclaims/claim/gpu/{name}"
    assert look({path: document(GPU)}) == Resolved(f"{BASE}/{path}", FOUND.attributes)


def test_exactly_one_file_may_match():
    files = {FILE: document(GPU), FILE.replace("gpu.", "b."): "", FILE.replace("gpu.", "c."): ""}
    assert look(files) == Unresolved("MetadataFilesAmbiguous", PATTERN, "3")


def test_a_directory_of_that_name_is_an_error():
    assert look({f"{FILE}/inner": document(GPU), f"{FILE}/other": ""}) == Unresolved(
        "MetadataMalformed", f"{BASE}/{FILE}", "it is a directory"
    )


class Watched(dict):
    """A tree that remembers what was read from it."""

    def __init__(self, files):
        super().__init__(files)
        self.read = []

    def __getitem__(self, key):
        self.read.append(key)
        return super().__getitem__(key)

    def get(self, key, default=None):
        self.read.append(key)
        return super().get(key, default)


HOSTILE = ["..", ".", "", "../claim", "claim/../claim", "/", "a\0b", "claim/gpu", "../../etc", "\0"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_is_no_file_name_looks_nothing_up(name):
    tree = Watched({
        FILE: document(GPU),
        f"resourceclaims/{name}/gpu/x-metadata.json": document(GPU),
        f"resourceclaims/claim/{name}/x-metadata.json": document(GPU),
        f"resourceclaimtemplates/{name}/gpu/x-metadata.json": document(GPU),
        "etc/gpu/x-metadata.json": document(GPU),
    })  # fmt: skip
    hostile = (ClaimEntry("c", "claim"), ClaimEntry("h", name or None), ClaimEntry(name))
    for claim, request in (("c", name), ("h", name), (name, "gpu")):
        found = resolve(tree, hostile, claim, request)
        assert found == Unresolved(
            "MetadataFileMissing", f"of request {request!r} of claim {claim!r}"
        )
    assert tree.read == []


def test_keys_that_climb_are_never_read():
    tree = Watched({
        "resourceclaims/claim/gpu/../../../secret-metadata.json": "{",
        "resourceclaims/claim/gpu/..": "{",
        "resourceclaims/claim/gpu/x-metadata.json/../../../secret": document(GPU),
        "resourceclaims/./claim/gpu/y-metadata.json": document(GPU),
    })  # fmt: skip
    assert look(tree).because == "MetadataMalformed"
    assert tree.read == ["resourceclaims/claim/gpu/x-metadata.json"]


@pytest.mark.parametrize(
    ("text", "because", "value"),
    [
        (document(GPU, request="gpu/big"), "MetadataRequestMissing", "gpu"),
        (document(GPU, request=None), "MetadataRequestMissing", "gpu"),
        (json.dumps({"apiVersion": VERSION, "requests": [None]}), "MetadataRequestMissing", "gpu"),
        (json.dumps({"apiVersion": VERSION}), "MetadataRequestMissing", "gpu"),
        (document(), "MetadataRequestEmpty", "gpu"),
        (
            json.dumps({"apiVersion": VERSION, "requests": [{"name": "gpu"}]}),
            "MetadataRequestEmpty",
            "gpu",
        ),
        (document(GPU, GPU), "MetadataRequestHasManyDevices", "gpu"),
    ],
)
def test_requests_without_one_device(text, because, value):
    assert look({FILE: text}) == Unresolved(because, f"{BASE}/{FILE}", value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", f"of the versions it has, none is {VERSION}: none"),
        ("}", f"of the versions it has, none is {VERSION}: none"),
        (" ] {}", f"of the versions it has, none is {VERSION}: none"),
        (document(version="a/v1") + document(version="a/v2"), f"none is {VERSION}: a/v1, a/v2"),
        (document(version="a/v1") + "}" + document(GPU), "a/v1"),
        (document(version=""), "an object in it has no apiVersion"),
        ("null", "an object in it has no apiVersion"),
        ("{}" + document(GPU), "an object in it has no apiVersion"),
        (document(version=1), "apiversion"),
        (f"[{document(GPU)}]", "got `array`"),
        (document(version="a/v1") + "x", "Expecting value"),
        (document(GPU, kind=5), "kind"),
        (document(GPU, metadata=[]), "metadata"),
        (document(GPU, podClaimName={}), "podclaimname"),
        (document({"driver": 1}), "driver"),
        (document({"networkData": "x"}), "networkdata"),
        (document({"attributes": {"a": {"int": "5"}}}), "int"),
        (document({"attributes": {"a": {"int": 2**63}}}), "int"),
        (document({"attributes": {"a": {"int": -(2**63) - 1}}}), "int"),
        (document({"attributes": {"a": {"int": 1.5}}}), "int"),
        (document({"attributes": {"a": {"bool": 1}}}), "bool"),
        (document({"attributes": {"a": {"version": 1}}}), "version"),
    ],
)
def test_files_that_cannot_be_used(text, says):
    found = look({FILE: text})
    assert (found.because, found.source) == ("MetadataMalformed", f"{BASE}/{FILE}")
    assert says in found.value


def test_the_first_object_of_the_known_version_counts_and_the_rest_is_not_read():
    other = device(**{PCI_BUS_ID: "0000:66:00.0"})
    text = f"{document(version='a/v1')}\n{document(GPU)}{document(other)} garbage {{"
    assert look({FILE: text}) == FOUND


def test_the_first_request_of_that_name_counts():
    requests = [{"name": "x"}, {"name": "gpu", "devices": [GPU]}, {"name": "gpu"}]
    text = json.dumps({"APIVERSION": VERSION, "Requests": requests, "int": 2**63})
    assert look({FILE: text}) == FOUND


def test_the_widest_numbers_pass():
    numbers = {"a": {"int": 2**63 - 1}, "b": {"int": -(2**63)}}
    assert isinstance(look({FILE: document({"attributes": numbers})}), Resolved)
