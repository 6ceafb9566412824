"""The conversation with an exec plugin: what it is told, what it answers. Pure.

Both are an ExecCredential in JSON (an answer may be YAML, as for kubectl). What an answer holds is
secret, so a fault in it is told by its place alone.
Source: k8s.io/client-go/pkg/apis/clientauthentication.
"""

import base64
import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from passway.kube.config.fields import Fields, root
from passway.kube.config.kubeconfig import Cluster, Plugin
from passway.kube.config.trust import KeyPair

VARIABLE: Final = "KUBERNETES_EXEC_INFO"


@dataclass(frozen=True, slots=True)
class Credential:
    """`expires`: seconds since the epoch; None means that the plugin does not say."""

    token: str = field(default="", repr=False)
    pair: KeyPair | None = None
    expires: float | None = None


class BadAnswer(Exception):
    """The plugin's answer is no credential; the text says why and shows nothing of it."""


def request(plugin: Plugin, interactive: bool, cluster: Cluster, server: str, ca: bytes) -> str:
    """The value of the variable that tells the plugin what is asked of it."""
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.provide_cluster_info:
        spec["cluster"] = _about(cluster, server, ca)
    return json.dumps(
        {"kind": "ExecCredential", "apiVersion": plugin.api_version, "spec": spec},
        separators=(",", ":"),
    )


def _about(cluster: Cluster, server: str, ca: bytes) -> dict[str, Any]:
    about: dict[str, Any] = {"server": server}
    if cluster.tls_server_name:
        about["tls-server-name"] = cluster.tls_server_name
    if cluster.insecure:
        about["insecure-skip-tls-verify"] = True
    if ca:
        about["certificate-authority-data"] = base64.b64encode(ca).decode()
    if cluster.proxy_url:
        about["proxy-url"] = cluster.proxy_url
    if cluster.disable_compression:
        about["disable-compression"] = True
    about["config"] = json.loads(cluster.extension or "null")
    return about


def answer(stdout: bytes, plugin: Plugin) -> Credential:
    """The credential in a plugin's output; raises BadAnswer, or InvalidInput for its form."""
    top = root(stdout, "its output")
    if top is None:
        raise BadAnswer("its output is empty")
    if top.text("kind") != "ExecCredential":
        raise BadAnswer("its output is no ExecCredential")
    if top.text("apiVersion") != plugin.api_version:
        raise BadAnswer(f"it answers in another apiVersion than {plugin.api_version}")
    status = top.mapping("status")
    if status is None:
        raise BadAnswer("its output has no status")
    token = status.text("token")
    certificate, key = status.text("clientCertificateData"), status.text("clientKeyData")
    if bool(certificate) != bool(key):
        raise BadAnswer("its output has a certificate without a key, or a key without one")
    if not (token or certificate):
        raise BadAnswer("its output has neither a token nor a certificate")
    pair = KeyPair(certificate.encode(), key.encode()) if certificate else None
    return Credential(token, pair, _expiry(status))


def _expiry(status: Fields) -> float | None:
    text = status.text("expirationTimestamp")
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            return moment.timestamp()
    except (ValueError, OverflowError):
        pass
    raise BadAnswer("its expirationTimestamp is no time in the form 2030-01-31T12:00:00Z")
