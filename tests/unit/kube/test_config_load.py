"""Loading a kubeconfig: where it is looked for, what is chosen, and every way it can be wrong."""

import json
import os
import re
from dataclasses import replace

import pytest
from tests.kubeconfigs import (
    SERVER,
    TOKEN,
    around,
    b64,
    ca_pem,
    client_pems,
    cluster,
    config,
    context,
    user,
    write,
)

from passway.kube.config import Overrides, here, load_config
from passway.kube.config.files import MAX_BYTES
from passway.kube.config.kubeconfig import parse
from passway.model.errors import EXIT_USAGE, InvalidInput, PasswayError, TooLarge

CERT, KEY = client_pems()
CERTIFICATE = {"client_certificate_data": b64(CERT), "client_key_data": b64(KEY)}
V1 = "client.authentication.k8s.io/v1"


def load(folder, content=None, overrides=None, **more):
    path = write(folder, config() if content is None else content)
    return load_config(path, overrides or Overrides(), around(folder, **more))


def fault(folder, content, overrides=None) -> PasswayError:
    with pytest.raises(PasswayError) as caught:
        load(folder, content, overrides)
    assert caught.value.kind.exit_code == EXIT_USAGE
    return caught.value


# -- where ----------------------------------------------------------------------------------------


def test_the_home_folder_is_the_last_place(tmp_path):
    write(tmp_path, config(), "home/.kube/config")
    assert load_config(surroundings=around(tmp_path)).server == SERVER


def test_a_named_file_stands_alone(tmp_path):
    write(tmp_path, config(clusters=[cluster(server="https://other")]), "other")
    path = write(tmp_path, config())
    environ = {"KUBECONFIG": str(tmp_path / "other")}
    assert load_config(path, surroundings=around(tmp_path, environ=environ)).server == SERVER


def test_relative_names_are_read_from_the_current_folder(tmp_path):
    write(tmp_path, config(users=[user(tokenFile="t")]), "sub/config")
    write(tmp_path, "there", "sub/t")
    for surroundings in (
        around(tmp_path, environ={"KUBECONFIG": "gone::sub/config:sub/config"}),
        around(tmp_path / "sub", environ={"KUBECONFIG": "config"}),
    ):
        assert load_config(surroundings=surroundings).user == "alice"


def test_nothing_found_says_where_it_was_looked_for(tmp_path):
    with pytest.raises(InvalidInput, match=r"no kubeconfig found: nothing in .*/home/.kube/config"):
        load_config(surroundings=around(tmp_path))
    environ = {"KUBECONFIG": "a:b"}
    with pytest.raises(InvalidInput, match="nothing in a, b") as caught:
        load_config(surroundings=around(tmp_path, environ=environ))
    assert "--kubeconfig" in caught.value.hint


def test_a_named_file_must_be_there(tmp_path):
    with pytest.raises(InvalidInput, match=r"--kubeconfig: .*nope: No such file"):
        load_config("nope", surroundings=around(tmp_path))
    with pytest.raises(InvalidInput, match="no context is chosen") as caught:
        load_config(write(tmp_path, ""), surroundings=around(tmp_path))
    assert "there is no context at all" in caught.value.hint


def test_what_cannot_be_read_is_told(tmp_path):
    for name in (str(tmp_path), "with\0null", "x" * 5000):
        with pytest.raises(InvalidInput, match=r"directory|null byte|too long"):
            load_config(name, surroundings=around(tmp_path))
        with pytest.raises(InvalidInput, match=r"directory|null byte|too long"):
            load_config(surroundings=around(tmp_path, environ={"KUBECONFIG": name}))


def test_a_huge_file_is_not_read(tmp_path):
    path = write(tmp_path, b" " * (MAX_BYTES + 1))
    with pytest.raises(TooLarge, match=f"more than {MAX_BYTES} bytes"):
        load_config(path, surroundings=around(tmp_path))
    with pytest.raises(TooLarge):
        load_config("/dev/zero", surroundings=around(tmp_path))


def test_this_process_is_a_place_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    write(tmp_path, config(), ".kube/config")
    assert load_config().server == SERVER
    found = here(terminal=True)
    assert (found.home, found.folder, found.terminal) == (str(tmp_path), str(tmp_path), True)
    assert here(terminal=False).say is None
    assert TOKEN not in repr(here())


def test_a_deleted_folder_is_no_bug(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert here().folder == "/"
    os.chdir(tmp_path)


def test_what_a_plugin_says_goes_to_stderr(capsys, monkeypatch):
    say = here(terminal=True).say
    say(b"open the browser \xff\n")
    assert capsys.readouterr().err == "open the browser \ufffd\n"

    class Closed:
        def write(self, _):
            raise BrokenPipeError

    monkeypatch.setattr("sys.stderr", Closed())
    say(b"nobody hears this")


# -- what is chosen -------------------------------------------------------------------------------


def test_the_names_of_the_command_line_count(tmp_path):
    content = config(
        clusters=[cluster(), cluster("far", server="https://far")],
        users=[user(token=TOKEN), user("bob", token="bobs")],
        contexts=[context(), context("b", namespace="b")],
    )
    found = load(tmp_path, content, Overrides("b", "far", "bob", "team"))
    assert (found.context, found.cluster, found.user) == ("b", "far", "bob")
    assert (found.server, found.namespace) == ("https://far", "team")


def test_a_cluster_is_enough_without_a_context(tmp_path):
    found = load(tmp_path, config(contexts=[], current=""), Overrides(cluster="lab"))
    assert (found.context, found.cluster, found.user) == ("", "lab", "")


def test_impersonation_of_the_command_line(tmp_path):
    content = config(users=[user(token=TOKEN, as_="file", as_groups=["a"], as_uid="1")])
    found = load(tmp_path, content, Overrides(as_user="flag", as_groups=("b", "c"), as_uid="2"))
    assert found.impersonation == (
        ("Impersonate-User", "flag"), ("Impersonate-Uid", "2"),
        ("Impersonate-Group", "b"), ("Impersonate-Group", "c"),
    )  # fmt: skip
    found = load(tmp_path, content, Overrides(as_user="flag"))
    assert ("Impersonate-Group", "a") in found.impersonation


async def test_headers_are_of_both_kinds(tmp_path):
    found = load(tmp_path, overrides=Overrides(as_user="bob"))
    expected = [("Impersonate-User", "bob"), ("Authorization", f"Bearer {TOKEN}")]
    assert await found.headers() == expected


@pytest.mark.parametrize(
    ("overrides", "message", "hint"),
    [
        (Overrides(context="Lab"), 'there is no context "Lab" in ', 'did you mean "lab"?'),
        (
            Overrides(context="zzzz"),
            'there is no context "zzzz"',
            "choose one: lab, nobody, nowhere",
        ),
        (Overrides(cluster="labb"), 'there is no cluster "labb"', 'did you mean "lab"?'),
        (Overrides(user="alic"), 'there is no user "alic"', 'did you mean "alice"?'),
        (Overrides(context="stage"), "names no cluster", "--cluster"),
        (Overrides(context="nobody"), 'names it, but there is no user "zoe"', "choose one: alice"),
        (Overrides(context="nowhere"), 'names it, but there is no cluster "zoo"', "choose"),
        (Overrides(namespace="No"), "--namespace: namespace: 'No' is not a DNS label", ""),
        (Overrides(as_groups=("a",)), "but no user", "--as"),
        (Overrides(as_user="a\nb"), "no header can carry", ""),
    ],
)
def test_names_that_lead_nowhere(tmp_path, overrides, message, hint):
    contexts = [context(), {"name": "stage"}, context("nobody", user="zoe"),
                context("nowhere", "zoo")]  # fmt: skip
    found = fault(tmp_path, config(contexts=contexts), overrides)
    assert message in str(found)
    assert hint in found.hint


def test_long_lists_and_names_are_cut(tmp_path):
    contexts = [context(f"c{number:02}") for number in range(20)] + [context("x" * 5000)]
    found = fault(tmp_path, config(contexts=contexts, current="#" * 9000))
    assert len(str(found)) < 1000
    assert found.hint == "choose one: c00, c01, c02, c03, c04, c05, c06, c07, …"


# -- every way to be wrong ------------------------------------------------------------------------

NAN = """
clusters:
- name: a
  cluster: {extensions: [{name: client.authentication.k8s.io/exec, extension: {a: .nan}}]}
"""

FAULTS = {
    "namespace": (config(contexts=[context(namespace="A b")]), r"contexts\[0\].context: namespace"),
    "namespace by word": ("contexts: [{name: a, context: {namespace: n}}]",
                          r"contexts\[0\].context.namespace: must be text, not true or false"),
    "no server": (config(clusters=[{"name": "lab"}]), r"clusters\[0\].cluster.server: no server"),
    "bare server": (config(clusters=[cluster(server="10.0.0.1:6443")]), "server: not a URL"),
    "ftp": (config(clusters=[cluster(server="ftp://x")]), "no http or https URL"),
    "password in server": (config(clusters=[cluster(server="https://a:pw@x")]), "credentials"),
    "bad proxy": (config(clusters=[cluster(proxy_url="proxy:3128")]), "proxy-url: not a URL"),
    "socks": (config(clusters=[cluster(proxy_url="socks5://x:1")]), "SOCKS proxies are not"),
    "bad proxy scheme": (config(clusters=[cluster(proxy_url="gopher://x:1")]), "no http or https"),
    "bad PEM": (config(clusters=[cluster(certificate_authority_data=b64(b"junk"))]),
                "certificate-authority: no certificate in PEM form"),
    "empty CA": (config(clusters=[cluster(certificate_authority="empty")]), "no certificate"),
    "insecure with CA": (config(clusters=[cluster(insecure_skip_tls_verify=True,
                         certificate_authority_data=b64(ca_pem()))]), "stands beside a cert"),
    "text for a flag": (config(clusters=[cluster(insecure_skip_tls_verify="true")]),
                        "must be true or false, not text"),
    "number for a token": (config(users=[user(token=7)]), "token: must be text, not a number"),
    "list for text": (config(users=[user(token=[])]), "token: must be text, not a list"),
    "text for a user": (config(users=[{"name": "alice", "user": "x"}]), "a mapping, not text"),
    "text among clusters": (config(clusters=["x"]), r"clusters\[0\]: a mapping must stand here"),
    "mapping for clusters": (config(clusters={"a": 1}), "clusters: must be a list, not a mapping"),
    "null among groups": (config(users=[user(as_="x", as_groups=["a", None])]),
                          r"users\[0\].user.as-groups\[1\]: text must stand here, not nothing"),
    "group without user": (config(users=[user(as_groups=["a"])]), "but no user"),
    "group with a line break": (config(users=[user(as_="x", as_groups=["a\nb"])]), "no header can"),
    "token and password": (config(users=[user(token="t", username="u")]), "stand together"),
    "file and password": (config(users=[user(tokenFile="t", password="u")]), "stand together"),
    "certificate without key": (config(users=[user(client_certificate_data=b64(CERT))]),
                                "a client certificate without its key"),
    "foreign key": (config(users=[user(client_certificate_data=b64(ca_pem()),
                    client_key_data=b64(KEY))]), "does not belong to the client certificate"),
    "no key": (config(users=[user(client_certificate_data=b64(CERT), client_key_data=b64(b"x"))]),
               "no valid PEM"),
    "missing certificate": (config(users=[user(client_certificate="gone", client_key="gone")]),
                            "client-certificate: .*/gone: No such file"),
    "missing token": (config(users=[user(tokenFile="gone")]), "tokenFile: .*/gone: No such file"),
    "empty token": (config(users=[user(tokenFile="empty")]), "the file is empty"),
    "binary token": (config(users=[user(tokenFile="binary")]), "not a token"),
    "token with a line break": (config(users=[user(token="a\nb")]), "characters that no token has"),
    "token in letters of another kind": (config(users=[user(token="tökén")]), "no token has"),
    "gcp": (config(users=[user(auth_provider={"name": "gcp"})]), 'provider "gcp" is of the old'),
    "any provider": (config(users=[user(auth_provider={})]), 'provider "unnamed" is of the old'),
    "provider and plugin": (config(users=[user(auth_provider={}, exec={})]), "stand together"),
    "plugin without command": (config(users=[user(exec={"apiVersion": V1})]), "command is missing"),
    "plugin of an old version": (config(users=[user(exec={"command": "a", "apiVersion":
        "client.authentication.k8s.io/v1alpha1"})]), "apiVersion must be .*/v1 or "),
    "plugin without a mode": (config(users=[user(exec={"command": "a", "apiVersion": V1})]),
                              "interactiveMode is missing"),
    "plugin with a wrong mode": (config(users=[user(exec={"interactiveMode": "Sometimes"})]),
                                 "must be Never, IfAvailable or Always"),
    "plugin with a nameless variable": (config(users=[user(exec={"command": "a", "apiVersion": V1,
        "interactiveMode": "Never", "env": [{"value": "x"}]})]), "no usable name"),
    "not a number that JSON has": (NAN, "JSON cannot write"),
    "two clusters": (config(clusters=[cluster(), cluster()]), 'a second entry named "lab"'),
    "not base64": (config(clusters=[cluster(certificate_authority_data="%%")]), "not base64"),
    "a Deployment": (config(kind="Deployment"), "not a kubeconfig"),
    "another version": (config(apiVersion="v2"), "not a kubeconfig"),
    "list": ("- a\n", "config:1:1: a mapping must stand here, not a list"),
    "text": ("hello", "a mapping must stand here, not text"),
    "number": ("12", "a mapping must stand here, not a number"),
    "a key twice": ("a: 1\na: 2\n", "config:2:1: a key stands twice here, first in line 1"),
    "open bracket": ("clusters: [", "config:[12]:.*cannot be read as YAML"),
    "tab": ("a:\n\tb: 1", "config:2:1: cannot be read as YAML: a tab stands"),
    "not UTF-8": (b"a: \xff", "not UTF-8 text .byte 0xff"),
    "deep": ("[" * 200, "nested too deeply"),
    "many values": ("a: &a [" + "x," * 999 + "x]\nb: [" + "*a," * 101 + "]", "too many values"),
    "many documents": ("---\na\n" * 1001, "too many documents"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_with_its_place(tmp_path, name):
    write(tmp_path, "", "empty")
    write(tmp_path, b"\xff\xfe", "binary")
    content, message = FAULTS[name]
    found = fault(tmp_path, content)
    assert re.search(message, str(found)), found
    assert str(found).startswith(str(tmp_path))


def test_an_encrypted_key_does_not_ask_for_a_password(tmp_path):
    from cryptography.hazmat.primitives import serialization as form

    key = form.load_pem_private_key(KEY, None)
    for kind in (form.PrivateFormat.PKCS8, form.PrivateFormat.TraditionalOpenSSL):
        pem = key.private_bytes(form.Encoding.PEM, kind, form.BestAvailableEncryption(b"secret"))
        data = {"client_certificate_data": b64(CERT), "client_key_data": b64(pem)}
        found = fault(tmp_path, config(users=[user(**data)]))
        assert "protected by a password" in str(found)


def test_old_providers_are_no_matter_without_tls(tmp_path):
    content = config(
        clusters=[cluster(server="http://localhost:8080/")],
        users=[user(auth_provider={"name": "oidc"})],
    )
    found = load(tmp_path, content)
    assert (found.server, found.ssl_context()) == ("http://localhost:8080", None)
    assert len(found.warnings) == 1


def test_plain_http_needs_no_warning_without_credentials(tmp_path):
    content = config(clusters=[cluster(server="http://localhost:8001")], users=[user()])
    assert load(tmp_path, content).warnings == ()


def test_a_text_from_elsewhere_is_bounded_too():
    with pytest.raises(TooLarge, match="elsewhere: more than"):
        parse(b" " * (MAX_BYTES + 1), "elsewhere", "/")


def test_remedies_for_old_providers(tmp_path):
    for name, remedy in {"azure": "kubelogin convert-kubeconfig", "x": "exec plugin"}.items():
        found = fault(tmp_path, config(users=[user(auth_provider={"name": name})]))
        assert remedy in found.hint


# -- warnings -------------------------------------------------------------------------------------


def test_a_server_that_is_not_verified_is_a_warning(tmp_path):
    found = load(tmp_path, config(clusters=[cluster(insecure_skip_tls_verify=True)]))
    [warning] = found.warnings
    assert "clusters[0].cluster.insecure-skip-tls-verify: anybody between" in warning
    context = found.ssl_context()
    assert not context.check_hostname
    assert load(tmp_path).ssl_context().check_hostname


def test_what_stands_in_the_file_goes_before_what_it_names(tmp_path):
    """kubectl refuses both together; the format's own documentation says that the data counts."""
    content = config(
        clusters=[cluster(certificate_authority="gone", certificate_authority_data=b64(ca_pem()))],
        users=[user(client_certificate="gone", client_key="gone", **CERTIFICATE)],
    )
    found = load(tmp_path, content)
    assert found.trust.ca == ca_pem()
    assert [warning.partition(": ")[2] for warning in found.warnings] == [
        f"{where}: {field}-data counts, and {field} is ignored: remove one of them"
        for where, field in (
            ("clusters[0].cluster", "certificate-authority"),
            ("users[0].user", "client-certificate"),
            ("users[0].user", "client-key"),
        )
    ]


def test_a_token_stands_in_for_its_file(tmp_path):
    found = load(tmp_path, config(users=[user(token=TOKEN, tokenFile="gone")]))
    [warning] = found.warnings
    assert "gone: No such file or directory; token is used instead" in warning


# -- secrets --------------------------------------------------------------------------------------

SECRET = "XyZZy-do-not-show"


@pytest.mark.parametrize(
    "fields",
    [
        {"token": SECRET},
        {"token": SECRET, "tokenFile": "t"},
        {"tokenFile": "t"},
        {"username": "alice", "password": SECRET},
        CERTIFICATE,
        {"exec": {"command": "a", "apiVersion": V1, "interactiveMode": "Never", "args": [SECRET],
                  "env": [{"name": "A", "value": SECRET}]}},
    ],
)  # fmt: skip
def test_no_secret_in_a_repr(tmp_path, fields):
    write(tmp_path, SECRET, "t")
    extension = [{"name": "client.authentication.k8s.io/exec", "extension": {"key": SECRET}}]
    clusters = [cluster(proxy_url=f"http://me:{SECRET}@proxy:1", extensions=extension)]
    found = load(tmp_path, config(clusters=clusters, users=[user(**fields)]))
    assert SECRET not in repr(found)
    assert "PRIVATE" not in repr(found)
    assert found.proxy.shown == "http://proxy:1"
    again = replace(found, namespace="x")
    assert SECRET not in f"{again} {again!r} {again.credentials!r}"


@pytest.mark.parametrize(
    "text",
    [
        f"users: [{{name: a, user: {{token: *{SECRET}}}}}]",
        f"users: [{{name: a, user: {{token: !{SECRET} x}}}}]",
        f"users:\n- name: a\n  user:\n    {SECRET}: 1\n    {SECRET}: 2\n",
        f"users:\n- name: a\n  user:\n    token: a\n   {SECRET}\n",
        f"users: [{{name: a, user: {{password: [{SECRET}]}}}}]",
        f"users: [{{name: a, user: {{{SECRET}: {{}}, token: {{}}}}}}]",
        f"users: [{{name: a, user: {{client-key-data: {SECRET}}}}}]",
        json.dumps(config(clusters=[cluster(server=f"https://me:{SECRET}@x")])),
        json.dumps(config(clusters=[cluster(proxy_url=f"a:{SECRET}@x")])),
        f"'{SECRET}",
        f"a: '{SECRET}\\q' \"{SECRET}",
        f"? {SECRET}\n? {SECRET}",
        f"%{SECRET}\n---\n",
    ],
)
def test_no_secret_in_an_error(tmp_path, text):
    found = fault(tmp_path, text)
    assert SECRET not in f"{found!r} {found.hint} {found.issues}"
