"""From the files in their order to one cluster, one user and one namespace. Pure.

Merging follows client-go: the first file that names an entry owns the whole entry, and the first
current-context counts. Where client-go goes on without a user that a context names, or asks for a
password, this refuses: a typo must not become an anonymous request.
Source: k8s.io/client-go/tools/clientcmd (loader, client_config, validation).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from passway.kube.config.fields import CODE, invalid
from passway.kube.config.kubeconfig import Cluster, Context, Kubeconfig, Plugin, User
from passway.manifest.nodes import shorten
from passway.model.errors import InvalidInput
from passway.model.names import InvalidName, dns_label, nearest

API_V1: Final = "client.authentication.k8s.io/v1"
API_V1BETA1: Final = "client.authentication.k8s.io/v1beta1"
_SHOWN: Final = 8
_REMEDIES: Final = {
    "gcp": "install gke-gcloud-auth-plugin and run: gcloud container clusters get-credentials",
    "azure": "install kubelogin and run: kubelogin convert-kubeconfig",
    "oidc": "use an exec plugin such as kubelogin (kubectl oidc-login) instead",
}


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line says instead of the files; empty means: as the files say."""

    context: str = ""
    cluster: str = ""
    user: str = ""
    namespace: str = ""
    as_user: str = ""
    as_uid: str = ""
    as_groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """What is left of the files. `namespace` is empty when nobody names one."""

    context: str
    cluster: Cluster
    user: User
    namespace: str


def merge(configs: Iterable[Kubeconfig]) -> Kubeconfig:
    """Several files as one."""
    files: tuple[str, ...] = ()
    current = ""
    clusters: dict[str, Cluster] = {}
    users: dict[str, User] = {}
    contexts: dict[str, Context] = {}
    for config in configs:
        files += config.files
        current = current or config.current_context
        clusters = {**config.clusters, **clusters}
        users = {**config.users, **users}
        contexts = {**config.contexts, **contexts}
    return Kubeconfig(files, current, clusters, users, contexts)


def choose(config: Kubeconfig, overrides: Overrides) -> Choice:
    """The cluster, user and namespace to use; the user is complete and free of contradictions."""
    context = _context(config, overrides)
    cluster_name = overrides.cluster or context.cluster
    cluster = config.clusters.get(cluster_name)
    if cluster is None:
        where = "" if overrides.cluster else context.where
        raise _missing("cluster", cluster_name, where, config.files, config.clusters)
    user_name = overrides.user or context.user
    user = config.users.get(user_name)
    if user is None:
        if user_name:
            where = "" if overrides.user else context.where
            raise _missing("user", user_name, where, config.files, config.users)
        user = User(context.where, "")
    namespace = overrides.namespace or context.namespace
    if namespace:
        check_namespace(namespace, context.where if not overrides.namespace else "--namespace")
    user = impersonating(user, overrides)
    check(user)
    return Choice(context.name, cluster, user, namespace)


def check_namespace(namespace: str, where: str) -> None:
    """Refuses what cannot be the name of a namespace."""
    try:
        dns_label(namespace)
    except InvalidName as fault:
        raise invalid(where, f"namespace: {fault}") from None


def impersonating(user: User, overrides: Overrides) -> User:
    """The user acting as the one that the command line names."""
    return replace(
        user,
        as_user=overrides.as_user or user.as_user,
        as_uid=overrides.as_uid or user.as_uid,
        as_groups=overrides.as_groups or user.as_groups,
    )


def check(user: User) -> None:
    """Refuses a user whose fields contradict each other or lack a part."""
    if (user.username or user.password) and (user.token or user.token_file):
        raise invalid(
            user.where, "a token and a username with password stand together", "keep one of them"
        )
    if (user.certificate_file or user.certificate_data) and not (user.key_file or user.key_data):
        raise invalid(
            user.where, "a client certificate without its key",
            "add client-key or client-key-data",
        )  # fmt: skip
    if (user.as_uid or user.as_groups or user.as_extra) and not user.as_user:
        raise invalid(
            user.where, "groups, a uid or extra fields to impersonate, but no user",
            "name the user with as, or with --as",
        )  # fmt: skip
    if user.auth_provider and user.plugin:
        raise invalid(user.where, "auth-provider and exec stand together", "remove auth-provider")
    if user.plugin:
        _check_plugin(user.plugin)


def refuse_auth_provider(user: User) -> None:
    """Auth providers of the old kind are gone from Kubernetes, or are about to go."""
    if user.auth_provider:
        remedy = "use an exec plugin, a token or a client certificate instead"
        raise invalid(
            f"{user.where}.auth-provider",
            f'the provider "{shorten(user.auth_provider)}" is of the old kind, which is not'
            " supported",
            _REMEDIES.get(user.auth_provider, remedy),
        )


def _check_plugin(plugin: Plugin) -> None:
    if not plugin.command:
        raise invalid(plugin.where, "command is missing", "name the program to run")
    if plugin.api_version not in {API_V1, API_V1BETA1}:
        raise invalid(
            plugin.where, f"apiVersion must be {API_V1} or {API_V1BETA1}",
            "update the plugin, and write the kubeconfig anew with the tool that made it",
        )  # fmt: skip
    if plugin.api_version == API_V1 and not plugin.interactive_mode:
        raise invalid(
            plugin.where, f"interactiveMode is missing, which {API_V1} requires",
            "set it to Never, IfAvailable or Always",
        )  # fmt: skip
    for name, _ in plugin.env:
        if not name or "=" in name:
            raise invalid(plugin.where, "a variable in env has no usable name")


def _context(config: Kubeconfig, overrides: Overrides) -> Context:
    name = overrides.context or config.current_context
    if not name:
        if overrides.cluster:
            return Context(" and ".join(config.files), "")
        raise InvalidInput(
            f"no context is chosen: current-context is not set in {_places(config.files)}",
            hint=_offer("context", config.contexts, "choose one with --context"),
            code=CODE,
        )
    context = config.contexts.get(name)
    if context is None:
        raise _missing("context", name, "", config.files, config.contexts)
    if not (context.cluster or overrides.cluster):
        raise invalid(context.where, "names no cluster", "add cluster, or pass --cluster")
    return context


def _missing(
    kind: str, name: str, where: str, files: tuple[str, ...], known: Iterable[str]
) -> InvalidInput:
    names = [one for one in known if one]
    close = nearest(name[:200], names)
    hint = f'did you mean "{shorten(close[0])}"?' if close else _offer(kind, names, "choose one")
    named = f"{where} names it, but there" if where else "there"
    message = f'{named} is no {kind} "{shorten(name)}" in {_places(files)}'
    return InvalidInput(message, hint=hint, code=CODE)


def _offer(kind: str, known: Iterable[str], advice: str) -> str:
    names = sorted(map(shorten, known))
    if not names:
        return f"there is no {kind} at all: name another file with --kubeconfig"
    more = ", …" if len(names) > _SHOWN else ""
    return f"{advice}: {', '.join(names[:_SHOWN])}{more}"


def _places(files: tuple[str, ...]) -> str:
    return ", ".join(files) if files else "no file"
