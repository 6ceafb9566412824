"""Loads the configuration of a client: the files, the choice in them, and what they refer to.

The only module here that knows the order in which things are looked for. It reads files and never
runs a program: an exec plugin runs when its credentials are first asked for.
"""

import posixpath
from collections.abc import Callable
from typing import Final

from passway.kube.config import address, impersonation, in_cluster
from passway.kube.config.client import ClientConfig
from passway.kube.config.credentials import (
    Credentials,
    Fixed,
    TokenFile,
    basic,
    checked_token,
    read_token,
)
from passway.kube.config.fields import CODE, invalid
from passway.kube.config.files import read_file, read_optional
from passway.kube.config.kubeconfig import Cluster, Kubeconfig, User, parse
from passway.kube.config.plugin import PluginCredentials
from passway.kube.config.select import Choice, Overrides, choose, merge, refuse_auth_provider
from passway.kube.config.surroundings import Surroundings, here
from passway.kube.config.tls import checked_ca, checked_pair
from passway.kube.config.trust import KeyPair, Trust
from passway.model.errors import InvalidInput, PasswayError

_NOTHING: Final = Overrides()
_HINT: Final = (
    "name a kubeconfig with --kubeconfig or in KUBECONFIG, use --from with a dump of the cluster, "
    "or look at the sample with --demo"
)


def load_config(
    kubeconfig: str = "",
    overrides: Overrides = _NOTHING,
    surroundings: Surroundings | None = None,
    *,
    plugin_timeout_s: float | None = None,
) -> ClientConfig:
    """The configuration that kubectl would use here; raises InvalidInput or TooLarge.

    `kubeconfig` is the file that --kubeconfig names; without it the files in $KUBECONFIG count,
    else ~/.kube/config, and if none of them says anything, the service account of this pod.

        config = load_config(overrides=Overrides(context="lab"))
        for warning in config.warnings:
            print(warning, file=sys.stderr)
        pair = await config.credentials.certificate()
        connector = aiohttp.TCPConnector(ssl=config.ssl_context(pair) or True)
        async with aiohttp.ClientSession(connector=connector) as session:
            answer = await session.get(
                f"{config.server}/api/v1/namespaces/{config.namespace}/pods",
                headers=CIMultiDict(await config.headers()),
                proxy=config.proxy.url if config.proxy else None,
                server_hostname=config.trust.server_name or None,
            )
        # 401: once more if `await config.credentials.renew(headers)`
    """
    around = surroundings or here()
    merged = merge(_files(kubeconfig, around))
    if merged.empty and not kubeconfig:
        if in_cluster.possible(around):
            return in_cluster.load_in_cluster(overrides, around)
        places = ", ".join(_paths(around))
        raise InvalidInput(f"no kubeconfig found: nothing in {places}", hint=_HINT, code=CODE)
    return _built(choose(merged, overrides), around, plugin_timeout_s)


def _paths(around: Surroundings) -> tuple[str, ...]:
    """Where files are looked for; an entry that stands twice counts once."""
    listed = around.environ.get("KUBECONFIG", "")
    if listed:
        return tuple(dict.fromkeys(path for path in listed.split(":") if path))
    return (posixpath.join(around.home, ".kube", "config"),)


def _files(kubeconfig: str, around: Surroundings) -> list[Kubeconfig]:
    if kubeconfig:
        path = posixpath.join(around.folder, kubeconfig)
        return [_parsed(read_file(path, "--kubeconfig"), kubeconfig, path)]
    found = []
    for name in _paths(around):
        path = posixpath.join(around.folder, name)
        content = read_optional(path, "KUBECONFIG")
        if content is not None:
            found.append(_parsed(content, name, path))
    return found


def _parsed(content: bytes, name: str, path: str) -> Kubeconfig:
    return parse(content, name, posixpath.dirname(path))


def _built(choice: Choice, around: Surroundings, plugin_timeout_s: float | None) -> ClientConfig:
    cluster, user = choice.cluster, choice.user
    warnings: list[str] = []
    url = address.server(cluster.server, f"{cluster.where}.server")
    trust = Trust()
    credentials: Credentials = Fixed()
    if url.startswith("https:"):
        trust = _trust(cluster, warnings.append)
        refuse_auth_provider(user)
        pair = _pair(user, warnings.append)
        credentials = _credentials(user, pair, around, warnings.append)
        if user.plugin and credentials == Fixed():
            credentials = PluginCredentials(
                user.plugin, cluster, url, trust.ca, around, timeout_s=plugin_timeout_s
            )
    elif _has_credentials(user):
        warnings.append(f"{user.where}: its credentials are not sent, because {url} is not https")
    return ClientConfig(
        url,
        choice.namespace or _default_namespace(around),
        credentials,
        trust,
        _proxy(cluster, url, around),
        impersonation.headers(user),
        compression=not cluster.disable_compression,
        context=choice.context,
        cluster=cluster.name,
        user=user.name,
        warnings=tuple(warnings),
    )


def _proxy(cluster: Cluster, url: str, around: Surroundings) -> address.Proxy | None:
    if cluster.proxy_url:
        return address.named_proxy(cluster.proxy_url, f"{cluster.where}.proxy-url")
    return address.environment_proxy(url, around.environ)


def _default_namespace(around: Surroundings) -> str:
    return in_cluster.own_namespace(around) if in_cluster.possible(around) else "default"


Warn = Callable[[str], None]


def _content(data: bytes, path: str, where: str, field: str, warn: Warn) -> bytes:
    """What stands in the file itself goes before what it refers to."""
    if data:
        if path:
            warn(f"{where}: {field}-data counts, and {field} is ignored: remove one of them")
        return data
    return read_file(path, f"{where}.{field}") if path else b""


def _trust(cluster: Cluster, warn: Warn) -> Trust:
    if cluster.insecure:
        if cluster.ca_file or cluster.ca_data:
            raise invalid(
                cluster.where, "insecure-skip-tls-verify stands beside a certificate authority",
                "remove insecure-skip-tls-verify",
            )  # fmt: skip
        warn(
            f"{cluster.where}.insecure-skip-tls-verify: anybody between here and the server can"
            " read and change everything; name its certificate-authority instead"
        )
    field = "certificate-authority"
    ca = _content(cluster.ca_data, cluster.ca_file, cluster.where, field, warn)
    if ca or cluster.ca_file:
        checked_ca(ca, f"{cluster.where}.{field}")
    return Trust(ca, cluster.insecure, cluster.tls_server_name)


def _pair(user: User, warn: Warn) -> KeyPair | None:
    if not (user.certificate_file or user.certificate_data):
        return None
    where = user.where
    field = "client-certificate"
    certificate = _content(user.certificate_data, user.certificate_file, where, field, warn)
    key = _content(user.key_data, user.key_file, where, "client-key", warn)
    return checked_pair(KeyPair(certificate, key), where)


def _credentials(user: User, pair: KeyPair | None, around: Surroundings, warn: Warn) -> Credentials:
    if user.token_file:
        where = f"{user.where}.tokenFile"
        try:
            token = read_token(user.token_file, where)
        except PasswayError as error:
            if not user.token:
                raise
            warn(f"{error}; token is used instead")
            token = checked_token(user.token, f"{user.where}.token")
        return TokenFile(user.token_file, where, token, pair, clock=around.clock)
    if user.token:
        return Fixed(f"Bearer {checked_token(user.token, f'{user.where}.token')}", pair)
    if user.username or user.password:
        return Fixed(basic(user.username, user.password), pair)
    return Fixed(pair=pair)


def _has_credentials(user: User) -> bool:
    return bool(
        user.token or user.token_file or user.username or user.password or user.certificate_file
        or user.certificate_data or user.plugin or user.auth_provider
    )  # fmt: skip
