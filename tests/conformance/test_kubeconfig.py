"""The same kubeconfig, the same answers: kubernetes_asyncio's loader and kubectl are the judges.

Each case is a set of files. What Passway makes of it must be what both judges make of it. Where
they differ kubectl wins; `asyncio` in a case then says how kubernetes_asyncio differs. Where
Passway refuses what a judge accepts, the case says why.
"""

import asyncio
import base64
import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from tests.kubeconfigs import (
    TOKEN,
    around,
    b64,
    ca_pem,
    client_pems,
    cluster,
    config,
    context,
    kubectl,
    plugin,
    user,
    write,
)

from passway.kube.config import ClientConfig, Overrides, load_config
from passway.kube.config.plugin import PluginCredentials
from passway.model.errors import PasswayError

pytestmark = pytest.mark.slow

CERT, KEY = client_pems()
OTHER = "https://10.9.9.9:6443"
BOTH = ("asyncio", "kubectl")


@dataclass
class Case:
    """`files`: name -> content, in the order of $KUBECONFIG; "@" is their folder.

    `refused`: by Passway, and why.

    `accepts`: the judges that take what Passway refuses. `asyncio`: fields in which
    kubernetes_asyncio differs from kubectl, each with how.
    """

    name: str
    files: dict = field(default_factory=lambda: {"config": config()})
    context: str = ""
    extra: dict = field(default_factory=dict)
    missing: tuple = ()
    refused: str = ""
    accepts: tuple = ()
    asyncio: dict = field(default_factory=dict)


def one(name, *, clusters=None, users=None, contexts=None, **more):
    keys = {key: more.pop(key) for key in ("current",) if key in more}
    built = config(clusters=clusters, users=users, contexts=contexts, **keys)
    return Case(name, {"config": built}, **more)


CERTIFICATE = {"client_certificate_data": b64(CERT), "client_key_data": b64(KEY)}
PEMS = {"pki/ca.pem": ca_pem(), "pki/cert.pem": CERT, "pki/key.pem": KEY}
YAML = yaml.safe_dump(config(clusters=[cluster(certificate_authority_data=b64(ca_pem()))]))
SECOND = config(
    clusters=[cluster(server=OTHER), cluster("far", server=OTHER)],
    users=[user(token="second"), user("bob", token="bobs-token")],
    contexts=[context(namespace="second"), context("far", "far", "bob", namespace="far")],
    current="far",
)
EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "command": "@/plugin",
        "interactiveMode": "Never"}  # fmt: skip
ANSWER = {"kind": "ExecCredential", "apiVersion": EXEC["apiVersion"], "status": {"token": "given"}}

CASES = [
    Case("plain"),
    Case("yaml with a CA inside", {"config": YAML}),
    Case("yaml with comments and anchors", {"config": "x: &s\n  server: https://10.0.0.1\n# w\n"
         "current-context: lab\nclusters:\n- name: lab\n  cluster: *s\ncontexts:\n"
         "- {name: lab, context: {cluster: lab, user: u}}\nusers: [{name: u, user: {token: t}}]"}),
    one("a namespace", contexts=[context(namespace="team-a")]),
    one("another context", contexts=[context(), context("b", namespace="b")], context="b"),
    Case("no kind and no version",
         {"config": {k: v for k, v in config().items() if k not in ("kind", "apiVersion")}}),
    one("the CA inside", clusters=[cluster(certificate_authority_data=b64(ca_pem()))]),
    one("the CA in a file", clusters=[cluster(certificate_authority="pki/ca.pem")], extra=PEMS),
    one("a path with dots", clusters=[cluster(certificate_authority="./x/../pki/ca.pem")],
        extra=PEMS | {"x/y": "z"}),
    one("two certificates in one CA", clusters=[cluster(
        certificate_authority_data=b64(ca_pem() + b"\n# two\n" + ca_pem()))]),
    one("base64 over several lines", clusters=[cluster(certificate_authority_data="\n".join(
        base64.encodebytes(ca_pem()).decode().split("\n")))]),
    one("not verified", clusters=[cluster(insecure_skip_tls_verify=True)]),
    one("verified by word", clusters=[cluster(insecure_skip_tls_verify=False)]),
    one("another name for TLS", clusters=[cluster(tls_server_name="api.example.dev")]),
    one("a proxy", clusters=[cluster(proxy_url="http://proxy.example.dev:3128")]),
    one("a proxy with TLS", clusters=[cluster(proxy_url="https://proxy.example.dev:3128")]),
    one("a proxy with a password", clusters=[cluster(proxy_url="http://a:b@proxy.example.dev:1")]),
    one("no compression", clusters=[cluster(disable_compression=True)]),
    one("a path before the API", clusters=[cluster(server="https://rancher.dev/k8s/clusters/c-1")]),
    one("an IPv6 server", clusters=[cluster(server="https://[fd00::1]:6443")]),
    one("a server without a port", clusters=[cluster(server="https://api.example.dev")]),
    one("a client certificate inside", users=[user(**CERTIFICATE)]),
    one("a client certificate in files", extra=PEMS, users=[
        user(client_certificate="pki/cert.pem", client_key="pki/key.pem")]),
    one("a certificate inside, its key in a file", extra=PEMS, users=[
        user(client_certificate_data=b64(CERT), client_key="pki/key.pem")]),
    one("a certificate and a token", users=[user(**CERTIFICATE, token=TOKEN)]),
    one("a password", users=[user(username="alice", password="pass:word/ü")]),
    one("a token in a file", users=[user(tokenFile="secret/token")],
        extra={"secret/token": "from-the-file"}),
    one("a token in a file with a line break", users=[user(tokenFile="token")],
        extra={"token": "from-the-file\n"},
        asyncio={"authorization": "keeps the line break, which no header can carry"}),
    one("a token beside a token in a file", users=[user(token=TOKEN, tokenFile="token")],
        extra={"token": "from-the-file"},
        asyncio={"authorization": "prefers the token; for kubectl what the file says counts"}),
    one("a token beside a file that is gone", users=[user(token=TOKEN, tokenFile="token")]),
    one("no user at all", users=[], contexts=[{"name": "lab", "context": {"cluster": "lab"}}],
        asyncio={"": "fails without a user"}),
    one("an empty user", users=[user()]),
    one("null instead of a value", clusters=[cluster(certificate_authority=None,
        insecure_skip_tls_verify=None, tls_server_name=None)], users=[user(token=TOKEN,
        client_certificate=None)],
        asyncio={"": "does not take null for absent"}),
    one("fields nobody knows", clusters=[cluster(colour="blue")], users=[user(shoe=7)]),
    one("a username alone", users=[user(username="alice")],
        asyncio={"authorization": "wants both the username and the password"}),
    one("a plugin", users=[user(exec=EXEC)]),
    one("a plugin by a path that belongs to the file", users=[user(exec=EXEC | {
        "command": "./plugin"})], asyncio={"": "looks in the current folder"}),
    one("a plugin beside a token", users=[user(exec=EXEC, token=TOKEN)],
        asyncio={"authorization": "runs the plugin; kubectl does not when there is a token"}),
    one("a plugin beside a certificate", users=[user(exec=EXEC, **CERTIFICATE)],
        asyncio={"authorization": "runs the plugin; kubectl does not beside a certificate"}),
    one("to act as another", users=[user(token=TOKEN, as_="bob", as_groups=["a", "b"],
        as_uid="7", as_user_extra={"why": ["audit", "test"]})]),
    Case("two files", {"a": config(), "b": SECOND},
         asyncio={"context": "the last current-context wins; for kubectl it is the first"}),
    Case("two files, a context of the second", {"a": config(), "b": SECOND}, context="far"),
    Case("two files, the other way round", {"b": SECOND, "a": config()},
         asyncio={"context": "the last current-context wins; for kubectl it is the first"}),
    Case("the first file has no current-context", {"a": config(current=""), "b": SECOND}),
    Case("paths belong to their file", {
        "one/config": config(users=[], contexts=[]),
        "two/config": config(clusters=[cluster("far", certificate_authority="ca.pem")],
                             users=[user(tokenFile="t")], contexts=[context(cluster="far")]),
        }, extra={"two/ca.pem": ca_pem(), "two/t": "t", "one/t": "wrong"}),
    Case("a cluster, a user and a context in three files", {
        "a": {"clusters": [cluster()]}, "b": {"users": [user(token="b")]},
        "c": {"contexts": [context()], "current-context": "lab"}},
        ),
    Case("a file that is missing", {"gone": None, "a": config()}),
    Case("a file that is empty", {"empty": "", "a": config()},
         asyncio={"": "fails on an empty file"}),
    Case("the same file twice", {"a": config()}, missing=("a",)),
    # -- refused ---------------------------------------------------------------------------------
    one("no such context", context="nope", refused="there is no context"),
    one("no such cluster", clusters=[], refused="there is no cluster"),
    one("no such user", users=[], refused="there is no user"),
    one("no current context", current="", refused="no context is chosen"),
    one("a number for a token", users=[user(token=1234)], refused="must be text",
        accepts=("asyncio",)),
    one("text for a list", clusters="lab", refused="must be a list"),
    one("a cluster twice", clusters=[cluster(), cluster()], refused="a second entry",
        accepts=("asyncio",)),
    one("no base64", clusters=[cluster(certificate_authority_data="a")], refused="not base64"),
    Case("a Pod", {"config": config(kind="Pod")}, refused="not a kubeconfig", accepts=("asyncio",)),
    Case("not YAML", {"config": "a: [b"}, refused="cannot be read as YAML"),
    Case("not UTF-8", {"config": b"a: \xff"}, refused="not UTF-8"),
    Case("a list", {"config": "[]"}, refused="a mapping must stand here"),
    one("a CA file that is gone", clusters=[cluster(certificate_authority="gone")],
        refused="No such file"),
    Case("a field twice", {"config": "current-context: lab\n" + YAML}, accepts=BOTH,
         refused="a key stands twice"),
]  # fmt: skip


def _written(case: Case, folder: Path) -> str:
    paths = []
    for name, content in case.files.items():
        paths.append(str(folder / name))
        if content is not None:
            text = content if isinstance(content, (str, bytes)) else json.dumps(content)
            if isinstance(text, str):
                text = text.replace("@/plugin", str(folder / "plugin"))
            write(folder, text, name)
    for name, content in case.extra.items():
        write(folder, content, name)
    plugin(folder, f"print({json.dumps(json.dumps(ANSWER))})")
    return ":".join([*paths, *(str(folder / name) for name in case.missing)])


async def _ours(case: Case, folder: Path, listed: str) -> ClientConfig:
    surroundings = around(folder, environ={"KUBECONFIG": listed})
    return load_config(overrides=Overrides(context=case.context), surroundings=surroundings)


async def _told(found: ClientConfig) -> dict:
    """What a configuration says, in the words that the judges are asked in."""
    pair = await found.credentials.certificate()
    return {
        "server": found.server,
        "context": found.context,
        "namespace": found.namespace,
        "ca": found.trust.ca,
        "insecure": found.trust.insecure,
        "server_name": found.trust.server_name,
        "proxy": found.proxy.url if found.proxy else "",
        "authorization": (await found.credentials.headers()).get("Authorization", ""),
        "certificate": pair.certificate if pair else b"",
        "key": pair.key if pair else b"",
    }


async def _asyncio(case: Case, folder: Path, listed: str) -> dict:
    from kubernetes_asyncio.client import Configuration
    from kubernetes_asyncio.config import load_kube_config

    built = type.__call__(Configuration)
    (folder / "temporary").mkdir(exist_ok=True)
    loader = await load_kube_config(
        listed, case.context or None, built, persist_config=False,
        temp_file_path=str(folder / "temporary"),
    )  # fmt: skip
    chosen = loader.current_context

    def content(path):
        return Path(path).read_bytes() if path else b""

    return {
        "server": built.host,
        "context": chosen["name"],
        "namespace": chosen["context"].get("namespace") or "default",
        "ca": content(built.ssl_ca_cert),
        "insecure": not built.verify_ssl,
        "server_name": built.tls_server_name or "",
        "proxy": built.proxy or "",
        "authorization": built.api_key.get("BearerToken", ""),
        "certificate": content(built.cert_file),
        "key": content(built.key_file),
    }


def _kubectl(listed: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess:
    environ = {"KUBECONFIG": listed, "HOME": str(folder / "home"), "PATH": os.environ["PATH"]}
    return subprocess.run(
        [kubectl(), *arguments], env=environ, cwd=folder, stdin=subprocess.DEVNULL,
        capture_output=True, check=False, timeout=60,
    )  # fmt: skip


def _from_kubectl(case: Case, folder: Path, listed: str) -> dict:
    chosen = ("--context", case.context) if case.context else ()
    view = ("config", "view", "--flatten", "--minify", "--raw", "-o", "json")
    answer = _kubectl(listed, *view, *chosen, folder=folder)
    if answer.returncode:
        raise AssertionError(answer.stderr.decode())
    shown = json.loads(answer.stdout)
    [named] = shown["contexts"]
    [about] = shown["clusters"]
    who = (shown["users"] or [{"user": {}}])[0]["user"]
    about = about["cluster"]
    return {
        "server": about["server"],
        "context": named["name"],
        "namespace": named["context"].get("namespace") or "default",
        "ca": base64.b64decode(about.get("certificate-authority-data", "")),
        "insecure": about.get("insecure-skip-tls-verify", False),
        "server_name": about.get("tls-server-name", ""),
        "proxy": about.get("proxy-url", ""),
        "certificate": base64.b64decode(who.get("client-certificate-data", "")),
        "key": base64.b64decode(who.get("client-key-data", "")),
        "user": who,
    }


ACCEPTED = [case for case in CASES if not case.refused]
REFUSED = [case for case in CASES if case.refused]


def test_the_table_is_large_enough():
    assert len(CASES) >= 40
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.name)
async def test_kubernetes_asyncio_says_the_same(case, tmp_path):
    listed = _written(case, tmp_path)
    ours = await _told(await _ours(case, tmp_path, listed))
    if "" in case.asyncio:
        with pytest.raises(Exception):  # noqa: B017 - any way of failing
            await _asyncio(case, tmp_path, listed)
        return
    theirs = await _asyncio(case, tmp_path, listed)
    if "context" in case.asyncio:
        assert ours["context"] != theirs["context"]
        return
    different = {key for key, value in theirs.items() if ours[key] != value}
    assert different == set(case.asyncio), {key: (ours[key], theirs[key]) for key in different}


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.name)
async def test_kubectl_says_the_same(case, tmp_path):
    listed = _written(case, tmp_path)
    found = await _ours(case, tmp_path, listed)
    ours = await _told(found)
    theirs = await asyncio.to_thread(_from_kubectl, case, tmp_path, listed)
    who = theirs.pop("user")
    assert {key: ours[key] for key in theirs} == theirs
    assert _impersonated(found) == (
        who.get("as", ""), who.get("as-uid", ""), who.get("as-groups", []),
        who.get("as-user-extra", {}),
    )  # fmt: skip
    alone = "token" not in who and not theirs["certificate"]
    assert isinstance(found.credentials, PluginCredentials) == ("exec" in who and alone)
    if not case.context:
        answer = await asyncio.to_thread(
            _kubectl, listed, "config", "current-context", folder=tmp_path
        )
        assert answer.stdout.decode().strip() == found.context


def _impersonated(found: ClientConfig) -> tuple:
    name = uid = ""
    groups: list = []
    extra: dict = {}
    for header, value in found.impersonation:
        match header.removeprefix("Impersonate-").split("-", 1):
            case ["User"]:
                name = value
            case ["Uid"]:
                uid = value
            case ["Group"]:
                groups.append(value)
            case ["Extra", key]:
                extra.setdefault(key, []).append(value)
    return name, uid, groups, extra


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
async def test_what_is_refused(case, tmp_path):
    listed = _written(case, tmp_path)
    with pytest.raises(PasswayError, match=case.refused):
        await _ours(case, tmp_path, listed)
    accepted = []
    try:
        await _asyncio(case, tmp_path, listed)
        accepted.append("asyncio")
    except Exception:  # noqa: BLE001 - any way of failing
        pass
    try:
        await asyncio.to_thread(_from_kubectl, case, tmp_path, listed)
        accepted.append("kubectl")
    except AssertionError:
        pass
    assert tuple(accepted) == case.accepts
