"""URLs of servers and proxies; which proxy of the environment counts, as Go decides it."""

import pytest

from passway.kube.config.address import environment_proxy, named_proxy, server
from passway.model.errors import InvalidInput

PROXY = "http://proxy:3128"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://10.0.0.1:6443", "https://10.0.0.1:6443"),
        ("HTTPS://Host.example", "https://Host.example"),
        ("http://localhost:8080/", "http://localhost:8080"),
        ("https://a/k8s/clusters/c-1/", "https://a/k8s/clusters/c-1"),
        ("https://a/x?y=1#z", "https://a/x"),
        ("https://[fd00::1]:6443/a", "https://[fd00::1]:6443/a"),
        ("https://under_score.svc.", "https://under_score.svc."),
    ],
)
def test_the_url_of_a_server(text, expected):
    assert server(text, "here") == expected


@pytest.mark.parametrize(
    "text",
    ["", "a", "a:1", "https://", "https:///a", "https://:6443", "https://a:b", "https://a:99999",
     "https://a:0", "https://a b", "https://a\n", "https://ü", "https://[fd00::1", "https://[a]",
     "https://a@b", "ftp://a", "//a", "https://a/\x00", "https://-a", "https://a%zz",
     "https://a\\b", "https://[::1]x"],
)  # fmt: skip
def test_what_is_no_server(text):
    with pytest.raises(InvalidInput, match=r"^here: ") as caught:
        server(text, "here")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [("socks5://a:1", "SOCKS"), ("socks5h://a:1", "SOCKS"), ("ftp://a:1", "no http or https"),
     ("a", "not a URL"), ("http://me:p w@a", "not a URL")],
)  # fmt: skip
def test_what_is_no_proxy(text, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        named_proxy(text, "here")
    assert "p w" not in f"{caught.value!r}{caught.value.hint}"


def test_a_proxy_hides_its_password():
    found = named_proxy("https://me:secret@proxy:1/", "here")
    assert (found.shown, found.source) == ("https://proxy:1", "here")
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    ("url", "environ", "expected"),
    [
        ("https://a", {}, None),
        ("https://a", {"HTTPS_PROXY": PROXY}, "HTTPS_PROXY"),
        ("https://a", {"https_proxy": PROXY}, "https_proxy"),
        ("https://a", {"HTTPS_PROXY": "", "https_proxy": "proxy:3128"}, "https_proxy"),
        ("https://a", {"HTTP_PROXY": PROXY}, None),
        ("http://a", {"HTTP_PROXY": PROXY, "HTTPS_PROXY": "x"}, "HTTP_PROXY"),
        ("http://a", {"HTTP_PROXY": PROXY, "REQUEST_METHOD": "GET"}, None),
        ("https://a", {"ALL_PROXY": PROXY}, None),
        ("https://localhost", {"HTTPS_PROXY": PROXY}, None),
        ("https://127.3.2.1:6443", {"HTTPS_PROXY": PROXY}, None),
        ("https://[::1]:6443", {"HTTPS_PROXY": PROXY}, None),
    ],
)
def test_the_variable_that_counts(url, environ, expected):
    found = environment_proxy(url, environ)
    assert (found.source if found else None) == expected
    assert found is None or found.url == PROXY


@pytest.mark.parametrize(
    ("url", "no_proxy", "direct"),
    [
        ("https://api.example.dev", "*", True),
        ("https://api.example.dev", "a, *", True),
        ("https://api.example.dev", "example.dev", True),
        ("https://example.dev", "example.dev", True),
        ("https://example.dev", ".example.dev", False),
        ("https://example.dev", "*.example.dev", False),
        ("https://api.example.dev", ".example.dev", True),
        ("https://api.example.dev", "*.example.dev", True),
        ("https://API.example.dev", " EXAMPLE.dev ", True),
        ("https://apiexample.dev", "example.dev", False),
        ("https://api.example.dev", "*api.example.dev", False),
        ("https://api.example.dev:6443", "example.dev:6443", True),
        ("https://api.example.dev:6443", "example.dev:443", False),
        ("https://api.example.dev", "example.dev:443", True),
        ("https://api.example.dev", ",,:443,", False),
        ("https://10.1.2.3", "10.0.0.0/8", True),
        ("https://10.1.2.3", "10.1.0.9/16", True),
        ("https://11.1.2.3", "10.0.0.0/8", False),
        ("https://10.1.2.3", "10.1.2.3", True),
        ("https://10.1.2.3:6443", "10.1.2.3:6443", True),
        ("https://10.1.2.3:6443", "10.1.2.3:443", False),
        ("https://10.1.2.3", ".3", False),
        ("https://10.1.2.3", "10.0.0.0/99", False),
        ("https://api.example.dev", "10.0.0.0/8", False),
        ("https://api.example.dev", "10.1.2.3", False),
        ("https://[fd00::1]", "fd00::/8", True),
        ("https://[fd00::1]", "fd00::1", True),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", True),
        ("https://[fd00::1]:6443", "[fd00::1]", True),
        ("https://[fd00::1]:6443", "[fd00::1]:1", False),
        ("https://[fd00::2]", "fd00::1", False),
    ],
)
@pytest.mark.parametrize("variable", ["NO_PROXY", "no_proxy"])
def test_the_ways_without_a_proxy(url, no_proxy, direct, variable):
    found = environment_proxy(url, {"HTTPS_PROXY": PROXY, variable: no_proxy})
    assert (found is None) == direct


def test_a_bad_variable_is_named():
    with pytest.raises(InvalidInput, match=r"^HTTPS_PROXY: SOCKS"):
        environment_proxy("https://a", {"HTTPS_PROXY": "socks5://a:1"})
