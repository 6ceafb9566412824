"""The configuration of a pod: its service account, the API server by the variables of the kubelet.

Source: k8s.io/client-go/rest (InClusterConfig). Where the CA cannot be read client-go goes on with
the roots of the system; so does this, but it says so.
"""

from pathlib import Path

from passway.kube.config import impersonation
from passway.kube.config.address import environment_proxy, server
from passway.kube.config.client import ClientConfig
from passway.kube.config.credentials import TokenFile, read_token
from passway.kube.config.fields import invalid
from passway.kube.config.files import read_file
from passway.kube.config.kubeconfig import User
from passway.kube.config.select import Overrides, check, check_namespace, impersonating
from passway.kube.config.surroundings import Surroundings
from passway.kube.config.tls import checked_ca
from passway.kube.config.trust import Trust
from passway.model.errors import PasswayError

_WHERE = "service account"
_HOST, _PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"


def possible(surroundings: Surroundings) -> bool:
    """This process runs in a pod with a service account."""
    environ = surroundings.environ
    token = Path(surroundings.service_account, "token")
    return bool(environ.get(_HOST) and environ.get(_PORT)) and token.is_file()


def own_namespace(surroundings: Surroundings) -> str:
    """The namespace of this pod."""
    named = surroundings.environ.get("POD_NAMESPACE", "")
    if not named:
        try:
            path = f"{surroundings.service_account}/namespace"
            named = read_file(path, _WHERE).decode("ascii", "replace").strip()
        except PasswayError:
            named = ""
    if named:
        check_namespace(named, _WHERE)
    return named or "default"


def load_in_cluster(overrides: Overrides, surroundings: Surroundings) -> ClientConfig:
    """The configuration of this pod; raises InvalidInput if it is in none."""
    if not possible(surroundings):
        raise invalid(
            _WHERE, "this is no pod with a service account",
            f"name a kubeconfig; or see whether {_HOST} is set and automountServiceAccountToken"
            " is on",
        )  # fmt: skip
    environ, folder = surroundings.environ, surroundings.service_account
    host, port = environ[_HOST], environ[_PORT]
    url = server(f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}", _HOST)
    user = impersonating(User(_WHERE, _WHERE), overrides)
    check(user)
    if overrides.namespace:
        check_namespace(overrides.namespace, "--namespace")
    trust = Trust()
    warnings: tuple[str, ...] = ()
    token = f"{folder}/token"
    try:
        trust = Trust(checked_ca(read_file(f"{folder}/ca.crt", _WHERE), f"{folder}/ca.crt"))
    except PasswayError as error:
        warnings = (f"{error}; the system's own certificate authorities are used instead",)
    return ClientConfig(
        url,
        overrides.namespace or own_namespace(surroundings),
        TokenFile(token, _WHERE, read_token(token, _WHERE), clock=surroundings.clock),
        trust,
        environment_proxy(url, environ),
        impersonation.headers(user),
        user=_WHERE,
        warnings=warnings,
    )
