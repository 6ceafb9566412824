"""Whatever stands in a kubeconfig or a plugin's answer: a configuration, or an error that helps."""

import asyncio
import json

import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from tests.kubeconfigs import around, b64, ca_pem, client_pems, cluster, config, context, user
from yarl import URL

from passway.kube.config import Overrides, load_config
from passway.kube.config.address import environment_proxy, named_proxy, server
from passway.kube.config.exec_credential import BadAnswer, answer
from passway.kube.config.kubeconfig import Kubeconfig, Plugin, parse
from passway.kube.config.redact import without_secrets
from passway.kube.config.select import choose, merge
from passway.model.errors import PasswayError

SECRET = "hunter2-XyZZy-do-not-show"
CERT, KEY = client_pems()
V1 = "client.authentication.k8s.io/v1"

CLUSTER = ("server", "certificate-authority", "certificate-authority-data", "proxy-url",
           "insecure-skip-tls-verify", "tls-server-name", "extensions")  # fmt: skip
USER = ("token", "tokenFile", "username", "password", "client-certificate-data", "client-key",
        "client-key-data", "client-certificate", "as", "as-uid", "as-groups", "as-user-extra",
        "exec", "auth-provider")  # fmt: skip
EXEC = ("command", "args", "env", "apiVersion", "interactiveMode", "provideClusterInfo")

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=12),
    st.sampled_from(["https://a", "http://a", "socks5://a", V1, "Never", "lab", b64(ca_pem()),
                     b64(CERT), b64(KEY), "/dev/null", "n"]),
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(("name", "value", "extension")) | st.text(max_size=3), inner,
                      max_size=3),
    max_leaves=6,
)  # fmt: skip


def fields(names):
    return st.dictionaries(st.sampled_from(names), values, max_size=6)


bodies = st.one_of(values, fields(CLUSTER), fields(USER),
                   st.builds(lambda body: {"exec": body}, fields(EXEC)))  # fmt: skip
entries = st.lists(
    st.one_of(
        values,
        st.builds(
            lambda name, key, body: {"name": name, key: body},
            st.sampled_from(["lab", "alice", "x"]),
            st.sampled_from(["cluster", "user", "context"]),
            bodies,
        ),
    ),
    max_size=3,
)
files = st.fixed_dictionaries(
    {},
    optional={
        "clusters": entries | st.just([cluster()]),
        "users": entries | st.just([user(token=SECRET)]),
        "contexts": entries | st.just([context()]),
        "current-context": st.just("lab") | values,
        "kind": st.just("Config") | values,
    },
)


def told(error: Exception, secret: str = SECRET) -> None:
    """It says something, and not the secret."""
    assert str(error)
    assert secret not in f"{error!r}{getattr(error, 'hint', '')}{getattr(error, 'issues', '')}"


def starts(error: Exception, place: str) -> None:
    assert str(error).startswith(place)


def check(text: bytes, secret: str = SECRET) -> None:
    try:
        choose(merge([parse(text, "config", "/no/such/folder")]), Overrides())
    except PasswayError as error:
        told(error, secret)


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode()))
def test_any_text(text):
    check(text)


@given(files)
def test_any_values_in_the_right_places(content):
    check(yaml.safe_dump(content, allow_unicode=True).encode("utf-8", "surrogatepass"))


FULL = yaml.safe_dump(config(
    clusters=[cluster(certificate_authority_data=b64(ca_pem()))],
    users=[user(token=SECRET, password=None), user("b", password=SECRET, username="b"), user(
        "c", exec={"command": "x", "args": [SECRET], "env": [{"name": "A", "value": SECRET}]})],
))  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, len(FULL)), st.integers(0, 4), st.text(max_size=4)),
                min_size=1, max_size=3))  # fmt: skip
def test_a_damaged_file(damages):
    text = FULL
    for place, removed, put in damages:
        text = text[:place] + put + text[place + removed :]
    check(text.encode("utf-8", "surrogatepass"))


@given(files)
def test_a_whole_load(tmp_path_factory, content):
    folder = tmp_path_factory.getbasetemp()
    path = folder / "any-kubeconfig"
    path.write_bytes(yaml.safe_dump(content).encode("utf-8", "surrogatepass"))
    try:
        found = load_config(str(path), surroundings=around(folder))
    except PasswayError as error:
        told(error)
        return
    assert SECRET not in f"{found!r}"
    assert found.server.startswith(("http://", "https://"))
    assert found.namespace
    if "exec" not in str(content):
        asyncio.run(found.headers())


plugin = Plugin("here", V1, "x", interactive_mode="Never")


@given(st.binary(max_size=200) | values.map(lambda value: json.dumps(value).encode()))
@example(b"")
@example(b'{"status": null}')
def test_any_answer_of_a_plugin(text):
    try:
        found = answer(text, plugin)
    except (BadAnswer, PasswayError) as error:
        told(error)
        return
    assert found.token or found.pair


@given(st.fixed_dictionaries({"token": st.just(SECRET)}, optional={
    "expirationTimestamp": st.text(max_size=30) | st.datetimes().map("{:%Y-%m-%dT%TZ}".format),
    "clientCertificateData": values, "clientKeyData": values}))  # fmt: skip
def test_any_status_of_a_plugin(status):
    text = json.dumps({"kind": "ExecCredential", "apiVersion": V1, "status": status})
    try:
        found = answer(text.encode(), plugin)
    except (BadAnswer, PasswayError) as error:
        told(error)
        return
    assert found.token == SECRET
    assert SECRET not in repr(found)


urls = st.text(max_size=30) | st.builds(
    "{}://{}{}".format,
    st.sampled_from(["http", "https", "socks5", "HTTP", ""]),
    st.text("ab.:-[]@%/12", max_size=12),
    st.text(max_size=5),
)


@given(urls)
@example("https://[::1]:6443")
def test_any_url(text):
    for read in (server, named_proxy):
        try:
            found = read(text, "here")
        except PasswayError as error:
            starts(error, "here: ")
            continue
        if read is server:
            assert server(found, "here") == found
            assert URL(f"{found}/api").host  # what the client makes of it


@given(urls, st.text("ab.:-[]@%/12*,", max_size=30) | st.text(max_size=20))
def test_any_no_proxy(proxy, no_proxy):
    for url in ("https://a.b:1", "https://10.0.0.1", "https://[fd00::1]", "http://a"):
        environ = {"HTTPS_PROXY": proxy, "NO_PROXY": no_proxy}
        try:
            environment_proxy(url, environ)
        except PasswayError as error:
            starts(error, "HTTPS_PROXY: ")
        assert (
            environment_proxy(url, {"HTTPS_PROXY": "http://p", "NO_PROXY": f"{no_proxy},*"}) is None
        )


letters = st.sampled_from("abc")


@given(st.lists(st.tuples(letters, letters, st.sampled_from(["", "a"])), max_size=5))
def test_merging_is_first_come_first_served(drafts):
    configs = [
        parse(json.dumps(config(
            clusters=[cluster(one, server=f"https://{index}")], users=[user(two)], contexts=[],
            current=current)).encode(), f"file{index}", "/x")
        for index, (one, two, current) in enumerate(drafts)
    ]  # fmt: skip
    merged = merge(configs)
    for name, found in merged.clusters.items():
        assert found is next(one.clusters[name] for one in configs if name in one.clusters)
    assert merged.current_context == next(
        (one.current_context for one in configs if one.current_context), ""
    )
    assert merge([merge(configs[:2]), *configs[2:]]) == merged
    assert merge([Kubeconfig(), *configs]) == merged


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(
    ["token: {}", "password={}", "Bearer {}", "https://u:{}@h", "{}"]))  # fmt: skip
def test_a_known_secret_never_shows(before, after, form):
    text = f"{before} {form.format(SECRET)} {after}"
    assert SECRET not in without_secrets(text, [SECRET])
    assert SECRET not in without_secrets(text, output=f'"{SECRET}"')
