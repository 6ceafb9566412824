"""Tokens in files, service accounts, client certificates and what is trusted."""

import ssl
from pathlib import Path

import pytest
from tests.kubeconfigs import around, ca_pem, client_pems, config, context, user, write

from passway.kube.config import KeyPair, Overrides, Trust, load_config
from passway.kube.config.credentials import TOKEN_PERIOD_S, Fixed
from passway.kube.config.in_cluster import load_in_cluster
from passway.kube.config.tls import checked_ca, checked_pair, ssl_context
from passway.model.errors import InvalidInput

CERT, KEY = client_pems()
INSIDE = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


class Clock:
    def __init__(self):
        self.time = 1000.0

    def __call__(self):
        return self.time


async def shown(credentials):
    return (await credentials.headers()).get("Authorization")


async def test_nothing_to_show():
    assert await Fixed().headers() == {}
    assert await Fixed().certificate() is None
    assert not await Fixed().renew({})


async def test_a_token_file_is_read_once_a_minute(tmp_path):
    clock = Clock()
    write(tmp_path, "one\n", "token")
    path = write(tmp_path, config(users=[user(tokenFile="token")]))
    found = load_config(path, surroundings=around(tmp_path, clock=clock)).credentials
    write(tmp_path, "two", "token")
    clock.time += TOKEN_PERIOD_S - 1
    assert await shown(found) == "Bearer one"
    clock.time += 1
    assert await shown(found) == "Bearer two"
    write(tmp_path, "three", "token")
    assert await shown(found) == "Bearer two"
    clock.time += TOKEN_PERIOD_S
    (tmp_path / "token").unlink()
    assert await shown(found) == "Bearer two"
    write(tmp_path, "four", "token")
    assert await shown(found) == "Bearer two"  # a minute passes after a failure too
    clock.time += TOKEN_PERIOD_S
    assert await shown(found) == "Bearer four"
    assert await found.certificate() is None
    assert repr(found) == f"TokenFile({str(tmp_path / 'token')!r})"


async def test_a_refused_token_is_read_again_at_once(tmp_path):
    write(tmp_path, "one", "token")
    path = write(tmp_path, config(users=[user(tokenFile="token")]))
    found = load_config(path, surroundings=around(tmp_path)).credentials
    refused = await found.headers()
    assert not await found.renew(refused)
    write(tmp_path, "two", "token")
    assert await found.renew(refused)
    assert await shown(found) == "Bearer two"
    assert await found.renew(refused)  # another request has renewed it meanwhile


# -- in a pod -------------------------------------------------------------------------------------


def account(folder: Path, **files):
    for name, content in ({"token": "sa-token", "ca.crt": ca_pem(), "namespace": "team\n"}
                          | files).items():  # fmt: skip
        if content is not None:
            write(folder, content, f"account/{name}")


async def test_a_pod_uses_its_service_account(tmp_path):
    account(tmp_path)
    clock = Clock()
    found = load_config(surroundings=around(tmp_path, environ=INSIDE, clock=clock))
    assert (found.server, found.namespace, found.warnings) == ("https://10.96.0.1:443", "team", ())
    assert found.trust == Trust(ca_pem())
    assert await shown(found.credentials) == "Bearer sa-token"
    write(tmp_path, "rotated", "account/token")
    clock.time += TOKEN_PERIOD_S
    assert await shown(found.credentials) == "Bearer rotated"


def test_a_pod_in_an_ipv6_cluster(tmp_path):
    account(tmp_path, namespace=None)
    environ = INSIDE | {"KUBERNETES_SERVICE_HOST": "fd00::1", "HTTPS_PROXY": "http://proxy:1"}
    found = load_config(surroundings=around(tmp_path, environ=environ))
    assert (found.server, found.namespace) == ("https://[fd00::1]:443", "default")
    assert found.proxy.source == "HTTPS_PROXY"


def test_a_pod_is_told_its_namespace(tmp_path):
    account(tmp_path)
    surroundings = around(tmp_path, environ=INSIDE | {"POD_NAMESPACE": "told"})
    assert load_config(surroundings=surroundings).namespace == "told"
    overrides = Overrides(namespace="asked", as_user="bob")
    found = load_config(overrides=overrides, surroundings=surroundings)
    assert found.namespace == "asked"
    assert found.impersonation == (("Impersonate-User", "bob"),)


@pytest.mark.parametrize(
    "overrides", [Overrides(namespace="A B"), Overrides(as_groups=("a",)), Overrides(as_user="\n")]
)
def test_a_pod_checks_what_it_is_told(tmp_path, overrides):
    account(tmp_path)
    with pytest.raises(InvalidInput):
        load_config(overrides=overrides, surroundings=around(tmp_path, environ=INSIDE))


def test_a_pod_has_a_wrong_namespace(tmp_path):
    account(tmp_path, namespace="A B")
    with pytest.raises(InvalidInput, match="service account: namespace"):
        load_config(surroundings=around(tmp_path, environ=INSIDE))


@pytest.mark.parametrize("ca", [None, b"junk"])
def test_a_pod_without_a_ca_is_warned(tmp_path, ca):
    account(tmp_path, **{"ca.crt": ca})
    found = load_config(surroundings=around(tmp_path, environ=INSIDE))
    assert found.trust == Trust()
    assert "the system's own certificate authorities are used instead" in found.warnings[0]


def test_a_kubeconfig_goes_before_the_service_account(tmp_path):
    account(tmp_path)
    write(tmp_path, config(), "home/.kube/config")
    surroundings = around(tmp_path, environ=INSIDE)
    found = load_config(surroundings=surroundings)
    assert (found.user, found.namespace) == ("alice", "team")
    contexts = [context(namespace="mine")]
    write(tmp_path, config(contexts=contexts), "home/.kube/config")
    assert load_config(surroundings=surroundings).namespace == "mine"


def test_an_empty_token_of_a_pod(tmp_path):
    account(tmp_path, token="")
    with pytest.raises(InvalidInput, match="the file is empty"):
        load_config(surroundings=around(tmp_path, environ=INSIDE))


def test_outside_of_a_pod(tmp_path):
    with pytest.raises(InvalidInput, match="this is no pod"):
        load_in_cluster(Overrides(), around(tmp_path, environ=INSIDE))


# -- certificates ---------------------------------------------------------------------------------


def test_what_is_trusted():
    assert len(ssl_context(Trust(ca_pem()), None).get_ca_certs()) == 1
    system = ssl_context(Trust(), None)
    assert system.verify_mode == ssl.CERT_REQUIRED
    assert system.check_hostname
    assert system.verify_flags & ssl.VERIFY_X509_PARTIAL_CHAIN
    assert not system.verify_flags & ssl.VERIFY_X509_STRICT
    assert system.minimum_version >= ssl.TLSVersion.TLSv1_2
    open_door = ssl_context(Trust(insecure=True), None)
    assert (open_door.verify_mode, open_door.check_hostname) == (ssl.CERT_NONE, False)


def test_a_certificate_that_cannot_be_read_is_passed_over():
    broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    odd = b"-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----\n"
    text = broken + b"# caf\xe9\n" + ca_pem() + odd
    assert checked_ca(text, "here") == text
    for bad in (broken, odd, b"", KEY):
        with pytest.raises(InvalidInput, match="here: no certificate in PEM form"):
            checked_ca(bad, "here")


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_pair_is_loaded(monkeypatch, in_memory):
    if not in_memory:
        monkeypatch.delattr("os.memfd_create", raising=False)
    pair = KeyPair(CERT, KEY)
    assert checked_pair(pair, "here") is pair
    assert isinstance(ssl_context(Trust(ca_pem()), pair), ssl.SSLContext)
    with pytest.raises(InvalidInput, match="client certificate: the client key does not belong"):
        ssl_context(Trust(), KeyPair(ca_pem(), KEY))


def test_a_pair_where_there_is_no_place_for_it(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.memfd_create", full, raising=False)
    with pytest.raises(InvalidInput, match="cannot be loaded"):
        checked_pair(KeyPair(CERT, KEY), "here")
