"""The support report's archive: the same bytes for the same documents, bounded, without secrets."""

import gzip
import io
import json
import tarfile

import pytest

from passway.model.errors import Forbidden
from passway.service.bundle import FOLDER, MAX_BYTES, MAX_ITEMS, STRUCK, Bundle, scrubbed


def files(data: bytes) -> dict[str, str]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {
            entry.name.removeprefix(f"{FOLDER}/"): tar.extractfile(entry).read().decode()
            for entry in tar
        }


def test_the_same_documents_are_the_same_bytes_in_any_order():
    first, second = Bundle(), Bundle()
    for bundle, names in ((first, "ab"), (second, "ba")):
        for name in names:
            bundle.add(name, {"x": name, "y": [1, 2]})
            bundle.miss(f"no {name}", "nobody told")
    assert first.archive() == second.archive()
    found = files(first.archive())
    assert list(found) == ["a.json", "b.json", "contents.json"]
    contents = json.loads(found["contents.json"])
    assert sorted(contents["files"]) == ["a.json", "b.json"]
    assert contents["missing"] == {"no a": "nobody told", "no b": "nobody told"}
    assert gzip.decompress(first.archive())


def test_long_lists_are_cut_and_large_documents_left_out():
    bundle = Bundle()
    bundle.add("long", {"items": list(range(MAX_ITEMS + 5))})
    bundle.add("large", {str(number): "x" * 100_000 for number in range(MAX_BYTES // 100_000 + 1)})
    found = files(bundle.archive())
    assert json.loads(found["long.json"])["items"][-2:] == [MAX_ITEMS - 1, "… and 5 more"]
    assert "large.json" not in found
    assert "more than" in bundle.missing["large"]


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abcdefgh12345678", "basic dXNlcjpwYXNzd29yZA==",
        "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl", "token=abcdefgh12345678",
        "password: abcdefgh12345678", "https://user:abcdefgh12345678@host/",
        "-----BEGIN RSA PRIVATE KEY-----\nabcdefgh12345678\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nabcdefgh12345678",
    ],
)  # fmt: skip
def test_what_looks_like_a_credential_is_struck_out(text):
    found = scrubbed(f"before {text}")
    assert found.startswith("before ")
    assert STRUCK in found
    for secret in ("abcdefgh12345678", "dXNlcjpwYXNzd29yZA", "eyJ", "c2lnbmF0dXJl"):
        assert secret not in found
    bundle = Bundle()
    bundle.add("a", {"x": [text], text: 1})
    bundle.miss("b", Forbidden(text))
    assert "abcdefgh12345678" not in str(files(bundle.archive()))


@pytest.mark.parametrize("text", ["nvidia.com/GA102GL_A10", "10DE:2236", "ml/trainer", "v1.6.0"])
def test_names_stay(text):
    assert scrubbed(text) == text
